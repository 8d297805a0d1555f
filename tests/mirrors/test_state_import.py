"""A state file → what a new run keeps: names decide, contradictions and foreign files are told."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward.checkpoint import create_initial_state
from onward.errors import WorkflowCheckpointError
from onward.mirrors.state_import import Imported, journal_of, load, run_of, take_over
from onward.model.conditions import Succeeded
from onward.model.nodes import Kind, Node, Plan, Prompt
from onward.model.status import Status, Then
from onward.model.values import Filter, Ref, Root, Template
from onward.state.fold import replay
from state.simulation import Simulation, each, leaf, parallel, plan, task

THREE = plan(leaf("setup"), leaf("fetch-data"), (leaf("task-a"), leaf("task-b")))


def state(**more: Any) -> dict[str, Any]:
    found = create_initial_state("w.yaml", {"pr_number": "123"}, started_at="2026-02-02T10:00:00-08:00")
    return found | {"completed_tasks": ["setup", "fetch-data", "task-a"], "current_step_index": 2} | more


def taking(found: dict[str, Any], the_plan: Plan, folder: Path | str = "/", **more: Any) -> Imported:
    return take_over(found, the_plan, "/state.json", folder=folder, directory=more.pop("directory", "/"), **more)


def prompt(name: str, *refs: Ref, **more: Any) -> Node:
    text = Template(parts=("Use ", *refs))
    return Node(name=name, path="", kind=Kind.PROMPT, work=Prompt(text=text), **more)


def ref(node: str, up: int, field: str = "text", **more: Any) -> Ref:
    return Ref(root=Root.NODE, node=node, up=up, field=field, source=f"{node}.{field}", **more)


# ---------------------------------------------------------------- what is kept


def test_completed_tasks_are_done_and_the_rest_runs() -> None:
    found = taking(state(), THREE)
    simulation = Simulation(THREE).begin()
    for override in found.overrides:
        simulation.record(override)
    simulation.run()
    assert simulation.started == ["task-b"]
    assert simulation.end == "succeeded"
    assert found.warnings == ()


def test_the_overrides_are_kept_in_the_order_of_the_file_and_say_why() -> None:
    found = taking(state(completed_tasks=["task-a", "fetch-data", "setup"]), THREE)
    assert [override.path for override in found.overrides] == ["task-a", "fetch-data", "setup"]
    assert {override.action for override in found.overrides} == {"done"}
    assert found.overrides[0].reason == "listed as completed in state.json"
    assert replay(THREE, found.overrides).instances["setup"].status is Status.SUCCEEDED


def test_variables_datetime_and_count_are_taken_over() -> None:
    found = taking(state(resumed_count=2), THREE)
    assert found.variables == {"pr_number": "123"}
    assert found.datetime == found.started_at == "2026-02-02T10:00:00-08:00"
    assert found.resumed_count == 3
    assert found.facts["resumed_count"] == 3
    assert found.facts["started_at"] == "2026-02-02T10:00:00-08:00"
    json.dumps(found.facts)


def test_values_that_are_no_text_become_their_json() -> None:
    found = taking(state(variables={"n": 3, "list": ["a"], "yes": True, "text": "3", "none": None}), THREE)
    assert found.variables == {"n": "3", "list": '["a"]', "yes": "true", "text": "3", "none": "null"}


def test_reserved_names_among_the_variables_are_left_out() -> None:
    assert taking(state(variables={"datetime": "x", "run_id": "y", "a": "b"}), THREE).variables == {"a": "b"}


def test_a_failed_task_runs_again() -> None:
    found = taking(state(completed_tasks=["setup"], failed_tasks=["fetch-data"], current_step_index=1), THREE)
    assert [override.path for override in found.overrides] == ["setup"]
    assert found.warnings == ()


def test_a_completed_container_is_done_with_all_below_it() -> None:
    the_plan = plan(task("phase", leaf("a"), leaf("b")), leaf("each", loop=each("x", "y")), leaf("last"))
    found = taking(state(completed_tasks=["phase", "each"]), the_plan)
    simulation = Simulation(the_plan).begin()
    for override in found.overrides:
        simulation.record(override)
    assert simulation.run().started == ["last"]


def test_a_renamed_task_is_found_by_its_former_name() -> None:
    the_plan = plan(leaf("prepare", was="setup"), leaf("fetch-data"))
    found = taking(state(completed_tasks=["setup"], current_step_index=1), the_plan)
    assert [override.path for override in found.overrides] == ["prepare"]
    assert found.unmatched == ()


def test_order_in_the_file_is_no_identity() -> None:
    the_plan = plan(leaf("new"), leaf("fetch-data"), leaf("setup"))
    found = taking(state(completed_tasks=["setup", "fetch-data"], current_step_index=0), the_plan)
    assert {override.path for override in found.overrides} == {"setup", "fetch-data"}
    assert found.warnings == ()


# ---------------------------------------------------------------- contradictions


def test_an_index_that_contradicts_the_names_is_told_and_names_decide() -> None:
    found = taking(state(current_step_index=3), THREE)
    (warning,) = found.warnings
    assert "step 3 is next" in warning
    assert "it is step 2; names decide" in warning
    assert len(found.overrides) == 3


def test_an_index_past_a_failure_that_is_passed_over_is_no_contradiction() -> None:
    the_plan = plan(leaf("red", on_failure=Then.CONTINUE), leaf("after"), leaf("last"))
    found = taking(state(completed_tasks=["after"], failed_tasks=["red"], current_step_index=2), the_plan)
    assert found.warnings == ()


def test_a_task_listed_as_both_runs_again_and_is_named() -> None:
    found = taking(state(failed_tasks=["fetch-data"], current_step_index=1), THREE)
    assert [override.path for override in found.overrides] == ["setup", "task-a"]
    assert "`fetch-data` as completed and as failed" in found.warnings[0]


def test_names_listed_twice_count_once() -> None:
    found = taking(state(completed_tasks=["setup", "setup"], current_step_index=1), THREE)
    assert [override.path for override in found.overrides] == ["setup"]


# ---------------------------------------------------------------- another workflow


def test_names_without_a_task_are_listed() -> None:
    found = taking(state(completed_tasks=["setup", "gone"], failed_tasks=["lost"], current_step_index=1), THREE)
    assert found.unmatched == ("gone", "lost")
    assert "`gone`, `lost`" in found.warnings[0]
    assert [override.path for override in found.overrides] == ["setup"]


def test_a_file_without_any_name_of_this_workflow_means_that_everything_runs() -> None:
    found = taking(state(completed_tasks=["x", "y"], current_step_index=0), THREE)
    assert found.overrides == ()
    assert "everything runs" in found.warnings[1]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "w.yaml").write_text("task: []", encoding="utf-8")
    (folder / "other.yaml").write_text("task: []", encoding="utf-8")
    return folder


def of(project: Path) -> Plan:
    return msgspec.structs.replace(THREE, file=os.path.realpath(project / "w.yaml"))


def test_another_workflows_file_is_told_with_both_names_and_names_decide(project: Path) -> None:
    found = taking(state(workflow_file="other.yaml"), of(project), folder=project)
    (warning,) = found.warnings
    assert "'other.yaml'" in warning
    assert str(project / "w.yaml") in warning
    assert len(found.overrides) == 3


@pytest.mark.parametrize("named", ["w.yaml", "./w.yaml", "sub/../w.yaml"])
def test_the_same_file_under_another_name_is_the_same(project: Path, named: str) -> None:
    assert taking(state(workflow_file=named), of(project), folder=project).warnings == ()


def test_the_file_through_a_link_is_the_same(project: Path) -> None:
    (project / "link.yaml").symlink_to("w.yaml")
    assert taking(state(workflow_file="link.yaml"), of(project), folder=project).warnings == ()


def test_a_relative_name_is_tried_from_the_directory_of_the_tasks_too(project: Path, tmp_path: Path) -> None:
    found = taking(state(workflow_file="../w.yaml"), of(project), folder=tmp_path, directory=project / "sub")
    assert found.warnings == ()


def test_a_project_that_was_moved_is_recognized_by_the_name_of_its_file(project: Path, tmp_path: Path) -> None:
    found = taking(state(workflow_file="/old/place/w.yaml"), of(project), folder=tmp_path, directory=tmp_path)
    assert found.warnings == ()


def test_a_name_that_cannot_be_one_is_told_and_does_no_harm(project: Path) -> None:
    (warning,) = taking(state(workflow_file="a\0b"), of(project), folder=project).warnings
    assert "'a\\x00b'" in warning


# ---------------------------------------------------------------- results that nobody kept


def test_a_result_that_is_still_needed_is_an_error_that_names_the_way_out() -> None:
    the_plan = plan(leaf("fetch"), prompt("use", ref("fetch", 1)))
    with pytest.raises(WorkflowCheckpointError) as caught:
        taking(state(completed_tasks=["fetch"], current_step_index=1), the_plan)
    assert "`use` needs {{fetch.text}}" in str(caught.value)
    assert "--rerun fetch" in str(caught.value)


def test_a_task_named_to_run_again_does_so() -> None:
    the_plan = plan(leaf("fetch"), prompt("use", ref("fetch", 1)))
    found = taking(state(completed_tasks=["fetch"], current_step_index=1), the_plan, rerun=["fetch"])
    assert found.overrides == ()
    assert found.warnings == ()


@pytest.mark.parametrize(
    "deep",
    [
        task("phase", prompt("use", ref("fetch", 2))),
        parallel("group", prompt("use", ref("fetch", 2))),
        prompt("use", ref("fetch", 2), loop=each("a")),
        task("phase", prompt("use", ref("fetch", 3)), loop=each("a")),
        parallel("group", leaf("x"), merge=((prompt("use", ref("fetch", 3)),),)),
        leaf("x", on_failure_steps=((prompt("use", ref("fetch", 3)),),)),
        leaf("x", loop=each("a"), finally_steps=((prompt("use", ref("fetch", 3)),),)),
        leaf("x", env={"A": Template(parts=(ref("fetch", 1),))}),
        task("phase", prompt("use", ref("fetch/inner", 2))),
    ],
    ids=lambda node: node.name,
)
def test_the_need_is_seen_wherever_it_is(deep: Node) -> None:
    with pytest.raises(WorkflowCheckpointError, match="--rerun fetch"):
        taking(state(completed_tasks=["fetch"], current_step_index=1), plan(leaf("fetch"), deep))


def test_the_need_of_a_final_step_is_seen() -> None:
    the_plan = plan(leaf("fetch"), leaf("x"), finally_steps=((prompt("tell", ref("fetch", 2)),),))
    with pytest.raises(WorkflowCheckpointError, match="--rerun fetch"):
        taking(state(completed_tasks=["fetch"], current_step_index=1), the_plan)


@pytest.mark.parametrize(
    "user",
    [
        prompt("use", ref("fetch", 1, "status")),
        prompt("use", ref("fetch", 1, filters=(Filter(name="default", argument="none"),))),
        leaf("use", skip_if=(Succeeded(node=ref("fetch", 1, "")),)),
        task("phase", leaf("fetch"), prompt("use", ref("fetch", 1))),
    ],
    ids=["status", "default", "condition", "its own neighbour"],
)
def test_what_needs_no_kept_result_is_no_error(user: Node) -> None:
    taking(state(completed_tasks=["fetch"], current_step_index=1), plan(leaf("fetch"), user))


def test_a_done_task_needs_nothing() -> None:
    the_plan = plan(leaf("fetch"), prompt("use", ref("fetch", 1)))
    taking(state(completed_tasks=["fetch", "use"], current_step_index=2), the_plan)


# ---------------------------------------------------------------- files of onward


def test_a_file_of_onward_leads_to_its_journal_wherever_both_were_moved(tmp_path: Path) -> None:
    journal = tmp_path / ".onward" / "runs" / "r" / "journal.jsonl"
    journal.parent.mkdir(parents=True)
    journal.write_text("", encoding="utf-8")
    found = state(onward={"run": "r", "journal": "../.onward/runs/r/journal.jsonl"})
    path = tmp_path / "keep" / "state.json"
    path.parent.mkdir()
    path.write_text(json.dumps(found), encoding="utf-8")
    loaded = load(path)
    assert loaded is not None
    assert run_of(loaded) == "r"
    assert journal_of(loaded, path) == str(journal)
    journal.unlink()
    assert journal_of(loaded, path) is None


@pytest.mark.parametrize("extra", [{}, {"onward": {}}, {"onward": {"run": 3, "journal": "a\0b"}}])
def test_a_file_that_names_no_journal_leads_to_none(tmp_path: Path, extra: dict[str, Any]) -> None:
    assert journal_of(state(**extra), tmp_path / "state.json") is None
    assert run_of(state(**extra)) is None
