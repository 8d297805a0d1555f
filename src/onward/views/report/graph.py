"""The graph of a run → its drawing as a part of the page; very long rows are drawn in part."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from msgspec.structs import replace

from onward.views import words
from onward.views.graph import Box, Graph
from onward.views.graph_svg import svg
from onward.views.report.html import NOTHING, Html, el

MOST_ROWS = 40
MOST_BESIDE = 24
_SETTLED = ("succeeded", "skipped", "pending", "cancelled")

Rows = tuple[tuple[Box, ...], ...]


def graph_section(graph: Graph) -> Html:
    """The section; empty where the definition is not known any more."""
    if graph.root.leaf:
        return NOTHING
    drawing = Html(svg(replace(graph, root=_pruned(graph.root))))
    return el(
        "section",
        el("h2", "Graph", id="graph-title"),
        el(
            "div",
            drawing,
            class_="graph",
            tabindex=0,
            role="region",
            aria_label="Graph of the workflow, can be scrolled",
        ),
        aria_labelledby="graph-title",
    )


def _pruned(box: Box) -> Box:
    rows = _pruned_rows(box.rows, box.id)
    kept = {each.id for each in chain.from_iterable(rows)}
    sections = tuple(replace(one, rows=_pruned_rows(one.rows, one.id)) for one in box.sections)
    needs = tuple(pair for pair in box.needs if kept.issuperset(pair))
    return replace(box, rows=rows, needs=needs, sections=sections)


def _pruned_rows(rows: Rows, id: str) -> Rows:
    beside = [_pruned_row(row, f"{id}r{number}") for number, row in enumerate(rows)]
    if len(beside) <= MOST_ROWS:
        return tuple(beside)
    urgent = [number for number, row in enumerate(beside) if any(box.status not in _SETTLED for box in row)]
    half = MOST_ROWS // 2
    kept = {*range(half), *urgent[:half], len(beside) - 1}
    return tuple(chain.from_iterable(_run_of_rows(beside, kept, id)))


def _run_of_rows(rows: list[tuple[Box, ...]], kept: set[int], id: str) -> list[Rows]:
    """Rows that are not kept become one box where they stood."""
    found: list[Rows] = []
    hidden: list[Box] = []
    for number, row in enumerate(rows):
        if number not in kept:
            hidden.extend(row)
            continue
        if hidden:
            found.append(((_rest(hidden, f"{id}h{number}"),),))
            hidden.clear()
        found.append((row,))
    return found


def _pruned_row(row: tuple[Box, ...], id: str) -> tuple[Box, ...]:
    if len(row) <= MOST_BESIDE:
        return tuple(map(_pruned, row))
    urgent = [box for box in row if box.status not in _SETTLED]
    calm = [box for box in row if box.status in _SETTLED]
    kept = [*urgent, *calm][: MOST_BESIDE - 1]
    names = {box.id for box in kept}
    shown = tuple(_pruned(box) for box in row if box.id in names)
    return (*shown, _rest([box for box in row if box.id not in names], id))


def _rest(boxes: list[Box], id: str) -> Box:
    counts = Counter(box.status or "" for box in boxes)
    told = ", ".join(f"{count:,} {words.status_word(status)}".rstrip() for status, count in counts.most_common())
    return Box(id=id, path="", label=f"… {len(boxes):,} more", detail=told, status=counts.most_common(1)[0][0] or None)
