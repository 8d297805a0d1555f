"""What may be done to a damaged journal: a torn tail is set aside and cut; everything else is only read around.

Call `mend_tail` only as the owner of the run's lock, before the journal is opened for appending.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from onward import files
from onward.errors import JournalError
from onward.journal.findings import Finding
from onward.journal.lines import EVENTS
from onward.journal.packed import open_reading, unpack
from onward.journal.reader import Reading
from onward.model.events import AnyEvent, Note

_BLOCK_BYTES = 1 << 16


def mend_tail(reading: Reading) -> Note | None:
    """Set the torn tail aside in `journal.torn-<n>`, then cut it off. Returns the event to add, if there was one.

    A compressed journal is unpacked, for it is going to be written to.
    A crash in between is harmless: the tail is set aside once more the next time.
    """
    unpack(reading.path)
    torn = reading.torn_tail
    if torn is None:
        return None
    aside = _set_aside(Path(reading.path), torn)
    _cut(reading.path, torn)
    size = torn.end - torn.offset
    return Note(
        text=f"the last write to the journal had been cut off; its {size} bytes were set aside in {aside.name}",
        level="warning",
        data={"line": torn.line, "offset": torn.offset, "file": aside.name},
    )


def tail_events(path: str | os.PathLike[str], count: int) -> list[AnyEvent]:
    """The last readable events, oldest first, whatever lies between them."""
    found: list[AnyEvent] = []
    for line in _lines_from_the_end(path):
        try:
            found.append(EVENTS.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue  # what cannot be read is what this function is there to get around
        if len(found) == count:
            break
    return found[::-1]


def _lines_from_the_end(path: str | os.PathLike[str]) -> Iterator[bytes]:
    try:
        with open_reading(path) as file:
            start = file.seek(0, os.SEEK_END)
            rest = b""
            while start:
                size = min(_BLOCK_BYTES, start)
                start = file.seek(start - size)
                rest, *lines = (file.read(size) + rest).split(b"\n")
                yield from reversed(lines)
            yield rest
    except OSError as error:
        raise files.trouble(error, "read the journal", path, JournalError) from error


def _set_aside(journal: Path, torn: Finding) -> Path:
    data = _read_from(journal, torn.offset)
    number = 1
    while (aside := journal.with_name(f"journal.torn-{number}")).exists() and aside.read_bytes() != data:
        number += 1
    files.write_atomic(aside, data)
    return aside


def _cut(path: str, torn: Finding) -> None:
    try:
        descriptor = files.open_append(path)
    except OSError as error:
        raise files.trouble(error, "open the journal", path, JournalError) from error
    try:
        if os.fstat(descriptor).st_size != torn.end:
            raise JournalError(
                f"the journal {path} has changed since it was read", help="`onward status` says who drives the run"
            )
        files.cut(descriptor, torn.offset, path)
    except OSError as error:
        raise files.trouble(error, "cut the torn end of the journal", path, JournalError) from error
    finally:
        os.close(descriptor)


def _read_from(path: Path, offset: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read()
    except OSError as error:
        raise files.trouble(error, "read the journal", path, JournalError) from error
