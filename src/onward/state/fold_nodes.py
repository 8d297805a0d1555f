"""Events of nodes → the state: attempts, conditions, loops, gates, what people set aside or in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import structs

from onward.model import events as ev
from onward.model.status import Outcome, Status, Where
from onward.model.values import Value
from onward.state.advance import progress
from onward.state.budgets import charge
from onward.state.fold_run import close_span, waits_for_limit
from onward.state.instance import Asked, Conversation, Instance, Stage
from onward.state.places import release
from onward.state.reset import forget_failures, refresh, rerun, reset, restart_sections, take_items
from onward.state.run_state import RunState
from onward.state.timers import watch_deadline, watch_timer

# --- nodes ----------------------------------------------------------------------------------------------------


def _node_start(state: RunState, event: ev.NodeStart) -> None:
    instance = _touched(state, event.path)
    restart_sections(state, instance)
    instance.stage, instance.status = Stage.RUNNING, Status.RUNNING
    instance.digest = event.definition_sha256
    instance.asked &= ~Asked.ARTIFACTS
    if instance.started_at is None:
        instance.started_at = state.facts.last_at
    watch_deadline(state, instance, state.active_s(state.facts.last_at))
    _move_on(state, instance)


def _node_end(state: RunState, event: ev.NodeEnd) -> None:
    instance = _touched(state, event.path)
    if instance.is_leaf and instance.stage is not Stage.ENDED:
        state.done_leaves += 1
    if instance.stage is Stage.RUNNING and instance.is_leaf:
        state.running -= 1
    instance.stage, instance.status, instance.reason = Stage.ENDED, event.status, event.reason
    instance.ended_at, instance.ended_seq = state.facts.last_at, event.seq
    if event.outputs:
        instance.outputs = event.outputs
    instance.artifacts = event.artifacts
    if event.inputs_sha256 is not None:
        instance.inputs = event.inputs_sha256
    state.stops.pop(event.path, None)
    _move_on(state, instance)


def _attempt_start(state: RunState, event: ev.AttemptStart) -> None:
    instance = _touched(state, event.path)
    restart_sections(state, instance)
    if state.facts.span_at is None and state.pausing is None:
        state.facts.span_at = state.facts.last_at
    if instance.stage is not Stage.RUNNING:
        state.running += 1
    instance.stage, instance.status = Stage.RUNNING, Status.RUNNING
    instance.attempt = event.attempt
    instance.used += 1
    instance.digest, instance.inputs = event.definition_sha256, event.inputs_sha256
    if event.adapter is not None:
        _begin_conversation(instance, event)
    elif event.session is not None:
        instance.session = event.session
    instance.noted = instance.stage
    instance.outcome = instance.until = instance.exit = instance.signal = None
    if instance.started_at is None:
        instance.started_at = state.facts.last_at


def _begin_conversation(instance: Instance, event: ev.AttemptStart) -> None:
    """A session goes on with its counters; another one begins, and may not have told its id yet."""
    before = instance.conversation
    usage = before.usage if before is not None and event.continued and event.session == instance.session else {}
    instance.session = event.session
    instance.conversation = Conversation(event.session_directory, usage, event.continued, event.adapter)


def _end_conversation(instance: Instance, event: ev.AttemptEnd) -> None:
    if event.session_lost:
        instance.session = instance.conversation = None
        return
    instance.session = event.session or instance.session
    if event.session_usage:
        before = instance.conversation or Conversation()
        instance.conversation = structs.replace(before, usage=event.session_usage)


def _attempt_session(state: RunState, event: ev.AttemptSession) -> None:
    state.ensure(event.path).session = event.session


def _attempt_end(state: RunState, event: ev.AttemptEnd) -> None:
    instance = _touched(state, event.path)
    if instance.stage is Stage.RUNNING:
        state.running -= 1
    instance.outcome, instance.exit, instance.signal = event.outcome, event.exit, event.signal
    _end_conversation(instance, event)
    if event.usage:
        charge(state, instance, event.usage)
    instance.reason = event.error or ""
    if event.outputs:
        instance.outputs = event.outputs
    state.stops.pop(event.path, None)
    match event.outcome:
        case Outcome.OK:
            instance.stage = Stage.WORKED
        case Outcome.INTERRUPTED:
            _interrupted(state, instance)
        case Outcome.LIMITED:
            instance.used -= 1
            instance.stage = Stage.RETRY
            instance.until = event.reset_at.timestamp() if event.reset_at is not None else None
        case _:
            _attempt_failed(instance, event.outcome, final=event.final)
    if instance.ending is not None:
        _end_attempt_of_cancelled(instance)
    if state.live and not _is_reached(instance):
        instance.noted = instance.stage  # its turn comes once what lies before it, and is done again, has ended
    else:
        _move_on(state, instance)


def _is_reached(instance: Instance) -> bool:
    """Whether its parent has come to it; an attempt of an earlier driver may end before that."""
    parent = instance.parent
    return parent is None or (parent.open is not None and instance in parent.open)


def _interrupted(state: RunState, instance: Instance) -> None:
    """The broken attempt is not counted; `on-resume` says what follows."""
    instance.used -= 1
    instance.stage = Stage.READY
    instance.status = Status.PENDING
    if state.pausing is not None:
        state.pausing.active.append(instance.path)


def _attempt_failed(instance: Instance, outcome: Outcome, *, final: bool) -> None:
    node = instance.node
    retry = node.retry if node is not None else None
    if retry is not None and not final and outcome in retry.on and instance.used < retry.attempts:
        instance.stage = Stage.RETRY
        instance.outcome = outcome
        return
    _break(instance, instance.reason or outcome.value)


def _end_attempt_of_cancelled(instance: Instance) -> None:
    """The attempt of a cancelled leaf is over: done if it still ended well and nothing remains to be asked."""
    node = instance.node
    if instance.stage is Stage.WORKED and node is not None and not node.validators and not node.after:
        return
    instance.result, instance.reason = Status.CANCELLED, instance.ending or ""
    instance.stage = Stage.CLOSED


def _break(instance: Instance, reason: str) -> None:
    instance.result, instance.reason = Status.FAILED, reason
    instance.stage = Stage.BROKEN


def _validation(state: RunState, event: ev.Validation) -> None:
    instance = _touched(state, event.path)
    if _is_late(instance):
        return
    failed = [check for check in event.checks if not check.passed]
    if not failed:
        instance.stage = Stage.VALID
    else:
        instance.reason = f"validator {failed[0].index + 1} did not pass: {failed[0].detail}".rstrip(": ")
        _attempt_failed(instance, Outcome.INVALID, final=False)
    _move_on(state, instance)


def _retry_wait(state: RunState, event: ev.RetryWait) -> None:
    instance = _touched(state, event.path)
    instance.stage, instance.status = Stage.WAITING, Status.WAITING
    instance.until = event.until.timestamp()
    if waits_for_limit(instance) and not state.running:
        close_span(state)
    _move_on(state, instance)


# --- conditions -----------------------------------------------------------------------------------------------


def _condition_asked(state: RunState, event: ev.ConditionAsked) -> None:
    if event.where in (Where.WHILE, Where.UNTIL):
        _round_condition(state, event)
        return
    instance = _touched(state, event.path)
    if _is_late(instance, gathering=event.where is Where.ARTIFACTS):
        if state.live and not instance.ended:
            progress(state, instance)
        return
    if event.error:
        _break(instance, event.detail)
    else:
        _answer(instance, event)
    _move_on(state, instance)


def _is_late(instance: Instance, *, gathering: bool = False) -> bool:
    """Whether an answer comes after its node was ended or cancelled: then it decides nothing any more."""
    if instance.ending is not None or instance.ended:
        return True
    return instance.stage is Stage.CLOSED and not gathering


def _answer(instance: Instance, event: ev.ConditionAsked) -> None:
    match event.where, event.result:
        case Where.SKIP_IF, True:
            instance.result, instance.reason = Status.SKIPPED, event.detail
            instance.stage = Stage.CLOSED
        case Where.SKIP_IF, _:
            instance.asked |= Asked.SKIP_IF
        case Where.BEFORE, True:
            instance.asked |= Asked.BEFORE
        case Where.AFTER, True:
            instance.stage = Stage.SURE
        case Where.DONE_ALREADY, True:
            instance.stage = Stage.SURE
        case Where.DONE_ALREADY, _:
            instance.asked |= Asked.GATE
        case Where.ARTIFACTS, True:
            instance.asked |= Asked.ARTIFACTS
        case _:
            _break(instance, event.detail)


def _round_condition(state: RunState, event: ev.ConditionAsked) -> None:
    """A `while`/`until` condition of the round `event.path`; the loop asked."""
    child = _touched(state, event.path)
    loop = child.parent
    assert loop is not None
    unissue(state, loop)
    if event.error:
        loop.stopped = event.detail
    elif event.where is Where.UNTIL:
        child.asked |= Asked.UNTIL_TRUE if event.result else Asked.UNTIL_FALSE
    else:
        child.asked |= Asked.WHILE if event.result else Asked.WHILE_FALSE
    if state.live:
        progress(state, loop)


# --- loops ----------------------------------------------------------------------------------------------------


def _loop_items(state: RunState, event: ev.LoopItems) -> None:
    instance = _touched(state, event.path)
    take_items(state, instance, [(item.key, item.value) for item in event.items])
    _move_on(state, instance)


def _loop_delay(state: RunState, event: ev.LoopDelay) -> None:
    instance = _touched(state, event.path)
    instance.until = event.until.timestamp()
    if state.live:
        watch_timer(state, instance)


# --- gates ----------------------------------------------------------------------------------------------------


def _gate_open(state: RunState, event: ev.GateOpen) -> None:
    instance = _touched(state, event.path)
    state.gates[event.path] = event
    instance.stage, instance.status = Stage.GATE, Status.WAITING
    if instance.started_at is None:
        instance.started_at = state.facts.last_at
    _move_on(state, instance)


def _gate_decision(state: RunState, event: ev.GateDecision) -> None:
    gate = state.gates.pop(event.path, None)
    instance = _touched(state, event.path)
    if instance.stage is not Stage.GATE:
        return
    instance.status = Status.RUNNING
    match gate.purpose if gate is not None else "approve":
        case "on-failure":
            _decide_failure(state, instance, event.choice)
        case "on-resume":
            _decide_interruption(instance, event.choice)
        case _:
            _decide_approval(instance, event)
    _move_on(state, instance)


def _decide_approval(instance: Instance, event: ev.GateDecision) -> None:
    said = {"choice": event.choice, "note": event.note, "by": event.by, "at": event.at.isoformat()} | event.fields
    instance.outputs = {name: Value(type="text", bytes=len(text.encode()), value=text) for name, text in said.items()}
    if event.choice == "reject":
        _break(instance, f"rejected by {event.by}" + (f": {event.note}" if event.note else ""))
    else:
        instance.stage = Stage.SURE


def _decide_failure(state: RunState, instance: Instance, choice: str) -> None:
    if choice == "retry":
        generation = instance.generation
        reset(state, instance)
        instance.generation = generation
        instance.asked |= Asked.SKIP_IF
        instance.stage = Stage.REACHED
        forget_failures(state, below=instance)
    elif choice == "skip":
        instance.result, instance.reason = Status.SKIPPED, "skipped after a failure"
        instance.stage = Stage.CLOSED
    else:
        instance.asked |= Asked.GATE
        instance.stage = Stage.HANDLED


def _decide_interruption(instance: Instance, choice: str) -> None:
    if choice == "retry":
        instance.asked |= Asked.GATE
        instance.stage = Stage.READY
    elif choice == "done":
        instance.stage = Stage.SURE
    else:
        _break(instance, "interrupted, and not to be done again")


# --- the rest -------------------------------------------------------------------------------------------------


def _override(state: RunState, event: ev.Override) -> None:
    instance = state.ensure(event.path)
    match event.action:
        case "rerun":
            rerun(state, instance)
        case "skip" | "done":
            if not instance.ended and instance.is_leaf:
                state.done_leaves += 1
            release(state, instance)
            state.gates.pop(event.path, None)
            state.frontier.pop(event.path, None)
            instance.stage = Stage.ENDED
            instance.status = Status.SKIPPED if event.action == "skip" else Status.SUCCEEDED
            instance.reason = event.reason
            instance.ended_at, instance.ended_seq = state.facts.last_at, event.seq
            _move_on(state, instance)
        case "refresh":
            refresh(state, instance)


def _move_on(state: RunState, instance: Instance) -> None:
    """What an event said is noted; in a living state it moves what depends on it."""
    instance.noted = instance.stage
    if state.live:
        progress(state, instance)


def _touched(state: RunState, path: str) -> Instance:
    """The instance that an event is about; whatever was asked about it is answered."""
    instance = state.instances.get(path)
    if instance is None:
        instance = state.ensure(path)
    state.frontier.pop(path, None)
    if instance.issued:
        unissue(state, instance)
    return instance


def unissue(state: RunState, instance: Instance) -> None:
    if instance.issued:
        instance.issued = False
        state.issued -= 1


HANDLERS: dict[type, Callable[[RunState, Any], None]] = {
    ev.NodeStart: _node_start,
    ev.NodeEnd: _node_end,
    ev.AttemptStart: _attempt_start,
    ev.AttemptSession: _attempt_session,
    ev.AttemptEnd: _attempt_end,
    ev.Validation: _validation,
    ev.RetryWait: _retry_wait,
    ev.ConditionAsked: _condition_asked,
    ev.LoopItems: _loop_items,
    ev.LoopDelay: _loop_delay,
    ev.GateOpen: _gate_open,
    ev.GateDecision: _gate_decision,
    ev.Override: _override,
}
