"""`onward.pause.PauseHandler`: pause and resume signals for anybody's orchestrator."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from onward.pause import (
    BadSignal,
    NotPaused,
    PauseError,
    PauseHandler,
    PauseSignal,
    PauseState,
    ResumeSignal,
    SnapshotManager,
    SnapshotNotFound,
    WorkflowPaused,
)

BOUND_S = 20.0


@pytest.fixture
def handler(tmp_path: Path) -> PauseHandler:
    return PauseHandler(SnapshotManager(tmp_path))


def pause(handler: PauseHandler, workflow_id: str = "wf-1", **fields: object) -> PauseState:
    return handler.request_pause(PauseSignal(workflow_id=workflow_id, **fields))  # type: ignore[arg-type]


def resume(handler: PauseHandler, workflow_id: str = "wf-1", **fields: object) -> PauseState:
    return handler.request_resume(ResumeSignal(workflow_id=workflow_id, **fields))  # type: ignore[arg-type]


def save(handler: PauseHandler, workflow_id: str = "wf-1", stage: str = "implement") -> None:
    handler.save_snapshot(workflow_id, stage, ["T1.1"], ["T1.2"], None, "T1.2", "activity-1", None, None, None)


def soon(what: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.05, what)
    timer.start()
    return timer


# ---------------------------------------------------------------- the requirement's own scenario


def test_the_integration_scenario_of_the_requirement(handler: PauseHandler) -> None:
    save(handler)
    pause(handler)
    assert handler.is_paused("wf-1")
    resume(handler)
    assert not handler.is_paused("wf-1")
    assert handler.restore_snapshot("wf-1").stage == "implement"


def test_a_workflow_paused_in_one_pod_goes_on_in_another_at_the_same_point(tmp_path: Path) -> None:
    first = PauseHandler(SnapshotManager(tmp_path))
    save(first, "orch-task-1")
    pause(first, "orch-task-1", reason="pod restart", requested_at=datetime.now(UTC))
    assert first.wait_for_pause_or_resume("orch-task-1", 5) is True

    manager = SnapshotManager(tmp_path)
    second = PauseHandler(manager)
    assert manager.load() == 1
    assert second.is_paused("orch-task-1")
    assert second.has_snapshot("orch-task-1")
    snapshot = second.restore_snapshot("orch-task-1")
    resume(second, "orch-task-1", reason="pod restarted")
    assert (snapshot.pending_tasks, snapshot.current_task_id) == (["T1.2"], "T1.2")
    assert not first.is_paused("orch-task-1")
    latest = manager.get_latest_snapshot("orch-task-1")
    assert latest is not None
    assert latest.paused_at is not None
    assert latest.resumed_at is not None
    assert latest.paused_at <= latest.resumed_at
    assert second.reset_pause_state("orch-task-1")
    assert second.get_pause_state("orch-task-1") is None
    assert second.has_snapshot("orch-task-1"), "cleaning up snapshots is the manager's"


# ---------------------------------------------------------------- pause


def test_a_pause_keeps_its_reason_times_and_grace(handler: PauseHandler) -> None:
    asked = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    state = pause(handler, reason="deploy", requested_at=asked, grace_period=timedelta(seconds=25), automatic=True)
    assert state == handler.get_pause_state("wf-1")
    assert (state.is_paused, state.reason, state.requested_at, state.grace_period, state.automatic) == (
        True, "deploy", asked, 25.0, True,
    )  # fmt: skip
    assert state.paused_at is not None
    assert state.deadline == state.paused_at + timedelta(seconds=25)


def test_a_second_pause_keeps_the_first_and_can_only_shorten_the_grace(handler: PauseHandler) -> None:
    first = pause(handler, reason="first", grace_period=60)
    longer = pause(handler, reason="second", grace_period=600)
    assert longer == first
    shorter = pause(handler, reason="third", grace_period=0)
    assert (shorter.reason, shorter.paused_at, shorter.pause_count) == ("first", first.paused_at, 1)
    assert shorter.grace_period < 60


def test_workflows_are_paused_one_by_one(handler: PauseHandler) -> None:
    for name in ("a", "b", "c"):
        pause(handler, name, reason=name)
    resume(handler, "b")
    assert [handler.is_paused(name) for name in ("a", "b", "c", "d")] == [True, False, True, False]
    assert {name: state.reason for name, state in handler.get_all_pause_states().items()} == {
        "a": "a", "b": "b", "c": "c",
    }  # fmt: skip


def test_no_activity_begins_during_a_pause_and_the_last_one_acknowledges_it(handler: PauseHandler) -> None:
    with handler.activity("wf-1"):
        with handler.activity("wf-1"):
            pause(handler)
            with pytest.raises(WorkflowPaused), handler.activity("wf-1"):
                raise AssertionError("it began")
        assert handler.wait_for_acknowledgement("wf-1", 0) is False
    assert handler.wait_for_acknowledgement("wf-1", 0) is True
    resume(handler)
    with handler.activity("wf-1"):
        pass


def test_a_pause_is_acknowledged_once(handler: PauseHandler) -> None:
    with pytest.raises(NotPaused):
        handler.acknowledge_pause("wf-1")
    pause(handler)
    first = handler.acknowledge_pause("wf-1")
    assert first.acknowledged_at is not None
    assert handler.acknowledge_pause("wf-1") == first
    resume(handler)
    assert pause(handler).acknowledged_at is None, "the next pause is another one"


# ---------------------------------------------------------------- resume


def test_resuming_what_was_never_paused_is_an_error_and_leaves_no_file(handler: PauseHandler, tmp_path: Path) -> None:
    with pytest.raises(NotPaused, match="never paused"):
        resume(handler)
    assert list(tmp_path.rglob("*.json")) == []


def test_resuming_twice_is_an_error_and_counts_as_an_attempt(handler: PauseHandler) -> None:
    pause(handler)
    resume(handler)
    with pytest.raises(NotPaused, match="not paused"):
        resume(handler)
    state = handler.get_pause_state("wf-1")
    assert state is not None
    assert (state.resume_attempts, state.resume_count, state.pause_count) == (2, 1, 1)


def test_a_resume_keeps_its_reason_and_marks_the_snapshot(handler: PauseHandler) -> None:
    save(handler)
    pause(handler)
    state = resume(handler, reason="new pod")
    snapshot = handler.manager.get_latest_snapshot("wf-1")
    assert snapshot is not None
    assert state.resume_reason == "new pod"
    assert snapshot.resumed_at == state.resumed_at


def test_a_workflow_may_be_paused_and_resumed_again_and_again(handler: PauseHandler) -> None:
    for _ in range(5):
        pause(handler)
        resume(handler)
    state = handler.get_pause_state("wf-1")
    assert state is not None
    assert (state.pause_count, state.resume_count, state.is_paused) == (5, 5, False)
    assert state.paused_s >= 0


def test_a_damaged_snapshot_does_not_keep_a_workflow_paused(handler: PauseHandler, tmp_path: Path) -> None:
    save(handler)
    pause(handler)
    (tmp_path / "snapshots" / "wf-1.snapshot.json").write_text("{")
    assert handler.has_snapshot("wf-1") is False
    assert resume(handler).is_paused is False


def test_restoring_is_counted_and_without_a_snapshot_an_error(handler: PauseHandler) -> None:
    with pytest.raises(SnapshotNotFound):
        handler.restore_snapshot("wf-1")
    save(handler)
    pause(handler)
    handler.restore_snapshot("wf-1")
    state = handler.get_pause_state("wf-1")
    assert state is not None
    assert state.restore_count == 1


def test_a_snapshot_saved_during_a_pause_has_the_time_of_that_pause(handler: PauseHandler) -> None:
    state = pause(handler)
    save(handler)
    assert handler.restore_snapshot("wf-1").paused_at == state.paused_at


# ---------------------------------------------------------------- signals that make no sense


def test_no_signal_is_an_error(handler: PauseHandler) -> None:
    for nothing in (None, "wf-1", ResumeSignal(workflow_id="wf-1")):
        with pytest.raises(BadSignal):
            handler.request_pause(nothing)  # type: ignore[arg-type]
    with pytest.raises(BadSignal):
        handler.request_resume(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("grace", [-1, float("nan"), float("inf"), "30s", True, timedelta(seconds=-1)])
def test_a_grace_that_makes_no_sense_is_an_error(handler: PauseHandler, grace: object) -> None:
    with pytest.raises(BadSignal, match="grace"):
        pause(handler, grace_period=grace)
    assert not handler.is_paused("wf-1")


def test_a_time_without_offset_is_an_error(handler: PauseHandler) -> None:
    with pytest.raises(BadSignal, match="offset"):
        pause(handler, requested_at=datetime(2026, 1, 1))
    pause(handler)
    with pytest.raises(BadSignal, match="offset"):
        resume(handler, requested_at=datetime(2026, 1, 1))
    assert handler.is_paused("wf-1")


@pytest.mark.parametrize("bad", ["", "../a", "a/b", ".a", "a\0"])
def test_an_id_that_cannot_name_a_file_is_a_value_error(handler: PauseHandler, bad: str) -> None:
    for call in (
        lambda: pause(handler, bad),
        lambda: resume(handler, bad),
        lambda: handler.is_paused(bad),
        lambda: handler.wait_for_pause_or_resume(bad, 0),
        lambda: handler.has_snapshot(bad),
    ):
        with pytest.raises(ValueError, match="id of a workflow"):
            call()


def test_errors_are_of_one_tree_and_say_what_to_do(handler: PauseHandler) -> None:
    with pytest.raises(PauseError) as error:
        resume(handler)
    assert "help:" in str(error.value)


def test_a_damaged_pause_state_is_told_and_can_be_reset(handler: PauseHandler, tmp_path: Path) -> None:
    pause(handler, "good")
    (tmp_path / "pause-state" / "wf-1.pause.json").write_bytes(b"\0\0")
    with pytest.raises(PauseError, match=r"wf-1\.pause\.json"):
        handler.is_paused("wf-1")
    assert list(handler.get_all_pause_states()) == ["good"]
    assert handler.get_pause_stats()["damaged"] == 1
    assert handler.reset_pause_state("wf-1") is True
    assert handler.is_paused("wf-1") is False


# ---------------------------------------------------------------- waiting


def test_a_wait_tells_a_pause_then_a_resume_then_runs_out(handler: PauseHandler) -> None:
    pause(handler)
    assert handler.wait_for_pause_or_resume("wf-1", 5) is True
    assert handler.wait_for_pause_or_resume("wf-1", 0) is False, "it was told already"
    resume(handler)
    assert handler.wait_for_pause_or_resume("wf-1", 5) is False
    assert handler.wait_for_pause_or_resume("wf-1", timedelta(milliseconds=1)) is False


def test_a_wait_is_ended_by_another_thread(handler: PauseHandler) -> None:
    timer = soon(lambda: pause(handler))
    assert handler.wait_for_pause_or_resume("wf-1", BOUND_S) is True
    timer.join()
    timer = soon(lambda: resume(handler))
    assert handler.wait_while_paused("wf-1", BOUND_S) is True
    timer.join()


def test_a_wait_is_ended_by_another_process(handler: PauseHandler, tmp_path: Path) -> None:
    program = (
        "import sys; from onward.pause import *\n"
        "PauseHandler(SnapshotManager(sys.argv[1])).request_pause(PauseSignal(workflow_id='wf-1', reason='far'))"
    )
    other = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)])
    try:
        assert handler.wait_for_pause_or_resume("wf-1", BOUND_S) is True
    finally:
        assert other.wait(BOUND_S) == 0
    state = handler.get_pause_state("wf-1")
    assert state is not None
    assert state.reason == "far"


def test_waiting_while_paused_runs_out(handler: PauseHandler) -> None:
    pause(handler)
    assert handler.wait_while_paused("wf-1", 0.01) is False
    assert handler.wait_while_paused("wf-2", 0.01) is True


def test_every_waiter_is_told(handler: PauseHandler) -> None:
    with ThreadPoolExecutor(8) as pool:
        waits = [pool.submit(handler.wait_for_pause_or_resume, "wf-1", BOUND_S) for _ in range(8)]
        soon(lambda: pause(handler)).join()
        assert [wait.result(BOUND_S) for wait in waits].count(True) == 8


def test_after_a_reset_an_old_signal_is_not_told_again(handler: PauseHandler) -> None:
    pause(handler)
    handler.reset_pause_state("wf-1")
    assert handler.wait_for_pause_or_resume("wf-1", 0) is False
    assert handler.reset_pause_state("wf-1") is False


def test_a_channel_receives_signals_with_their_fields(handler: PauseHandler) -> None:
    channel, other = handler.signals("wf-1"), handler.signals("wf-1")
    pause(handler, reason="deploy", grace_period=5)
    signal = channel.receive(BOUND_S)
    assert isinstance(signal, PauseSignal)
    assert (signal.reason, signal.grace_period) == ("deploy", 5.0)
    assert channel.receive(0) is None
    resume(handler, reason="done")
    for each in (channel, other):
        after = each.receive(BOUND_S)
        assert isinstance(after, ResumeSignal), "what counts is the newest"
        assert after.reason == "done"


def test_coroutines_wait_without_holding_up_the_loop(handler: PauseHandler) -> None:
    told = asyncio.Event()

    async def orchestrator() -> list[str]:
        seen = []
        async for signal in handler.signals("wf-1"):
            seen.append(type(signal).__name__)
            told.set()
            if isinstance(signal, ResumeSignal):
                break
        return seen

    async def together() -> list[str]:
        working = asyncio.create_task(orchestrator())
        waiting = asyncio.create_task(handler.wait_for_pause_or_resume_async("wf-1", BOUND_S))
        await asyncio.sleep(0)
        pause(handler)
        assert await waiting is True
        assert await handler.wait_while_paused_async("wf-1", 0.01) is False
        assert await handler.wait_for_acknowledgement_async("wf-1", 0.01) is False
        await asyncio.wait_for(told.wait(), BOUND_S)
        resume(handler)
        return await asyncio.wait_for(working, BOUND_S)

    assert asyncio.run(together()) == ["PauseSignal", "ResumeSignal"]


def test_a_wait_in_a_coroutine_can_be_cancelled(handler: PauseHandler) -> None:
    async def cancelled() -> bool:
        waiting = asyncio.create_task(handler.wait_for_pause_or_resume_async("wf-1"))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return True

    assert asyncio.run(cancelled())


# ---------------------------------------------------------------- numbers


def test_stats_count_pauses_and_resumes(handler: PauseHandler) -> None:
    pause(handler, "a")
    pause(handler, "b", automatic=True)
    handler.acknowledge_pause("b")
    pause(handler, "c")
    resume(handler, "c")
    with pytest.raises(NotPaused):
        resume(handler, "c")
    stats = handler.get_pause_stats()
    assert stats.pop("paused_s") >= 0
    assert stats == {
        "total": 3, "paused": 2, "acknowledged": 1, "automatic": 1, "pauses": 3,
        "resume_attempts": 2, "resumes": 1, "restores": 0, "damaged": 0,
    }  # fmt: skip


# ---------------------------------------------------------------- 32 threads


THREADS = 32
WORKFLOWS = [f"wf-{number}" for number in range(4)]


@pytest.mark.slow
def test_32_threads_and_the_counts_are_exact(tmp_path: Path) -> None:
    """Every success is written down by the thread that had it; the checker compares with what is on the disk.

    Half of the threads share a handler, the others have their own, as other processes would.
    """
    shared = PauseHandler(SnapshotManager(tmp_path, keep=3))
    log: dict[str, list[str]] = {name: [] for name in WORKFLOWS}
    for name in WORKFLOWS:
        pause(shared, name)
        save(shared, name, stage="s" * 50)
    until = time.monotonic() + 6
    start = threading.Barrier(THREADS)

    def hammer(number: int) -> None:
        mine = shared if number % 2 else PauseHandler(SnapshotManager(tmp_path, keep=3))
        start.wait(BOUND_S)
        turn = number
        while time.monotonic() < until:
            name = WORKFLOWS[turn % len(WORKFLOWS)]
            _turn(mine, name, turn % 5, log[name])
            turn += 7

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(hammer, number) for number in range(THREADS)]:
            done.result(60)

    fresh = PauseHandler(SnapshotManager(tmp_path))
    for name, made in log.items():
        state = fresh.get_pause_state(name)
        assert state is not None
        assert state.pause_count - state.resume_count == int(state.is_paused), "each resume ends one pause"
        assert state.resume_count == made.count("resumed")
        assert state.resume_attempts == made.count("resumed") + made.count("refused")
        assert state.restore_count == made.count("restored")
    assert fresh.manager.load() == len(WORKFLOWS)
    assert fresh.manager.damaged == {}
    left = [path.name for path in tmp_path.rglob("*") if path.name.endswith("-tmp")]
    assert left == []
    assert sum(len(made) for made in log.values()) >= THREADS


def _turn(handler: PauseHandler, name: str, what: int, log: list[str]) -> None:
    match what:
        case 0:
            assert handler.request_pause(PauseSignal(workflow_id=name)).is_paused
        case 1:
            try:
                assert not handler.request_resume(ResumeSignal(workflow_id=name)).is_paused
                log.append("resumed")
            except NotPaused:
                log.append("refused")
        case 2:
            save(handler, name, stage="s" * 50)
        case 3:
            snapshot = handler.restore_snapshot(name)
            assert json.loads(json.dumps(snapshot.to_dict()))["stage"] == "s" * 50
            log.append("restored")
        case _:
            state = handler.get_pause_state(name)
            assert state is None or state.workflow_id == name
            assert set(handler.get_all_pause_states()) <= set(WORKFLOWS)
            assert handler.manager.get_snapshot_stats()["damaged"] == 0
