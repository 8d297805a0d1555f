"""The library of requirement 1: save and load, atomic writes, bad files, cleanup policies, steps and their names."""

import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from onward import checkpoint, files
from onward.checkpoint import (
    FIELDS,
    WorkflowCheckpoint,
    WorkflowCheckpointError,
    create_initial_state,
    get_all_task_names,
    get_step_name,
    step_all_completed,
)

NAMES_OF_V1 = {
    "version", "workflow_file", "started_at", "resumed_count", "datetime_preserved", "completed_tasks",
    "failed_tasks", "current_step_index", "variables",
}  # fmt: skip


def example() -> dict[str, Any]:
    """The state file that the requirement shows."""
    return {
        "version": "1.0",
        "workflow_file": "workflow.yaml",
        "started_at": "2026-02-02T10:00:00-08:00",
        "resumed_count": 0,
        "datetime_preserved": "2026-02-02T10:00:00-08:00",
        "completed_tasks": ["setup", "fetch-data"],
        "failed_tasks": [],
        "current_step_index": 2,
        "variables": {"pr_number": "123"},
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.json"


@pytest.fixture
def saved(path: Path) -> WorkflowCheckpoint:
    found = WorkflowCheckpoint(path)
    found.save_state(example())
    return found


# ---------------------------------------------------------------- save and load


def test_what_was_saved_is_loaded(path: Path) -> None:
    WorkflowCheckpoint(path).save_state(example())
    assert WorkflowCheckpoint(path).load_state() == example()


def test_the_file_is_json_indented_by_two_with_the_fields_in_order(saved: WorkflowCheckpoint, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text == json.dumps(example(), indent=2) + "\n"
    assert list(json.loads(text)) == list(FIELDS)


def test_the_fields_of_version_1_are_exactly_nine() -> None:
    assert set(FIELDS) == NAMES_OF_V1
    assert set(create_initial_state("workflow.yaml")) == NAMES_OF_V1


def test_a_file_that_is_not_there_is_none_and_no_error(path: Path) -> None:
    found = WorkflowCheckpoint(path)
    assert found.load_state() is None
    assert not found.exists()


def test_a_file_below_a_folder_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert WorkflowCheckpoint(tmp_path / "no" / "such" / "state.json").load_state() is None


def test_a_saved_file_exists(saved: WorkflowCheckpoint) -> None:
    assert saved.exists()


def test_the_first_datetime_is_preserved_over_saves(saved: WorkflowCheckpoint) -> None:
    state = saved.load_state()
    assert state is not None
    saved.mark_resumed(state=state)
    again = saved.load_state()
    assert again is not None
    assert again["datetime_preserved"] == "2026-02-02T10:00:00-08:00"


def test_letters_of_all_languages_survive(path: Path) -> None:
    state = example() | {"variables": {"titel": "Größe → 日本 🎉"}}
    WorkflowCheckpoint(path).save_state(state)
    assert json.loads(path.read_bytes().decode("utf-8")) == state


def test_fields_of_a_program_that_came_later_are_kept(path: Path) -> None:
    state = example() | {"note": "mine", "onward": {"run": "r", "journal": "j"}}
    path.write_text(json.dumps(state), encoding="utf-8")
    found = WorkflowCheckpoint(path)
    found.mark_completed("more")
    again = found.load_state()
    assert again is not None
    assert again["note"] == "mine"
    assert again["onward"] == {"run": "r", "journal": "j"}


def test_a_file_with_a_byte_order_mark_is_read(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(example()).encode())
    assert WorkflowCheckpoint(path).load_state() == example()


# ---------------------------------------------------------------- atomic writes


def test_missing_parent_folders_are_made(tmp_path: Path) -> None:
    found = WorkflowCheckpoint(tmp_path / ".agent-yaml" / "deep" / "state.json")
    found.save_state(example())
    assert found.load_state() == example()


def test_a_bare_file_name_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = WorkflowCheckpoint("state.json")
    found.save_state(example())
    assert found.load_state() == example()
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_no_temporary_file_is_left(saved: WorkflowCheckpoint, path: Path) -> None:
    saved.save_state(example())
    assert [entry.name for entry in path.parent.iterdir()] == ["state.json"]


def test_the_temporary_file_lies_in_the_folder_of_the_state_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced: list[tuple[str, str]] = []
    real = os.replace

    def replace(source: str, target: str) -> None:
        replaced.append((os.path.dirname(source), os.fspath(target)))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    WorkflowCheckpoint(path).save_state(example())
    assert replaced == [(str(path.parent), str(path))]


@pytest.mark.parametrize("call", ["create", "write", "flush", "replace"])
def test_a_write_that_fails_leaves_the_old_file_whole(
    saved: WorkflowCheckpoint, path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fault(name: str, where: str, size: int) -> int:
        if name == call:
            raise OSError(28, "No space left on device")
        return size

    monkeypatch.setattr(files, "_fault", fault)
    with pytest.raises(WorkflowCheckpointError, match=r"state\.json.*No space left"):
        saved.save_state(example() | {"current_step_index": 3})
    monkeypatch.undo()
    assert saved.load_state() == example()
    assert [entry.name for entry in path.parent.iterdir()] == ["state.json"]


def test_a_reader_sees_a_whole_file_at_every_moment(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    writer = (
        "import sys; from onward.checkpoint import *\n"
        "c = WorkflowCheckpoint(sys.argv[1]); s = create_initial_state('w.yaml')\n"
        "for n in range(300): s = c.mark_completed(*[f'task-{n}-{i}' for i in range(20)], state=s)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", writer, str(path)])
    reads, until = 0, time.monotonic() + 60
    try:
        while process.poll() is None and time.monotonic() < until:
            if WorkflowCheckpoint(path).load_state() is not None:
                reads += 1
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.wait()
    assert reads


def test_the_file_is_for_its_owner_alone(saved: WorkflowCheckpoint, path: Path) -> None:
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_symbolic_link_is_replaced_and_what_it_pointed_to_is_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine", encoding="utf-8")
    link = tmp_path / "project" / "state.json"
    link.parent.mkdir()
    link.symlink_to(precious)
    WorkflowCheckpoint(link).save_state(example())
    assert precious.read_text(encoding="utf-8") == "mine"
    assert not link.is_symlink()
    assert WorkflowCheckpoint(link).load_state() == example()


# ---------------------------------------------------------------- bad files


def loading(path: Path) -> str:
    with pytest.raises(WorkflowCheckpointError) as caught:
        WorkflowCheckpoint(path).load_state()
    said = str(caught.value)
    assert "state.json" in said
    assert "help: " in said
    return said


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b" \n", "it is empty"),
        (b"\0\0\0\0", "zero bytes only"),
        (b"{", "not valid JSON"),
        (b'{"version": "1.0",}', "not valid JSON"),
        (b"not json", "not valid JSON"),
        (b"\xff\xfe\x00", "not UTF-8 text (byte 0)"),
        (b"[" * 200_000, "not valid JSON"),
        (b'"text"', "it holds text, not a mapping"),
        (b"[]", "it holds a list, not a mapping"),
        (b"null", "it holds null, not a mapping"),
        (b"3", "it holds 3, not a mapping"),
        (b'{"version": NaN}', "not valid JSON"),
    ],
)
def test_what_is_no_state_is_a_clear_error(path: Path, content: bytes, words: str) -> None:
    path.write_bytes(content)
    assert words in loading(path)


@pytest.mark.parametrize("cut", range(1, len(json.dumps(example())) - 1, 23))
def test_a_file_that_was_cut_is_a_clear_error(path: Path, cut: int) -> None:
    path.write_text(json.dumps(example())[:cut], encoding="utf-8")
    assert "not valid JSON" in loading(path)


@pytest.mark.parametrize("name", FIELDS)
def test_a_missing_field_is_named(path: Path, name: str) -> None:
    state = example()
    del state[name]
    path.write_text(json.dumps(state), encoding="utf-8")
    assert f"missing field: {name}" in loading(path)


def test_all_missing_fields_are_named_at_once(path: Path) -> None:
    path.write_text("{}", encoding="utf-8")
    assert all(name in loading(path) for name in FIELDS)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("workflow_file", 3, "`workflow_file` must be text, not 3"),
        ("started_at", None, "`started_at` must be text, not null"),
        ("resumed_count", "1", "`resumed_count` must be a whole number, 0 or more, not text"),
        ("resumed_count", True, "not true or false"),
        ("resumed_count", 1.5, "not a number"),
        ("resumed_count", -1, "not -1"),
        ("datetime_preserved", [], "`datetime_preserved` must be text"),
        ("completed_tasks", "setup", "`completed_tasks` must be a list of task names, not text"),
        ("completed_tasks", ["a", 3], "not a list with something else in it"),
        ("failed_tasks", {"a": 1}, "`failed_tasks` must be a list of task names, not a mapping"),
        ("current_step_index", "2", "`current_step_index` must be a whole number"),
        ("variables", ["a"], "`variables` must be a mapping, not a list"),
        ("onward", "run", "`onward` must be a mapping, not text"),
    ],
)
def test_a_field_of_a_wrong_type_is_named(path: Path, name: str, value: object, words: str) -> None:
    path.write_text(json.dumps(example() | {name: value}), encoding="utf-8")
    assert words in loading(path)


def test_a_newer_version_is_refused_and_named(path: Path) -> None:
    path.write_text(json.dumps(example() | {"version": "2.0"}), encoding="utf-8")
    said = loading(path)
    assert "it has version 2.0; this onward reads 1.0" in said
    assert "use the program that wrote it" in said


@pytest.mark.parametrize("version", ["0.9", "", "one", 1, None, "1"])
def test_any_other_version_is_refused(path: Path, version: object) -> None:
    path.write_text(json.dumps(example() | {"version": version}), encoding="utf-8")
    assert "this onward reads '1.0'" in loading(path)


def test_a_folder_in_its_place_is_a_clear_error(path: Path) -> None:
    path.mkdir()
    assert "it is a folder" in loading(path)
    with pytest.raises(WorkflowCheckpointError, match=r"was not written.*state\.json"):
        WorkflowCheckpoint(path).save_state(example())


def test_a_pipe_in_its_place_does_not_hang(path: Path) -> None:
    os.mkfifo(path)
    assert "not a plain file" in loading(path)


def test_a_device_in_its_place_is_not_read() -> None:
    with pytest.raises(WorkflowCheckpointError, match="not a plain file"):
        WorkflowCheckpoint("/dev/zero").load_state()


def test_a_file_where_a_folder_should_be_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("", encoding="utf-8")
    found = WorkflowCheckpoint(tmp_path / "state" / "state.json")
    with pytest.raises(WorkflowCheckpointError, match="cannot be read"):
        found.load_state()
    with pytest.raises(WorkflowCheckpointError, match="was not written"):
        found.save_state(example())


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_name_that_cannot_be_one_is_a_clear_error(name: str) -> None:
    with pytest.raises(WorkflowCheckpointError):
        WorkflowCheckpoint(name).load_state()


def test_a_state_without_all_fields_is_not_written(saved: WorkflowCheckpoint) -> None:
    with pytest.raises(WorkflowCheckpointError, match="missing fields: workflow_file"):
        saved.save_state({"version": "1.0"})
    assert saved.load_state() == example()


def test_a_state_that_is_no_json_is_not_written(saved: WorkflowCheckpoint) -> None:
    with pytest.raises(WorkflowCheckpointError, match="cannot be written as JSON"):
        saved.save_state(example() | {"variables": {"x": object()}})
    with pytest.raises(WorkflowCheckpointError, match="cannot be written as JSON"):
        saved.save_state(example() | {"variables": {"x": "\ud800"}})
    assert saved.load_state() == example()


# ---------------------------------------------------------------- cleanup


@pytest.mark.parametrize(
    ("policy", "success", "wanted"),
    [
        ("on-success", True, True),
        ("on-success", False, False),
        ("on-completion", True, True),
        ("on-completion", False, True),
        ("never", True, False),
        ("never", False, False),
    ],
)
def test_the_policy_decides_on_the_end(path: Path, policy: str, success: bool, wanted: bool) -> None:
    assert WorkflowCheckpoint(path, policy).should_cleanup(success) is wanted


def test_the_policy_is_on_success_unless_told(path: Path) -> None:
    assert WorkflowCheckpoint(path).cleanup_policy == "on-success"


def test_the_policy_can_be_set_later(path: Path) -> None:
    found = WorkflowCheckpoint(path)
    found.cleanup_policy = "never"
    assert found.should_cleanup(success=True) is False


def test_an_unknown_policy_is_refused(path: Path) -> None:
    with pytest.raises(WorkflowCheckpointError, match="not `on-succes`"):
        WorkflowCheckpoint(path, "on-succes")


def test_asking_whether_to_clean_up_removes_nothing(saved: WorkflowCheckpoint) -> None:
    saved.should_cleanup(success=True)
    assert saved.exists()


def test_cleanup_removes_the_file(saved: WorkflowCheckpoint) -> None:
    assert saved.cleanup() is True
    assert not saved.exists()
    assert saved.load_state() is None


def test_cleanup_of_a_file_that_is_gone_is_no_error(path: Path) -> None:
    assert WorkflowCheckpoint(path).cleanup() is False


def test_cleanup_that_cannot_be_done_is_a_clear_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(WorkflowCheckpointError, match="was not removed"):
        WorkflowCheckpoint(path).cleanup()


# ---------------------------------------------------------------- tracking


def test_completed_tasks_are_listed_in_order_and_once(saved: WorkflowCheckpoint) -> None:
    saved.mark_completed("task-b", next_step=2)
    state = saved.mark_completed("task-a", "setup", next_step=3)
    assert state == saved.load_state()
    assert state["completed_tasks"] == ["setup", "fetch-data", "task-b", "task-a"]
    assert state["current_step_index"] == 3


def test_a_failed_task_is_not_completed_and_the_other_way_round(saved: WorkflowCheckpoint) -> None:
    state = saved.mark_failed("fetch-data")
    assert (state["completed_tasks"], state["failed_tasks"]) == (["setup"], ["fetch-data"])
    state = saved.mark_completed("fetch-data")
    assert (state["completed_tasks"], state["failed_tasks"]) == (["setup", "fetch-data"], [])


def test_resumes_are_counted(saved: WorkflowCheckpoint) -> None:
    saved.mark_resumed()
    assert saved.mark_resumed()["resumed_count"] == 2


def test_the_given_state_is_not_changed_but_the_saved_one_is_returned(path: Path) -> None:
    first = create_initial_state("workflow.yaml")
    later = WorkflowCheckpoint(path).mark_completed("setup", state=first)
    assert first["completed_tasks"] == []
    assert later["completed_tasks"] == ["setup"]


def test_marking_without_a_file_says_what_to_do_first(path: Path) -> None:
    with pytest.raises(WorkflowCheckpointError, match="create_initial_state"):
        WorkflowCheckpoint(path).mark_completed("setup")


# ---------------------------------------------------------------- steps


def test_a_new_state_has_nothing_done_and_one_moment_with_its_offset() -> None:
    state = create_initial_state("workflow.yaml", {"pr_number": "123"})
    assert state["workflow_file"] == "workflow.yaml"
    assert state["variables"] == {"pr_number": "123"}
    assert state["started_at"] == state["datetime_preserved"]
    assert checkpoint.clock.from_iso(state["started_at"])
    assert (state["completed_tasks"], state["failed_tasks"], state["current_step_index"]) == ([], [], 0)
    assert state["resumed_count"] == 0


def test_the_names_of_a_step_are_those_of_its_tasks_in_order() -> None:
    assert get_all_task_names({"setup": {"prompt": "…"}}) == ["setup"]
    assert get_all_task_names({"task-b": {"prompt": "…"}, "task-a": {"prompt": "…"}}) == ["task-b", "task-a"]


def test_a_step_is_called_by_its_tasks() -> None:
    assert get_step_name({"setup": {}}) == "setup"
    assert get_step_name({"task-a": {}, "task-b": {}}) == "task-a, task-b"


def test_a_step_is_completed_when_all_its_tasks_are() -> None:
    step = {"task-a": {"prompt": "…"}, "task-b": {"prompt": "…"}}
    assert step_all_completed(step, ["task-a", "task-b"]) is True
    assert step_all_completed(step, ["task-b"]) is False
    assert step_all_completed(step, []) is False
    assert step_all_completed({}, ["task-a"]) is False


def test_what_is_no_step_is_a_clear_error() -> None:
    with pytest.raises(WorkflowCheckpointError, match="mapping of task names, not list"):
        get_all_task_names(["setup"])  # type: ignore[arg-type]
