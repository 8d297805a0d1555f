"""The form of a line: the JSON of an event, closed by the chain.

    {"type":"note","seq":7,"at":"…","epoch":1,"batch":6,"text":"…","chain":"<32 hex digits>"}

`chain` is the first half of the SHA-256 of the previous line's `chain` and of everything on this line that stands
before `,"chain"`. `batch` is the `seq` of the first line that was flushed together with this one, so that a reader
knows of a damaged line, too, to which flush it belonged.
"""

from __future__ import annotations

from hashlib import sha256

import msgspec

from onward.model.events import AnyEvent

EVENTS = msgspec.json.Decoder(AnyEvent)
"""decodes a line; the fields that close it are passed over"""

CHAIN_DIGITS = 32
NO_CHAIN = ""
"""what stands for the previous chain on the first line"""

_END = b',"chain":"%b"}'
END_BYTES = len(_END % bytes(CHAIN_DIGITS))
CHAIN_SLICE = slice(-CHAIN_DIGITS - 2, -2)


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """A place between two lines of a journal: everything that reading or appending needs to go on from there.

    `offset` in bytes and `line` count what lies before; `seq`, `chain` and `epoch` are those of the last line;
    `version` is the version of the journal.
    """

    offset: int = 0
    line: int = 0
    seq: int = 0
    chain: str = NO_CHAIN
    epoch: int = 0
    version: int = 1


START = Position()


def close(body: bytes, previous: bytes) -> tuple[bytes, bytes]:
    """The line (without its newline) for the JSON object `body`, and its chain."""
    open_body = body[:-1]
    chain = link(previous, open_body)
    return open_body + _END % chain, chain


def link(previous: bytes, open_body: bytes) -> bytes:
    """The chain of a line that holds `open_body` before its `,"chain"`."""
    return sha256(previous + open_body).hexdigest()[:CHAIN_DIGITS].encode()


def is_linked(line: bytes, previous: bytes) -> bool:
    """Whether the line (without its newline) is unaltered and follows the line whose chain is `previous`."""
    return line[CHAIN_SLICE] == link(previous, line[:-END_BYTES])


def chain_of(line: bytes) -> bytes:
    """The chain as the line states it."""
    return line[CHAIN_SLICE]
