"""What was edited between two plans of one workflow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.plan.diff import _longest_ascent, compare, renames
from plan.planning import Workshop


def changes(w: Workshop, old: str, new: str) -> list[tuple[str, str]]:
    return [(each.path, each.change) for each in compare(w.plan(f"task: [{old}]"), w.plan(f"task: [{new}]"))]


A, B, C = "{a: {run: a}}", "{b: {run: b}}", "{c: {run: c}}"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (A, A, []),
        (A, "{a: {run: x}}", [("a", "edited")]),
        (A, "{a: {prompt: a}}", [("a", "edited")]),
        (A, "{a: {run: a, title: t, timeout: 1m}}", []),
        (f"{A},{B}", f"{A},{C},{B}", [("c", "added")]),
        (f"{A},{B}", B, [("a", "removed")]),
        (f"{A},{B}", f"{B},{A}", [("b", "moved")]),
        (f"{A},{B},{C}", f"{C},{A},{B}", [("c", "moved")]),
        (f"{A},{B},{C}", f"{B},{C},{A}", [("a", "moved")]),
        (A, "{b: {run: a, was: a}}", [("b", "renamed")]),
        (A, "{b: {run: x, was: a}}", [("b", "renamed"), ("b", "edited")]),
        (A, "{b: {run: a}}", [("b", "added"), ("a", "removed")]),
        (f"{A},{B}", "{b: {run: b, was: a}}", [("a", "removed")]),
        (A, "{a: {run: a}}, {b: {run: a, was: a}}", [("b", "added")]),
        ("{a: {run: a}, b: {run: b}}", "{b: {run: b}, a: {run: a}}", []),
        (f"{A},{B}", "{a: {run: a}, b: {run: b}}", []),
        ("{g: {task: [" + A + "]}}", "{g: {task: [{a: {run: x}}," + B + "]}}", [("g/a", "edited"), ("g/b", "added")]),
        ("{g: {parallel: " + A + "}}", "{g: {parallel: {a: {run: a}, b: {run: b}}}}", [("g/b", "added")]),
        (
            "{g: {parallel: " + A + ", merge: [" + B + "]}}",
            "{g: {parallel: " + A + ", merge: [{b: {run: x}}]}}",
            [("g/@merge/b", "edited")],
        ),
        ("{g: {task: [" + A + "]}}", "{h: {was: g, task: [" + A + "]}}", [("h", "renamed")]),
        (
            "{g: {loop: {for-each: [x]}, task: [" + A + "]}}",
            "{g: {loop: {for-each: [y]}, task: [" + A + "]}}",
            [("g", "edited")],
        ),
        (A, A + ", {g: {task: [" + B + "," + C + "]}}", [("g", "added")]),
    ],
)
def test_each_kind_of_edit_is_told(w: Workshop, old: str, new: str, expected: list[tuple[str, str]]) -> None:
    assert changes(w, old, new) == expected


def test_children_of_a_renamed_container_keep_their_record(w: Workshop) -> None:
    old = w.plan("task: [{g: {task: [{a: {run: a}}, {b: {run: b}}]}}]")
    new = w.plan("task: [{h: {was: g, task: [{a: {run: a}}, {n: {was: b, run: b}}]}}]")
    assert renames(old, new) == {"h": "g", "h/a": "g/a", "h/n": "g/b"}
    assert renames(new, new) == {}


def test_sections_of_the_root_are_compared(w: Workshop) -> None:
    old = w.plan("task: [{a: {run: a}}]\nfinally: [{z: {run: z}}]")
    new = w.plan("task: [{a: {run: a}}]\nfinally: [{z: {run: y}}]\nenv: {A: x}")
    assert [(each.path, each.change) for each in compare(old, new)] == [("", "edited"), ("@finally/z", "edited")]


@given(st.lists(st.integers(0, 9), max_size=12))
def test_as_few_as_possible_are_said_to_have_moved(places: list[int]) -> None:
    kept = _longest_ascent(places)
    assert [places[i] for i in kept] == sorted(places[i] for i in kept)
    best = max((length_from(places, i) for i in range(len(places))), default=0)
    assert len(kept) == best


def length_from(places: list[int], start: int) -> int:
    return 1 + max(
        (length_from(places, i) for i in range(start + 1, len(places)) if places[i] >= places[start]), default=0
    )


def test_a_renamed_node_tells_where_its_record_is(w: Workshop) -> None:
    old = w.plan("task: [{g: {task: [{a: {run: a}}, {b: {run: b}}]}}]")
    new = w.plan("task: [{h: {was: g, task: [{a: {run: a}}, {n: {was: b, run: b}}]}}]")
    assert [(each.path, each.former) for each in compare(old, new)] == [("h", "g"), ("h/n", "h/b")]
