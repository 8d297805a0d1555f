"""The workflow: the same `decide` and `fold` as everywhere, in Temporal's sandbox.

One turn takes what has happened, decides until nothing more comes, and sends off the work; then it waits. Events get
their numbers here, so Temporal's history is the truth, and the journal a copy that activities write by these numbers.
Work is handed on to a new execution (continue-as-new) when nothing runs; the state is then read from the journal.
"""

from __future__ import annotations

import asyncio
from typing import Any

from temporalio import workflow
from temporalio.common import SearchAttributeKey
from temporalio.exceptions import ApplicationError, CancelledError

with workflow.unsafe.imports_passed_through():
    import msgspec

    from onward.engine.records import records_of
    from onward.engine.temporal import messages as ms
    from onward.engine.temporal.hands import Hands
    from onward.engine.temporal.loading import load
    from onward.engine.temporal.outbox import Outbox
    from onward.mirrors.snapshot_run import PAUSE
    from onward.model import events as ev
    from onward.model.actions import (
        Action,
        BeginAttempt,
        CompletePause,
        EndRun,
        ExpireGate,
        RequestPause,
        StopAttempt,
    )
    from onward.model.nodes import Approve
    from onward.model.status import Status
    from onward.state.decide import decide
    from onward.state.fold import fold, issue, settle, wake, withdraw
    from onward.state.gate_rules import refusal
    from onward.state.run_state import RunState

_STATUS = SearchAttributeKey.for_keyword(ms.FIND_STATUS)
FAILURE = "failure"
TICK_S = 0.001
"""deadlines are named with another last digit from turn to turn: closer than this is the same"""


@workflow.defn(name=ms.WORKFLOW)
class OnwardRun:
    """One run."""

    @workflow.init
    def __init__(self, given: dict[str, Any]) -> None:
        self._given = ms.from_plain(given, ms.Given)
        self._state: RunState | None = None
        self._happened: list[ms.Entry] = []
        self._requests: list[ms.Request] = []
        self._withdrawn: list[str] = []
        self._timer: asyncio.Task[None] | None = None
        self._timer_due: float | None = None
        self._grace: asyncio.Task[None] | None = None
        self._grace_until: float | None = None
        self._rung = False
        self._first: list[ev.Event] = list(self._given.first)
        self._goes_on = False
        self._ended_in_temporal = False
        self._shown = ""

    # --- from outside -----------------------------------------------------------------------------------------

    @workflow.signal(name=ms.REQUEST)
    def request(self, what: dict[str, Any]) -> None:
        """Somebody wants something: it is taken in the next turn."""
        self._requests.append(ms.from_plain(what, ms.Request))

    @workflow.update(name=ms.ANSWER)
    async def answer(self, what: dict[str, Any]) -> int:
        """The same for whoever wants to wait until it is in the history; returns the last event then."""
        await workflow.wait_condition(lambda: self._state is not None)
        self._requests.append(ms.from_plain(what, ms.Request))
        await workflow.wait_condition(lambda: not self._requests)
        return self._state.facts.seq if self._state is not None else 0

    @answer.validator
    def _answer_fits(self, what: dict[str, Any]) -> None:
        asked = ms.from_plain(what, ms.Request)
        gate = None if self._state is None else self._state.gates.get(asked.path)
        if asked.kind == "decide" and self._state is not None:
            problem = f"no question is open at `{asked.path}`" if gate is None else None
            problem = problem or (refusal(gate, asked.choice, asked.fields) if gate is not None else None)
            if problem is not None:
                raise ApplicationError(problem, type="refused")

    @workflow.query(name=ms.STATUS)
    def status(self) -> dict[str, Any]:
        """How the run stands, for whoever cannot see its folder."""
        state = self._state
        if state is None:
            return {"run": self._given.run, "status": "loading"}
        return {
            "run": self._given.run,
            "status": state.status.value,
            "reason": state.facts.end_reason,
            "seq": state.facts.seq,
            "done": state.done_leaves,
            "running": sorted(self._hands.running),
            "errands": self._hands.errands,
            "gates": list(state.gates),
            "paused": state.pausing is not None and state.pausing.complete,
            "wakes_at": self._timer_due,
            "written": self._outbox.written,
            "problem": self._hands.problem,
        }

    # --- the run ----------------------------------------------------------------------------------------------

    @workflow.run
    async def run(self, _: dict[str, Any]) -> dict[str, Any]:
        """Until the run ends; a paused run stays here."""
        driving = asyncio.create_task(self._drive())
        while not driving.done():
            try:
                await workflow.wait_condition(driving.done)
            except asyncio.CancelledError:
                self._ended_in_temporal = True
                self._requests.append(ms.Request(kind="cancel", reason="cancelled", by="Temporal"))
        driving.result()
        if self._goes_on:
            await workflow.wait_condition(workflow.all_handlers_finished)
            workflow.continue_as_new(ms.plain(self._handed_on()))
        return self._result()

    def _handed_on(self) -> ms.Given:
        return msgspec.structs.replace(
            self._given, first=list(self._first), fresh_epoch=bool(self._first), host=self._hands.host
        )

    def _result(self) -> dict[str, Any]:
        """Temporal's own status says how the run ended, too."""
        assert self._state is not None
        facts = self._state.facts
        if facts.end is Status.FAILED:
            raise ApplicationError(facts.end_reason or "failed", type="failed", non_retryable=True)
        if facts.end is Status.CANCELLED:
            if self._ended_in_temporal:
                raise asyncio.CancelledError
            raise CancelledError(facts.end_reason)
        return {"run": self._given.run, "status": facts.end.value if facts.end is not None else ""}

    async def _drive(self) -> None:
        state = await self._begin()
        while True:
            self._rung = False
            self._obey()
            self._take_what_happened()
            resting = self._wants_to_continue_as_new()
            due = self._decide(hold=resting)
            await self._outbox.keep_short(self._hands.to_begin)
            self._hands.begin_all()
            self._outbox.write_rest()
            self._show()
            if state.facts.end is not None or self._goes_on or (resting and not self._hands.busy):
                await self._outbox.flush()
                if state.facts.end is None and not self._goes_on and self._something():
                    continue
                self._goes_on = state.facts.end is None
                return
            self._set_timer(due)
            await workflow.wait_condition(self._something)

    async def _begin(self) -> RunState:
        state = await load(self._given)
        state.facts.epoch += 1 if self._given.fresh_epoch or not state.facts.epoch else 0
        self._epoch = state.facts.epoch
        self._outbox = Outbox(self._given, self._epoch, state.facts.seq)
        self._hands = Hands(self._given, state, self._outbox, self._happen, self._withdraw)
        self._state = state
        first, self._first = self._first, []
        for event in first:
            self._record(ms.entry(event))
        settle(state)
        for instance in state.running_leaves():
            self._hands.look_after(instance.path, instance.attempt)
        return state

    def _something(self) -> bool:
        return bool(self._happened or self._requests or self._withdrawn or self._rung or self._outbox.overdue)

    # --- events -----------------------------------------------------------------------------------------------

    def _happen(self, entry: ms.Entry) -> None:
        self._happened.append(entry)

    def _withdraw(self, path: str) -> None:
        self._withdrawn.append(path)

    def _record(self, entry: ms.Entry) -> ev.Event:
        """The next number is its; it goes to the journal with the next batch."""
        state = self._state
        assert state is not None
        event = entry.event
        at = workflow.now() if event.at == ev.UNSTAMPED else event.at
        event = msgspec.structs.replace(event, seq=state.facts.seq + 1, at=at, epoch=self._epoch)
        fold(state, event)
        self._outbox.add(ms.entry(event, entry.whole))
        return event

    def _take_what_happened(self) -> None:
        assert self._state is not None
        happened, self._happened = self._happened, []
        for entry in happened:
            self._record(entry)
        withdrawn, self._withdrawn = self._withdrawn, []
        for path in withdrawn:
            withdraw(self._state, path)

    def _decide(self, *, hold: bool) -> float | None:
        """Record everything that needs no work; collect the work. `hold`: begin nothing."""
        state = self._state
        assert state is not None
        while True:
            now = workflow.now()
            wake(state, now.timestamp())
            actions, due = decide(state, now.timestamp())
            actions = [action for action in actions if not self._waits_for_snapshot(action)]
            if hold:
                actions = [action for action in actions if self._is_record(action)]
            if not actions:
                return due
            for action in actions:
                issue(state, action)
                self._take(state, action)

    def _waits_for_snapshot(self, action: Action) -> bool:
        """A pause, and a failure, are recorded when the snapshot of what is quiet now has been taken."""
        match action:
            case CompletePause():
                cause = PAUSE
            case EndRun(status=Status.FAILED):
                cause = FAILURE
            case _:
                return False
        if cause not in self._hands.snapshots:
            self._hands.snapshot(cause)
        return self._hands.snapshots[cause] is None

    def _pause_event(self, active: tuple[str, ...]) -> ev.WorkflowPause:
        taken = self._hands.snapshots[PAUSE]
        events = [entry.event for entry in taken.entries] if taken is not None else []
        file = next((event.file for event in events if isinstance(event, ev.SnapshotTaken)), None)
        return ev.WorkflowPause(active=active, snapshot=file)

    @staticmethod
    def _is_record(action: Action) -> bool:
        return isinstance(action, StopAttempt | ExpireGate) or not Hands.does(action)

    def _take(self, state: RunState, action: Action) -> None:
        match action:
            case BeginAttempt(path=path, attempt=attempt):
                event = self._record(ms.entry(self._hands.start_of(path, attempt)))
                self._hands.begin_later(path, attempt, event.seq)
            case StopAttempt(path=path, reason=reason):
                self._hands.stop(path, reason)
            case CompletePause(active=active):
                self._record(ms.entry(self._pause_event(active)))
            case RequestPause():
                for event in records_of(state, action, workflow.now()) or ():
                    self._record(ms.entry(event))
                self._begin_pause(state.plan.grace_s, is_first=True)
            case ExpireGate(path=path):
                self._record(ms.entry(_expired(state, path)))
            case _:
                events = records_of(state, action, workflow.now())
                if events is None:
                    self._hands.do_later(action)
                for event in events or ():
                    self._record(ms.entry(event))

    # --- requests ---------------------------------------------------------------------------------------------

    def _obey(self) -> None:
        requests, self._requests = self._requests, []
        for request in requests:
            if self._state is not None and self._state.facts.end is None:
                self._obey_one(self._state, request)

    def _obey_one(self, state: RunState, request: ms.Request) -> None:
        match request.kind:
            case "pause":
                self._pause(state, request)
            case "cancel" if state.cancelling is None:
                self._end_grace_now()
                self._record(ms.entry(ev.CancelRequest(reason=request.reason or "cancelled", by=request.by)))
            case "decide":
                self._answer(state, request)
            case "snapshot":
                self._hands.snapshot("request")
            case "resume":
                self._resume(state, request)
            case _:
                return

    def _pause(self, state: RunState, request: ms.Request) -> None:
        """Asked again, the grace can only be less."""
        is_first, grace = state.pausing is None, 0.0 if request.now else request.grace_s
        self._record(
            ms.entry(ev.PauseRequest(reason=request.reason, by=request.by, cause=request.cause, grace_s=grace))
        )
        self._begin_pause(grace, is_first=is_first)

    def _begin_pause(self, grace_s: float, *, is_first: bool) -> None:
        if is_first:
            self._hands.snapshot("pause-request")
        until = workflow.now().timestamp() + grace_s
        if self._grace_until is not None and self._grace_until <= until:
            return
        self._end_grace_now()
        self._grace_until = until
        if grace_s > 0:
            self._grace = asyncio.create_task(self._end_grace(grace_s))
        else:
            self._hands.stop_all("paused")

    def _end_grace_now(self) -> None:
        if self._grace is not None:
            self._grace.cancel()
        self._grace = self._grace_until = None

    async def _end_grace(self, grace_s: float) -> None:
        await workflow.sleep(grace_s)
        self._hands.stop_all("paused")

    def _answer(self, state: RunState, request: ms.Request) -> None:
        gate = state.gates.get(request.path)
        problem = "no question is open there" if gate is None else refusal(gate, request.choice, request.fields)
        if problem is not None:
            text = f"an answer to `{request.path}` was left out: {problem}"
            self._record(ms.entry(ev.Note(text=text, level="warning", path=request.path)))
            return
        self._record(
            ms.entry(
                ev.GateDecision(
                    path=request.path, choice=request.choice, note=request.note, fields=request.fields, by=request.by
                )
            )
        )

    def _resume(self, state: RunState, request: ms.Request) -> None:
        """A new execution goes on, with the definition as it is now."""
        if state.pausing is not None and state.pausing.complete:
            self._first = list(request.first)
            self._goes_on = True

    # --- time and length --------------------------------------------------------------------------------------

    def _wants_to_continue_as_new(self) -> bool:
        """Activities do not outlive an execution: so when nothing runs, and past the hard bound nothing begins."""
        info = workflow.info()
        length = info.get_current_history_length()
        if length >= self._given.hard_events:
            return True
        long = length >= self._given.soft_events or info.is_continue_as_new_suggested()
        return long and not self._hands.busy

    def _set_timer(self, due: float | None) -> None:
        if due is None or (self._timer_due is not None and due >= self._timer_due - TICK_S):
            return
        if self._timer is not None:
            self._timer.cancel()
        delay = max(TICK_S, due - workflow.now().timestamp())
        self._timer_due = due
        self._timer = asyncio.create_task(self._ring(delay))

    async def _ring(self, delay: float) -> None:
        await workflow.sleep(delay)
        self._timer_due = None
        self._rung = True

    def _show(self) -> None:
        """What Temporal's own pages say of the run."""
        state = self._state
        assert state is not None
        lines = [f"**{state.facts.title or state.facts.name}**: {state.status.value}, {state.done_leaves} done"]
        lines += [f"- waits for an answer: `{path}`" for path in list(state.gates)[:10]]
        lines += [f"- runs: `{path}`" for path in list(self._hands.running)[:10]]
        workflow.set_current_details("\n".join(lines))
        if self._given.search and state.status.value != self._shown:
            self._shown = state.status.value
            workflow.upsert_search_attributes([_STATUS.value_set(self._shown)])


def _expired(state: RunState, path: str) -> ev.Event:
    instance = state.instances[path]
    work = instance.node.work if instance.node is not None else None
    choice = work.on_timeout if isinstance(work, Approve) else "stop"
    if choice == "pause":
        return msgspec.structs.replace(state.gates[path], seq=0, at=ev.UNSTAMPED, expires_at=None)
    return ev.GateDecision(path=path, choice=choice, by="time limit")
