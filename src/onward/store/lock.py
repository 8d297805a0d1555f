"""Who drives a run: the lock that only a driver holds, and the record of who that is.

The lock is a `flock` on the file `lock`: it ends with the process that holds it, whatever ends that, so that a dead
driver needs no unlocking. It works between containers of one machine, and over NFS (where the system makes a
byte-range lock of it); `docs/decisions/0008-the-lock-of-a-run-is-a-flock.md` has why. The lock is the truth; the
file `driver` only tells people who holds it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import signal
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from onward import clock, files
from onward.errors import RunBusy, StoreError
from onward.model.events import Owner

_TRIES = 6
_TRY_DELAY_S = 0.01
_KILL_WAIT_S = 5.0
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


class Driver(Owner, frozen=True, kw_only=True):
    """The driver of a run as its record tells: an `Owner`, and since when it drives."""

    since: datetime

    @property
    def described(self) -> str:
        """`process 4711 of ada on host h, since 2026-01-31 10:30:00+01:00`."""
        user = f" of {self.user}" if self.user else ""
        since = clock.local(self.since).isoformat(" ", "seconds")
        return f"process {self.pid}{user} on host {self.host}, since {since}"


class Lock:
    """The lock of a run, held until `release` (or the end of the process)."""

    def __init__(self, descriptor: int, folder: Path) -> None:
        """Use `take` or `take_over`."""
        self._descriptor = descriptor
        self._folder = folder

    def moved(self, folder: Path) -> None:
        """The run's folder has this name from now on."""
        self._folder = folder

    def release(self) -> None:
        """Let others drive the run."""
        if self._descriptor < 0:
            return
        try:
            files.remove(self._folder / "driver")
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def this_process() -> Owner:
    """The present process, as events and records name it."""
    pid = os.getpid()
    return Owner(
        host=os.uname().nodename, boot=clock.boot_id(), pid=pid, started=start_ticks(pid) or 0, user=_user()
    )


def start_ticks(pid: int) -> int | None:
    """When the process started, in clock ticks since boot. None: there is no such process, or no way to know."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b") ")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None


def take(folder: Path) -> Lock:
    """Drive the run from now on. Raises `RunBusy` when another process does."""
    descriptor = _try(folder, tries=_TRIES)
    if descriptor is None:
        raise _busy(folder)
    return _recorded(folder, descriptor)


def take_over(folder: Path) -> tuple[Lock, Driver | None]:
    """Drive the run even if another process does; a driver on this machine is killed first.

    Returns the driver that was replaced. One on another machine cannot be killed from here: it loses the lock, and
    notices at its next append.
    """
    descriptor = _try(folder, tries=_TRIES)
    if descriptor is not None:
        return _recorded(folder, descriptor), None
    previous = recorded_driver(folder)
    held = _inode(folder / "lock")
    if previous is not None and _kill(previous):
        descriptor = _try(folder, tries=int(_KILL_WAIT_S / _TRY_DELAY_S))
    if descriptor is None:
        _break(folder, held)
        descriptor = _try(folder, tries=_TRIES)
    if descriptor is None:
        raise _busy(folder)
    return _recorded(folder, descriptor), previous


def driver_alive(folder: Path) -> Driver | None:
    """Who drives the run now, or None when nobody does."""
    try:
        descriptor = os.open(folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise files.trouble(error, "read the lock", folder / "lock", StoreError) from error
    try:
        # For the moment of this call a shared lock is held: `take` tries more than once for that reason.
        free = _flock(descriptor, fcntl.LOCK_SH, folder)
    finally:
        os.close(descriptor)
    return None if free else recorded_driver(folder) or _UNKNOWN


def recorded_driver(folder: Path) -> Driver | None:
    """What the record says about the last driver, which may be dead."""
    try:
        return msgspec.json.decode((folder / "driver").read_bytes(), type=Driver)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # the lock is the truth; without its record only the name is missing


_UNKNOWN = Driver(host="(unknown)", boot="", pid=0, started=0, since=datetime.fromtimestamp(0, UTC))


def _recorded(folder: Path, descriptor: int) -> Lock:
    lock = Lock(descriptor, folder)
    try:
        driver = Driver(**msgspec.structs.asdict(this_process()), since=clock.now())
        files.write_atomic(folder / "driver", msgspec.json.encode(driver), durable=False)
    except StoreError:
        lock.release()
        raise
    return lock


def _try(folder: Path, *, tries: int) -> int | None:
    """A descriptor that holds the lock, or None when another process holds it."""
    for number in range(tries):
        if number:
            time.sleep(_TRY_DELAY_S)
        descriptor = _open(folder)
        try:
            got = _flock(descriptor, fcntl.LOCK_EX, folder) and os.fstat(descriptor).st_ino == _inode(folder / "lock")
        except StoreError:
            os.close(descriptor)
            raise
        if got:
            return descriptor
        os.close(descriptor)
    return None


def _open(folder: Path) -> int:
    try:
        return os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE)
    except OSError as error:
        raise files.trouble(error, "open the lock", folder / "lock", StoreError) from error


def _flock(descriptor: int, kind: int, folder: Path) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        failure = files.trouble(error, "lock", folder / "lock", StoreError)
        if error.errno in _NO_LOCKS:
            failure.help = "this file system cannot lock files: keep runs on one that can, with --store DIR"
        raise failure from error
    return True


def _inode(path: Path) -> int:
    try:
        return os.stat(path).st_ino
    except OSError:
        return -1


def _busy(folder: Path) -> RunBusy:
    driver = recorded_driver(folder)
    who = "another process" if driver is None else driver.described
    run = folder.name
    return RunBusy(
        f"run `{run}` is driven by {who}",
        help=f"ask it to stop with `onward pause {run}`, or take over with `onward resume {run} --take-over`",
    )


# ---------------------------------------------------------------- taking over


def _kill(driver: Driver) -> bool:
    """Kill the driver if it is a process of this machine that can be seen from here."""
    if driver.host != os.uname().nodename or driver.boot != clock.boot_id() or driver.pid == os.getpid():
        return False
    try:
        process = os.pidfd_open(driver.pid) if hasattr(os, "pidfd_open") else -1
    except OSError:  # no such process
        return False
    try:
        if start_ticks(driver.pid) not in (driver.started, None):
            return False
        _send_kill(driver.pid, process)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if process >= 0:
            os.close(process)
    return True


def _send_kill(pid: int, process: int) -> None:
    if process >= 0:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)


def _break(folder: Path, held: int) -> None:
    """Put a new lock file in the place of one that its owner cannot be made to let go of."""
    if _inode(folder / "lock") != held:
        return  # somebody else did so just now
    try:
        files.move(folder / "lock", folder / f"lock.lost-{clock.token_hex(4)}")
    except OSError as error:
        raise files.trouble(error, "replace the lock", folder / "lock", StoreError) from error


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # a container whose user has no name
        return str(os.getuid())
