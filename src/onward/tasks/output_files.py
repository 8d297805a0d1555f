"""Files that a task wrote -> text and bytes that may become values, within limits; tails of logs for people."""

from __future__ import annotations

import codecs
import os
import stat

from onward.tasks.failures import Failure

MOST_BYTES = 64 * 1024 * 1024
"""largest result that is kept as a value"""
TAIL_BYTES = 8 * 1024

_CHUNK = 1 << 20
_HELP = "write it to a file and declare that under `artifacts`"


def read_whole(path: str, what: str) -> bytes | None:
    """The bytes of a file; None when there is none. Raises `TaskError` for what is no file, or too large."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise Failure("cannot-read", f"{what} cannot be read: {error.strerror} ({path})") from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Failure("not-a-file", f"{what} is no file: {path}")
        check_size(facts.st_size, what)
        return read_all(descriptor, facts.st_size)
    finally:
        os.close(descriptor)


def read_text_bytes(path: str, size: int, what: str) -> bytes:
    """The first `size` bytes of a log without their last newline, checked to be text."""
    check_size(size, what)
    if size == 0:
        return b""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise Failure("no-log", f"{what} cannot be read: {error.strerror}") from error
    try:
        if os.pread(descriptor, 1, size - 1) == b"\n":
            size -= 1
        data = read_all(descriptor, size)
    finally:
        os.close(descriptor)
    if len(data) < size:
        raise Failure("no-log", f"{what} is no longer whole: {path}")
    check_text(data, what)
    return data


def read_all(descriptor: int, size: int) -> bytes:
    """Up to `size` bytes; fewer when the file is shorter."""
    data = os.read(descriptor, size)
    if len(data) == size or not data:
        return data
    parts = [data]
    missing = size - len(data)
    while missing and (part := os.read(descriptor, missing)):
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def check_size(size: int, what: str) -> None:
    """Raise `too-big` with size and limit."""
    if size > MOST_BYTES:
        raise Failure("too-big", f"{what} has {size:,} bytes; the limit for a value is {MOST_BYTES:,}", help=_HELP)


def check_text(data: bytes, what: str) -> None:
    """Raise `not-text` unless the bytes are UTF-8 without NUL. Needs no second copy of large ones."""
    if 0 in data:
        raise Failure("not-text", f"{what} is not text: it holds a NUL byte", help=_HELP)
    decoder = codecs.getincrementaldecoder("utf-8")()
    view = memoryview(data)
    for start in range(0, len(data) + 1, _CHUNK):
        chunk = view[start : start + _CHUNK]
        try:
            decoder.decode(chunk, start + _CHUNK > len(data))
        except UnicodeDecodeError as error:
            message = f"{what} is not UTF-8 text: it holds the byte 0x{error.object[error.start]:02x}"
            raise Failure("not-text", message, help=_HELP) from error


def tail(path: str, most: int = TAIL_BYTES) -> str:
    """The last bytes of a log for people, bad ones as replacement signs; empty when there is none."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - most))
            data = file.read(most)
    except OSError:  # the log is a help only; what happened to the task is known without it
        return ""
    text = data.decode("utf-8", "replace")
    if size > most:  # do not begin in the middle of a line
        text = text.partition("\n")[2] or text
    return text.rstrip("\n")
