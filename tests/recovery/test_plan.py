"""`onward resume --plan` tells what the resume then does, and changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from onward.recovery.levels import Level
from recovery.conftest import fingerprint
from recovery.scenes import DONE_BEFORE, LEFT_TO_DO, PREPARED, finish, let_through
from stories.project import Project

Scene = Callable[[Level], Project]


def plan_of(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    return dict(json.loads(project.onward("resume", "r", "--plan", "--json", *words).check(code).out))


def started(project: Project) -> set[str]:
    """The tasks of which an attempt was begun since the last resume."""
    lines = [json.loads(line) for line in project.read(".onward/runs/r/journal.jsonl").splitlines()]
    resumed = max(i for i, line in enumerate(lines) if line["type"] == "workflow_resume")
    return {line["path"] for line in lines[resumed:] if line["type"] == "attempt_start"}


@pytest.mark.parametrize("level", Level)
def test_the_level_is_the_one_that_the_interruption_calls_for(scene: Scene, level: Level):
    assert plan_of(scene(level))["level"] == level


@pytest.mark.parametrize("level", Level)
def test_what_is_foretold_is_what_is_done(scene: Scene, level: Level):
    project = scene(level)
    before = fingerprint(project.root)
    foretold = plan_of(project)
    assert fingerprint(project.root) == before, "a look changes nothing"
    let_through(project)
    project.onward("resume", "r", "--yes").check(3 if level is Level.CHECKPOINT else 0)
    by = {node["path"]: node["verdict"] for node in foretold["nodes"]}
    works = {path for path, verdict in by.items() if verdict in ("do again", "begin")}
    if level is Level.CHECKPOINT:
        works -= {"publish"}  # it comes after the question
        assert by["review"] == "ask"
    assert started(project) == works - {"review"}
    finish(project, level)
    done = [*PREPARED, *DONE_BEFORE.get(level, []), *LEFT_TO_DO[level]]
    assert project.counts == dict.fromkeys(done, 1)


def test_a_flag_changes_the_plan_as_it_changes_the_resume(scene: Scene):
    project = scene(Level.FAILED)
    assert {n["path"]: n["verdict"] for n in plan_of(project)["nodes"]}["write"] == "do again"
    skipping = plan_of(project, "--skip", "write")
    assert {n["path"]: n["verdict"] for n in skipping["nodes"]}["write"] == "keep"
    assert skipping["next"] == "onward resume r --skip write"
    project.onward("resume", "r", "--skip", "write").check()
    assert project.counts == dict.fromkeys([*PREPARED, "publish"], 1)
    assert project.node("write")["status"] == "skipped"


def test_missing_and_changed_files_are_told_with_the_choices(scene: Scene):
    project = scene(Level.RERUN)
    (project.root / "req-p03.md").unlink()
    (project.root / "req-p17.md").write_text("edited")
    foretold = plan_of(project, code=3)
    assert foretold["waits"]
    by = {node["path"]: node for node in foretold["nodes"]}
    assert by["prepare/p03"]["verdict"] == "do again"
    assert "gone" in by["prepare/p03"]["reason"]
    changed = next(finding for finding in foretold["findings"] if finding["kind"] == "artifact-changed")
    assert changed["path"] == "prepare/p17"
    assert [choice["command"] for choice in changed["choices"]] == [
        "onward resume r --yes",
        "onward resume r --rerun prepare/p17",
    ]
    assert foretold["artifacts"]["intact"] == 0
    let_through(project)
    project.onward("resume", "r").check(3)
    project.onward("resume", "r", "--yes").check()
    assert project.counts["p03"] == 2
    assert project.counts["p17"] == 1


def test_an_edit_of_finished_work_is_told_with_what_used_its_result(project: Project):
    text = """
        task:
          - first: {{run: 'echo {0}'}}
          - second: {{run: [echo, "{{{{first.text}}}}"]}}
          - third: {{run: test -e go}}
    """
    project.workflow(text.format("one"))
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.workflow(text.format("two"))
    [edited] = [one for one in plan_of(project)["findings"] if one["kind"] == "edited"]
    assert edited["path"] == "first"
    assert "`second` used its result" in edited["text"]
    assert edited["choices"][0]["command"] == "onward resume r --rerun first"


def test_a_workflow_that_does_not_load_is_a_choice_and_not_an_end(scene: Scene):
    project = scene(Level.FAILED)
    (project.root / "w.yaml").write_text("task: [{a: {rum: x}}]")
    foretold = plan_of(project, code=3)
    [broken] = [one for one in foretold["findings"] if one["kind"] == "definition"]
    assert broken["choices"][0]["command"] == "onward resume r --original"
    let_through(project)
    project.onward("resume", "r", "--original").check()


def test_a_run_that_has_succeeded_has_nothing_to_do(project: Project):
    project.workflow("task: [{a: {run: 'true'}}]")
    project.onward("run", "w.yaml", "--id", "r").check()
    assert "nothing to do" in project.onward("resume", "r", "--plan").check().out
    assert plan_of(project)["next"] is None


def test_without_a_terminal_nothing_is_asked_and_nothing_hangs(scene: Scene):
    project = scene(Level.RERUN)
    let_through(project)
    project.onward("resume", "r").check()
    assert project.counts == dict.fromkeys([*PREPARED, "write", "publish"], 1)


@pytest.mark.parametrize("level", Level)
def test_the_status_has_the_same_findings_as_the_plan(scene: Scene, level: Level):
    project = scene(level)
    (project.root / "req-p17.md").write_text("edited")
    foretold = [one for one in plan_of(project, code=3)["findings"] if one["kind"] not in ("uncommitted", "revision")]
    assert project.status("r")["findings"] == foretold
    assert any(one["kind"] == "artifact-changed" for one in foretold)
