"""The driver: decide → record → flush → act, over and over, until the run ends, is paused, or waits for somebody.

One turn takes everything that has happened, asks `decide` until only work is left to begin, flushes once, tells the
observers, and only then begins the work. So a sequence pays one flush for each task, and nobody is told of anything
that is not on disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from onward import clock
from onward.engine.embedded.mirroring import Mirroring
from onward.engine.embedded.records import records_of
from onward.engine.embedded.work import Begun, Work
from onward.engine.observer import Observer
from onward.journal.writer import Journal
from onward.mirrors.snapshot_run import PAUSE
from onward.model import events as ev
from onward.model.actions import Action, BeginAttempt, CompletePause, EndRun, RequestPause, StopAttempt
from onward.model.status import Status
from onward.state.decide import decide
from onward.state.fold import fold, issue, settle, wake
from onward.state.run_state import RunState


class SnapshotAsked(NamedTuple):
    """A snapshot that somebody asked for, or that is due."""

    cause: str = "request"
    compress: bool = False
    key: bytes | None = None


class Driver:
    """Drives one run. `leave_when_waiting`: stop when only people can move it on."""

    def __init__(
        self,
        state: RunState,
        journal: Journal,
        work: Work,
        mirroring: Mirroring,
        observer: Observer,
        *,
        leave_when_waiting: bool = True,
    ) -> None:
        self.state = state
        self.journal = journal
        self.work = work
        self.mirroring = mirroring
        self.observer = observer
        self.leave_when_waiting = leave_when_waiting
        self._happened: list[ev.Event] = []
        self._fresh: list[ev.Event] = []
        self._begun: list[Begun] = []
        self._tasks: list[Action] = []
        self._timer: asyncio.TimerHandle | None = None
        self._grace: asyncio.TimerHandle | None = None
        self._done: list[Callable[[], None]] = []
        self._scheduled = False
        self._over: asyncio.Future[None] | None = None
        self._snapshots_asked: list[SnapshotAsked] = []
        self._last_snapshot_at = clock.monotonic()
        self._last_snapshot_of = 0
        mirroring.attend(state)

    # --- from outside ---------------------------------------------------------------------------------------

    def record(self, event: ev.Event) -> None:
        """Add an event; it is on disk after the next flush."""
        event = self.journal.add(event)
        fold(self.state, event)
        self._fresh.append(event)

    def flush(self) -> None:
        """Everything recorded is on disk, then told to observers and mirrors."""
        self.journal.flush()
        fresh, self._fresh = self._fresh, []
        if fresh:
            self.mirroring.changed(self.state, fresh, self.journal)
            if troubles := self.mirroring.take_troubles():
                self.happened(*troubles)
            self.observer.changed(self.state, fresh)

    def close(self) -> None:
        """The last state is in the mirrors, and the journal says of those that could not be written."""
        self.mirroring.close(self.state, self.journal)
        for trouble in self.mirroring.take_troubles():
            self.record(trouble)
        self.journal.flush()

    async def drive(self) -> None:
        """Until the run ends, is paused, or waits for somebody. Raises `StateError` when it cannot be recorded."""
        loop = asyncio.get_running_loop()
        self._over = loop.create_future()
        self.work.connect(loop, self.happened, self.fail)
        try:
            settle(self.state)
            self.work.attach(self.state.running_leaves())
            self.schedule()
            await self._over
        finally:
            for handle in (self._timer, self._grace):
                if handle is not None:
                    handle.cancel()
            self.work.disconnect()

    def happened(self, *events: ev.Event) -> None:
        """Something has happened: it is taken in the next turn."""
        self._happened.extend(events)
        self.schedule()

    def fail(self, error: BaseException) -> None:
        """Stop at once: nothing new starts, what runs is left alone."""
        if self._over is not None and not self._over.done():
            self._over.set_exception(error)

    def schedule(self) -> None:
        """Have a turn soon; whatever happens until then is taken together."""
        if not self._scheduled and self._over is not None and not self._over.done():
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._turn)

    def schedule_done(self, done: Callable[[], None]) -> None:
        """Call `done` after the next flush: what a signal became is on disk then."""
        self._done.append(done)
        self.schedule()

    # --- pause and cancel -----------------------------------------------------------------------------------

    def ask_to_pause(self, reason: str, by: str, cause: str, grace_s: float) -> None:
        """Start no new attempt; what runs has `grace_s` seconds to end by itself. Asked again it can only be less."""
        if self.state.facts.end is not None:
            return
        self.happened(ev.PauseRequest(reason=reason, by=by, cause=cause, grace_s=grace_s))
        loop = asyncio.get_running_loop()
        if self._grace is None or loop.time() + grace_s < self._grace.when():
            if self._grace is not None:
                self._grace.cancel()
            self._grace = loop.call_later(grace_s, self.end_grace)

    def end_grace(self) -> None:
        """End every running attempt now; it is interrupted, not failed."""
        if self._grace is not None:
            self._grace.cancel()
        self.work.stop_all("paused")
        self.schedule()

    def ask_to_cancel(self, reason: str, by: str) -> None:
        """End the run: running attempts are stopped, `finally` steps still run."""
        if self.state.facts.end is None and self.state.cancelling is None:
            if self._grace is not None:
                self._grace.cancel()
            self.happened(ev.CancelRequest(reason=reason, by=by))

    # --- snapshots --------------------------------------------------------------------------------------------

    def ask_for_snapshot(self, asked: SnapshotAsked) -> None:
        """Take a snapshot in the next turn."""
        self._snapshots_asked.append(asked)
        self.schedule()

    def snapshot_if_due(self, every_s: float) -> None:
        """Take one when the last is that old and something has happened since."""
        changed = self.state.facts.seq != self._last_snapshot_of
        if changed and clock.monotonic() - self._last_snapshot_at >= every_s and not self._snapshots_asked:
            self._last_snapshot_at = clock.monotonic()
            self.ask_for_snapshot(SnapshotAsked(cause="time"))

    def _snapshot(self, asked: SnapshotAsked) -> ev.SnapshotTaken | None:
        """Of everything up to now, which is on the disk first."""
        self.flush()
        taken = self.mirroring.snapshot(
            self.state, self.journal, asked.cause, compress=asked.compress, key=asked.key
        )
        self._last_snapshot_at = clock.monotonic()
        if taken is not None:
            self.record(taken)
            self._last_snapshot_of = self.state.facts.seq
        return taken

    # --- a turn -----------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        self._scheduled = False
        if self._over is None or self._over.done():
            return
        try:
            self._take_what_happened()
            due = self._decide()
            self.flush()
            self._tell_senders()
            self._begin()
            self._rest(due)
        except Exception as error:  # noqa: BLE001 - a callback of the loop: whatever it is ends the drive
            self.fail(error)

    def _tell_senders(self) -> None:
        done, self._done = self._done, []
        for call in done:
            call()

    def _take_what_happened(self) -> None:
        happened, self._happened = self._happened, []
        for event in happened:
            is_first = self.state.pausing is None
            self.record(event)
            if isinstance(event, ev.PauseRequest) and is_first:
                self._snapshot(SnapshotAsked(cause="pause-request"))
        asked, self._snapshots_asked = self._snapshots_asked, []
        for each in asked:
            self._snapshot(each)

    def _decide(self) -> float | None:
        """Record everything that needs no work; collect the work."""
        while True:
            now = clock.now().timestamp()
            wake(self.state, now)
            actions, due = decide(self.state, now)
            if not actions:
                return due
            for action in actions:
                issue(self.state, action)
                self._take(action)

    def _take(self, action: Action) -> None:
        if isinstance(action, BeginAttempt):
            begun = self.work.prepare(action.path, action.attempt)
            self.record(begun.event)
            self._begun.append(begun)
            return
        if isinstance(action, CompletePause):
            taken = self._snapshot(SnapshotAsked(cause=PAUSE))
            self.record(ev.WorkflowPause(active=action.active, snapshot=taken.file if taken is not None else None))
            return
        if isinstance(action, RequestPause):
            self._snapshot(SnapshotAsked(cause="pause-request"))
            self._grace = asyncio.get_running_loop().call_later(self.state.plan.grace_s, self.end_grace)
        if isinstance(action, EndRun) and action.status is Status.FAILED:
            self._snapshot(SnapshotAsked(cause="failure"))
        events = records_of(self.state, action)
        if events is None:
            self._tasks.append(action)
        for event in events or ():
            self.record(event)

    def _begin(self) -> None:
        begun, self._begun = self._begun, []
        tasks, self._tasks = self._tasks, []
        for attempt in begun:
            self.work.begin(attempt)
        for action in tasks:
            if isinstance(action, StopAttempt):
                self.work.stop(action.path, action.reason)
            else:
                self.work.perform(action)

    def _rest(self, due: float | None) -> None:
        """Whether it is over; else when to look again at the latest."""
        assert self._over is not None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        state = self.state
        if state.facts.end is not None or (state.pausing is not None and state.pausing.complete):
            self._over.set_result(None)
        elif due is not None:
            delay = max(0.0, due - clock.now().timestamp())
            self._timer = asyncio.get_running_loop().call_later(delay, self.schedule)
        elif not self.work.busy and not self._happened and not state.running and not state.issued:
            self._nothing_moves()

    def _nothing_moves(self) -> None:
        assert self._over is not None
        if not self.state.gates:
            stuck = [i.path for i in self.state.instances.values() if i.path and not i.ended]
            raise AssertionError(f"nothing moves, and the run has not ended: {stuck[:20]}")
        if self.leave_when_waiting:
            self._over.set_result(None)
