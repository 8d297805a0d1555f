"""Faults inside the process: the n-th change of a file fails, is torn, ends the process, or is where power goes.

All file changes of journal, store and mirrors go through `onward.files`, whose hook is set here. Each change has a
number, from 1, so that a test can go through all of them.
"""

import errno
import os
import random
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from onward import files

STOPPED = 99
"""the exit status of a process that a fault ended"""


class PowerCut(BaseException):
    """Power went. Not an `Exception`: nothing may handle it."""


@contextmanager
def hooked(hook: Callable[[str, str, int], int]) -> Iterator[None]:
    """`hook` sees every change before it is made."""
    files._fault = hook
    try:
        yield
    finally:
        files._fault = None


@contextmanager
def counted() -> Iterator[list[tuple[str, str]]]:
    """The changes that are made, in order: what, and which file."""
    calls: list[tuple[str, str]] = []

    def hook(call: str, path: str, size: int) -> int:
        calls.append((call, path))
        return size

    with hooked(hook):
        yield calls


@contextmanager
def failing(number: int, error: int = errno.ENOSPC, *, lasting: bool = True) -> Iterator[None]:
    """The change of that number fails; `lasting`: and all that need room from then on, until something is removed."""
    seen = 0
    full = False

    def hook(call: str, path: str, size: int) -> int:
        nonlocal seen, full
        seen += 1
        if call in ("remove", "cut"):
            full = False
        if seen == number or (full and call in ("write", "create")):
            full = lasting
            raise OSError(error, os.strerror(error))
        return size

    with hooked(hook):
        yield


@contextmanager
def tearing(number: int, then: Callable[[], None]) -> Iterator[None]:
    """The write of that number writes half of its bytes; `then` is called where the rest would be written.

    A change that is no write goes well, and `then` is called before the next.
    """
    seen = 0

    def hook(call: str, path: str, size: int) -> int:
        nonlocal seen
        seen += 1
        if seen == number + 1:
            then()
        return size // 2 if seen == number and size > 1 else size

    with hooked(hook):
        yield


def disk_full() -> None:
    """What a write meets on a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def stop() -> None:
    """End the process as a kill does: no handler runs, no buffer is written."""
    os._exit(STOPPED)


@contextmanager
def stopping(number: int) -> Iterator[None]:
    """The process ends before the change of that number."""
    seen = 0

    def hook(call: str, path: str, size: int) -> int:
        nonlocal seen
        seen += 1
        if seen == number:
            stop()
        return size

    with hooked(hook):
        yield


def in_a_child(work: Callable[[], None]) -> int:
    """Do the work in a child process. Returns its exit status: 0, `STOPPED`, or 1 with a traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about a fork beside the threads of a test runner
        pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Disk:
    """What of a folder is on the disk, and what only the system's memory holds.

    Content counts from the flush of the file, names from the flush of their folder. `luck` decides which of the rest
    had reached the disk when power went: none, all, or part of it with zeros in the place of lost pages.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self._content: dict[int, bytes] = {}
        self._names: dict[int, dict[str, tuple[int, bool]]] = {}
        self._held: list[int] = []

    @contextmanager
    def power_goes(self, number: int) -> Iterator[None]:
        """Power goes before the change of that number: `PowerCut` is raised."""
        seen = 0

        def hook(call: str, path: str, size: int) -> int:
            nonlocal seen
            seen += 1
            if seen >= number:
                raise PowerCut
            self._see(call, path)
            return size

        with hooked(hook):
            yield

    def restore(self, target: Path, luck: random.Random) -> None:
        """Write what a machine that starts again would find."""
        live_names: dict[int, dict[str, tuple[int, bool]]] = {}
        live_content: dict[int, bytes] = {}
        for folder, _, names in os.walk(self.root):
            live_names[os.stat(folder).st_ino] = _entries(folder)
            for name in names:
                path = os.path.join(folder, name)
                live_content[os.stat(path).st_ino] = Path(path).read_bytes()

        def folder(inode: int, place: Path) -> None:
            place.mkdir(mode=0o700)
            flushed, live = self._names.get(inode, {}), live_names.get(inode, {})
            for name in sorted({*flushed, *live}):
                entry = flushed.get(name) if luck.random() < 0.5 else live.get(name)
                if flushed.get(name) == live.get(name):
                    entry = flushed.get(name)
                if entry is None:
                    continue
                if entry[1]:
                    folder(entry[0], place / name)
                else:
                    kept = self._content.get(entry[0], b"")
                    (place / name).write_bytes(_survived(kept, live_content.get(entry[0], kept), luck))

        folder(os.stat(self.root).st_ino, target)
        for descriptor in self._held:
            os.close(descriptor)

    def _see(self, call: str, path: str) -> None:
        if call == "flush":
            self._content[os.stat(path).st_ino] = Path(path).read_bytes()
        elif call == "flush-folder":
            self._names[os.stat(path).st_ino] = _entries(path)
        elif call in ("remove", "replace") and os.path.isfile(path):
            # As long as it is open its number goes to no other file.
            self._held.append(os.open(path, os.O_RDONLY))


def _entries(folder: str) -> dict[str, tuple[int, bool]]:
    return {entry.name: (entry.inode(), entry.is_dir()) for entry in os.scandir(folder)}


def _survived(flushed: bytes, live: bytes, luck: random.Random) -> bytes:
    if flushed == live:
        return flushed
    if not live.startswith(flushed):
        return luck.choice([flushed, live])
    new = live[len(flushed) :]
    middle = luck.randrange(len(new))
    return flushed + luck.choice([b"", new[:middle], bytes(middle) + new[middle:], bytes(len(new)), new])
