"""The values of variables: who wins, what must be there, what is refused."""

import pytest

from onward.errors import UsageError
from onward.plan.inputs import resolve_variables
from plan.planning import Workshop

TEXT = """\
variables:
  pr_number: {required: true, matches: '^[0-9]+$', description: number of the pull request}
  base: main
  note: {description: free}
task: [{a: {prompt: "{{pr_number}} {{base}} {{extra}}"}}]
"""


def test_the_command_line_wins_over_the_file_and_the_file_over_the_default(w: Workshop) -> None:
    plan = w.plan(TEXT)
    given = {"pr_number": "1", "extra": "e"}
    assert resolve_variables(plan, given, {}) == {"pr_number": "1", "base": "main", "extra": "e"}
    assert resolve_variables(plan, given, {"base": "dev", "pr_number": "2"})["base"] == "dev"
    assert resolve_variables(plan, given, {"base": "dev", "pr_number": "2"})["pr_number"] == "1"
    assert resolve_variables(plan, given | {"base": ""}, {"base": "dev"})["base"] == ""


def refused(
    w: Workshop, given: dict[str, str], from_file: dict[str, str] | None = None, text: str = TEXT
) -> UsageError:
    with pytest.raises(UsageError) as caught:
        resolve_variables(w.plan(text), given, from_file or {})
    return caught.value


def test_everything_that_is_missing_is_told_at_once(w: Workshop) -> None:
    error = refused(w, {})
    assert error.message.splitlines() == [
        "the variable `pr_number` (number of the pull request) needs a value",
        "`{{extra}}` is used in the workflow and has no value",
    ]
    assert error.help == "give --var pr_number=… --var extra=…"


def test_a_value_has_to_match(w: Workshop) -> None:
    assert (
        "the value `x` of `pr_number` does not match `^[0-9]+$`" in refused(w, {"pr_number": "x", "extra": ""}).message
    )
    assert "does not match" in refused(w, {"extra": ""}, {"pr_number": "x1"}).message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FOO", "must begin with a small letter"),
        ("a-b", "must begin with a small letter"),
        ("http_proxy", "would change how programs reach the network"),
        ("no_proxy", "would change how programs reach the network"),
        ("datetime", "is a word of the format"),
        ("self", "is a word of the format"),
        ("", "must begin with a small letter"),
    ],
)
def test_a_name_that_no_variable_can_have_is_refused(w: Workshop, name: str, words: str) -> None:
    assert words in refused(w, {name: "x"}).message
    assert words in refused(w, {}, {name: "x"}).message


@pytest.mark.parametrize(("value", "words"), [("a\0b", "NUL"), ("a\udcffb", "not valid UTF-8")])
def test_what_is_no_text_is_refused(w: Workshop, value: str, words: str) -> None:
    assert words in refused(w, {"base": value}).message


def test_a_slip_is_told_with_the_name_that_is_meant(w: Workshop) -> None:
    error = refused(w, {"pr_numer": "1", "extra": "e"})
    assert "the workflow has no variable `pr_numer`" in error.message
    assert "did you mean `pr_number`?" in (error.help or "")


def test_an_extra_name_is_taken_and_told(w: Workshop) -> None:
    warnings: list[str] = []
    found = resolve_variables(w.plan(TEXT), {"pr_number": "1", "extra": "e", "wholly_other": "x"}, {}, warnings)
    assert found["wholly_other"] == "x"
    assert warnings == ["nothing in the workflow names the variable `wholly_other`; it is only in the environment"]


def test_a_workflow_that_declares_nothing_takes_anything(w: Workshop) -> None:
    warnings: list[str] = []
    plan = w.plan("task: [{a: {run: 'echo \"$pr_number\"'}}]")
    assert resolve_variables(plan, {"pr_number": "1"}, {}, warnings) == {"pr_number": "1"}
    assert warnings == []


def test_a_name_of_a_task_is_no_variable(w: Workshop) -> None:
    assert "is a task of this workflow" in refused(w, {"a": "x"}, text="task: [{a: {run: x}}]").message


def test_values_are_not_read_in_any_way(w: Workshop) -> None:
    value = "costs $5, $NOPE and ${NOPE}, `id`, $(id), {braces}, 100% {{base}}\n'\""
    assert resolve_variables(w.plan("variables: {n: x}\ntask: [{a: {run: x}}]"), {"n": value}, {}) == {"n": value}
