"""Nodes and their bars → the rows of the timeline: one for each node, or lanes where there are too many for that."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from onward.views import words
from onward.views.report.bars import Bar, Look, bars_of
from onward.views.report.gather import Entry, Gathered
from onward.views.table import label

MOST_ROWS = 150
MOST_CHILDREN = 12
"""more children than that are packed into lanes, once there are too many rows"""
MOST_GROUPS = 60
"""groups side by side that get a row each"""
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
        groups = sum(child.path in self._children for child in children)
        if not self._many or len(children) <= MOST_CHILDREN:
            for child in children:
                yield from self._node(child, depth)
        elif groups > MOST_GROUPS:
            yield self._packed([leaf for child in children for leaf in self._leaves(child)], depth)
        else:
            yield from self._partly_packed(children, depth, open=groups <= MOST_CHILDREN)

    def _partly_packed(self, children: list[Entry], depth: int, *, open: bool) -> Iterator[Row]:
        """Neighbours without children share a row; each group has rows, or (not `open`) one row of its own."""
        for is_group, some in groupby(children, key=lambda child: child.path in self._children):
            same = list(some)
            if not is_group and len(same) > MOST_CHILDREN:
                yield self._packed(same, depth)
                continue
            for child in same:
                if open or not is_group:
                    yield from self._node(child, depth)
                else:
                    yield self._packed(list(self._leaves(child)), depth, of=child)

    def _node(self, entry: Entry, depth: int) -> Iterator[Row]:
        text = label(entry.path)
        yield Row(depth=depth, text=text, status=entry.view.status, lanes=[self._bars[entry.path]], entry=entry)
        yield from self.below(entry.path, depth + 1)

    def _leaves(self, entry: Entry) -> Iterator[Entry]:
        if entry.leaf:
            yield entry
        for child in self._children.get(entry.path, []):
            yield from self._leaves(child)

    def _packed(self, leaves: list[Entry], depth: int, of: Entry | None = None) -> Row:
        """One row for many; `of`: they are all that is in a group, which the row stands for."""
        lanes = _lanes(sorted((bar for leaf in leaves for bar in self._bars[leaf.path]), key=lambda bar: bar.start))
        if of is not None:
            return Row(depth=depth, text=label(of.path), status=of.view.status, lanes=lanes or [[]], entry=of)
        counts = Counter(leaf.view.status for leaf in leaves)
        many = words.amount(len(leaves), "task")
        told = [f"{count:,} {words.status_word(status)}" for status, count in counts.most_common()]
        text = f"{many}: {', '.join(told)}" if len(told) > 1 else f"{many} {words.status_word(next(iter(counts)))}"
        return Row(depth=depth, text=text, status=_worst(counts), lanes=lanes or [[]])


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
