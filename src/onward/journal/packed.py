"""A journal that nobody will write to ↔ the same bytes compressed, in `journal.jsonl.gz`.

Readers take whichever of the two is there; both being there (a crash while packing or unpacking) is harmless, for
the plain one counts. Whoever wants to write unpacks first. Callers hold the lock of the run.
"""

from __future__ import annotations

import io
import os
from typing import BinaryIO

from onward import files
from onward.errors import JournalError

SUFFIX = ".gz"
_LEVEL = 6
_CUT = b" (what followed cannot be unpacked)\n"
"""a line that is none: else the cut would be taken for that of the last write, which is nothing to ask about"""

AnyPath = str | os.PathLike[str]


def packed_of(path: AnyPath) -> str:
    """Where the compressed form of a journal lies."""
    return os.fspath(path) + SUFFIX


def is_packed(path: AnyPath) -> bool:
    """Whether only the compressed form is there."""
    return not os.path.exists(path) and os.path.exists(packed_of(path))


def open_reading(path: AnyPath) -> BinaryIO:
    """The plain bytes, whichever form is there. Raises the bare `OSError`."""
    try:
        return open(path, "rb", buffering=0)
    except FileNotFoundError:
        if not os.path.exists(packed_of(path)):
            raise
    return io.BytesIO(_unpacked(path))


def size_of(path: AnyPath) -> int:
    """How many plain bytes there are. Raises the bare `OSError`."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        if not os.path.exists(packed_of(path)):
            raise
    with open_reading(path) as file:
        return file.seek(0, os.SEEK_END)


def pack(path: AnyPath) -> tuple[int, int]:
    """Compress a journal; what was written is read back and compared before the plain one goes. Bytes before, after."""
    import gzip

    with open_reading(path) as file:
        data = file.read()
    files.write_atomic(packed_of(path), gzip.compress(data, _LEVEL, mtime=0))
    if _unpacked(path) != data:
        raise JournalError(
            f"{packed_of(path)} does not hold what was written", help="the disk is not to be trusted; the journal stays"
        )
    files.remove(path)
    files.flush_folder(os.path.dirname(path) or ".")
    return len(data), os.path.getsize(packed_of(path))


def unpack(path: AnyPath) -> None:
    """The plain journal is there, and it alone."""
    if is_packed(path):
        files.write_atomic(path, _unpacked(path))
    if files.remove(packed_of(path)):
        files.flush_folder(os.path.dirname(path) or ".")


def _unpacked(path: AnyPath) -> bytes:
    """As much as can be read: what a damaged part and all after it held is missing, which the reader's chain tells."""
    import gzip  # only where there is something to unpack: a command starts without it
    import zlib

    found = bytearray()
    try:
        with gzip.open(packed_of(path)) as file:
            while piece := file.read1(1 << 20):
                found += piece
    except (EOFError, zlib.error):
        return bytes(found + _CUT) if found else b""
    except gzip.BadGzipFile:
        return bytes(found)  # even if that is nothing: one damaged journal must not hide the other runs of a store
    except OSError as error:
        raise files.trouble(error, "read the journal", packed_of(path), JournalError) from error
    return bytes(found)
