"""Names that change more than once, back to the first one, or while a question is open; plans of such resumes."""

import json

import pytest

from stories.project import Project

WORK = "task:\n  - NAME: {WAS run: 'echo work >> ledger.txt'}\n  - last: {run: test -e ok}\n"


def named(name: str, was: str = "") -> str:
    return WORK.replace("NAME", name).replace("WAS", f"was: {was}," if was else "")


def plan(project: Project, *arguments: str) -> dict[str, str]:
    found = json.loads(project.onward("resume", "--plan", "--json", *arguments).out)
    return {node["path"]: node["verdict"] for node in found["nodes"]}


@pytest.mark.parametrize("again", [named("c", "b"), named("a", "b"), named("a")])
def test_a_name_that_changes_at_two_resumes_keeps_its_record(project: Project, again: str):
    project.workflow(named("a"))
    assert project.onward("run", "w.yaml").code == 1
    project.workflow(named("b", "a"))
    assert project.onward("resume", "--yes").code == 1
    project.workflow(again)
    project.touch("ok")
    assert set(plan(project).values()) == {"keep", "do again"}
    project.onward("resume", "--yes").check()
    project.onward("verify").check()
    assert project.ledger == ["work"]
    assert project.status()["progress"] == {"total": 2, "done": 2, "percent": 100}


def test_the_original_workflow_finds_what_was_renamed(project: Project):
    project.workflow(named("a"))
    assert project.onward("run", "w.yaml").code == 1
    project.workflow(named("b", "a"))
    assert project.onward("resume", "--yes").code == 1
    project.touch("ok")
    project.onward("resume", "--yes", "--original").check()
    assert project.ledger == ["work"]


def test_an_open_question_is_answered_under_its_new_name(project: Project):
    project.workflow("task:\n  - ask: {approve: 'Go on?'}\n")
    assert project.onward("run", "w.yaml").code == 3
    project.workflow("task:\n  - sign: {was: ask, approve: 'Go on?'}\n")
    assert plan(project) == {"sign": "ask"}
    assert project.onward("resume", "--yes").code == 3
    assert [gate["path"] for gate in project.status()["gates"]] == ["sign"]
    project.onward("approve").check()
    project.onward("resume", "--yes").check()


def test_a_plan_knows_what_a_renamed_task_has_done(project: Project):
    project.workflow("task:\n  - g: {task: [{a: {run: echo a}}, {b: {run: test -e ok}}, {c: {run: echo c}}]}\n")
    assert project.onward("run", "w.yaml").code == 1
    project.workflow(
        "task:\n  - h: {was: g, task: [{x: {was: a, run: echo a}}, {y: {was: b, run: test -e ok}}, "
        "{c: {run: echo c}}]}\n"
    )
    assert plan(project) == {"h/x": "keep", "h/y": "do again", "h/c": "begin"}
    assert plan(project, "--rerun-from", "h/x") == {"h/x": "do again", "h/y": "do again", "h/c": "begin"}


def test_a_rewind_to_a_renamed_task_keeps_what_lies_before_it(project: Project):
    before = "task:\n  - a: {run: echo a >> ledger.txt}\n"
    before += "  - b: {run: echo b >> ledger.txt}\n  - last: {run: test -e ok}\n"
    project.workflow(before)
    assert project.onward("run", "w.yaml").code == 1
    project.workflow(before.replace("a: {", "x: {was: a, ").replace("b: {", "y: {was: b, "))
    project.onward("rewind", "--to", "y", "--yes").check()
    project.touch("ok")
    project.onward("resume", "--yes").check()
    project.onward("verify").check()
    assert project.ledger == ["a", "b", "b"]
