"""Names that may not meet."""

from itertools import pairwise

import pytest

from onward.plan.suggest import nearest
from plan.planning import Workshop


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("name-clash", "variables: {a: x}\ntask: [{a: {run: x}}]"),
        ("name-clash", "variables: {a: x}\ntask: [{g: {task: [{a: {run: x}}]}}]"),
        ("name-clash", "task: [{datetime: {run: x}}]"),
        ("name-clash", "task: [{attempt: {run: x}}]"),
        ("name-clash", "task: [{g: {task: [{self: {run: x}}]}}]"),
        ("name-clash", "variables: {index: x}\ntask: [{a: {run: x}}]"),
        ("name-clash", "task: [{g: {task: [{status: {run: x}}]}}]"),
        ("name-clash", "task: [{g: {parallel: {results: {run: x}}}}]"),
        ("name-clash", "task: [{g: {parallel: {a: {run: x}}, merge: [{hand-off: {run: x}}]}}]"),
        ("name-clash", "task: [{a: {run: x, outputs: {text: text}}}]"),
        ("name-clash", "task: [{a: {run: x, outputs: {status: text}}}]"),
        ("name-clash", "task: [{a: {approve: x, fields: {note: text}}}]"),
        ("name-clash", "task: [{g: {task: [{a: {run: x}}], outputs: {results: '{{a.text}}'}}}]"),
        ("name-clash", "task: [{g: {task: [{a: {run: x}}], outputs: {a: '{{a.text}}'}}}]"),
        ("name-clash", "task: [{a: {loop: {for-each: [x], as: index}, run: x}}]"),
        ("name-clash", "secrets: {x: {env: X}}\nvariables: {x: '1'}\ntask: [{a: {run: x}}]"),
        ("shadow", "task: [{a: {run: x}}, {g: {task: [{a: {run: x}}]}}]"),
        ("shadow", "task: [{g: {parallel: {a: {run: x}}, merge: [{a: {run: x}}]}}]"),
        ("shadow", "task: [{g: {task: [{a: {run: x}}], finally: [{a: {run: x}}]}}]"),
        ("shadow", "task: [{a: {run: x, on-failure: {task: [{a: {run: x}}]}}}]"),
        ("shadow", "task: [{a: {run: x}}]\nfinally: [{a: {run: x}}]"),
        ("shadow", "task: [{g: {loop: {for-each: [x], as: f}, task: [{f: {run: x}}]}}]"),
        ("shadow", "task: [{f: {run: x}}, {a: {loop: {for-each: [x], as: f}, run: x}}]"),
        ("shadow", "variables: {f: x}\ntask: [{a: {loop: {for-each: [x], as: f}, run: x}}]"),
        (
            "shadow",
            "task: [{a: {loop: {for-each: [x]}, task: [{b: {loop: {for-each: [y]}, run: x}}]}}]",
        ),
        ("unknown-name", "task: [{g: {parallel: {a: {run: x, needs: [c]}, b: {run: x}}}}]"),
        ("needs-cycle", "task: [{g: {parallel: {a: {run: x, needs: [b]}, b: {run: x, needs: [a]}}}}]"),
        ("needs-cycle", "task: [{g: {parallel: {a: {run: x, needs: [a]}}}}]"),
    ],
)
def test_names_that_meet_are_an_error(w: Workshop, code: str, text: str) -> None:
    assert w.codes(text) == [code]


@pytest.mark.parametrize(
    "text",
    [
        "task: [{a: {task: [{a: {run: x}}]}}]",
        "task: [{a: {task: [{c: {run: x}}]}}, {b: {task: [{c: {run: x}}]}}]",
        "task: [{g: {task: [{b: {run: x}}]}}, {b: {run: x}}]",
        "task: [{a: {loop: {for-each: [x]}, run: x}}, {b: {loop: {for-each: [y]}, run: x}}]",
        "task: [{results: {run: x}}, {status: {run: x}}]",
        "task: [{text: {run: x}}, {yes: {run: x}}, {on: {run: x}}, {1: {run: x}}]",
        "variables: {yes: a, on: b}\ntask: [{a: {prompt: '{{yes}} {{on}}'}}]",
        "task: [{a: {run: x}}]\noutputs: {a: '{{a.text}}'}",
    ],
)
def test_names_that_cannot_meet_are_fine(w: Workshop, text: str) -> None:
    assert w.codes(text) == []


def test_a_hidden_task_is_named_with_its_line(w: Workshop) -> None:
    found = w.problem("task:\n  - a: {run: x}\n  - g:\n      task:\n        - a: {run: x}\n")
    assert found.message == "`a` hides another task that is visible here (line 2)"
    assert (found.place.line, found.place.column, found.trail) == (5, 11, ("g", "a"))


def test_a_need_that_is_no_member_is_told_with_the_one_that_is_meant(w: Workshop) -> None:
    found = w.problem("task: [{g: {parallel: {legal-review: {run: x}, publish: {run: x, needs: [legal-reviw]}}}}]")
    assert found.message == "`publish` needs `legal-reviw`, and the group has no member of that name"
    assert found.help == "did you mean `legal-review`?"


def test_a_ring_of_needs_is_shown_in_its_order(w: Workshop) -> None:
    members = "{a: {run: x, needs: [c]}, b: {run: x, needs: [a]}, c: {run: x, needs: [b]}, d: {run: x, needs: [a]}}"
    found = w.problem(f"task: [{{g: {{parallel: {members}}}}}]")
    ring = [name.strip("` ") for name in found.message.partition(": ")[2].split("→")]
    assert ring[0] == ring[-1]
    assert all({"a": "c", "b": "a", "c": "b"}[one] == two for one, two in pairwise(ring))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("pr_numer", "pr_number"),
        ("pr-number", "pr_number"),
        ("PR_NUMBER", "pr_number"),
        ("noet", "note"),
        ("bse", "base"),
        ("onte", "note"),
        ("case", None),
        ("x", None),
        ("number", None),
        ("day", None),
        ("", None),
    ],
)
def test_only_what_is_near_is_suggested(name: str, found: str | None) -> None:
    assert nearest(name, ["pr_number", "note", "base", "y"]) == found
