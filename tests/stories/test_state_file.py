"""Requirement 1 through the command line: how far the state file says a run is, and that an old one is told."""

import datetime as dt
import json
import os

import pytest

from stories.project import Project

FAILS = """
    checkpoint: {state-file: .state/w.json}
    task:
      - one: {run: echo one >> ledger.txt}
      - two: {run: test -e ok && echo two >> ledger.txt}
"""


def aged(project: Project, days: float) -> None:
    """The state file as if its last write had been so many days ago."""
    path = project.root / ".state/w.json"
    state = json.loads(path.read_bytes())
    before = dt.datetime.now(dt.UTC) - dt.timedelta(days=days)
    state["onward"]["updated_at"] = before.isoformat()
    path.write_text(json.dumps(state))


def test_the_state_file_tells_how_far_the_run_is(project: Project):
    project.workflow(FAILS)
    assert project.onward("run", "w.yaml").code == 1
    told = json.loads(project.read(".state/w.json"))["onward"]
    assert told["status"] == "failed"
    assert told["progress"] == {"total": 2, "done": 1, "percent": 50}


@pytest.mark.parametrize(("days", "words"), [(1.5, "1 day ago"), (9, "9 days ago")])
def test_a_resume_from_an_old_state_file_warns_and_goes_on(project: Project, days: float, words: str):
    project.workflow(FAILS)
    project.onward("run", "w.yaml")
    project.touch("ok")
    aged(project, days)
    said = project.onward("run", "w.yaml", "--resume")
    assert said.code == 0, said.err
    assert "stale checkpoint" in said.err
    assert words in said.err
    assert ("starts afresh" in said.err) == (days > 7)
    assert project.ledger == ["one", "two"]


def test_a_state_file_of_another_program_is_as_old_as_its_last_change(project: Project):
    project.workflow(FAILS)
    path = project.write(".state/w.json", "")
    state = {
        "version": "1.0",
        "workflow_file": "w.yaml",
        "started_at": "2026-02-02T10:00:00-08:00",
        "resumed_count": 0,
        "datetime_preserved": "2026-02-02T10:00:00-08:00",
        "completed_tasks": ["one"],
        "failed_tasks": [],
        "current_step_index": 1,
        "variables": {},
    }
    path.write_text(json.dumps(state))
    before = dt.datetime.now().timestamp() - 30 * 86400
    os.utime(path, (before, before))
    project.touch("ok")
    said = project.onward("run", "w.yaml", "--resume")
    assert said.code == 0, said.err
    assert "30 days ago" in said.err
    assert project.ledger == ["two"]


def test_a_fresh_state_file_is_no_reason_for_words(project: Project):
    project.workflow(FAILS)
    project.onward("run", "w.yaml")
    project.touch("ok")
    assert "stale" not in project.onward("run", "w.yaml", "--resume").err


def test_status_shows_that_the_state_file_could_not_be_written(project: Project):
    project.workflow(
        """
        checkpoint: {state-file: .state/w.json}
        task:
          - one: {run: "rm -r .state; touch .state"}
          - two: {run: "true"}
        """
    )
    said = project.onward("run", "w.yaml")
    assert said.code == 0, said.err
    assert ".state" in said.err
    assert ".state: File exists" in project.onward("status").out
    findings = json.loads(project.onward("status", "--json").out)["findings"]
    assert any(".state: File exists" in finding["text"] for finding in findings)
    assert project.onward("verify").code == 0
