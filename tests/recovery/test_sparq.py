"""Folders that SparQ left: read, shown, carried on at their level, archived."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from onward.mirrors.sparq_read import REBUILT
from stories.project import Project

WORKFLOW = """
    name: e2e
    variables: {feature: none}
    task:
      - requirements:
          hand-off: {summary: fresh}
          task: [{gather: {run: 'echo gather >> ledger.txt'}}]
      - code:
          parallel:
            login: {run: 'echo login >> ledger.txt'}
            logout: {run: 'echo logout >> ledger.txt'}
            search: {run: 'echo search >> ledger.txt'}
          merge:
            - collect: {run: 'echo collect >> ledger.txt'}
            - combine: {run: 'echo combine >> ledger.txt'}
      - review:
          task:
            - prepare: {run: 'echo prepare >> ledger.txt'}
            - ask: {approve: "Good?"}
            - note: {run: 'echo note >> ledger.txt'}
      - report: {run: [sh, -c, 'echo "report $0" >> ledger.txt', "{{requirements.hand-off.summary}}"]}
"""
CONFIG = '{"e2e": {"framework": "cypress"}, "retries": 1}'


def sparq(project: Project, status: str, phase: str, done: list[str], **more: Any) -> None:
    """A folder as SparQ writes it."""
    project.workflow(WORKFLOW)
    project.write("tests/login.md", "made")
    for name in done:
        artifacts = ["tests/login.md"] if name == "requirements" else []
        handoff = {"phase": name, "summary": "twelve", "report": {"artifacts": artifacts}}
        project.write(f".sparq/plans/handoffs/{name}.json", json.dumps({"handoff": handoff}))
    current = {
        "scenario": "generate-e2e-tests",
        "feature": "Login page",
        "phaseStatus": status,
        "phase": phase,
        "completedPhases": [{"phase": name, "handoffPath": f".sparq/plans/handoffs/{name}.json"} for name in done],
    }
    project.write(".sparq/state/current-task.json", json.dumps(current | more))
    project.write("sparq.config.json", CONFIG)
    snapshot = {"configHash": hashlib.sha256(CONFIG.encode()).hexdigest(), **json.loads(CONFIG)}
    project.write(".sparq/state/config-snapshot.json", json.dumps(snapshot))


def parallel(project: Project, tasks: dict[str, str], merge: dict[str, str]) -> None:
    for name, status in tasks.items():
        if status == "completed":
            project.write(f".sparq/plans/handoffs/{name}.json", json.dumps({"report": {"artifacts": []}}))
    listed = [
        {"id": name, "status": status, "handoffPath": f".sparq/plans/handoffs/{name}.json"}
        for name, status in tasks.items()
    ]
    steps = [{"id": name, "status": status} for name, status in merge.items()]
    project.write(".sparq/state/parallel.json", json.dumps({"tasks": listed, "merge": {"steps": steps}}))


MEMBERS = {"login": "completed", "logout": "completed", "search": "running"}
CODE = ["login", "logout", "search", "collect", "combine"]


@pytest.mark.parametrize(
    ("status", "phase", "done", "merge", "left", "code"),
    [
        ("agent_dispatched", "requirements", [], {}, ["gather", *CODE, "prepare"], 3),
        ("starting", "code", ["requirements"], {}, [*CODE, "prepare"], 3),
        ("parallel_dispatched", "code", ["requirements"], {}, ["search", "collect", "combine", "prepare"], 3),
        ("parallel_collecting", "code", ["requirements"], {}, ["search", "collect", "combine", "prepare"], 3),
        ("merging", "code", ["requirements"], {"collect": "completed"}, ["combine", "prepare"], 3),
        ("checkpoint_pending", "review", ["requirements", "code"], {}, [], 3),
        ("completing", "review", ["requirements", "code"], {}, ["report twelve"], 0),
        ("completed", "review", ["requirements", "code", "review"], {}, ["report twelve"], 0),
        ("failed", "code", ["requirements"], {}, [*CODE, "prepare"], 3),
    ],
)  # fmt: skip
def test_each_status_is_recovered_at_its_level(
    project: Project, status: str, phase: str, done: list[str], merge: dict[str, str], left: list[str], code: int
):
    sparq(project, status, phase, done)
    members = dict.fromkeys(MEMBERS, "completed") if status == "merging" else MEMBERS
    parallel(project, members, merge | ({"combine": "pending"} if merge else {}))
    project.onward("run", "w.yaml", "--id", "r", "--from", ".sparq").check(code)
    assert sorted(project.ledger) == sorted(left)
    assert project.status("r")["variables"] == {"feature": "Login page"}


def test_a_member_whose_hand_off_is_gone_is_dispatched_again(project: Project):
    sparq(project, "parallel_collecting", "code", ["requirements"])
    parallel(project, MEMBERS, {})
    (project.root / ".sparq/plans/handoffs/logout.json").unlink()
    said = project.onward("run", "w.yaml", "--from", ".sparq").check(3)
    assert project.counts["logout"] == project.counts["search"] == 1
    assert "login" not in project.counts
    assert "`code/logout` is done again: what it made is not all there" in said.err


def test_a_phase_whose_artifact_is_gone_is_done_again(project: Project):
    sparq(project, "starting", "code", ["requirements"])
    (project.root / "tests/login.md").unlink()
    said = project.onward("run", "w.yaml", "--from", ".sparq").check(3)
    assert "`requirements` is done again: tests/login.md is gone" in said.err
    assert project.counts["gather"] == 1


def test_the_screen_is_plain_and_says_what_continuing_would_do(project: Project):
    sparq(project, "parallel_collecting", "code", ["requirements"])
    parallel(project, MEMBERS, {})
    project.write("sparq.config.json", '{"e2e": {"framework": "playwright"}, "retries": 1}')
    project.write("playwright.config.ts", "")
    said = project.onward("resume", "--from", ".sparq").check().out
    assert 'Feature:  "Login page"' in said
    assert "[done] Requirements (1 file)" in said
    assert "Code (2 of 3 done)" in said
    assert "Continue generating (some parts are already done)" in said
    assert "1 of 1 artifacts intact" in said
    assert "e2e.framework: cypress → playwright" in said
    assert "the project now uses playwright" in said
    assert "onward run FILE --from .sparq" in said
    assert "parallel_collecting" not in said
    assert "tests/login.md" in project.onward("resume", "--from", ".sparq", "--view").check().out


def test_a_broken_state_is_kept_and_rebuilt_from_the_last_lines_of_the_journal(project: Project):
    sparq(project, "merging", "code", ["requirements"])
    lines = [{"event": "workflow_start", "scenario": "old", "feature": "Old"}]
    lines += [{"event": "note"}] * 60
    lines += [{"event": "phase_complete", "phase": "requirements", "scenario": "e2e", "feature": "Login page"}]
    text = "\n".join(json.dumps(line) for line in lines) + '\n{"event": "phase_co'
    project.write(".sparq/state/journal.jsonl", text)
    broken = '{"phaseStatus": "mer'
    project.write(".sparq/state/current-task.json", broken)
    said = project.onward("run", "w.yaml", "--from", ".sparq").check(3)
    assert REBUILT in said.err
    assert project.read(".sparq/state/current-task.json.bak") == broken
    assert "gather" not in project.counts
    assert project.counts["login"] == 1


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_legacy_plan_keeps_whole_phases(project: Project, form: str):
    sparq(project, "x", "x", ["requirements"])
    (project.root / ".sparq/state/current-task.json").unlink()
    data = {"completedPhases": ["requirements"], "currentPhase": "code", "feature": "Login page"}
    as_yaml = "completedPhases: [requirements]\ncurrentPhase: code\nfeature: Login page"
    block = json.dumps(data) if form == "json" else as_yaml
    plan = f"# Plan\n\n- **Status**: In Progress\n\n## resumeState\n\n```{form}\n{block}\n```\n"
    project.write(".sparq/plans/execution-plan.md", plan.replace("        ", ""))
    said = project.onward("run", "w.yaml", "--from", ".sparq").check(3)
    assert "only whole phases" in said.err
    assert project.counts == dict.fromkeys([*CODE, "prepare"], 1)


def test_nothing_to_go_on_with_is_said(project: Project):
    (project.root / ".sparq/state").mkdir(parents=True)
    assert "no interrupted workflow found" in project.onward("resume", "--from", ".sparq").check(2).err


def test_a_fresh_start_archives_state_and_plans(project: Project):
    sparq(project, "failed", "code", ["requirements"])
    kept = project.read(".sparq/state/current-task.json")
    said = project.onward("resume", "--from", ".sparq", "--fresh").check().out
    assert "Previous workflow archived" in said
    [state] = (project.root / ".sparq/plans/archive").glob("*/state/current-task.json")
    assert state.read_text() == kept
    assert list((project.root / ".sparq/plans/archive").glob("*/plans/handoffs/requirements.json"))
    assert not (project.root / ".sparq/state").exists()


def test_a_phase_that_the_workflow_does_not_have_is_told(project: Project):
    sparq(project, "starting", "code", ["requirements", "design"])
    said = project.onward("run", "w.yaml", "--from", ".sparq").check(3)
    assert "the workflow has no phase `design`" in said.err


def test_a_state_file_can_be_taken_over_too(project: Project):
    project.workflow("task: [{a: {run: 'echo a >> ledger.txt'}}, {b: {run: 'echo b >> ledger.txt'}}]")
    kept = {
        "version": "1.0", "workflow_file": "w.yaml", "started_at": "2026-01-01T00:00:00+00:00", "resumed_count": 0,
        "datetime_preserved": "2026-01-01T00:00:00+00:00", "completed_tasks": ["a"], "failed_tasks": [],
        "current_step_index": 1, "variables": {},
    }  # fmt: skip
    project.write("old.json", json.dumps(kept))
    project.onward("run", "w.yaml", "--from", "old.json").check()
    assert project.ledger == ["b"]


MIRRORED = """
    name: e2e
    mirror: {sparq: .sparq}
    watch: {sparq.config.json: warn}
    variables: {feature: Login page}
    task:
      - requirements:
          hand-off: {summary: twelve}
          task: [{gather: {run: 'echo gather >> ledger.txt'}}]
      - code:
          parallel:
            login: {run: 'echo login >> ledger.txt'}
            search: {run: 'touch began; until test -e go; do sleep 0.05; done; echo search >> ledger.txt'}
          merge: [{combine: {run: 'echo combine >> ledger.txt'}}]
      - report: {run: [sh, -c, 'echo "report $0" >> ledger.txt', "{{requirements.hand-off.summary}}"]}
"""


def test_what_is_written_as_a_mirror_can_be_carried_on_when_only_that_is_left(project: Project):
    project.write("sparq.config.json", CONFIG)
    project.workflow(MIRRORED)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    current = project.root / ".sparq/state/current-task.json"
    parallel_file = project.root / ".sparq/state/parallel.json"
    project.wait("login is completed", lambda: parallel_file.exists() and '"completed"' in parallel_file.read_text())
    project.kill_all(driver)
    state = json.loads(current.read_text())
    assert state["phaseStatus"] == "parallel_collecting"
    assert state["phase"] == "code"
    assert [one["phase"] for one in state["completedPhases"]] == ["requirements"]
    snapshot = json.loads(project.read(".sparq/state/config-snapshot.json"))
    assert snapshot["configHash"] == hashlib.sha256(CONFIG.encode()).hexdigest()
    assert snapshot["e2e"] == {"framework": "cypress"}
    events = [json.loads(line)["event"] for line in project.read(".sparq/state/journal.jsonl").splitlines()]
    assert events == ["workflow_start", "phase_start", "phase_complete", "phase_start"]
    (project.root / ".onward").rename(project.root / "lost")
    project.touch("go")
    project.onward("resume", "--from", ".sparq").check()
    assert project.counts == dict.fromkeys(["gather", "login", "search", "combine", "report twelve"], 1)
    assert json.loads(current.read_text())["phaseStatus"] == "completed"


def test_fields_of_others_stay_and_the_state_of_another_run_is_archived(project: Project):
    sparq(project, "failed", "code", ["requirements"])
    project.workflow(MIRRORED)
    project.touch("go")
    project.onward("run", "w.yaml", "--id", "r").check()
    [old] = (project.root / ".sparq/plans/archive").glob("*/state/current-task.json")
    assert json.loads(old.read_text())["phaseStatus"] == "failed"
    path = project.root / ".sparq/state/current-task.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"teammates": ["a"]}))
    project.onward("resume", "r", "--rerun", "report").check()
    assert json.loads(path.read_text())["teammates"] == ["a"]


def test_a_mirror_that_cannot_be_written_stops_nothing(project: Project):
    project.workflow(MIRRORED.replace("search: {run: 'touch began;", "search: {run: 'rm -r .sparq; touch .sparq;"))
    project.touch("go")
    said = project.onward("run", "w.yaml", "--id", "r").check()
    assert said.err.count("Warning:") == 1
