"""What a task with secrets writes → files without them: the streams that its keeper takes, the files it leaves."""

from __future__ import annotations

import errno
import os
import stat
import sys

from onward.tasks.exit_record import write_all
from onward.tasks.masking import Finder, Masker
from onward.tasks.streams import FileSink

TYPE_CHECKING = False  # importing `typing` would lengthen the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

OF_THE_KEEPER = ("out", "err", "exit.json", "process")
"""files of an attempt that are masked as they are written"""

_PIECE_BYTES = 1 << 16
_NOT_OURS = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.EROFS)


class MaskingSink(FileSink):
    """Reads what a pipe (that does not wait) holds, and writes it masked; `size` is what the file holds."""

    __slots__ = ("_masker", "_unwritten")

    def __init__(self, folder: str, name: str, finder: Finder, *, make_folder: bool = False) -> None:
        super().__init__(folder, name, make_folder=make_folder)
        self._masker = Masker(finder)
        self._unwritten = b""

    def take(self, pipe: int, most: int) -> int:
        self._write()  # what a full disk has not taken yet; nothing more is read before
        data = os.read(pipe, min(most, _PIECE_BYTES))
        self._unwritten = self._masker.take(data)
        self._write()
        return len(data)

    def finish(self) -> None:
        self._unwritten += self._masker.finish()
        self._write()

    def _write(self) -> None:
        if self._unwritten and self._file < 0:
            self._file = self._open()
        while self._unwritten:
            written = os.write(self._file, self._unwritten)
            self.size += written
            self._unwritten = self._unwritten[written:]


def mask_files(folder: str, finder: Finder, spare: Collection[str] = OF_THE_KEEPER) -> None:
    """Masks what a task has written below the folder of its attempt; `spare` are names directly in it.

    Raises `OSError` when there is no room. What this user may not change stays as it is, and is said.
    """
    for path in _regular_files(folder, spare):
        try:
            try:
                _mask_file(path, finder)
            except PermissionError:
                _let_us_in(os.path.dirname(path), path)
                _mask_file(path, finder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno not in _NOT_OURS:
                raise
            print(f"{path} cannot be masked: {error.strerror}", file=sys.stderr)  # noqa: T201 - the keeper's log


def _let_us_in(*paths: str) -> None:
    """A task may have closed what it wrote."""
    for path in paths:
        os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) | stat.S_IRWXU)


def _regular_files(folder: str, spare: Collection[str] = ()) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    except PermissionError:
        try:
            _let_us_in(folder)
            entries = list(os.scandir(folder))
        except OSError as error:
            print(f"{folder} cannot be masked: {error.strerror}", file=sys.stderr)  # noqa: T201 - the keeper's log
            return
    for entry in entries:
        if entry.name in spare:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _regular_files(entry.path)
        elif entry.is_file(follow_symlinks=False):
            yield entry.path


def _mask_file(path: str, finder: Finder) -> None:
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        facts = os.fstat(file)
        if stat.S_ISREG(facts.st_mode) and any(found for _, found in _pieces(file, finder)):
            os.lseek(file, 0, os.SEEK_SET)
            _replace(path, stat.S_IMODE(facts.st_mode), (piece for piece, _ in _pieces(file, finder)))
    finally:
        os.close(file)


def _pieces(file: int, finder: Finder) -> Iterator[tuple[bytes, bool]]:
    """The masked content, piece by piece, and whether a secret has been found so far."""
    masker = Masker(finder)
    while data := os.read(file, _PIECE_BYTES):
        yield masker.take(data), masker.found
    yield masker.finish(), masker.found


def _replace(path: str, mode: int, pieces: Iterator[bytes]) -> None:
    temporary = f"{path}.tmp"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for piece in pieces:
            write_all(file, piece)
        os.fchmod(file, mode)
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(file)
