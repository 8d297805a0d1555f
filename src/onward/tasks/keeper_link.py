"""What a driver wants of its keeper → messages to it; what the keeper says → facts for the driver.

Everything here returns at once: the driver puts `fileno()` into its event loop and calls `receive()` when it is
readable. `KeeperLink.launch()` comes before any lock is taken, so that the keeper can hold none by accident.
"""

from __future__ import annotations

import _socket
import fcntl
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec import Struct, field

from onward.errors import TaskError
from onward.tasks import wire
from onward.tasks.attempt_folder import (
    CallTrace,
    Exit,
    TaskProcess,
    Trace,
    Usage,
    attempt_is_held,
    find_call,
    lock_attempt,
    read_exit,
    read_process,
    read_result,
)
from onward.tasks.ending import end_process_tree

if TYPE_CHECKING:
    from onward.tasks.exit_record import Record
    from onward.tasks.masking import Forms

__all__ = [
    "Blocked",
    "CallEnded",
    "CallRequest",
    "CallTrace",
    "Exit",
    "Exited",
    "KeeperLink",
    "KeeperLost",
    "ProgramRequest",
    "Started",
    "TaskProcess",
    "Trace",
    "Usage",
    "WorkerEnded",
    "WorkerLink",
    "WorkerRequest",
    "attempt_is_held",
    "end_process_tree",
    "find_call",
    "lock_attempt",
    "read_exit",
    "read_process",
    "read_result",
]

MARKER = "ONWARD_ATTEMPT_ID"
KILL_AFTER_S = 5.0

_HERE = Path(__file__).parent
_KEEPER_SOCKET = 3
_SEND_WITHIN_S = 10  # a keeper that does not read for so long was stopped by somebody
# What is meant for a driver and its group must not reach the keeper, which has more to do than die with it.
_BLOCKED_SIGNALS = {
    signal.SIGALRM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP,
    signal.SIGTTIN, signal.SIGTTOU, signal.SIGUSR1, signal.SIGUSR2,
}  # fmt: skip
# Enough to start an interpreter that encodes names as ours does; and the marker, if we are a task ourselves.
_KEEPER_VARIABLES = ("LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", MARKER)

_unburied: list[int] = []  # keepers that may have ended since their link was closed


class KeeperLost(TaskError):
    """The keeper process was killed or stopped: what it kept is interrupted, and its processes must be swept."""

    code = "keeper-lost"


class ProgramRequest(Struct, frozen=True, kw_only=True):
    """A program to run. `env` is all it gets, and the marker as `ONWARD_ATTEMPT_ID`; `stdin` is a file or nothing.

    `timeout_s` is counted from its start, `idle_s` from its last output; `kill_after_s` lies between TERM and KILL.
    `masks` are the secrets that were released to it: none of them gets into its files.
    """

    id: str
    folder: str | Path
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | Path
    marker: str
    stdin: str | Path | None = None
    timeout_s: float | None = None
    idle_s: float | None = None
    kill_after_s: float = KILL_AFTER_S
    masks: Forms | None = None

    def __repr__(self) -> str:  # a message of the event loop may show it
        return f"ProgramRequest({self.id!r})"


class WorkerRequest(Struct, frozen=True, kw_only=True):
    """A worker to open: `folder` is its own (made by the caller), `path` the workflow's folder, where modules are.

    `masks` are the secrets of all calls that it is going to get.
    """

    id: str
    folder: str | Path
    path: Path
    env: Mapping[str, str]
    masks: Forms | None = None

    def __repr__(self) -> str:
        return f"WorkerRequest({self.id!r})"


class CallRequest(Struct, frozen=True, kw_only=True):
    """A function to call. `id` is the attempt's marker, which the call finds as `ONWARD_ATTEMPT_ID`.

    `env` is what its environment has beyond, or other than, that of the worker; `unset` what it has not.
    `folder` is made when there is output or a large result to put into it. `arguments` hold what JSON can hold.
    `secrets` names those that were released to it, which `masks` are of: no worker has calls with different ones.
    """

    id: str
    folder: str | Path
    target: str
    arguments: Mapping[str, Any]
    cwd: str | Path
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    timeout_s: float | None = None
    kill_after_s: float = KILL_AFTER_S
    secrets: tuple[str, ...] = ()
    masks: Forms | None = None

    def __repr__(self) -> str:
        return f"CallRequest({self.id!r})"


class Started(Struct, frozen=True, kw_only=True):
    """The program (or worker) runs, as this process. Not said of what ends within a moment."""

    id: str
    pid: int


class Blocked(Struct, frozen=True, kw_only=True):
    """Output or the end of a task cannot be written (a full disk): it is tried again until it can, and nothing is lost.

    The run should stop and say so; its task waits, and a later driver finds it held.
    """

    id: str
    error: str


class Exited(Struct, frozen=True, kw_only=True):
    """The program has ended, and `exit.json` says so."""

    id: str
    exit: Exit


class CallEnded(NamedTuple):
    """The call has ended; the worker's log says so too in a moment. `retired`: it takes no more calls, open another."""

    id: str
    exit: Exit
    retired: bool = False


class WorkerEnded(Struct, frozen=True, kw_only=True):
    """The worker process has ended; `call` is the call it died in, which thereby failed."""

    id: str
    exit: Exit
    call: CallEnded | None = None


KeeperMessage = Started | Blocked | Exited | WorkerEnded


class KeeperLink:
    """A driver's end of its keeper. `lost`: the keeper has died, and no message will come any more."""

    def __init__(self, end: _socket.socket, pid: int) -> None:
        self.pid = pid
        self.lost = False
        self._end = end

    @classmethod
    def launch(cls, *, log: Path | None = None) -> Self:
        """Starts a keeper; `log` is where it writes what should not happen."""
        _bury()
        ours, theirs = _socket_pair()
        with_their_end = fcntl.fcntl(theirs.fileno(), fcntl.F_DUPFD_CLOEXEC, _KEEPER_SOCKET + 7)
        try:
            pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", *_same_encoding(), str(_HERE / "keeper.py")],
                {name: os.environ[name] for name in _KEEPER_VARIABLES if name in os.environ},
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                    (os.POSIX_SPAWN_DUP2, with_their_end, _KEEPER_SOCKET),
                ],
                setsid=True,
                setsigmask=_BLOCKED_SIGNALS,
            )
        finally:
            theirs.close()
            os.close(with_their_end)
        return cls(ours, pid)

    def fileno(self) -> int:
        return self._end.fileno()

    def start(self, request: ProgramRequest, lock: int) -> None:
        """Hands the program and the lock of its folder over; the lock is the keeper's from here on.

        `Exited` follows in any case. Raises `KeeperLost`; the lock is then free.
        """
        message = {
            "type": "start",
            "id": request.id,
            "folder": os.fspath(request.folder),
            "argv": [os.fspath(part) for part in request.argv],
            "env": {**request.env, MARKER: request.marker},
            "cwd": os.fspath(request.cwd),
            "stdin": None if request.stdin is None else os.fspath(request.stdin),
            "timeout_s": request.timeout_s,
            "idle_s": request.idle_s,
            "kill_after_s": request.kill_after_s,
            "marker": request.marker,
            "masks": _plain(request.masks),
        }
        self._send(message, [lock])

    def worker(self, request: WorkerRequest, lock: int) -> WorkerLink:
        """Opens a worker; the lock of its folder is the keeper's from here on. `WorkerEnded` follows at its end.

        Raises `KeeperLost`.
        """
        ours, theirs = _socket_pair()
        folder, path = os.fspath(request.folder), os.fspath(request.path)
        message = {
            "type": "worker",
            "id": request.id,
            "folder": folder,
            "argv": [sys.executable, "-P", *_same_encoding(), str(_HERE / "worker.py"), folder, path, "-"],
            "env": {**request.env, MARKER: request.id},
            "cwd": path,
            "stdin": None,
            "timeout_s": None,
            "idle_s": None,
            "kill_after_s": KILL_AFTER_S,
            "marker": request.id,
            "masks": _plain(request.masks),
        }
        try:
            self._send(message, [lock, theirs.detach()])
        except KeeperLost:
            ours.close()
            raise
        return WorkerLink(request.id, ours)

    def stop(self, id: str, *, reason: str = "stop", kill_after_s: float = KILL_AFTER_S) -> None:
        """Ends a program, or a worker with its call: TERM now, KILL later, then a sweep. Its end is told as ever.

        Asked again, it can only hasten. Of what has ended already, nothing happens. Raises `KeeperLost`.
        """
        self._send({"type": "stop", "id": id, "reason": reason, "kill_after_s": kill_after_s}, [])

    def receive(self) -> list[KeeperMessage]:
        """What the keeper has said since; nothing, and `lost`, when it has died."""
        messages: list[KeeperMessage] = []
        while not self.lost:
            try:
                received = wire.receive(self._end, _socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            if received is None:
                self.lost = True
            else:
                messages.append(_message(received[0]))
        return messages

    def close(self) -> None:
        """Leaves the keeper to its tasks; it ends with the last of them."""
        self._end.close()
        _unburied.append(self.pid)
        _bury()

    def _send(self, message: wire.Message, descriptors: list[int]) -> None:
        try:
            wire.send(self._end, message, descriptors)
        except OSError as error:
            self.lost = self.lost or isinstance(error, BrokenPipeError | ConnectionResetError)
            raise KeeperLost(
                f"the process that looks after this run's tasks (pid {self.pid}) does not answer: {error.strerror}",
                help="`onward resume` finds out what is left of them and goes on",
            ) from error
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


class WorkerLink:
    """A driver's end of a worker, which takes one call at a time.

    Sending a call says that the ends of all earlier ones are in the journal. `lost`: the worker has died or retired;
    if a call was in flight, the keeper's `WorkerEnded` says how it ended.
    """

    def __init__(self, id: str, end: _socket.socket) -> None:
        self.id = id
        self.lost = False
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def call(self, request: CallRequest) -> None:
        """Sends the call. When the worker has died meanwhile, `lost` is set, and `WorkerEnded` comes without it."""
        message = (
            request.id,
            os.fspath(request.folder),
            request.target,
            dict(request.arguments),
            {**request.env, MARKER: request.id},
            request.unset,
            os.fspath(request.cwd),
            request.timeout_s,
            request.kill_after_s,
            _plain(request.masks),
        )
        try:
            wire.send(self._end, message)
        except (BrokenPipeError, ConnectionResetError):
            self.lost = True

    def receive(self) -> CallEnded | None:
        """The end of the call, if it has come."""
        if self.lost:
            return None
        try:
            received = wire.receive(self._end, _socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        if received is None:
            self.lost = True
            return None
        id, record, result, result_file, retired = received[0]
        return CallEnded(id, _exit(record, result, result_file), retired)

    def close(self) -> None:
        """The worker finishes its call, records it, and ends."""
        self._end.close()


def _exit(record: Record, result: str | None = None, result_file: bool = False) -> Exit:
    return Exit(*record[:6], Usage(*record[6]), *record[7:], result, result_file)


def _message(message: wire.Message) -> KeeperMessage:
    match message["type"]:
        case "started":
            return Started(id=message["id"], pid=message["pid"])
        case "blocked":
            return Blocked(id=message["id"], error=message["error"])
        case "exited":
            return Exited(id=message["id"], exit=_exit(message["record"]))
        case "worker_ended":
            call = message["call"]
            return WorkerEnded(
                id=message["id"],
                exit=_exit(message["record"]),
                call=None if call is None else CallEnded(call[0], _exit(call[1]), retired=True),
            )
        case other:
            raise ValueError(f"a keeper says nothing of type {other}")


def _socket_pair() -> tuple[_socket.socket, _socket.socket]:
    """Ours does not wait for ever on a keeper that was stopped."""
    ours, theirs = wire.pair()
    wire.limit_sending(ours, _SEND_WITHIN_S)
    return ours, theirs


def _plain(forms: Forms | None) -> tuple[tuple[bytes, ...], ...] | None:
    """Only plain tuples can be marshalled."""
    return None if forms is None else tuple(forms)


def _same_encoding() -> tuple[str, str]:
    """Text travels as text: both ends must turn it into the same bytes."""
    return "-X", f"utf8={sys.flags.utf8_mode}"


def _bury() -> None:
    """Takes the ends of keepers whose driver (this process) lives on; those that still keep are asked next time."""
    for pid in list(_unburied):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _unburied.remove(pid)
