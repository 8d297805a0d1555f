"""`onward.pause.SnapshotManager`: snapshots of anybody's workflow, made, found, restored, cleaned up."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from onward import clock
from onward.pause import (
    FIELDS,
    BadWorkflowId,
    PauseError,
    SnapshotError,
    SnapshotManager,
    SnapshotNotFound,
    WorkflowSnapshot,
)

STRUCTURE = {
    "workflow_id": "orch-repo-path",
    "timestamp": "2025-01-23T12:34:56Z",
    "stage": "implement",
    "completed_tasks": ["T1.1", "T1.2"],
    "pending_tasks": ["T1.3", "T1.4"],
    "failed_tasks": [],
    "current_task_id": "T1.3",
    "current_activity_id": "implementer-activity-123",
    "task_metrics": {"duration": 42.5, "lines_modified": 1247},
    "workflow_metrics": {"total_time": 300},
    "configuration": {"timeout": 600, "max_retries": 3},
    "paused_at": "2025-01-23T12:34:56Z",
    "resumed_at": "2025-01-23T12:35:00Z",
}
"""the example of the requirement, letter by letter"""


@pytest.fixture
def manager(tmp_path: Path) -> SnapshotManager:
    return SnapshotManager(tmp_path)


def take(manager: SnapshotManager, workflow_id: str = "wf-1", stage: str = "implement") -> WorkflowSnapshot:
    return manager.create_snapshot(
        workflow_id,
        stage,
        ["T1.1", "T1.2"],
        ["T1.3", "T1.4"],
        [],
        "T1.3",
        "activity-123",
        {"duration": 42.5, "lines_modified": 1247},
        {"total_time": 300},
        {"timeout": 600, "max_retries": 3},
    )


def file_of(base: Path, workflow_id: str = "wf-1") -> Path:
    return base / "snapshots" / f"{workflow_id}.snapshot.json"


def set_clock(monkeypatch: pytest.MonkeyPatch, moment: datetime) -> None:
    monkeypatch.setattr(clock, "now", lambda: moment)


# ---------------------------------------------------------------- the file


def test_a_snapshot_has_exactly_the_fields_of_the_requirement() -> None:
    assert set(STRUCTURE) == set(FIELDS)
    assert set(FIELDS) | {"onward"} == set(WorkflowSnapshot.__struct_fields__)


def test_the_example_of_the_requirement_is_read_and_written_as_it_stands(
    manager: SnapshotManager, tmp_path: Path
) -> None:
    path = file_of(tmp_path, "orch-repo-path")
    path.parent.mkdir()
    path.write_text(json.dumps(STRUCTURE))
    snapshot = manager.restore_from_snapshot("orch-repo-path")
    assert snapshot.to_dict() == STRUCTURE
    assert snapshot.resumed_at == datetime(2025, 1, 23, 12, 35, tzinfo=UTC)
    manager.save(snapshot)
    assert json.loads(path.read_text()) == STRUCTURE


def test_a_snapshot_lies_where_the_requirement_says_as_readable_json(manager: SnapshotManager, tmp_path: Path) -> None:
    take(manager, "orch-task-1")
    text = file_of(tmp_path, "orch-task-1").read_text()
    assert json.loads(text)["completed_tasks"] == ["T1.1", "T1.2"]
    assert text.count("\n") > 10


def test_times_that_are_not_there_are_left_out_of_the_file(manager: SnapshotManager, tmp_path: Path) -> None:
    take(manager)
    fields = json.loads(file_of(tmp_path).read_text())
    assert set(FIELDS) - set(fields) == {"paused_at", "resumed_at"}
    assert fields["failed_tasks"] == []


def test_a_snapshot_captures_tasks_metrics_and_configuration(manager: SnapshotManager) -> None:
    made = take(manager)
    found = manager.restore_from_snapshot("wf-1")
    assert found == made
    assert found.pending_tasks == ["T1.3", "T1.4"]
    assert found.task_metrics == {"duration": 42.5, "lines_modified": 1247}
    assert found.configuration == {"timeout": 600, "max_retries": 3}


def test_a_file_that_go_wrote_with_null_for_empty_lists_is_read(manager: SnapshotManager, tmp_path: Path) -> None:
    path = file_of(tmp_path)
    path.parent.mkdir()
    path.write_text(json.dumps(STRUCTURE | {"failed_tasks": None, "task_metrics": None, "resumed_at": None}))
    found = manager.restore_from_snapshot("wf-1")
    assert (found.failed_tasks, found.task_metrics, found.resumed_at) == ([], {}, None)


def test_what_the_caller_changes_afterwards_does_not_change_a_snapshot(manager: SnapshotManager) -> None:
    done = ["a"]
    manager.create_snapshot("wf-1", "s", done, [], [])
    done.append("b")
    manager.get_all_snapshots()[0].completed_tasks.append("c")
    assert manager.restore_from_snapshot("wf-1").completed_tasks == ["a"]


def test_a_value_that_json_does_not_have_leaves_the_old_file_alone(manager: SnapshotManager) -> None:
    made = take(manager)
    with pytest.raises(SnapshotError, match="JSON"):
        manager.create_snapshot("wf-1", task_metrics={"f": object()})
    assert manager.get_latest_snapshot("wf-1") == made


# ---------------------------------------------------------------- finding


def test_a_workflow_without_a_snapshot_has_none(manager: SnapshotManager, tmp_path: Path) -> None:
    assert manager.get_latest_snapshot("wf-1") is None
    assert manager.get_all_snapshots() == []
    with pytest.raises(SnapshotNotFound, match="wf-1"):
        manager.restore_from_snapshot("wf-1")
    assert list(tmp_path.iterdir()) == [], "looking makes no files"


def test_the_latest_snapshot_is_the_last_one_made(manager: SnapshotManager) -> None:
    take(manager, stage="plan")
    take(manager, stage="implement")
    found = manager.get_latest_snapshot("wf-1")
    assert found is not None
    assert found.stage == "implement"


def test_all_snapshots_has_the_newest_of_every_workflow(manager: SnapshotManager) -> None:
    for name in ("b", "a", "c"):
        take(manager, name)
    assert [snapshot.workflow_id for snapshot in manager.get_all_snapshots()] == ["a", "b", "c"]


def test_another_process_reads_them_from_the_disk(manager: SnapshotManager, tmp_path: Path) -> None:
    made = [take(manager, name) for name in ("a", "b")]
    other = SnapshotManager(tmp_path)
    assert other.load() == 2
    assert other.get_all_snapshots() == made


def test_a_damaged_file_is_named_and_hides_no_other(manager: SnapshotManager, tmp_path: Path) -> None:
    take(manager, "good")
    for name, data in {"empty": b"", "zeros": b"\0" * 9, "half": b'{"workflow_id": "x"', "list": b"[]"}.items():
        file_of(tmp_path, name).write_bytes(data)
    file_of(tmp_path, "local").write_text(json.dumps(STRUCTURE | {"timestamp": "2025-01-23T12:34:56"}))
    assert manager.load() == 1
    named = {Path(path).name.partition(".")[0] for path in manager.damaged}
    assert named == {"empty", "zeros", "half", "list", "local"}
    assert [snapshot.workflow_id for snapshot in manager.get_all_snapshots()] == ["good"]
    with pytest.raises(SnapshotError, match="half"):
        manager.restore_from_snapshot("half")


def test_half_a_file_of_a_killed_writer_is_no_snapshot(manager: SnapshotManager, tmp_path: Path) -> None:
    take(manager)
    (tmp_path / "snapshots" / ".wf-2.snapshot.json.999999-1.onward-tmp").write_bytes(b"{")
    (tmp_path / "snapshots" / "notes.txt").write_text("hello")
    assert manager.load() == 1
    assert manager.damaged == {}


# ---------------------------------------------------------------- changing


def test_mark_resumed_sets_the_time_and_keeps_everything_else(manager: SnapshotManager, tmp_path: Path) -> None:
    made = take(manager)
    fields = json.loads(file_of(tmp_path).read_text()) | {"theirs": 1}
    file_of(tmp_path).write_text(json.dumps(fields))
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    resumed = manager.mark_resumed("wf-1", at=at)
    assert resumed.resumed_at == at
    assert manager.get_latest_snapshot("wf-1") == resumed
    assert resumed.to_dict() == made.to_dict() | {"resumed_at": "2026-05-01T12:00:00Z"}
    assert json.loads(file_of(tmp_path).read_text())["theirs"] == 1


def test_mark_resumed_without_a_snapshot_is_an_error(manager: SnapshotManager) -> None:
    with pytest.raises(SnapshotNotFound):
        manager.mark_resumed("wf-1")


def test_a_time_without_offset_is_refused(manager: SnapshotManager) -> None:
    take(manager)
    with pytest.raises(SnapshotError, match="offset"):
        manager.mark_resumed("wf-1", at=datetime(2026, 5, 1))


def test_delete_removes_one_workflows_snapshots_once(manager: SnapshotManager) -> None:
    take(manager, "a")
    take(manager, "b")
    assert manager.delete_snapshot("a") is True
    assert manager.delete_snapshot("a") is False
    assert [snapshot.workflow_id for snapshot in manager.get_all_snapshots()] == ["b"]


def test_old_snapshots_are_cleared_by_their_age(manager: SnapshotManager, monkeypatch: pytest.MonkeyPatch) -> None:
    day = datetime(2026, 1, 10, tzinfo=UTC)
    for age, name in ((8, "old"), (7, "edge"), (1, "new")):
        set_clock(monkeypatch, day - timedelta(days=age))
        take(manager, name)
    set_clock(monkeypatch, day)
    assert manager.clear_old_snapshots(timedelta(days=7)) == 1
    assert {snapshot.workflow_id for snapshot in manager.get_all_snapshots()} == {"edge", "new"}
    assert manager.clear_old_snapshots(3600.0) == 2


@pytest.mark.parametrize("bad", ["", ".", "..", "a/b", "../x", ".hidden", "a\0b", "a\nb", "x" * 201, None, 7])
def test_an_id_that_cannot_name_a_file_is_a_value_error(manager: SnapshotManager, tmp_path: Path, bad: object) -> None:
    for call in (manager.create_snapshot, manager.get_latest_snapshot, manager.delete_snapshot, manager.mark_resumed):
        with pytest.raises(ValueError, match="id of a workflow"):
            call(bad)  # type: ignore[operator]
    with pytest.raises(BadWorkflowId):
        manager.restore_from_snapshot(bad)  # type: ignore[arg-type]
    assert list(tmp_path.rglob("*.json")) == []


def test_a_folder_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "base").write_text("a file")
    with pytest.raises(PauseError, match="base"):
        take(SnapshotManager(tmp_path / "base"))


# ---------------------------------------------------------------- history


def test_a_history_is_numbered_and_keeps_as_many_as_asked(tmp_path: Path) -> None:
    manager = SnapshotManager(tmp_path, keep=3)
    for stage in "abcde":
        take(manager, stage=stage)
    assert {number: one.stage for number, one in manager.history_of("wf-1").items()} == {3: "c", 4: "d", 5: "e"}
    assert [snapshot.stage for snapshot in manager.get_all_snapshots("wf-1")] == ["c", "d", "e"]
    assert len(manager.get_all_snapshots()) == 1


def test_rollback_makes_an_older_snapshot_the_newest_and_keeps_what_came_later(tmp_path: Path) -> None:
    manager = SnapshotManager(tmp_path, keep=10)
    for stage in "abc":
        take(manager, stage=stage)
    manager.rollback("wf-1", 1)
    assert manager.restore_from_snapshot("wf-1").stage == "a"
    assert [one.stage for one in manager.history_of("wf-1").values()] == ["a", "b", "c", "a"]
    with pytest.raises(SnapshotNotFound, match="1, 2, 3, 4"):
        manager.rollback("wf-1", 9)


def test_delete_and_age_clear_the_history_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = SnapshotManager(tmp_path, keep=5)
    for number in range(3):
        set_clock(monkeypatch, datetime(2026, 1, 1 + number, tzinfo=UTC))
        take(manager)
    assert manager.clear_old_snapshots(timedelta(days=1)) == 1
    assert list(manager.history_of("wf-1")) == [2, 3]
    assert manager.delete_snapshot("wf-1")
    assert list((tmp_path / "snapshots").rglob("*.json")) == []


# ---------------------------------------------------------------- numbers


def test_stats_count_what_is_there(manager: SnapshotManager, tmp_path: Path) -> None:
    assert manager.get_snapshot_stats()["total"] == 0
    now = clock.now()
    manager.create_snapshot("paused", paused_at=now)
    manager.create_snapshot("went-on", paused_at=now)
    manager.mark_resumed("went-on")
    manager.create_snapshot("asked")
    file_of(tmp_path, "bad").write_text("{")
    stats = manager.get_snapshot_stats()
    counts = {name: stats[name] for name in ("total", "paused", "resumed", "damaged")}
    assert counts == {"total": 3, "paused": 1, "resumed": 1, "damaged": 1}
    assert stats["bytes"] == sum(os.stat(path).st_size for path in (tmp_path / "snapshots").glob("*.json"))
    assert now <= stats["oldest"] <= stats["newest"]
