"""What tasks wrote (bytes, any size) → lines of text, read in pieces, also while more is written.

Bytes that are not UTF-8 become replacement signs; a letter whose bytes came in two writes is whole. The files stay as
they are.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from onward.errors import StoreError
from onward.files import trouble
from onward.state.instance import Instance
from onward.views.source import Source

PIECE_BYTES = 1 << 16
LONGEST_LINE = 1 << 16
"""characters; a longer line is passed on in parts"""

STREAMS = ("out", "err")


class Written(Struct, frozen=True, kw_only=True):
    """One stream of one attempt. `file` may not exist: nothing was written to it."""

    path: str
    attempt: int
    stream: str
    file: str

    @property
    def size(self) -> int:
        """Bytes written so far."""
        try:
            return os.stat(self.file).st_size
        except OSError:
            return 0


def written_by(source: Source, path: str, attempt: int, streams: tuple[str, ...] = STREAMS) -> list[Written]:
    """The streams of one attempt."""
    folder = source.folder.attempt_path(path, attempt)
    return [Written(path=path, attempt=attempt, stream=one, file=f"{folder}/{one}") for one in streams]


def leaves_below(source: Source, path: str) -> list[Instance]:
    """The tasks at and below a path that were begun, in the order in which they began ("" for all)."""
    begins = (f"{path}/", f"{path}[")
    begun = (instance for instance in source.state.instances.values() if instance.attempt)
    found = [one for one in begun if not path or one.path == path or one.path.startswith(begins)]
    return sorted(found, key=lambda instance: instance.started_at or 0.0)


class LineReader:
    """The lines of one file, as far as they are written. Holds no more than a line in memory."""

    def __init__(self, file: str, *, tail: int | None = None) -> None:
        """`tail`: begin so many lines before the end."""
        self._file = file
        self._tail = tail
        self._offset: int | None = None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def lines(self) -> Iterator[str]:
        """The whole lines that are new since the last call, without their line breaks."""
        for piece in self._pieces():
            *whole, self._rest = (self._rest + self._decoder.decode(piece)).split("\n")
            yield from whole
            if len(self._rest) > LONGEST_LINE:
                yield self._rest
                self._rest = ""

    def rest(self) -> str | None:
        """The last line, if it has no line break (yet); it is not told again. Ends what was cut in two."""
        rest, self._rest = self._rest + self._decoder.decode(b"", final=True), ""
        self._decoder.reset()
        return rest or None

    def pending(self) -> str:
        """The beginning of a line that is there without its end; it is not told again."""
        pending, self._rest = self._rest, ""
        return pending

    def _pieces(self) -> Iterator[bytes]:
        try:
            with open(self._file, "rb") as file:
                if self._offset is None:
                    self._offset = 0 if self._tail is None else offset_of_tail(file, self._tail)
                file.seek(self._offset)
                while piece := file.read(PIECE_BYTES):
                    self._offset += len(piece)
                    yield piece
        except FileNotFoundError:
            self._offset = self._offset or 0
        except OSError as error:
            raise trouble(error, "read the output", self._file, StoreError) from error


def offset_of_tail(file: BinaryIO, lines: int) -> int:
    """Where the last `lines` lines of a file begin."""
    end = file.seek(0, os.SEEK_END)
    if lines <= 0 or not end:
        return end
    file.seek(end - 1)
    wanted = lines + (file.read(1) == b"\n")
    start = end
    while start:
        size = min(PIECE_BYTES, start)
        start = file.seek(start - size)
        piece = file.read(size)
        found = piece.count(b"\n")
        if found >= wanted:
            return start + _place_of_break(piece, wanted) + 1
        wanted -= found
    return 0


def _place_of_break(piece: bytes, number: int) -> int:
    """The position of the `number`-th line break from the end."""
    at = len(piece)
    for _ in range(number):
        at = piece.rfind(b"\n", 0, at)
    return at


def last_lines(file: str, count: int) -> list[str]:
    """The last lines of a file; none when it is not there."""
    reader = LineReader(file, tail=count)
    found = list(reader.lines())
    rest = reader.rest()
    return found if rest is None else [*found, rest]
