"""Pause and resume signals → the pause state of workflows on the disk, and whoever waits for it.

Every method may be called from any thread, and from a coroutine (they do not wait; the `…_async` twins of those that do
wait without holding up the loop). Processes that share the folder see each other's signals.
"""

# ruff: noqa: ASYNC109 - the end of the time is an answer here (False, None), not an exception: `asyncio.timeout` works too

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import msgspec

from onward import clock
from onward.mirrors import pause_state
from onward.mirrors.pause_errors import BadSignal, NotPaused, PauseError, SnapshotError, WorkflowPaused
from onward.mirrors.pause_state import PauseSignal, PauseState, ResumeSignal
from onward.mirrors.snapshot_file import WorkflowSnapshot, check_id
from onward.mirrors.snapshot_manager import Duration, SnapshotManager

LOOK_S = 0.02
"""how often a waiter looks for signals of other processes"""

_SETTLED_S = 0.1
"""longer than any file system takes to give a file that is written anew another time of change"""

Signal = PauseSignal | ResumeSignal


class PauseHandler:
    """Pauses and resumes workflows whose snapshots `manager` keeps."""

    def __init__(self, manager: SnapshotManager) -> None:
        self.manager = manager
        self.folder = os.path.join(manager.base_path, pause_state.FOLDER)
        self._changed = threading.Condition()
        self._read: dict[str, tuple[tuple[int, int, int], PauseState]] = {}
        self._channels: dict[str, SignalChannel] = {}
        self._active: dict[str, int] = {}

    # ------------------------------------------------------------ signals

    def request_pause(self, signal: PauseSignal) -> PauseState:
        """Pause a workflow; it is paused, on the disk, when this returns.

        A second pause during a pause keeps the first one's reason and time, and can only shorten the grace.
        Raises `BadSignal`, `BadWorkflowId`.
        """
        if not isinstance(signal, PauseSignal):
            raise BadSignal(f"a PauseSignal is needed, not {type(signal).__name__}")
        pause_state.requested(signal)
        with self.manager.lock:
            return self._write(pause_state.paused(self.get_pause_state(signal.workflow_id), signal))

    def request_resume(self, signal: ResumeSignal) -> PauseState:
        """Let a paused workflow go on, and note that in its snapshot. Raises `NotPaused` where it is not paused."""
        if not isinstance(signal, ResumeSignal):
            raise BadSignal(f"a ResumeSignal is needed, not {type(signal).__name__}")
        pause_state.requested(signal)
        with self.manager.lock:
            before = self.get_pause_state(signal.workflow_id)
            if before is None:
                raise NotPaused(f"`{signal.workflow_id}` was never paused", help="there is nothing to resume")
            after = self._write(pause_state.resumed(before, signal))
            if not before.is_paused:
                raise NotPaused(f"`{signal.workflow_id}` is not paused", help="it was resumed already")
            if self.has_snapshot(signal.workflow_id):
                self.manager.mark_resumed(signal.workflow_id, at=after.resumed_at)
        return after

    def acknowledge_pause(self, workflow_id: str) -> PauseState:
        """The workflow says that nothing of it runs any more. Raises `NotPaused`."""
        with self.manager.lock:
            before = self.get_pause_state(workflow_id)
            if before is None or not before.is_paused:
                raise NotPaused(f"`{workflow_id}` is not paused")
            if before.acknowledged_at is not None:
                return before
            return self._write(msgspec.structs.replace(before, acknowledged_at=clock.now()))

    @contextmanager
    def activity(self, workflow_id: str) -> Iterator[None]:
        """Around each piece of work: none begins during a pause, and the last one that ends acknowledges it.

        Raises `WorkflowPaused` instead of beginning.
        """
        with self.manager.lock:
            if self.is_paused(workflow_id):
                raise WorkflowPaused(f"`{workflow_id}` is paused", help="wait with `wait_while_paused`")
            self._active[workflow_id] = self._active.get(workflow_id, 0) + 1
        try:
            yield
        finally:
            with self.manager.lock:
                self._active[workflow_id] -= 1
                if not self._active[workflow_id]:
                    del self._active[workflow_id]
                    if self.is_paused(workflow_id):
                        self.acknowledge_pause(workflow_id)

    # ------------------------------------------------------------ state

    def is_paused(self, workflow_id: str) -> bool:
        """Whether the workflow is paused (by whatever process)."""
        state = self.get_pause_state(workflow_id)
        return state is not None and state.is_paused

    def get_pause_state(self, workflow_id: str) -> PauseState | None:
        """How it stands; None for a workflow that was never paused, or was reset."""
        path = pause_state.path_of(self.folder, workflow_id)
        stamp = pause_state.stamp_of(path)
        if stamp is None:
            self._read.pop(workflow_id, None)
            return None
        known = self._read.get(workflow_id)
        if known is not None and known[0] == stamp:
            return known[1]
        state = pause_state.read(path)
        if state is not None and clock.now().timestamp() - stamp[1] / 1e9 > _SETTLED_S:
            self._read[workflow_id] = stamp, state
        return state

    def get_all_pause_states(self) -> dict[str, PauseState]:
        """The states of all workflows by id; files that cannot be used are left out."""
        return {state.workflow_id: state for state in self._all()[0]}

    def get_pause_stats(self) -> dict[str, Any]:
        """Counts over all workflows, and seconds of pauses that are over."""
        states, damaged = self._all()
        return {
            "total": len(states),
            "paused": sum(state.is_paused for state in states),
            "acknowledged": sum(state.is_paused and state.acknowledged_at is not None for state in states),
            "automatic": sum(state.is_paused and state.automatic for state in states),
            "pauses": sum(state.pause_count for state in states),
            "resume_attempts": sum(state.resume_attempts for state in states),
            "resumes": sum(state.resume_count for state in states),
            "restores": sum(state.restore_count for state in states),
            "paused_s": sum(state.paused_s for state in states),
            "damaged": damaged,
        }

    def reset_pause_state(self, workflow_id: str) -> bool:
        """Forget the pauses of a workflow that has ended; its snapshot stays. False when there was nothing."""
        with self.manager.lock:
            found = pause_state.remove(pause_state.path_of(self.folder, workflow_id))
            self._read.pop(workflow_id, None)
        with self._changed:
            self._channels.pop(workflow_id, None)
            self._changed.notify_all()
        return found

    # ------------------------------------------------------------ waiting

    def wait_for_pause_or_resume(self, workflow_id: str, timeout: Duration | None = None) -> bool:
        """Wait for a signal that this handler's waiters have not seen yet: True for a pause, False for a resume.

        One that came before counts, and after a restart a pause on the disk does. False, too, when the time
        (seconds, or a `timedelta`) is over; `get_pause_state` tells which.
        """
        return isinstance(self._channel(workflow_id).receive(timeout), PauseSignal)

    async def wait_for_pause_or_resume_async(self, workflow_id: str, timeout: Duration | None = None) -> bool:
        """The same in a coroutine."""
        return isinstance(await self._channel(workflow_id).receive_async(timeout), PauseSignal)

    def wait_while_paused(self, workflow_id: str, timeout: Duration | None = None) -> bool:
        """Block until the workflow is not paused; False when the time is over and it still is."""
        return self._wait(lambda: not self.is_paused(workflow_id), timeout)

    async def wait_while_paused_async(self, workflow_id: str, timeout: Duration | None = None) -> bool:
        """The same in a coroutine."""
        return await self._wait_async(lambda: not self.is_paused(workflow_id), timeout)

    def wait_for_acknowledgement(self, workflow_id: str, timeout: Duration | None = None) -> bool:
        """Wait until a paused workflow has said that it is quiet; False when the time is over, or it goes on."""
        check_id(workflow_id)
        self._wait(lambda: self._is_settled(workflow_id), timeout)
        return self._is_quiet(workflow_id)

    async def wait_for_acknowledgement_async(self, workflow_id: str, timeout: Duration | None = None) -> bool:
        """The same in a coroutine."""
        check_id(workflow_id)
        await self._wait_async(lambda: self._is_settled(workflow_id), timeout)
        return self._is_quiet(workflow_id)

    def signals(self, workflow_id: str) -> SignalChannel:
        """A channel of the signals to a workflow, from the newest one that is on the disk now."""
        return SignalChannel(self, check_id(workflow_id))

    # ------------------------------------------------------------ snapshots

    def save_snapshot(
        self,
        workflow_id: str,
        stage: str = "",
        completed_tasks: Sequence[str] | None = None,
        pending_tasks: Sequence[str] | None = None,
        failed_tasks: Sequence[str] | None = None,
        current_task_id: str = "",
        current_activity_id: str = "",
        task_metrics: Mapping[str, Any] | None = None,
        workflow_metrics: Mapping[str, Any] | None = None,
        configuration: Mapping[str, Any] | None = None,
    ) -> WorkflowSnapshot:
        """Save the state for a pause: before asking for it, or while it lasts. `paused_at` is set."""
        state = self.get_pause_state(workflow_id)
        return self.manager.create_snapshot(
            workflow_id,
            stage,
            completed_tasks,
            pending_tasks,
            failed_tasks,
            current_task_id,
            current_activity_id,
            task_metrics,
            workflow_metrics,
            configuration,
            paused_at=state.paused_at if state is not None and state.is_paused else clock.now(),
        )

    def restore_snapshot(self, workflow_id: str) -> WorkflowSnapshot:
        """What the workflow goes on from. Raises `SnapshotNotFound`, `SnapshotError`."""
        snapshot = self.manager.restore_from_snapshot(workflow_id)
        with self.manager.lock:
            state = self.get_pause_state(workflow_id)
            if state is not None:
                self._write(msgspec.structs.replace(state, restore_count=state.restore_count + 1))
        return snapshot

    def has_snapshot(self, workflow_id: str) -> bool:
        """Whether there is a snapshot that can be used."""
        try:
            return self.manager.get_latest_snapshot(workflow_id) is not None
        except SnapshotError:
            return False

    # ------------------------------------------------------------ inside

    def _write(self, state: PauseState) -> PauseState:
        pause_state.write(pause_state.path_of(self.folder, state.workflow_id), state)
        with self._changed:
            self._changed.notify_all()
        return state

    def _all(self) -> tuple[list[PauseState], int]:
        states, damaged = [], 0
        for name in self._names():
            try:
                state = pause_state.read(os.path.join(self.folder, name))
            except PauseError:
                damaged += 1
                continue
            if state is not None:
                states.append(state)
        return states, damaged

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise PauseError(f"cannot list {self.folder}: {error.strerror}") from error
        return sorted(name for name in names if name.endswith(pause_state.SUFFIX) and not name.startswith("."))

    def _channel(self, workflow_id: str) -> SignalChannel:
        check_id(workflow_id)
        with self._changed:
            return self._channels.setdefault(workflow_id, SignalChannel(self, workflow_id))

    def _is_settled(self, workflow_id: str) -> bool:
        return self._is_quiet(workflow_id) or not self.is_paused(workflow_id)

    def _is_quiet(self, workflow_id: str) -> bool:
        state = self.get_pause_state(workflow_id)
        return state is not None and state.is_paused and state.acknowledged_at is not None

    def _wait(self, ready: Callable[[], bool], timeout: Duration | None) -> bool:
        end = _end_of(timeout)
        while not ready():
            left = end - clock.monotonic()
            if left <= 0:
                return False
            with self._changed:
                self._changed.wait(min(LOOK_S, left))
        return True

    async def _wait_async(self, ready: Callable[[], bool], timeout: Duration | None) -> bool:
        end = _end_of(timeout)
        while not ready():
            left = end - clock.monotonic()
            if left <= 0:
                return False
            await asyncio.sleep(min(LOOK_S, left))
        return True


class SignalChannel:
    """Signals to one workflow, for one receiver. What counts is the newest: a pause that was resumed is not given."""

    def __init__(self, handler: PauseHandler, workflow_id: str) -> None:
        """Use `PauseHandler.signals`."""
        self._handler = handler
        self._workflow_id = workflow_id
        self._seen = ""

    def receive(self, timeout: Duration | None = None) -> Signal | None:
        """The next signal; None when the time is over."""
        before = self._seen
        self._handler._wait(lambda: self._newest(before) is not None, timeout)
        return self._take(before)

    async def receive_async(self, timeout: Duration | None = None) -> Signal | None:
        """The same in a coroutine."""
        before = self._seen
        await self._handler._wait_async(lambda: self._newest(before) is not None, timeout)
        return self._take(before)

    def __aiter__(self) -> AsyncIterator[Signal]:
        return self._each()

    async def _each(self) -> AsyncIterator[Signal]:
        while True:
            signal = await self.receive_async()
            if signal is not None:
                yield signal

    def _newest(self, before: str) -> PauseState | None:
        state = self._handler.get_pause_state(self._workflow_id)
        return state if state is not None and state.signal_id not in ("", before) else None

    def _take(self, before: str) -> Signal | None:
        state = self._newest(before)
        if state is None:
            return None
        self._seen = state.signal_id
        if state.is_paused:
            return PauseSignal(
                workflow_id=state.workflow_id,
                reason=state.reason,
                requested_at=state.requested_at,
                grace_period=state.grace_period,
                automatic=state.automatic,
            )
        return ResumeSignal(
            workflow_id=state.workflow_id, reason=state.resume_reason, requested_at=state.resumed_at
        )


def _end_of(timeout: Duration | None) -> float:
    if timeout is None:
        return float("inf")
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    return clock.monotonic() + seconds
