"""Requirement 1 through the command line: `onward run FILE`, killed or failed, and `onward run FILE --resume`."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from onward.checkpoint import WorkflowCheckpoint, create_initial_state
from stories.project import Project

STEPS = """
    directory: "."
    checkpoint:
      state-file: ".agent-yaml/state.json"
    task:
      - setup: {run: 'echo setup >> ledger.txt; echo "$ONWARD_DATETIME" > first.txt'}
      - fetch-data: {run: 'echo "fetch $pr_number" >> ledger.txt'}
      - task-a: {run: 'echo a >> ledger.txt'}
        task-b: {run: 'echo b >> ledger.txt; test -e ok'}
      - last: {run: 'echo last >> ledger.txt; echo "$ONWARD_DATETIME" > second.txt'}
    variables: {pr_number: {required: true}}
"""

STATE = ".agent-yaml/state.json"


def state_of(project: Project, name: str = STATE) -> dict[str, Any]:
    found = WorkflowCheckpoint(project.root / name).load_state()
    assert found is not None
    return found


def foreign(project: Project, name: str = STATE, **more: Any) -> None:
    """A state file as agent-yaml itself writes it."""
    state = create_initial_state("w.yaml", {"pr_number": "123"}, started_at="2026-02-02T10:00:00-08:00")
    WorkflowCheckpoint(project.root / name).save_state(state | more)


# ---------------------------------------------------------------- what the file holds


def test_a_failed_run_leaves_its_state_file_and_resume_does_only_what_is_left(project: Project) -> None:
    project.workflow(STEPS)
    project.onward("run", "w.yaml", "--var", "pr_number=123").check(1)
    state = state_of(project)
    assert state["version"] == "1.0"
    assert state["workflow_file"] == "w.yaml"
    assert state["resumed_count"] == 0
    assert sorted(state["completed_tasks"]) == ["fetch-data", "setup", "task-a"]
    assert state["failed_tasks"] == ["task-b"]
    assert state["current_step_index"] == 2
    assert state["variables"] == {"pr_number": "123"}
    assert state["datetime_preserved"] == project.read("first.txt").strip()
    project.touch("ok")
    project.onward("run", "w.yaml", "--resume").check(0)
    assert project.counts == {"setup": 1, "fetch 123": 1, "a": 1, "b": 2, "last": 1}
    assert project.read("second.txt") == project.read("first.txt")
    assert not (project.root / STATE).exists()


def test_a_run_whose_driver_is_killed_is_resumed_from_the_state_file(project: Project) -> None:
    project.workflow("""
        checkpoint: {state-file: state.json, cleanup-policy: never}
        task:
          - one: {run: 'echo one >> ledger.txt'}
          - two: {run: 'echo two >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done'}
          - three: {run: 'echo three >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml")
    project.wait_for_file("began")
    project.kill_all(driver)
    assert state_of(project, "state.json")["completed_tasks"] == ["one"]
    project.touch("go")
    project.onward("run", "w.yaml", "--resume").check(0)
    assert project.counts["one"] == 1
    state = state_of(project, "state.json")
    assert state["completed_tasks"] == ["one", "two", "three"]
    assert state["current_step_index"] == 3
    assert state["resumed_count"] == 1


def test_the_state_file_is_there_before_the_first_step_has_ended(project: Project) -> None:
    project.workflow("""
        checkpoint: {state-file: deep/er/state.json}
        task: [{one: {run: 'test -e deep/er/state.json && cp deep/er/state.json seen.json'}}]
    """)
    project.onward("run", "w.yaml").check(0)
    seen = json.loads(project.read("seen.json"))
    assert (seen["completed_tasks"], seen["current_step_index"]) == ([], 0)


def test_status_agrees_with_the_state_file(project: Project) -> None:
    project.workflow(STEPS)
    project.onward("run", "w.yaml", "--var", "pr_number=1").check(1)
    status, state = project.status(), state_of(project)
    assert status["step"]["index"] == state["current_step_index"]
    done = [node["path"] for node in status["nodes"] if node["status"] == "succeeded"]
    assert sorted(done) == sorted(state["completed_tasks"])
    assert status["datetime"] == state["datetime_preserved"]


# ---------------------------------------------------------------- files of agent-yaml


def test_a_file_of_agent_yaml_is_gone_on_with(project: Project) -> None:
    project.workflow(STEPS)
    project.touch("ok")
    foreign(project, completed_tasks=["setup", "fetch-data", "task-a"], current_step_index=2)
    said = project.onward("run", "w.yaml", "--resume").check(0)
    assert "Warning" not in said.err
    assert project.counts == {"b": 1, "last": 1}
    assert project.read("second.txt").strip() == "2026-02-02T10:00:00-08:00"


def test_its_variables_count_and_those_of_the_command_line_win(project: Project) -> None:
    project.workflow(STEPS)
    project.touch("ok")
    foreign(project, completed_tasks=["setup"], current_step_index=1)
    project.onward("run", "w.yaml", "--resume", "--var", "pr_number=9").check(0)
    assert project.counts["fetch 9"] == 1


def test_its_count_of_resumes_goes_on(project: Project) -> None:
    project.workflow(STEPS)
    foreign(project, completed_tasks=["setup"], current_step_index=1, resumed_count=4)
    project.onward("run", "w.yaml", "--resume").check(1)
    state = state_of(project)
    assert state["resumed_count"] == 5
    assert state["started_at"] == state["datetime_preserved"] == "2026-02-02T10:00:00-08:00"


def test_a_result_that_nobody_kept_is_an_error_before_anything_runs(project: Project) -> None:
    project.workflow("""
        checkpoint: {state-file: state.json}
        task:
          - fetch: {run: 'echo fetch >> ledger.txt; echo data'}
          - use: {run: [echo, "{{fetch.text}}"]}
    """)
    foreign(project, "state.json", completed_tasks=["fetch"], current_step_index=1, variables={})
    said = project.onward("run", "w.yaml", "--resume").check(2)
    assert "--rerun fetch" in said.err
    assert project.ledger == []
    project.onward("run", "w.yaml", "--resume", "--rerun", "fetch").check(0)
    assert project.ledger == ["fetch"]


# ---------------------------------------------------------------- warnings


def test_resume_without_checkpoint_warns_in_the_words_of_the_requirement_and_runs(project: Project) -> None:
    project.workflow("task: [{one: {run: 'echo one >> ledger.txt'}}]")
    said = project.onward("run", "w.yaml", "--resume").check(0)
    assert "Warning: --resume specified but no checkpoint.state-file configured" in said.err.splitlines()
    assert project.ledger == ["one"]


def test_resume_without_a_state_file_warns_and_starts_fresh(project: Project) -> None:
    project.workflow(STEPS)
    project.touch("ok")
    said = project.onward("run", "w.yaml", "--resume", "--var", "pr_number=1").check(0)
    (warning,) = [line for line in said.err.splitlines() if line.startswith("Warning: ")]
    assert "does not exist; starting from the beginning" in warning
    assert project.counts["setup"] == 1


def test_the_file_of_another_workflow_warns_with_both_names_and_names_decide(project: Project) -> None:
    project.workflow(STEPS)
    project.write("other.yaml", "task: []")
    project.touch("ok")
    foreign(project, workflow_file="other.yaml", completed_tasks=["setup", "gone"], current_step_index=1)
    said = project.onward("run", "w.yaml", "--resume").check(0)
    warnings = [line for line in said.err.splitlines() if line.startswith("Warning: ")]
    assert "'other.yaml'" in warnings[0]
    assert "w.yaml" in warnings[0]
    assert "`gone`" in warnings[1]
    assert "setup" not in project.counts


def test_quiet_keeps_warnings(project: Project) -> None:
    project.workflow("task: [{one: {run: 'true'}}]")
    said = project.onward("run", "w.yaml", "--resume", "-q").check(0)
    assert said.err == "Warning: --resume specified but no checkpoint.state-file configured\n"


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": "2.0"}', b"\xff\xfe"], ids=repr)
def test_a_broken_file_is_an_error_when_it_is_all_there_is(project: Project, content: bytes) -> None:
    project.workflow(STEPS)
    (project.root / ".agent-yaml").mkdir()
    (project.root / STATE).write_bytes(content)
    said = project.onward("run", "w.yaml", "--resume", "--var", "pr_number=1").check(2)
    assert "error[checkpoint]: the state file " in said.err
    assert project.ledger == []
    assert (project.root / STATE).read_bytes() == content


def test_a_broken_file_is_made_again_from_the_journal_and_that_is_said(project: Project) -> None:
    project.workflow(STEPS)
    project.onward("run", "w.yaml", "--var", "pr_number=1").check(1)
    (project.root / STATE).write_bytes(b"rubbish")
    project.touch("ok")
    said = project.onward("run", "w.yaml", "--resume").check(0)
    assert "journal" in next(line for line in said.err.splitlines() if line.startswith("Warning: the state file"))
    assert project.counts["setup"] == 1


def test_a_project_that_was_moved_goes_on(project: Project, tmp_path: Path) -> None:
    project.workflow(STEPS)
    project.onward("run", "w.yaml", "--var", "pr_number=1").check(1)
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in os.listdir(project.root):
        if name != "moved":
            shutil.move(project.root / name, moved / name)
    (moved / "ok").touch()
    said = project.onward("run", "w.yaml", "--resume", cwd=moved).check(0)
    assert "Warning" not in said.err
    assert (moved / "ledger.txt").read_text("utf-8").split().count("setup") == 1


# ---------------------------------------------------------------- cleanup


@pytest.mark.parametrize(
    ("policy", "succeeds", "stays"),
    [
        ("on-success", True, False),
        ("on-success", False, True),
        ("on-completion", True, False),
        ("on-completion", False, False),
        ("never", True, True),
        ("never", False, True),
    ],
)
def test_the_cleanup_policy_decides_whether_the_file_stays(
    project: Project, policy: str, succeeds: bool, stays: bool
) -> None:
    project.workflow(f"""
        checkpoint: {{state-file: state.json, cleanup-policy: {policy}}}
        task: [{{one: {{run: '{"true" if succeeds else "false"}'}}}}]
    """)
    project.onward("run", "w.yaml").check(0 if succeeds else 1)
    assert (project.root / "state.json").exists() is stays
    leftovers = [name for name in os.listdir(project.root) if name.endswith("tmp")]
    assert leftovers == []


@pytest.mark.parametrize("policy", ["on-success", "on-completion"])
def test_a_pause_keeps_the_file(project: Project, policy: str) -> None:
    import signal

    project.workflow(f"""
        grace: 1s
        checkpoint: {{state-file: state.json, cleanup-policy: {policy}}}
        task: [{{one: {{run: 'touch began; sleep 30'}}}}]
    """)
    driver = project.start("run", "w.yaml")
    project.wait_for_file("began")
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(30) == 3
    assert state_of(project, "state.json")["completed_tasks"] == []


# ---------------------------------------------------------------- the fields of `checkpoint`


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("checkpoint: {cleanup-policy: never}", "`checkpoint` needs `state-file`"),
        ("checkpoint: {state-file: s.json, cleanup-policy: on-succes}", "on-success, on-completion or never"),
        ("checkpoint: {state-file: s.json, keep: yes}", "`keep`"),
        ("checkpoint: {state-file: [a]}", "state-file"),
    ],
)
def test_a_wrong_checkpoint_is_refused_before_anything_runs(project: Project, text: str, words: str) -> None:
    project.write("w.yaml", f"{text}\ntask:\n  - one: {{run: 'echo one >> ledger.txt'}}\n")
    assert words in project.onward("run", "w.yaml").check(2).err
    assert project.ledger == []


def test_a_state_file_that_cannot_be_written_stops_the_run_at_its_start(project: Project) -> None:
    project.workflow("""
        checkpoint: {state-file: state.json}
        task: [{one: {run: 'echo one >> ledger.txt'}}]
    """)
    (project.root / "state.json").mkdir()
    said = project.onward("run", "w.yaml").check(2)
    assert "state.json" in said.err
    assert project.ledger == []


def test_a_state_file_that_cannot_be_written_later_is_a_warning_said_once(project: Project) -> None:
    project.workflow("""
        checkpoint: {state-file: keep/state.json, cleanup-policy: never}
        task:
          - one: {run: 'rm -r keep; touch keep'}
          - two: {run: 'echo two >> ledger.txt'}
          - three: {run: 'rm keep'}
    """)
    said = project.onward("run", "w.yaml").check(0)
    assert len([line for line in said.err.splitlines() if line.startswith("Warning: the state file")]) == 1
    assert project.ledger == ["two"]
    assert state_of(project, "keep/state.json")["current_step_index"] == 3
