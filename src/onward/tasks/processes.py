"""`/proc` → facts about processes: which lives, who descends from whom, which belong to an attempt.

A process is known by its id *and* its start time (in clock ticks since the boot), since ids are used again; both mean
something only on the same boot and in the same PID namespace (`Host`). A zombie is dead. Signals go through pidfds,
opened first and compared then, so that they never reach a stranger that got the id.

The keeper imports this module: it must load nothing heavy.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

MARKER = b"ONWARD_ATTEMPT_ID"

_DEAD = frozenset(b"ZXx")


class Process:
    """A line of the process table; equal to another when it is the same process."""

    __slots__ = ("group", "parent", "pid", "session", "start_time", "state")

    def __init__(
        self, pid: int, start_time: int, state: int = ord("R"), parent: int = 0, group: int = 0, session: int = 0
    ) -> None:
        self.pid = pid
        self.start_time = start_time
        self.state = state
        self.parent = parent
        self.group = group
        self.session = session

    @property
    def living(self) -> bool:
        return self.state not in _DEAD

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Process) and (self.pid, self.start_time) == (other.pid, other.start_time)

    def __hash__(self) -> int:
        return hash((self.pid, self.start_time))

    def __repr__(self) -> str:
        return f"Process({self.pid}, {self.start_time}, {chr(self.state)!r})"


class Host:
    """Where process ids mean something: the machine's name, its boot, and the PID namespace in it."""

    __slots__ = ("boot_id", "name", "pid_namespace")

    def __init__(self, name: str, boot_id: str, pid_namespace: str) -> None:
        self.name = name
        self.boot_id = boot_id
        self.pid_namespace = pid_namespace

    def __eq__(self, other: object) -> bool:
        """The same processes are seen; a machine's name may change while it runs."""
        return isinstance(other, Host) and (self.boot_id, self.pid_namespace) == (other.boot_id, other.pid_namespace)

    def __hash__(self) -> int:
        return hash((self.boot_id, self.pid_namespace))

    def __repr__(self) -> str:
        return f"Host({self.name!r}, {self.boot_id!r}, {self.pid_namespace!r})"


class Snapshot:
    """The process table at one moment, so that many questions cost one reading of `/proc`."""

    __slots__ = ("_markers", "processes")

    def __init__(self, processes: dict[int, Process]) -> None:
        self.processes = processes
        self._markers: dict[int, bytes | None] = {}

    @classmethod
    def take(cls) -> Snapshot:
        found = (look(int(name)) for name in os.listdir("/proc") if name.isdigit())
        return cls({process.pid: process for process in found if process is not None})

    def living(self) -> Iterator[Process]:
        return (process for process in self.processes.values() if process.living)

    def now(self, processes: Iterable[Process]) -> list[Process]:
        """Those of the given ones that still live, as they are now."""
        current = ((self.processes.get(process.pid), process) for process in processes)
        return [new for new, old in current if new is not None and new == old and new.living]

    def group(self, group: int) -> list[Process]:
        return [process for process in self.living() if process.group == group]

    def descendants(self, roots: Iterable[int]) -> list[Process]:
        """Children of the roots, their children, and so on; without the roots."""
        children: dict[int, list[Process]] = {}
        for process in self.living():
            children.setdefault(process.parent, []).append(process)
        found: list[Process] = []
        waiting = list(roots)
        while waiting:
            below = children.pop(waiting.pop(), [])
            found += below
            waiting += [process.pid for process in below]
        return found

    def marked(self, markers: Collection[bytes]) -> list[Process]:
        """Processes of this user that were started with one of the markers as `ONWARD_ATTEMPT_ID`."""
        return [process for process in self.living() if self._marker(process.pid) in markers]

    def _marker(self, pid: int) -> bytes | None:
        if pid not in self._markers:
            self._markers[pid] = marker_of(pid)
        return self._markers[pid]


def look(pid: int) -> Process | None:
    """The process of that id, a zombie too; `None` if there is none."""
    text = _read(f"/proc/{pid}/stat")
    if not text:
        return None
    # The name may hold spaces and brackets: the fields begin after its last bracket.
    fields = text[text.rindex(b")") + 2 :].split()
    return Process(pid, int(fields[19]), fields[0][0], int(fields[1]), int(fields[2]), int(fields[3]))


def start_time(pid: int) -> int | None:
    """In clock ticks since the boot; `None` if there is no such process."""
    process = look(pid)
    return None if process is None else process.start_time


def alive(pid: int, started: int, boot_id: str | None = None) -> bool:
    """Whether that very process runs; one of another boot, or a zombie, does not."""
    if boot_id is not None and boot_id != this_boot():
        return False
    process = look(pid)
    return process is not None and process.start_time == started and process.living


def marker_of(pid: int) -> bytes | None:
    """The `ONWARD_ATTEMPT_ID` a process was started with; `None` if it has none or is another user's."""
    if not _is_ours(pid):
        return None
    for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == MARKER:
            return value
    return None


def marked(*markers: str) -> list[Process]:
    """Living processes of this user that belong to one of these attempts."""
    return Snapshot.take().marked({marker.encode() for marker in markers})


def descendants(pid: int) -> list[Process]:
    """Living children of a process, their children, and so on."""
    return Snapshot.take().descendants([pid])


def open_pidfd(pid: int, started: int) -> int | None:
    """A descriptor of that very process, or `None` when it is gone; a zombie has one too."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return None
    if start_time(pid) == started:
        return descriptor
    os.close(descriptor)
    return None


def send(process: Process, *signals: int) -> bool:
    """Signals that very process; false when it is gone or not ours to signal."""
    from signal import pidfd_send_signal

    descriptor = open_pidfd(process.pid, process.start_time)
    if descriptor is None:
        return False
    try:
        for number in signals:
            pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(descriptor)
    return True


def this_boot() -> str:
    """Names this boot of the machine."""
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()


def host() -> Host:
    """Where we are."""
    return Host(os.uname().nodename, this_boot(), os.readlink("/proc/self/ns/pid"))


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _read(path: str) -> bytes:
    """The bytes of a file of `/proc`; none when its process is gone or another user's."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    parts: list[bytes] = []
    try:
        while part := os.read(file, 1 << 16):
            parts.append(part)
    except OSError:
        return b""
    finally:
        os.close(file)
    return b"".join(parts)
