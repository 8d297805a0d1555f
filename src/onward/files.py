"""Every change of a file that has to last: journal, store and mirrors go through here and nowhere else.

Functions that get a path raise `StoreError` with the path, the system's reason and what to do. Those that get a
descriptor (`append`, `flush`, `cut`) raise the bare `OSError`: only their caller knows what the file means.

A test sets `_fault`, which is then called before each change with the name of the call, the path and (for a write)
the number of bytes; it may raise `OSError`, end the process, or answer with a smaller number for a short write.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from onward.errors import StateError, StoreError

FILE_MODE = 0o600
FOLDER_MODE = 0o700

AnyPath = str | os.PathLike[str]

Fault = Callable[[str, str, int], int]
_fault: Fault | None = None

E = TypeVar("E", bound=StateError)

_TEMPORARY = re.compile(r"\..*\.(\d{1,9})-\d+\.onward-tmp", re.DOTALL)
_numbers = itertools.count(1)

_FULL = (errno.ENOSPC, errno.EDQUOT)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_FOLDER_FLUSH = (errno.EINVAL, errno.ENOTSUP, errno.ENOSYS)
_AGAIN_LIMIT = 500
_AGAIN_DELAY_S = 0.01


# ---------------------------------------------------------------- what went wrong


def trouble(error: OSError, doing: str, path: AnyPath, kind: type[E]) -> E:
    """An error of the given kind: what could not be done to which file, the system's reason, what to do."""
    reason = os.strerror(error.errno) if error.errno else str(error)
    return kind(f"cannot {doing} {os.fspath(path)}: {reason}", help=_what_to_do(error.errno))


def is_full(error: OSError) -> bool:
    """Whether the disk (or the user's share of it) is full."""
    return error.errno in _FULL


@contextmanager
def _saying(doing: str, path: AnyPath) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise trouble(error, doing, path, StoreError) from error


def _what_to_do(number: int | None) -> str:
    if number in _FULL:
        return "free space there, then `onward resume`"
    if number in _FORBIDDEN:
        return "make it writable for this user (or name another place with --store), then `onward resume`"
    if number == errno.EIO:
        return "the disk reports an error: see the system's log, then `onward resume`"
    if number in (errno.EMFILE, errno.ENFILE):
        return "raise the limit on open files (`ulimit -n`), then `onward resume`"
    return "mend that, then `onward resume`"


# ---------------------------------------------------------------- open files


def open_append(path: AnyPath, *, new: bool = False) -> int:
    """A descriptor that reads anywhere and writes at the end. `new`: the file must not exist."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    if new:
        flags |= os.O_CREAT | os.O_EXCL
        _ask("create", path)
    return os.open(path, flags, FILE_MODE)


def append(descriptor: int, data: bytes, path: str) -> None:
    """Write all of it, however many calls that takes."""
    rest = memoryview(data)
    while rest:
        size = len(rest) if _fault is None else _fault("write", path, len(rest))
        rest = rest[_write_some(descriptor, rest[:size]) :]


def flush(descriptor: int, path: str) -> None:
    """What was written is on the disk when this returns."""
    _ask("flush", path)
    _to_disk(descriptor)


def cut(descriptor: int, size: int, path: str) -> None:
    """Cut the file to `size` bytes, and flush that."""
    _ask("cut", path)
    os.ftruncate(descriptor, size)
    flush(descriptor, path)


def _write_some(descriptor: int, data: memoryview) -> int:
    # EINTR is handled by Python itself. EAGAIN comes from file systems in user space, and is not final.
    for _ in range(_AGAIN_LIMIT):
        try:
            written = os.write(descriptor, data)
        except BlockingIOError:
            time.sleep(_AGAIN_DELAY_S)
        else:
            if written or not data:
                return written
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _to_disk(descriptor: int) -> None:
    if sys.platform == "darwin":  # there fsync stops at the cache of the drive
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fdatasync(descriptor)


def _ask(call: str, path: AnyPath) -> None:
    if _fault is not None:
        _fault(call, os.fspath(path), 0)


# ---------------------------------------------------------------- whole files


def write_atomic(
    path: AnyPath, data: bytes, *, mode: int = FILE_MODE, durable: bool = True, name_later: bool = False
) -> None:
    """The file holds either what it held before or `data`, whatever happens. `durable`: on the disk, too.

    `name_later`: the caller flushes the folder, once for many files.
    """
    with _saying("write", path):
        try:
            _write_by_replacing(path, data, mode, durable)
        except FileNotFoundError:
            # Somebody who cannot see this process (another container) took the temporary file for a dead one's.
            _write_by_replacing(path, data, mode, durable)
        if durable and not name_later:
            _flush_folder(os.path.dirname(path) or ".")


def _write_by_replacing(path: AnyPath, data: bytes, mode: int, durable: bool) -> None:
    temporary = _temporary_beside(path)
    try:
        _write_new(temporary, data, mode, durable)
        _replace(temporary, path)
    except OSError:
        _discard(temporary)
        raise


def create(path: AnyPath, data: bytes, *, durable: bool = True) -> None:
    """A new file; one that exists is an error. The folder is not flushed."""
    with _saying("create", path):
        _write_new(path, data, FILE_MODE, durable)


def reserve(path: AnyPath, size: int) -> None:
    """A file that occupies `size` bytes of the disk."""
    with _saying("create", path):
        _ask("create", path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            _ask("write", path)
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, size)
            else:
                os.write(descriptor, bytes(size))
        finally:
            os.close(descriptor)


def _write_new(path: AnyPath, data: bytes, mode: int, durable: bool) -> None:
    _ask("create", path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        append(descriptor, data, os.fspath(path))
        if durable:
            flush(descriptor, os.fspath(path))
    finally:
        os.close(descriptor)


def _temporary_beside(path: AnyPath) -> str:
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, f".{name[:40]}.{os.getpid()}-{next(_numbers)}.onward-tmp")


def _discard(temporary: str) -> None:
    try:
        os.unlink(temporary)
    except OSError:
        return  # the error that led here is the one to tell; `remove_dead_temporaries` finds what is left


def remove_dead_temporaries(folder: AnyPath) -> list[str]:
    """Remove what interrupted `write_atomic` calls left in a folder. Returns the names.

    Call it before this process writes there: a file with its own number is left from an earlier process, too.
    """
    with _saying("clean", folder):
        names = [entry.name for entry in os.scandir(folder) if _is_dead_temporary(entry.name)]
        for name in names:
            _remove(os.path.join(folder, name))
    return names


def _is_dead_temporary(name: str) -> bool:
    found = _TEMPORARY.fullmatch(name)
    if found is None:
        return False
    pid = int(found[1])
    return pid == os.getpid() or not process_lives(pid)


def process_lives(pid: int) -> bool:
    """Whether a process of that number exists on this machine (in this container)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


# ---------------------------------------------------------------- names and folders


def make_folder(path: AnyPath, *, durable: bool = False) -> bool:
    """Make a folder, and those above it where they are missing. False when it was there.

    `durable`: the folder it lies in is flushed.
    """
    with _saying("make the folder", path):
        return _make_folder(path, durable)


def _make_folder(path: AnyPath, durable: bool) -> bool:
    try:
        _mkdir(path)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
        return False
    except FileNotFoundError:
        _make_folder(os.path.dirname(path), durable)
        _mkdir(path)
    if durable:
        _flush_folder(os.path.dirname(path) or ".")
    return True


def _mkdir(path: AnyPath) -> None:
    _ask("make-folder", path)
    os.mkdir(path, FOLDER_MODE)


def link(target: str, path: AnyPath) -> bool:
    """A symbolic link at `path` to `target`; False when something is there already. Not flushed."""
    with _saying("make the link", path):
        _ask("link", path)
        try:
            os.symlink(target, path)
        except FileExistsError:
            return False
        return True


def move(source: AnyPath, target: AnyPath) -> None:
    """Give a file or folder another name. Not flushed. Raises the bare `OSError` (what it means is the caller's)."""
    _replace(source, target)


def remove(path: AnyPath) -> bool:
    """Remove a file; False when there was none. Not flushed."""
    with _saying("remove", path):
        return _remove(path)


def remove_tree(path: AnyPath) -> None:
    """Remove a folder and everything in it, the folder itself last."""
    with _saying("remove", path):
        for folder, folders, names in os.walk(path, topdown=False):
            for name in names:
                _remove(os.path.join(folder, name))
            for name in folders:
                _remove_folder(os.path.join(folder, name))
        _remove_folder(path)


def flush_folder(path: AnyPath) -> None:
    """The names in the folder are on the disk when this returns."""
    with _saying("flush the folder", path):
        _flush_folder(path)


def _replace(source: AnyPath, target: AnyPath) -> None:
    _ask("replace", target)
    os.replace(source, target)


def _remove(path: AnyPath) -> bool:
    _ask("remove", path)
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _remove_folder(path: AnyPath) -> None:
    _ask("remove-folder", path)
    if os.path.islink(path):
        os.unlink(path)
    else:
        os.rmdir(path)


def _flush_folder(path: AnyPath) -> None:
    _ask("flush-folder", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_FLUSH:  # some network file systems have no such call, and need none
            raise
    finally:
        os.close(descriptor)
