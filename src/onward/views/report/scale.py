"""Times of work and times in which nothing runs → places on an axis, where long quiet times take little room."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

WIDTH = 100.0
BREAK_WIDTH = 5.0
MOST_BREAKS = 8
QUIET_SHARE = 0.12
"""a quiet time is cut when it is longer than this share of all the work"""
LEAST_QUIET_S = 2.0
STEPS_S = (
    0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400,
    172800, 604800, 2592000, 31536000,
)  # fmt: skip
MOST_TICKS = 7


Span = tuple[float, float]


class Piece(Struct, frozen=True):
    """A stretch of the axis; `cut`: its length says nothing."""

    start: float
    end: float
    left: float
    right: float
    cut: bool


class Scale:
    """Seconds since the epoch → percent of the width."""

    def __init__(self, start: float, end: float, busy: Iterable[Span]) -> None:
        self.pieces = _pieces(start, max(end, start + 0.1), list(busy))
        self._starts = [piece.start for piece in self.pieces]

    def at(self, time: float) -> float:
        """Where that time is."""
        piece = self.pieces[max(0, bisect_right(self._starts, time) - 1)]
        share = (time - piece.start) / (piece.end - piece.start) if piece.end > piece.start else 0.0
        return piece.left + (piece.right - piece.left) * min(1.0, max(0.0, share))

    def cuts(self) -> list[Piece]:
        """The stretches that were shortened."""
        return [piece for piece in self.pieces if piece.cut]

    def ticks(self) -> Iterator[tuple[float, float]]:
        """Round times to write on the axis, and the place of each."""
        worked = sum(piece.end - piece.start for piece in self.pieces if not piece.cut)
        step = next((step for step in STEPS_S if worked / step <= MOST_TICKS), STEPS_S[-1])
        last = -WIDTH
        for piece in self.pieces:
            time = piece.start - piece.start % step + step if piece.start % step else piece.start
            while not piece.cut and time <= piece.end:
                place = self.at(time)
                if place - last >= WIDTH / MOST_TICKS / 2 and not self._is_by_a_cut(place):
                    last = place
                    yield time, place
                time += step

    def _is_by_a_cut(self, place: float) -> bool:
        return any(cut.left - BREAK_WIDTH < place < cut.right + BREAK_WIDTH for cut in self.cuts())


def _pieces(start: float, end: float, busy: list[Span]) -> list[Piece]:
    quiet = _quiet(start, end, busy)
    worked = sum(map(_length, _between(start, end, quiet)))
    least = max(LEAST_QUIET_S, QUIET_SHARE * worked)
    long = sorted(sorted((span for span in quiet if span[1] - span[0] > least), key=_length)[-MOST_BREAKS:])
    if not worked or long == [(start, end)]:
        long = []
    return list(_laid_out(start, end, long))


def _laid_out(start: float, end: float, cuts: Sequence[Span]) -> Iterator[Piece]:
    kept = _between(start, end, cuts)
    # Added up, and not what the cuts leave of the whole: beside years of quiet a second would be lost in rounding.
    drawn = sum(map(_length, kept))
    room = WIDTH - BREAK_WIDTH * len(cuts)
    left = 0.0
    for before, after in sorted([*kept, *cuts]):
        cut = (before, after) in cuts
        right = left + (BREAK_WIDTH if cut else room * (after - before) / drawn)
        yield Piece(before, after, left, right, cut)
        left = right


def _between(start: float, end: float, cuts: Sequence[Span]) -> list[Span]:
    """What is left of the time between `start` and `end`."""
    edges = [start, *(edge for cut in cuts for edge in cut), end]
    spans = zip(edges[::2], edges[1::2], strict=True)
    return [(before, after) for before, after in spans if after > before]


def _quiet(start: float, end: float, busy: list[Span]) -> list[Span]:
    """The times between `start` and `end` in which nothing was done."""
    found, reached = [], start
    for one_start, one_end in sorted(busy):
        if one_start > reached:
            found.append((reached, min(one_start, end)))
        reached = max(reached, one_end)
    if reached < end:
        found.append((reached, end))
    return found


def _length(span: Span) -> float:
    return span[1] - span[0]
