"""What a reader of a journal may come upon, and which of it a person has to decide about."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from onward.model.events import AnyEvent


class FindingKind(StrEnum):
    """What was found."""

    TORN_TAIL = "torn-tail"
    """a write at the end was cut off: nobody was told of what it held, and `mend_tail` sets it aside"""
    DAMAGE = "damage"
    """whole lines that cannot be read or were altered; they are left where they are"""
    GAP = "gap"
    """lines are missing"""
    UNREADABLE_HEAD = "unreadable-head"
    """the first line does not say which run this is: mirrors may"""
    STALE_DRIVER = "stale-driver"
    """lines of a driver that had been taken over: left out"""
    UNKNOWN_EVENT = "unknown-event"
    """events that only a newer `onward` knows: left out"""
    NEWER_VERSION = "newer-version"
    """the whole journal was begun by a newer `onward`"""


_CHOICE = frozenset({FindingKind.DAMAGE, FindingKind.GAP, FindingKind.UNREADABLE_HEAD, FindingKind.NEWER_VERSION})


class Finding(Struct, frozen=True, kw_only=True):
    """Something found in a journal. `line` counts from 1, `offset` and `end` are bytes of the file.

    `events` are the first and last sequence number that are concerned, as far as that can be known;
    `event` is what an altered line says now.
    """

    kind: FindingKind
    line: int
    lines: int = 1
    offset: int
    end: int
    text: str
    events: tuple[int, int] | None = None
    event: AnyEvent | None = None

    @property
    def needs_choice(self) -> bool:
        """Whether `resume` waits for a person's choice."""
        return self.kind in _CHOICE

    @property
    def where(self) -> str:
        """`line 7 (bytes 2100 to 2480)`."""
        lines = f"line {self.line}" if self.lines == 1 else f"lines {self.line} to {self.line + self.lines - 1}"
        return f"{lines} (bytes {self.offset} to {self.end})"
