"""Mistakes of meaning: what a workflow says cannot be, told with place, marker and a next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.engine.definition import load_plan
from onward.errors import Problem, Problems
from onward.plan.make import make_plan
from onward.spec.load import load


def problems(tmp_path: Path, text: str) -> list[Problem]:
    file = tmp_path / "w.yaml"
    file.write_text(text)
    with pytest.raises(Problems) as caught:
        load_plan(file, shown="w.yaml")
    return caught.value.problems


def warnings(tmp_path: Path, text: str) -> list[Problem]:
    file = tmp_path / "w.yaml"
    file.write_text(text)
    return load_plan(file, shown="w.yaml").warnings


def only(tmp_path: Path, text: str) -> Problem:
    [found] = problems(tmp_path, text)
    return found


def without_marker(problem: Problem) -> str:
    lines = str(problem).splitlines()
    return "\n".join(line for line in lines if line.strip() != "^" and not line.startswith("    in task"))


def test_mistake_6_a_reference_in_a_shell_script(tmp_path):
    text = 'variables: {pr_number: "1"}\ntask:\n  - a: {run: gh pr checkout "pr-{{pr_number}}"}\n'
    found = without_marker(only(tmp_path, text.replace("{run: gh", "{run: 'gh").replace('}}"}', "}}\"'}")))
    assert "error[template-in-script]: `{{pr_number}}` in a shell script would turn data into code" in found
    assert 'help: write "$pr_number": every variable is in the environment; or use the list form of `run`' in found


def test_mistake_7_a_name_that_nothing_has(tmp_path):
    text = 'variables: {pr_number: "1"}\ntask:\n  - review:\n      prompt: Review {{pr_numer}}.\n'
    assert without_marker(only(tmp_path, text)) == (
        "w.yaml:4:22: error[unknown-name]: nothing called `pr_numer` is visible here\n"
        "    4 |       prompt: Review {{pr_numer}}.\n"
        '    help: did you mean the variable `pr_number`? For literal text write {{"{{pr_numer}}"}}'
    )


def test_mistake_8_a_result_that_does_not_exist_yet(tmp_path):
    text = "task:\n  - review:\n\n      prompt: Extend {{publish.text}}.\n  - publish:\n      prompt: x\n"
    found = only(tmp_path, text)
    assert (found.code, found.place.line, found.place.column) == ("not-yet", 4, 22)
    assert "`publish` runs later than `review` (line 5), so its result does not exist yet" in found.message
    assert "move `review` after `publish`" in (found.help or "")


def test_mistake_15_a_secret_in_a_text(tmp_path):
    text = "secrets: {GH_TOKEN: {env: GH_TOKEN}}\n"
    text += "task:\n  - a:\n      secrets: [GH_TOKEN]\n      prompt: Log in {{GH_TOKEN}}\n"
    file = tmp_path / "w.yaml"
    file.write_text(text)
    with pytest.raises(Problems) as caught:
        make_plan(load(file, shown="w.yaml"))
    [found] = caught.value.problems
    assert found.code == "secret-in-text"
    assert "release it with `secrets: [GH_TOKEN]`" in (found.help or "")


MISTAKES = {
    "a member cannot see its sibling": ("not-yet", "task: [{a: {run: ls}, b: {run: [echo, '{{a.text}}']}}]"),
    "a name inside a container is not visible beside it": (
        "unknown-name",
        "task: [{g: {task: [{inner: {run: ls}}]}}, {b: {run: [echo, '{{inner.text}}']}}]",
    ),
    "an output that was not declared": ("unknown-field", "task: [{a: {run: ls}}, {b: {run: [echo, '{{a.sha}}']}}]"),
    "a gate's answer of a task that is none": (
        "unknown-field",
        "task: [{a: {run: ls}}, {b: {run: [echo, '{{a.choice}}']}}]",
    ),
    "code for an interpreter": (
        "interpreter-template",
        "variables: {x: '1'}\ntask: [{a: {run: [env, A=1, bash, -c, 'echo {{x}}']}}]",
    ),
    "code for python": ("interpreter-template", "variables: {x: '1'}\ntask: [{a: {run: [python3.12, -c, '{{x}}']}}]"),
    "a program from a value": ("template-in-program", "variables: {x: '1'}\ntask: [{a: {run: ['{{x}}', y]}}]"),
    "a value for PATH": ("env-reserved", "variables: {x: '1'}\ntask: [{a: {run: ls, env: {PATH: '{{x}}'}}}]"),
    "a value for LD_PRELOAD": (
        "env-reserved",
        "variables: {x: '1'}\ntask: [{a: {run: ls, env: {LD_PRELOAD: '{{x}}'}}}]",
    ),
    "a path that leaves the directory": (
        "outside-directory",
        "variables: {x: '1'}\ntask: [{a: {run: ls, artifacts: ['../{{x}}']}}]",
    ),
    "a command of a condition with a value": (
        "template-in-script",
        "variables: {x: '1'}\ntask: [{a: {run: ls, skip-if: {command: 'test {{x}}'}}}]",
    ),
    "a task that is called like a variable": ("name-clash", "variables: {a: '1'}\ntask: [{a: {run: ls}}]"),
    "a loop variable that hides a variable": (
        "shadow",
        "variables: {x: '1'}\ntask: [{a: {loop: {for-each: [1], as: x}, run: ls}}]",
    ),
    "a member that needs one that is not there": (
        "unknown-name",
        "task: [{g: {parallel: {a: {run: ls}, b: {run: ls, needs: [c]}}}}]",
    ),
    "members that need each other": (
        "needs-cycle",
        "task: [{g: {parallel: {a: {run: ls, needs: [b]}, b: {run: ls, needs: [a]}}}}]",
    ),
    "an adapter that nobody declared": ("bad-value", "task: [{a: {prompt: x, adapter: clade}}]"),
    "previous outside a loop": ("unknown-name", "task: [{a: {run: [echo, '{{previous.b.text}}']}}]"),
}


@pytest.mark.parametrize("what", MISTAKES)
def test_what_cannot_be_is_an_error(tmp_path, what):
    code, text = MISTAKES[what]
    found = problems(tmp_path, text + "\n")
    assert code in [problem.code for problem in found], [str(problem) for problem in found]


def test_other_braces_are_left_alone(tmp_path):
    text = "task: [{a: {run: \"docker ps --format '{{.Names}}' && echo '{{#if x}}'\"}},"
    text += " {b: {prompt: 'style={{color: 1}}'}}]\n"
    assert [problem.code for problem in warnings(tmp_path, text)] == []


def test_a_near_miss_in_a_script_is_a_warning(tmp_path):
    text = "variables: {note: '1'}\ntask: [{a: {run: 'echo {{noet}}'}}]\n"
    [found] = warnings(tmp_path, text)
    assert "note" in str(found)


def test_a_variable_without_quotes_in_a_script_is_a_warning(tmp_path):
    text = "variables: {note: '1'}\ntask: [{a: {run: 'echo $note'}}, {b: {run: 'echo \"$note\" \"${note}\"'}}]\n"
    [found] = warnings(tmp_path, text)
    assert found.place.line == 2
    assert found.trail == ("a",)


def test_an_undeclared_variable_that_resembles_nothing_is_a_warning_that_names_the_flag(tmp_path):
    [found] = warnings(tmp_path, "task: [{a: {prompt: 'Look at {{pull_request}}.'}}]\n")
    assert "--var" in str(found)


@pytest.mark.parametrize("name", ["minimal", "fix-until-green", "daily-sales", "pr-review", "e2e-from-requirements"])
def test_the_worked_examples_have_a_plan(name):
    plan, _ = make_plan(load(Path(__file__).parent / "workflows" / f"{name}.yaml"), ["pr_number"])
    assert [node.path for node in plan.root.walk()][1:]
    assert all(node.digest for node in plan.root.walk() if node.path)
