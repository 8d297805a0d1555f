"""Graphs that are too long or too wide for a page are drawn in part; what went wrong is drawn."""

from __future__ import annotations

from itertools import chain

from onward.views.graph import Box, Graph
from onward.views.report.graph import MOST_BESIDE, MOST_ROWS, _pruned, graph_section


def _box(number: int, status: str = "succeeded") -> Box:
    return Box(id=f"n{number}", path=f"p{number}", label=f"task-{number}", detail="run", status=status)


def _root(rows: tuple[tuple[Box, ...], ...], **more: object) -> Box:
    return Box(id="root", path="", label="w", detail="workflow", rows=rows, **more)  # type: ignore[arg-type]


def test_a_short_graph_stays_as_it_is() -> None:
    root = _root(((_box(1), _box(2)), (_box(3),)))
    assert _pruned(root) == root


def test_a_long_sequence_shows_its_beginning_its_end_and_what_went_wrong() -> None:
    rows = tuple((_box(n, "failed" if n == 250 else "succeeded"),) for n in range(300))
    shown = [box.label for row in _pruned(_root(rows)).rows for box in row]
    assert len(shown) < MOST_ROWS
    assert shown[:2] == ["task-0", "task-1"]
    assert "task-250" in shown
    assert shown[-1] == "task-299"
    assert sum(label.startswith("… ") for label in shown) == 2


def test_a_wide_group_shows_what_went_wrong_and_counts_the_rest() -> None:
    row = tuple(_box(n, "failed" if n == 199 else "succeeded") for n in range(200))
    (shown,) = _pruned(_root((row,), needs=(("n1", "n2"), ("n1", "n150")), members=True)).rows
    assert len(shown) == MOST_BESIDE
    assert "task-199" in [box.label for box in shown]
    assert shown[-1].label == f"… {200 - MOST_BESIDE + 1:,} more"
    assert shown[-1].detail == f"{200 - MOST_BESIDE + 1:,} done"


def test_arrows_to_boxes_that_are_not_drawn_are_left_out() -> None:
    row = tuple(_box(n) for n in range(200))
    pruned = _pruned(_root((row,), needs=(("n1", "n2"), ("n1", "n150")), members=True))
    known = {box.id for box in chain.from_iterable(pruned.rows)}
    assert pruned.needs == (("n1", "n2"),)
    assert known >= {"n1", "n2"}


def test_a_graph_of_any_size_is_drawn_small() -> None:
    rows = tuple(tuple(_box(100 * n + m) for m in range(100)) for n in range(100))
    graph = Graph(name="w", title="t", status="succeeded", root=_root(rows))
    assert len(graph_section(graph)) < 1_000_000
