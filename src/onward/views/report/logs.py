"""The files of attempts, of any size → the ends of them that fit on a page.

All streams and results of a run share one budget. Those of tasks that need attention are served first; within each
kind everybody gets what he asks for up to a level that is the same for all, so that small ones are whole.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from html import escape

from msgspec import Struct

from onward.views import words

MOST_OF_A_STREAM = 64 << 10
URGENT_SHARE = 0.6
LEAST = 160
"""bytes that everybody gets, whatever the others want"""
SLACK = 1024
"""a short text is not cut because escaping makes it longer"""


class Wish(Struct, frozen=True, kw_only=True):
    """Somebody wants so many bytes of the page."""

    key: Hashable
    bytes: int
    urgent: bool = False


class Cut(Struct, frozen=True, kw_only=True):
    """The end (or beginning) of a text, escaped; `shown` of `total` bytes of it."""

    html: str
    shown: int
    total: int

    @property
    def whole(self) -> bool:
        """Whether nothing was left out."""
        return self.shown >= self.total


def shares(wishes: Iterable[Wish], budget: int) -> dict[Hashable, int]:
    """How many bytes each may take."""
    everybody = list(wishes)
    urgent = [wish for wish in everybody if wish.urgent]
    given = _shares(urgent, int(budget * URGENT_SHARE) if len(urgent) < len(everybody) else budget)
    rest = budget - sum(min(wish.bytes, given[wish.key]) for wish in urgent)
    return given | _shares([wish for wish in everybody if not wish.urgent], rest)


def _shares(wishes: list[Wish], budget: int) -> dict[Hashable, int]:
    given: dict[Hashable, int] = {}
    left = budget
    for position, wish in enumerate(sorted(wishes, key=lambda wish: wish.bytes)):
        level = max(LEAST, left // (len(wishes) - position))
        given[wish.key] = min(wish.bytes, level)
        left = max(0, left - given[wish.key])
    return given


def tail(file: str, limit: int) -> Cut:
    """The end of a file, from a line break on where one is near; at most `limit` bytes of the page."""
    with open(file, "rb") as stream:
        total = stream.seek(0, 2)
        stream.seek(max(0, total - limit))
        data = stream.read(limit)
    if len(data) < total:
        data = _from_a_line(data)
    return _fitting(data, total, limit, lambda part, size: _from_a_line(part[len(part) - size :]))


def head(data: bytes, total: int, limit: int) -> Cut:
    """The beginning of a text; at most `limit` bytes of the page."""
    return _fitting(data[:limit], total, limit, lambda part, size: part[:size])


def _from_a_line(data: bytes) -> bytes:
    at = data.find(b"\n", 0, max(1, len(data) // 2))
    if at >= 0:
        return data[at + 1 :]
    return data.lstrip(bytes(range(0x80, 0xC0))) if data[:1] and 0x80 <= data[0] < 0xC0 else data


def _fitting(data: bytes, total: int, limit: int, shorter: Callable[[bytes, int], bytes]) -> Cut:
    """What control characters, broken bytes and `<` become takes more room than they do: cut until it fits."""
    while True:
        html = _shown(data)
        taken = len(html.encode("utf-8", "replace"))
        if taken <= max(SLACK, limit * 3 // 2) or len(data) <= LEAST:
            return Cut(html=html, shown=len(data), total=total)
        data = shorter(data, max(LEAST, int(len(data) * min(0.9, limit / taken))))


def _shown(data: bytes) -> str:
    return escape(words.output(data.decode("utf-8", "replace"), colour=False))
