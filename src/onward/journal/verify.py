"""What the chain of a journal proves: that no event was altered, removed or put in before a given one.

The chain cannot show that the *last* lines were cut off. A head that was noted elsewhere (in the state file, in a
snapshot) proves the journal up to that event.
"""

from __future__ import annotations

import os

import msgspec

from onward.journal.findings import Finding
from onward.journal.packed import open_reading
from onward.journal.reader import read


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """`proven` is the last event up to which the chain is whole (0: none), `chain` the head of the whole journal.

    `complete` tells whether a head that was noted elsewhere is in the chain: True, False, or None when none was given.
    """

    lines: int
    last: int
    proven: int
    chain: str
    findings: tuple[Finding, ...]
    complete: bool | None = None

    @property
    def whole(self) -> bool:
        """Nothing was altered or removed, as far as can be told."""
        return self.proven == self.last and self.complete is not False

    @property
    def tail(self) -> str:
        """What can be said about lines cut off at the end."""
        if self.complete is None:
            return f"lines cut off after event {self.last} would not show: no head of the chain was noted elsewhere"
        if self.complete:
            return "the head of the chain that was noted elsewhere is in the journal"
        return "the journal does not lead to the head of the chain that was noted elsewhere: it was cut or replaced"


class _Link(msgspec.Struct, frozen=True):
    seq: int = 0
    chain: str = ""


_link = msgspec.json.Decoder(_Link).decode


def verify(path: str | os.PathLike[str], *, seq: int | None = None, chain: str = "") -> Verification:
    """Check every line. `seq` and `chain`: an event and its chain as something other than the journal recorded them."""
    reading = read(path).finish()
    return Verification(
        lines=reading.position.line,
        last=reading.position.seq,
        proven=reading.proven,
        chain=reading.position.chain,
        findings=tuple(reading.findings),
        complete=None if seq is None else seq <= reading.proven and _chain_of_event(path, seq) == chain,
    )


def _chain_of_event(path: str | os.PathLike[str], seq: int) -> str:
    marker = b'"seq":%d,' % seq
    with open_reading(path) as file:
        return next((_link(line).chain for line in file if marker in line and _link(line).seq == seq), "")
