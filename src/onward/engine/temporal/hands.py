"""Actions that need the world → activities; what these bring → events for the workflow.

A task is one activity without retries of Temporal's: `retry` is ours. When its worker is lost, another activity looks
after it (on the host where it began, if that has a worker again): it re-attaches, or the attempt is interrupted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, CancelledError, TimeoutType
from temporalio.exceptions import TimeoutError as TimedOut

with workflow.unsafe.imports_passed_through():
    from msgspec import Struct

    from onward.engine.temporal import messages as ms
    from onward.engine.temporal.outbox import FOR_EVER, RETRY, Outbox
    from onward.model import events as ev
    from onward.model.actions import (
        Action,
        AskCondition,
        BeginAttempt,
        FinishNode,
        OpenGate,
        ReadItems,
        Validate,
    )
    from onward.model.status import Outcome, Where
    from onward.state.run_state import RunState
    from onward.tasks.environment import key_of

ONCE = RetryPolicy(maximum_attempts=1)
FIRST_LOOK_S, LAST_LOOK_S = 1.0, 120.0
"""while something cannot be read or written, it is looked at again ever more seldom"""
MOST_LOSSES = 3
"""a task whose worker is lost so often has failed: most likely it is what ends them"""


class Running(Struct):
    """An attempt that an activity works on, or looks after."""

    path: str
    attempt: int
    seq: int
    queue: str
    handle: Any = None
    stopping: str | None = None
    ticket: int | None = None


class Hands:
    """Everything that runs for one execution of a workflow. `problem`: why something does not go on, in words."""

    def __init__(
        self,
        given: ms.Given,
        state: RunState,
        outbox: Outbox,
        happened: Callable[[ms.Entry], None],
        withdraw: Callable[[str], None],
    ) -> None:
        self.running: dict[str, Running] = {}
        self.errands = 0
        self.problem = ""
        self.snapshots: dict[str, ms.Answered | None] = {}
        """by cause; None: it is being taken"""
        self.host = given.host
        self._given = given
        self._state = state
        self._outbox = outbox
        self._happened = happened
        self._withdraw = withdraw
        self._attempts: list[Running] = []
        self._actions: list[Action] = []
        self._asked: dict[Any, str] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._losses: dict[str, int] = {}

    @staticmethod
    def does(action: Action) -> bool:
        """Whether the action needs the world."""
        if isinstance(action, FinishNode):
            return action.gather
        return isinstance(action, BeginAttempt | AskCondition | Validate | ReadItems | OpenGate)

    @property
    def busy(self) -> bool:
        """Whether anything runs whose end will be told."""
        return bool(self.running or self.errands or self._attempts or self._actions)

    @property
    def to_begin(self) -> int:
        """How many activities the next `begin_all` starts."""
        return len(self._attempts) + len(self._actions)

    def start_of(self, path: str, attempt: int) -> ev.AttemptStart:
        """As much of the start of an attempt as is known here; the activity that begins it knows the rest."""
        instance = self._state.instances[path]
        digest = instance.node.digest if instance.node is not None else ""
        key = key_of(self._given.run, instance)
        return ev.AttemptStart(path=path, attempt=attempt, key=key, definition_sha256=digest)

    def begin_later(self, path: str, attempt: int, seq: int) -> None:
        """Begin an attempt with the next `begin_all`."""
        running = Running(path=path, attempt=attempt, seq=seq, queue=self._queue_of(path))
        self.running[path] = running
        self._attempts.append(running)

    def do_later(self, action: Action) -> None:
        """Do anything else with the next `begin_all`."""
        self._actions.append(action)

    def begin_all(self) -> None:
        """Start what was collected."""
        attempts, self._attempts = self._attempts, []
        for running in attempts:
            if running.stopping is None:
                self._start(running)
            else:
                self._end(running, ms.Done(end=_interrupted(running)))
        actions, self._actions = self._actions, []
        for action in actions:
            self._send(_errand_of(action))

    def stop(self, path: str, reason: str) -> None:
        """End the running attempt of a leaf; its end follows."""
        running = self.running.get(path)
        if running is not None and running.stopping is None:
            running.stopping = reason
            if running.handle is not None:
                running.handle.cancel()

    def stop_all(self, reason: str) -> None:
        """End everything that runs: attempts are interrupted, questions are asked again later."""
        for path in list(self.running):
            self.stop(path, reason)
        for handle, path in list(self._asked.items()):
            if path:
                handle.cancel()

    def look_after(self, path: str, attempt: int) -> None:
        """Find out about an attempt that an earlier execution, or another engine, began."""
        running = Running(path=path, attempt=attempt, seq=0, queue=self._queue_of(path))
        self.running[path] = running
        self._spawn(self._looked_after(running))

    def snapshot(self, cause: str) -> None:
        """Take a snapshot; what came of it stands in `snapshots`."""
        self.snapshots[cause] = None
        self._send(ms.Errand(kind="snapshot", path="", purpose=cause))

    # --- attempts -----------------------------------------------------------------------------------------------

    def _queue_of(self, path: str) -> str:
        node = self._state.instances[path].node
        if node is not None and node.queue is not None:
            return node.queue
        if self._given.same_host and self.host is not None:
            return ms.host_queue(self._given.queue, self.host)
        return self._given.queue

    def _about(self, running: Running) -> ms.About:
        return ms.About(
            run=self._given.run,
            store=self._given.store,
            epoch=self._state.facts.epoch,
            path=running.path,
            attempt=running.attempt,
            seq=running.seq,
            stop=running.stopping,
            beat_s=self._given.beat_s,
        )

    def _start(self, running: Running) -> None:
        if running.queue == self._given.queue:
            running.ticket = self._outbox.carry(running.seq)
        running.handle = workflow.start_activity(
            ms.TASK,
            args=[ms.plain(self._about(running)), self._outbox.pack(running.seq)],
            result_type=bytes,
            task_queue=running.queue,
            start_to_close_timeout=FOR_EVER,
            heartbeat_timeout=timedelta(seconds=self._given.heartbeat_s),
            retry_policy=ONCE,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=running.path if running.attempt == 1 else f"{running.path} (attempt {running.attempt})",
        )
        self._spawn(self._wait_for(running))

    async def _wait_for(self, running: Running) -> None:
        try:
            done = ms.unpack(await running.handle, ms.Done)
        except ActivityError as error:
            self._outbox.lost(running.ticket)
            if isinstance(error.cause, CancelledError):
                self._end(running, ms.Done(end=_interrupted(running)))
                return
            self._note_problem(error)
            await self._looked_after(running)
            return
        self._end(running, done)

    async def _looked_after(self, running: Running) -> None:
        queue, pause_s = running.queue, FIRST_LOOK_S
        while True:
            try:
                done = await self._look(running, queue)
            except ActivityError as error:
                if _never_started(error):
                    done = ms.Done(end=_interrupted(running))
                else:
                    self._note_problem(error)
                    queue = running.queue
                    await workflow.sleep(pause_s)
                    pause_s = min(2 * pause_s, LAST_LOOK_S)
                    continue
            if done.end is None:
                queue = ms.host_queue(self._given.queue, done.host or "")
                continue
            self._end(running, self._perhaps_lost_too_often(running, done))
            return

    async def _look(self, running: Running, queue: str) -> ms.Done:
        on_its_host = queue != running.queue
        up_to = self._outbox.last
        running.ticket = self._outbox.carry(up_to) if queue == self._given.queue else None
        running.handle = workflow.start_activity(
            ms.LOOK_AFTER,
            args=[ms.plain(self._about(running)), self._outbox.pack(up_to)],
            result_type=bytes,
            task_queue=queue,
            schedule_to_start_timeout=timedelta(seconds=self._given.reattach_s) if on_its_host else None,
            start_to_close_timeout=FOR_EVER,
            heartbeat_timeout=timedelta(seconds=self._given.heartbeat_s),
            retry_policy=ONCE,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"{running.path}: what became of it",
        )
        try:
            done = ms.unpack(await running.handle, ms.Done)
        except ActivityError:
            self._outbox.lost(running.ticket)
            raise
        self._outbox.delivered(running.ticket, done.journaled)
        return done

    def _perhaps_lost_too_often(self, running: Running, done: ms.Done) -> ms.Done:
        end = done.end
        if end is None or end.outcome is not Outcome.INTERRUPTED or running.stopping is not None:
            return done
        losses = self._losses[running.path] = self._losses.get(running.path, 0) + 1
        if losses < MOST_LOSSES:
            return done
        text = f"the worker that did it was lost {losses} times"
        failed = ev.AttemptEnd(
            path=running.path, attempt=running.attempt, outcome=Outcome.ERROR, error=text, final=True
        )
        return ms.Done(end=failed, start=done.start, journaled=done.journaled)

    def _end(self, running: Running, done: ms.Done) -> None:
        assert done.end is not None
        self._outbox.delivered(running.ticket, done.journaled)
        if self.running.get(running.path) is running:
            del self.running[running.path]
        self._learn(running, done)
        end = done.end
        if end.outcome is Outcome.INTERRUPTED and running.stopping is not None:
            end = ev.AttemptEnd(
                path=end.path,
                attempt=end.attempt,
                outcome=end.outcome,
                error=running.stopping,
                duration_s=end.duration_s,
                session=end.session,
                usage=end.usage,
                session_usage=end.session_usage,
            )
        if done.word:
            self._happened(ms.entry(ev.Note(text=f"`{running.path}`: {done.word}", path=running.path)))
        self._happened(ms.entry(end))

    def _learn(self, running: Running, done: ms.Done) -> None:
        if self._given.same_host and self.host is None and done.host:
            self.host = done.host
        if done.start is not None:
            instance = self._state.instances[running.path]
            instance.inputs = done.start.inputs_sha256
            instance.session = done.start.session or instance.session

    def _note_problem(self, error: ActivityError) -> None:
        cause = error.cause
        if isinstance(cause, ApplicationError) and cause.type != ms.LEFT and cause.message != self.problem:
            self.problem = cause.message
            self._happened(ms.entry(ev.Note(text=f"a worker cannot go on: {cause.message}", level="warning")))

    # --- errands ------------------------------------------------------------------------------------------------

    def _send(self, errand: ms.Errand) -> None:
        up_to = self._outbox.last
        ticket = self._outbox.carry(up_to)
        about = ms.About(
            run=self._given.run,
            store=self._given.store,
            epoch=self._state.facts.epoch,
            beat_s=self._given.beat_s,
        )
        handle = workflow.start_activity(
            ms.ERRAND,
            args=[ms.plain(about), ms.plain(errand), self._outbox.pack(up_to)],
            result_type=bytes,
            task_queue=self._errand_queue(errand.path),
            start_to_close_timeout=FOR_EVER,
            heartbeat_timeout=timedelta(seconds=self._given.heartbeat_s),
            retry_policy=RETRY,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
            summary=f"{errand.path}: {errand.where or errand.kind}" if errand.path else errand.kind,
        )
        self.errands += 1
        self._asked[handle] = errand.path
        self._spawn(self._answer_to(errand, handle, ticket))

    def _errand_queue(self, path: str) -> str:
        queue = self._queue_of(path)
        return queue if self._given.same_host else self._given.queue

    async def _answer_to(self, errand: ms.Errand, handle: Any, ticket: int) -> None:
        asker = errand.asker or errand.path
        try:
            answered = ms.unpack(await handle, ms.Answered)
        except ActivityError as error:
            self._outbox.lost(ticket)
            self._note_problem(error)
            answered = ms.Answered(stopped=True)
        self.errands -= 1
        self._asked.pop(handle, None)
        self._outbox.delivered(ticket, answered.journaled)
        if errand.kind == "snapshot":
            self.snapshots[errand.purpose] = answered
            self._withdraw("")
        elif answered.stopped:
            self._withdraw(asker)
        for entry in answered.entries:
            self._happened(entry)

    def _spawn(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _interrupted(running: Running) -> ev.AttemptEnd:
    return ev.AttemptEnd(
        path=running.path,
        attempt=running.attempt,
        outcome=Outcome.INTERRUPTED,
        error=running.stopping or "interrupted",
    )


def _never_started(error: ActivityError) -> bool:
    cause = error.cause
    return isinstance(cause, TimedOut) and cause.type is TimeoutType.SCHEDULE_TO_START


def _errand_of(action: Action) -> ms.Errand:
    match action:
        case AskCondition(path=path, where=Where.ARTIFACTS, asker=asker):
            return ms.Errand(kind="artifacts", path=path, asker=asker)
        case AskCondition():
            return ms.Errand(
                kind="condition",
                path=action.path,
                asker=action.asker,
                where=action.where.value,
                conditions=action.conditions,
            )
        case Validate(path=path, attempt=attempt):
            return ms.Errand(kind="validate", path=path, attempt=attempt)
        case ReadItems(path=path):
            return ms.Errand(kind="items", path=path)
        case OpenGate(path=path, purpose=purpose):
            return ms.Errand(kind="gate", path=path, purpose=purpose)
        case FinishNode():
            return ms.Errand(kind="finish", path=action.path, status=action.status.value, reason=action.reason)
        case _:
            raise AssertionError(f"no hand for {action}")
