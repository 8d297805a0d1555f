"""Nodes and their bars → the rows of the timeline: one for each node, or lanes where there are too many for that."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from onward.views import words
from onward.views.report.bars import Bar, Look, bars_of
from onward.views.report.gather import Entry, Gathered
from onward.views.table import label

MOST_ROWS = 150
MOST_CHILDREN = 12
"""more children than that are packed into lanes, once there are too many rows"""
MOST_LANES = 16


class Row(Struct, frozen=True, kw_only=True):
    """`entry` is None of lanes that hold many nodes; lanes are lists of bars that do not overlap."""

    depth: int
    text: str
    status: str
    lanes: list[list[Bar]]
    entry: Entry | None = None


class Rows(Struct, frozen=True, kw_only=True):
    """The rows that are shown, and how many more there are."""

    rows: list[Row]
    left_out: int


def rows_of(gathered: Gathered) -> Rows:
    """The rows of a run, in the order of its file."""
    making = _Making(gathered)
    found = list(making.below(None, 0))
    return Rows(rows=found[:MOST_ROWS], left_out=max(0, len(found) - MOST_ROWS))


class _Making:
    def __init__(self, gathered: Gathered) -> None:
        self._bars = {entry.path: bars for entry in gathered.entries if (bars := bars_of(gathered, entry))}
        self._children: dict[str | None, list[Entry]] = {}
        for entry in gathered.entries:
            if entry.path in self._bars:
                self._children.setdefault(entry.parent, []).append(entry)
        self._many = len(self._bars) > MOST_ROWS

    def below(self, parent: str | None, depth: int) -> Iterator[Row]:
        """The rows of everything below a node."""
        children = self._children.get(parent, [])
        if not self._many or len(children) <= MOST_CHILDREN:
            for child in children:
                yield from self._node(child, depth)
            return
        single = parent is None and len(children) <= MOST_ROWS // 2
        for child in children if single else []:
            yield from self._node(child, depth)
        if not single:
            yield self._packed([leaf for child in children for leaf in self._leaves(child)], depth)

    def _node(self, entry: Entry, depth: int) -> Iterator[Row]:
        text = label(entry.path)
        yield Row(depth=depth, text=text, status=entry.view.status, lanes=[self._bars[entry.path]], entry=entry)
        yield from self.below(entry.path, depth + 1)

    def _leaves(self, entry: Entry) -> Iterator[Entry]:
        if entry.leaf:
            yield entry
        for child in self._children.get(entry.path, []):
            yield from self._leaves(child)

    def _packed(self, leaves: list[Entry], depth: int) -> Row:
        bars = sorted((bar for leaf in leaves for bar in self._bars[leaf.path]), key=lambda bar: bar.start)
        counts = Counter(leaf.view.status for leaf in leaves)
        told = [f"{count:,} {words.status_word(status)}" for status, count in counts.most_common()]
        text = f"{words.amount(len(leaves), 'task')}: {', '.join(told)}"
        return Row(depth=depth, text=text, status=_worst(counts), lanes=_lanes(bars))


def _worst(counts: Counter[str]) -> str:
    order = ("failed", "interrupted", "waiting", "running", "cancelled", "succeeded")
    return next((status for status in order if counts[status]), "skipped")


def _lanes(bars: list[Bar]) -> list[list[Bar]]:
    """Each bar goes into the lane that has been free for longest; those that overlap get further lanes."""
    lanes: list[list[Bar]] = []
    free: list[tuple[float, int]] = []
    for bar in bars:
        if free and (free[0][0] <= bar.start or len(lanes) == MOST_LANES):
            _, number = heapq.heappop(free)
        else:
            number = len(lanes)
            lanes.append([])
        lanes[number].append(bar)
        heapq.heappush(free, (bar.end, number))
    return lanes


def thinned(lane: list[Bar], least_s: float) -> Iterator[Bar]:
    """Neighbours that would be too thin to tell apart become one bar; what went wrong stays by itself."""
    kept: Bar | None = None
    many = 1
    for bar in lane:
        if kept is not None and _belong_together(kept, bar, least_s):
            many += 1
            kept = Bar(start=kept.start, end=max(kept.end, bar.end), look=kept.look, text=words.amount(many, "task"))
            continue
        if kept is not None:
            yield kept
        kept, many = bar, 1
    if kept is not None:
        yield kept


def _belong_together(one: Bar, other: Bar, least_s: float) -> bool:
    thin = min(one.end - one.start, other.end - other.start) < least_s and other.start - one.end < least_s
    return thin and one.look is other.look and one.look in (Look.OK, Look.RETRIED)
