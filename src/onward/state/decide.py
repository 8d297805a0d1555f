"""The one brain: what comes next, from the state alone. Pure, and the same for every engine."""

from __future__ import annotations

from onward.model.actions import (
    Action,
    AskCondition,
    BeginAttempt,
    CompletePause,
    EndRun,
    ExpireGate,
    FinishNode,
    OpenGate,
    ReadItems,
    RequestPause,
    StartNode,
    StopAttempt,
    Validate,
    WaitForLoop,
    WaitForRetry,
)
from onward.model.nodes import Kind, Node
from onward.model.status import OnResume, Outcome, Status, Where
from onward.state.budgets import reason_to_pause
from onward.state.instance import Asked, Instance, Role, Stage
from onward.state.run_state import RunState

_BOOKKEEPING = (FinishNode, EndRun, StopAttempt)
"""Actions that record what is already so; these go on while a pause is asked for."""


def decide(state: RunState, now: float) -> tuple[list[Action], float | None]:
    """What to do now, and when to ask again at the latest (seconds since the epoch; None: at the next event).

    Returns only actions that the engine does not work on yet, so the cost does not grow with the size of the run.
    Ends come alone: one may cancel what would begin, so what begins is only told when no end is left to record.
    """
    actions: list[Action] = [StopAttempt(path, reason) for path, reason in state.stops.items()]
    ready = [next_action(state, instance) for instance in state.frontier.values()]
    ends = [action for action in ready if isinstance(action, _BOOKKEEPING)]
    if ends or state.pausing is not None:
        actions += ends
    elif ready and (reason := reason_to_pause(state)) is not None:
        actions.append(RequestPause(reason, "budget"))
    else:
        actions += ready
    pausing = state.pausing
    if pausing is not None:
        quiet = not actions and not state.running and not state.issued
        if quiet and not pausing.complete and state.facts.end is None:
            actions.append(CompletePause(tuple(pausing.active)))
        return actions, None
    return actions, _wake_at(state, now)


def _wake_at(state: RunState, now: float) -> float | None:
    due = state.timers[0][0] if state.timers else None
    if state.deadlines and state.facts.span_at is not None:
        deadline = now + max(0.0, state.deadlines[0][0] - state.active_s(now))
        due = deadline if due is None else min(due, deadline)
    return due


def next_action(state: RunState, instance: Instance) -> Action:
    """The one action that moves an instance of the frontier."""
    node = instance.node
    assert node is not None
    match instance.stage:
        case Stage.REACHED | Stage.READY:
            return _begin(instance, node)
        case Stage.RUNNING:
            return _next_round(state, instance, node)
        case Stage.RETRY:
            return _try_again(instance, node)
        case Stage.GATE:
            return ExpireGate(instance.path)
        case Stage.WORKED | Stage.VALID | Stage.SURE:
            return _complete(instance, node)
        case Stage.HANDLED:
            return OpenGate(instance.path, "on-failure")
        case Stage.CLOSED:
            return _close(state, instance, node)
        case stage:
            raise AssertionError(f"{instance.path} cannot move from {stage.name}")


def _begin(instance: Instance, node: Node) -> Action:
    path = instance.path
    if instance.ending is not None:
        return FinishNode(path, Status.CANCELLED, instance.ending)
    if instance.role is Role.LOOP:
        loop = node.loop
        assert loop is not None
        if loop.counted or (instance.items is not None and not instance.asked & Asked.REFRESH):
            return StartNode(path)
        return ReadItems(path)
    if instance.stage is Stage.REACHED:
        if node.skip_if and not instance.asked & Asked.SKIP_IF:
            return AskCondition(path, Where.SKIP_IF, node.skip_if, path)
        if node.before and not instance.asked & Asked.BEFORE:
            return AskCondition(path, Where.BEFORE, node.before, path)
    if node.kind is Kind.APPROVE:
        return OpenGate(path, "approve")
    if not node.kind.leaf:
        return StartNode(path)
    return _begin_or_ask(instance, node)


def _begin_or_ask(instance: Instance, node: Node) -> Action:
    """A leaf that was interrupted follows `on-resume`; any other begins its next attempt."""
    if instance.outcome is Outcome.INTERRUPTED and not instance.asked & Asked.GATE:
        if node.on_resume is OnResume.ASK:
            return OpenGate(instance.path, "on-resume")
        if node.on_resume is OnResume.CHECK and node.after:
            return AskCondition(instance.path, Where.DONE_ALREADY, node.after, instance.path)
    return BeginAttempt(instance.path, instance.attempt + 1)


def _try_again(instance: Instance, node: Node) -> Action:
    path, attempt = instance.path, instance.attempt + 1
    if instance.outcome is Outcome.LIMITED:
        return WaitForRetry(path, attempt, _back_off(instance), instance.until)
    delay = node.retry.delay_before(instance.used + 1)
    return WaitForRetry(path, attempt, delay) if delay else BeginAttempt(path, attempt)


_BACK_OFF_S = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0)
"""how long a limit is waited for whose end nobody named, the first time, the second …"""


def _back_off(instance: Instance) -> float:
    """Attempts that do not count were ended by a limit (or, seldom, interrupted)."""
    uncounted = max(1, instance.attempt - instance.used)
    return _BACK_OFF_S[min(uncounted, len(_BACK_OFF_S)) - 1]


def _complete(instance: Instance, node: Node) -> Action:
    path = instance.path
    if instance.stage is Stage.WORKED and node.validators and instance.is_leaf:
        return Validate(path, instance.attempt)
    if instance.stage is not Stage.SURE and node.after:
        return AskCondition(path, Where.AFTER, node.after, path)
    if not instance.is_leaf:
        return AskCondition(path, Where.ARTIFACTS, (), path)
    return FinishNode(path, Status.SUCCEEDED, gather=bool(node.artifacts))


def _close(state: RunState, instance: Instance, node: Node) -> Action:
    result = instance.result or Status.SUCCEEDED
    if instance is state.root:
        return EndRun(result, instance.reason)
    whole = instance.role is not Role.ITERATION
    gather = result is Status.SUCCEEDED and not instance.is_leaf and bool(
        node.values or node.artifacts or (node.hand_off and whole)
    )
    return FinishNode(instance.path, result, instance.reason, gather)


def _next_round(state: RunState, loop: Instance, node: Node) -> Action:
    """A loop that has to ask, or to wait, before its next iteration."""
    rules = node.loop
    assert rules is not None
    if loop.asked & Asked.REFRESH:
        return ReadItems(loop.path)
    if not rules.counted:
        return WaitForLoop(loop.path, loop.cursor + 1, rules.delay_s)
    child = state.iteration(loop, str(loop.cursor + 1))
    if child.ended:
        return AskCondition(child.path, Where.UNTIL, rules.until, loop.path)
    if rules.while_ and not child.asked & Asked.WHILE:
        return AskCondition(child.path, Where.WHILE, rules.while_, loop.path)
    return WaitForLoop(loop.path, loop.cursor + 1, rules.delay_s)

