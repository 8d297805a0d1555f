"""A run → its state file: what is in it after each event, when it is written, whose it is, when it goes."""

import datetime as dt
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from onward import files
from onward.errors import WorkflowCheckpointError
from onward.mirrors.state_file import StateFile, path_of
from onward.model import events as ev
from onward.model.nodes import Checkpoint, Plan
from onward.model.status import Outcome, Status, Then, Where
from onward.state.run_state import RunState
from state.simulation import NO, Simulation, each, leaf, parallel, plan, task

START = ev.WorkflowStart(
    run="w-1", workflow_file="workflow.yaml", datetime="2026-02-02T10:00:00-08:00", variables={"pr_number": "123"}
)


class Driven:
    """A simulated run beside its state file, which takes in each event as it comes."""

    def __init__(self, the_plan: Plan, folder: Path, script: Callable[[str, int], Outcome] | None = None, **more: Any):
        self.folder = folder
        self.path = folder / "state.json"
        self.simulation = Simulation(the_plan)
        if script is not None:
            self.simulation.script = script
        self.warnings: list[str] = []
        self.simulation.record(more.pop("start", START))
        self.file = self.make(**more)
        self.file.begin(fresh=True)
        self.attach()

    def make(self, **more: Any) -> StateFile:
        return StateFile(
            self.simulation.state, self.path, journal=self.folder / ".onward/runs/w-1/journal.jsonl", **more
        )

    def attach(self) -> None:
        record = Simulation.record

        def both(event: ev.Event) -> None:
            record(self.simulation, event)
            try:
                self.file.changed(self.simulation.state, [self.simulation.events[-1]])
            except WorkflowCheckpointError as warning:
                self.warnings.append(warning.message)

        self.simulation.record = both  # type: ignore[method-assign]

    def go(self) -> "Driven":
        from onward.state.fold import settle

        settle(self.simulation.state)
        self.simulation.run()
        return self

    @property
    def content(self) -> dict[str, Any]:
        return json.loads(self.path.read_bytes())  # type: ignore[no-any-return]


def fails(*paths: str) -> Callable[[str, int], Outcome]:
    return lambda path, attempt: Outcome.ERROR if path in paths else Outcome.OK


FLAGSHIP = plan(leaf("setup"), leaf("fetch-data"), (leaf("task-a"), leaf("task-b")))


# ---------------------------------------------------------------- content


def test_it_is_written_at_the_start_with_nothing_done(tmp_path: Path) -> None:
    content = Driven(FLAGSHIP, tmp_path).content
    assert dt.datetime.fromisoformat(content["onward"].pop("updated_at")).tzinfo is not None
    assert content == {
        "version": "1.0",
        "workflow_file": "workflow.yaml",
        "started_at": "2026-02-02T10:00:00-08:00",
        "resumed_count": 0,
        "datetime_preserved": "2026-02-02T10:00:00-08:00",
        "completed_tasks": [],
        "failed_tasks": [],
        "current_step_index": 0,
        "variables": {"pr_number": "123"},
        "onward": {
            "run": "w-1",
            "journal": ".onward/runs/w-1/journal.jsonl",
            "status": "running",
            "progress": {"total": 4, "done": 0, "percent": 0},
        },
    }


def test_it_tells_how_far_the_run_is(tmp_path: Path) -> None:
    driven = Driven(FLAGSHIP, tmp_path, fails("task-b"), policy="never").go()
    assert driven.content["onward"]["status"] == "failed"
    assert driven.content["onward"]["progress"] == {"total": 4, "done": 3, "percent": 75}


def test_after_every_step_it_lists_what_is_done_and_the_next_step(tmp_path: Path) -> None:
    seen: list[tuple[list[str], int]] = []
    driven = Driven(plan(leaf("one"), leaf("two"), leaf("three")), tmp_path, policy="never")
    changed = driven.file.changed

    def watched(state: RunState, events: list[ev.Event]) -> None:
        changed(state, events)
        entry = (driven.content["completed_tasks"], driven.content["current_step_index"])
        if entry not in seen:
            seen.append(entry)

    driven.file.changed = watched  # type: ignore[assignment,method-assign]
    driven.go()
    assert seen == [([], 0), (["one"], 1), (["one", "two"], 2), (["one", "two", "three"], 3)]


def test_members_of_a_group_are_listed_one_by_one_and_the_step_waits_for_all(tmp_path: Path) -> None:
    driven = Driven(FLAGSHIP, tmp_path, fails("task-b")).go()
    content = driven.content
    assert content["completed_tasks"] == ["setup", "fetch-data", "task-a"]
    assert content["failed_tasks"] == ["task-b"]
    assert content["current_step_index"] == 2


def test_tasks_are_listed_in_the_order_of_their_ends(tmp_path: Path) -> None:
    for seed in range(5):
        folder = tmp_path / str(seed)
        driven = Driven(plan((leaf("a"), leaf("b"), leaf("c"), leaf("d"))), folder, policy="never")
        driven.simulation.random.seed(seed)
        driven.go()
        ends = [event.path for event in driven.simulation.events if isinstance(event, ev.NodeEnd)]
        assert driven.content["completed_tasks"] == ends


def test_only_top_level_names_are_listed(tmp_path: Path) -> None:
    the_plan = plan(
        task("phase", leaf("inner")),
        parallel("group", leaf("x"), leaf("y")),
        leaf("each", loop=each("p", "q")),
        finally_steps=((leaf("clean"),),),
    )
    driven = Driven(the_plan, tmp_path, policy="never").go()
    assert driven.content["completed_tasks"] == ["phase", "group", "each"]
    assert driven.content["current_step_index"] == 3


def test_a_skipped_task_counts_as_completed(tmp_path: Path) -> None:
    driven = Driven(plan(leaf("maybe", skip_if=(NO,)), leaf("after")), tmp_path, policy="never")
    driven.simulation.answers = lambda path, where: where is Where.SKIP_IF
    assert driven.go().content["completed_tasks"] == ["maybe", "after"]


def test_a_failure_that_was_passed_over_is_listed_and_its_step_is_done(tmp_path: Path) -> None:
    the_plan = plan(leaf("red", on_failure=Then.CONTINUE), leaf("after"))
    content = Driven(the_plan, tmp_path, fails("red"), policy="never").go().content
    assert content["completed_tasks"] == ["after"]
    assert content["failed_tasks"] == ["red"]
    assert content["current_step_index"] == 2


def test_a_task_that_runs_again_leaves_the_lists_and_comes_back_at_the_end(tmp_path: Path) -> None:
    driven = Driven(plan(leaf("one"), leaf("two"), leaf("three")), tmp_path, fails("three")).go()
    driven.simulation.script = fails()
    driven.simulation.record(ev.WorkflowResume(resumed_count=1))
    assert driven.content["failed_tasks"] == []
    assert driven.content["resumed_count"] == 1
    driven.simulation.record(ev.Override(path="one", action="rerun"))
    assert driven.content["completed_tasks"] == ["two"]
    assert driven.content["current_step_index"] == 0
    driven.file._policy = "never"
    driven.go()
    assert driven.content["completed_tasks"] == ["two", "one", "three"]


def test_a_resumed_run_shows_its_first_datetime_and_what_was_done_before(tmp_path: Path) -> None:
    first = Driven(plan(leaf("one"), leaf("two"), leaf("three")), tmp_path, fails("three")).go()
    again = Simulation(first.simulation.plan)
    again.resume(first.simulation.events)
    StateFile(again.state, first.path, journal=tmp_path / "journal.jsonl").begin(fresh=False)
    assert first.content["completed_tasks"] == ["one", "two"]
    assert first.content["datetime_preserved"] == "2026-02-02T10:00:00-08:00"
    assert first.content["resumed_count"] == 1


def test_the_start_and_the_count_of_an_imported_file_are_kept(tmp_path: Path) -> None:
    start = msgspec.structs.replace(START, imported={"resumed_count": 4})
    driven = Driven(FLAGSHIP, tmp_path, start=start, started_at="2026-01-01T00:00:00+01:00")
    assert driven.content["started_at"] == "2026-01-01T00:00:00+01:00"
    assert driven.content["datetime_preserved"] == START.datetime
    assert driven.content["resumed_count"] == 4


def test_a_journal_on_another_disk_is_named_in_full(tmp_path: Path) -> None:
    state = Simulation(FLAGSHIP).begin().state
    found = StateFile(state, tmp_path / "state.json", journal="/volume/runs/w-1/journal.jsonl").content()
    assert found["onward"]["journal"] == "/volume/runs/w-1/journal.jsonl"


def test_the_path_is_relative_to_the_directory_of_the_tasks(tmp_path: Path) -> None:
    the_plan = msgspec.structs.replace(FLAGSHIP, checkpoint=Checkpoint(state_file="../keep/state.json"))
    assert path_of(the_plan, tmp_path / "work") == str(tmp_path / "keep" / "state.json")
    assert path_of(FLAGSHIP, tmp_path) is None
    elsewhere = msgspec.structs.replace(FLAGSHIP, checkpoint=Checkpoint(state_file="/var/state.json"))
    assert path_of(elsewhere, tmp_path) == "/var/state.json"


# ---------------------------------------------------------------- when it is written


def test_events_inside_a_step_do_not_write(tmp_path: Path) -> None:
    driven = Driven(plan(task("phase", leaf("a"), leaf("b")), leaf("last")), tmp_path)
    before = driven.path.stat().st_ino
    state = driven.simulation.state
    driven.file.changed(state, [ev.NodeStart(path="phase"), ev.AttemptStart(path="phase/a", attempt=1)])
    driven.file.changed(state, [ev.NodeEnd(path="phase/a", status=Status.SUCCEEDED)])
    driven.file.close(state)
    assert driven.path.stat().st_ino == before


def large(count: int, tmp_path: Path) -> tuple[Simulation, StateFile, dict[str, float]]:
    the_plan = plan(*(leaf(f"t{n}") for n in range(count)), leaf("last"))
    simulation = Simulation(the_plan).begin()
    for n in range(count):
        simulation.record(ev.NodeEnd(path=f"t{n}", status=Status.SUCCEEDED))
    time = {"now": 0.0}

    def monotonic() -> float:
        time["now"] += 1.0  # so a write takes a second by this clock
        return time["now"]

    return simulation, StateFile(simulation.state, tmp_path / "s.json", journal="j", monotonic=monotonic), time


def test_up_to_a_thousand_tasks_every_step_is_written(tmp_path: Path) -> None:
    simulation, file, _ = large(999, tmp_path)
    file.begin(fresh=True)
    simulation.record(ev.NodeEnd(path="last", status=Status.SUCCEEDED))
    file.changed(simulation.state, simulation.events[-1:])
    assert file.wake_at is None
    assert json.loads((tmp_path / "s.json").read_bytes())["completed_tasks"][-1] == "last"


def test_beyond_a_thousand_tasks_writing_takes_a_twentieth_of_the_time(tmp_path: Path) -> None:
    simulation, file, time = large(1001, tmp_path)
    file.begin(fresh=True)
    simulation.record(ev.NodeEnd(path="last", status=Status.SUCCEEDED))
    file.changed(simulation.state, simulation.events[-1:])
    assert "last" not in json.loads((tmp_path / "s.json").read_bytes())["completed_tasks"]
    assert file.wake_at == pytest.approx(2.0 + 19.0)
    time["now"] = 21.0
    file.changed(simulation.state, [])
    assert json.loads((tmp_path / "s.json").read_bytes())["completed_tasks"][-1] == "last"
    assert file.wake_at is None


@pytest.mark.parametrize(
    "event",
    [
        ev.WorkflowPause(),
        ev.NodeEnd(path="last", status=Status.FAILED),
        ev.WorkflowEnd(status=Status.FAILED),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_pause_a_failure_and_the_end_are_written_at_once_in_a_large_run_too(
    tmp_path: Path, event: ev.Event
) -> None:
    simulation, file, _ = large(1001, tmp_path)
    file.begin(fresh=True)
    simulation.state.facts.variables["seen"] = "yes"
    simulation.record(event)
    file.changed(simulation.state, simulation.events[-1:])
    assert json.loads((tmp_path / "s.json").read_bytes())["variables"]["seen"] == "yes"


def test_the_cost_of_a_step_does_not_depend_on_how_many_tasks_there_are(tmp_path: Path) -> None:
    simulation, file, _ = large(1001, tmp_path)
    file.begin(fresh=True)
    asked: list[str] = []
    get = simulation.state.get
    simulation.record(ev.NodeEnd(path="last", status=Status.SUCCEEDED))

    class Watching:
        facts = simulation.state.facts
        get = staticmethod(lambda path: (asked.append(path), get(path))[1])

    file.changed(Watching(), simulation.events[-1:])  # type: ignore[arg-type]
    assert asked == ["last"]


# ---------------------------------------------------------------- when it goes


@pytest.mark.parametrize(
    ("policy", "success", "stays"),
    [
        ("on-success", True, False),
        ("on-success", False, True),
        ("on-completion", True, False),
        ("on-completion", False, False),
        ("never", True, True),
        ("never", False, True),
    ],
)
def test_the_policy_decides_at_the_end(tmp_path: Path, policy: str, success: bool, stays: bool) -> None:
    script = fails() if success else fails("task-b")
    assert Driven(FLAGSHIP, tmp_path, script, policy=policy).go().path.exists() is stays


@pytest.mark.parametrize("policy", ["on-success", "on-completion", "never"])
@pytest.mark.parametrize("event", [ev.WorkflowPause(), ev.WorkflowEnd(status=Status.CANCELLED)])
def test_a_pause_and_a_cancelled_run_keep_it(tmp_path: Path, policy: str, event: ev.Event) -> None:
    driven = Driven(FLAGSHIP, tmp_path, policy=policy)
    driven.simulation.record(event)
    assert driven.path.exists()


# ---------------------------------------------------------------- when it cannot be written


def test_at_the_start_it_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(WorkflowCheckpointError, match="was not written"):
        Driven(FLAGSHIP, tmp_path)


def test_later_it_is_told_the_old_file_stays_whole_and_the_next_write_has_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driven = Driven(plan(leaf("a"), leaf("b"), leaf("c")), tmp_path, policy="never")
    before = driven.content

    def fault(name: str, where: str, size: int) -> int:
        if "state.json" in where:
            raise OSError(28, "No space left on device")
        return size

    monkeypatch.setattr(files, "_fault", fault)
    driven.go()
    assert all("No space left" in warning for warning in driven.warnings)
    assert driven.warnings
    assert driven.content == before
    monkeypatch.undo()
    driven.file.close(driven.simulation.state)
    assert driven.content["completed_tasks"] == ["a", "b", "c"]


def test_what_a_killed_writer_left_is_removed_at_the_start(tmp_path: Path) -> None:
    dead = tmp_path / ".state.json.999999999-1.onward-tmp"
    dead.write_text("{", encoding="utf-8")
    Driven(FLAGSHIP, tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["state.json"]


# ---------------------------------------------------------------- whose it is


def test_the_run_that_started_last_has_the_file_and_the_other_says_so_once(tmp_path: Path) -> None:
    older = Driven(plan(leaf("a"), leaf("b")), tmp_path)
    newer = Driven(FLAGSHIP, tmp_path, start=msgspec.structs.replace(START, run="w-2"))
    older.go()
    assert len(older.warnings) == 1
    assert "now belongs to the run w-2" in older.warnings[0]
    assert newer.content["onward"]["run"] == "w-2"
    newer.go()
    assert newer.warnings == []


def test_an_older_run_that_is_resumed_leaves_the_file_to_the_newer_one(tmp_path: Path) -> None:
    older = Driven(FLAGSHIP, tmp_path)
    newer = Driven(FLAGSHIP, tmp_path, start=msgspec.structs.replace(START, run="w-2"))
    again = older.make()
    again.begin(fresh=False)
    with pytest.raises(WorkflowCheckpointError, match="w-2"):
        again.changed(older.simulation.state, [ev.WorkflowResume()])
    again.changed(older.simulation.state, [ev.WorkflowPause()])
    again.close(older.simulation.state)
    assert newer.content["onward"]["run"] == "w-2"


def test_a_fresh_start_takes_the_file_of_another_program(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"version": "1.0"}', encoding="utf-8")
    assert Driven(FLAGSHIP, tmp_path).content["onward"]["run"] == "w-1"


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(b"rubbish")])
def test_a_file_that_was_removed_or_spoilt_is_made_again(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    driven = Driven(FLAGSHIP, tmp_path, policy="never")
    spoil(driven.path)
    driven.go()
    assert driven.warnings == []
    assert driven.content["current_step_index"] == 3
