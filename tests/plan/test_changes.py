"""What counts as a change of a node (`format.md` 5.1), and how two definitions are told apart (5.4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.engine.definition import load_plan
from onward.errors import UsageError
from onward.model.nodes import Plan
from onward.plan.codec import decode_plan, encode_plan
from onward.plan.diff import compare
from onward.plan.inputs import resolve_variables


def plan_of(tmp_path: Path, text: str, name: str = "w.yaml") -> Plan:
    file = tmp_path / name
    file.write_text(text)
    return load_plan(file).plan


def digest(tmp_path: Path, fields: str, extra: str = "") -> str:
    text = f"{extra}\ntask:\n  - before: {{run: ls}}\n  - a: {{{fields}}}\n"
    return next(n.digest for n in plan_of(tmp_path, text).root.walk() if n.path == "a")


IN = {
    "the script": ("run: ls", "run: ls -l"),
    "script or list": ("run: ls", "run: [ls]"),
    "the shell": ("run: ls", "run: ls, shell: sh"),
    "stdin": ("run: cat", "run: cat, stdin: x"),
    "env": ("run: ls", "run: ls, env: {A: b}"),
    "directory": ("run: ls", "run: ls, directory: sub"),
    "outputs": ("run: ls", "run: ls, outputs: {x: text}"),
    "artifacts": ("run: ls", "run: ls, artifacts: [x]"),
    "ensure": ("run: ls", "run: ls, ensure: {after: [{file-exists: x}]}"),
    "validators": ("run: ls", "run: ls, validators: [{file-exists: x}]"),
    "the prompt": ("prompt: a", "prompt: b"),
    "adapter": ("prompt: a", "prompt: a, adapter: echo"),
    "model": ("prompt: a", "prompt: a, model: m"),
    "session": ("prompt: a", "prompt: a, session: keep"),
    "arguments": ("call: 'm:f'", "call: 'm:f', with: {x: 1}"),
    "type of an argument": ("call: 'm:f', with: {x: 1}", "call: 'm:f', with: {x: '1'}"),
    "schema": ("call: 'm:f'", "call: 'm:f', schema: {type: object}"),
    "what the loop goes through": ("run: ls, loop: {for-each: [1]}", "run: ls, loop: {for-each: [2]}"),
}
OUT = {
    "title": ("run: ls", "run: ls, title: List"),
    "retry": ("run: ls", "run: ls, retry: {attempts: 3}"),
    "timeout": ("run: ls", "run: ls, timeout: 5s"),
    "skip-if": ("run: ls", "run: ls, skip-if: {file-exists: x}"),
    "on-failure": ("run: ls", "run: ls, on-failure: continue"),
    "extension": ("run: ls", "run: ls, x-note: hello"),
    "order of keys": ("run: ls, env: {A: b, C: d}", "env: {C: d, A: b}, run: ls"),
    "limit of a loop": ("run: ls, loop: {for-each: [1]}", "run: ls, loop: {for-each: [1], limit: 3}"),
    "delay of a loop": ("run: ls, loop: {for-each: [1]}", "run: ls, loop: {for-each: [1], delay: 3s}"),
}


@pytest.mark.parametrize("what", IN)
def test_what_changes_the_work_changes_the_hash(tmp_path, what):
    one, other = IN[what]
    assert digest(tmp_path, one) != digest(tmp_path, other)


@pytest.mark.parametrize("what", OUT)
def test_what_does_not_change_the_work_leaves_the_hash(tmp_path, what):
    one, other = OUT[what]
    assert digest(tmp_path, one) == digest(tmp_path, other)


def test_defaults_are_part_of_a_node_as_if_written_there(tmp_path):
    extra = "defaults: {run: {directory: sub, timeout: 5s}}"
    assert digest(tmp_path, "run: ls", extra) == digest(tmp_path, "run: ls, directory: sub")


def test_the_content_of_a_prompt_file_is_part_of_the_node(tmp_path):
    (tmp_path / "p.md").write_text("one")
    one = digest(tmp_path, "prompt: {file: p.md}")
    (tmp_path / "p.md").write_text("two")
    assert digest(tmp_path, "prompt: {file: p.md}") != one


def test_a_plan_is_the_same_after_storing_and_reading_it(tmp_path):
    text = "variables: {x: '1'}\ntask: [{a: {run: [echo, '{{x}}']}}, {g: {parallel: {b: {prompt: 'p {{a.text}}'}}}}]\n"
    plan = plan_of(tmp_path, text)
    assert decode_plan(encode_plan(plan)) == plan


def changes(tmp_path: Path, old: str, new: str) -> set[tuple[str, str]]:
    return {
        (change.path, str(change.change))
        for change in compare(plan_of(tmp_path, old, "old.yaml"), plan_of(tmp_path, new, "new.yaml"))
    }


def test_edited_added_removed_and_moved_nodes_are_told_apart(tmp_path):
    old = "task: [{a: {run: ls}}, {b: {run: ls}}, {c: {run: ls}}]\n"
    assert changes(tmp_path, old, old + "# a comment\n") == set()
    assert changes(tmp_path, old, old.replace("b: {run: ls}", "b: {run: pwd}")) == {("b", "edited")}
    assert changes(tmp_path, old, old.replace(", {c: {run: ls}}", "")) == {("c", "removed")}
    assert changes(tmp_path, old, old.replace("]\n", ", {d: {run: ls}}]\n")) == {("d", "added")}
    moved = changes(tmp_path, old, "task: [{b: {run: ls}}, {a: {run: ls}}, {c: {run: ls}}]\n")
    assert len(moved) == 1
    assert moved <= {("a", "moved"), ("b", "moved")}


# --- variables ------------------------------------------------------------------------------------------------

DECLARED = """
variables:
  pr: {required: true, matches: '^[0-9]+$'}
  base: main
  empty:
task: [{a: {run: [echo, '{{pr}} {{base}} {{empty}}']}}]
"""


def test_the_command_line_wins_over_the_file_and_that_over_the_default(tmp_path):
    plan = plan_of(tmp_path, DECLARED)
    assert resolve_variables(plan, {"pr": "1"}, {}) == {"pr": "1", "base": "main", "empty": ""}
    assert resolve_variables(plan, {"pr": "1"}, {"pr": "2", "base": "dev"})["base"] == "dev"
    assert resolve_variables(plan, {"pr": "1"}, {"pr": "2"})["pr"] == "1"


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({}, "pr"),
        ({"pr": "x"}, "pr"),
        ({"pr": "1", "basee": "x"}, "base"),
        ({"pr": "1", "http_proxy": "x"}, "http_proxy"),
        ({"pr": "1", "UPPER": "x"}, "UPPER"),
        ({"pr": "1", "base": "a\0b"}, "base"),
    ],
)
def test_values_that_do_not_fit_are_refused_with_their_name(tmp_path, given, word):
    with pytest.raises(UsageError) as caught:
        resolve_variables(plan_of(tmp_path, DECLARED), given, {})
    assert word in str(caught.value)


def test_an_undeclared_variable_has_to_be_given(tmp_path):
    plan = plan_of(tmp_path, "task: [{a: {prompt: 'Look at {{pull_request}}.'}}]\n")
    assert plan.undeclared == ("pull_request",)
    assert resolve_variables(plan, {"pull_request": "7"}, {}) == {"pull_request": "7"}
    with pytest.raises(UsageError, match="pull_request"):
        resolve_variables(plan, {}, {})
