"""Events become state: what each event says, recorded at its node, and what moves because of it.

`fold` is the only reader of the meaning of events. While a journal is read (`state.live` False) it records facts;
`settle` then works out what can move. Afterwards every event also moves what it touches, in O(1).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from onward.model import events as ev
from onward.model.actions import (
    Action,
    AskCondition,
    BeginAttempt,
    CompletePause,
    EndRun,
    FinishNode,
    RequestPause,
    StartNode,
    StopAttempt,
    WaitForLoop,
    WaitForRetry,
)
from onward.model.nodes import Plan
from onward.model.status import Status
from onward.state import fold_nodes, fold_run
from onward.state.advance import cut, progress
from onward.state.fold_nodes import unissue
from onward.state.fold_run import end_everything
from onward.state.instance import Asked, Instance, Role, Stage
from onward.state.run_state import RunState
from onward.state.timers import watch_deadline


def fold(state: RunState, event: ev.Event) -> None:
    """Take one event into the state."""
    facts = state.facts
    if event.seq:
        facts.seq, facts.epoch = event.seq, event.epoch
    facts.previous_at, facts.last_at = facts.last_at, event.at.timestamp()
    handler = _HANDLERS.get(type(event))
    if handler is not None:
        handler(state, event)


def replay(plan: Plan, events: Iterable[ev.Event]) -> RunState:
    """The state after these events; nothing moves until `settle`."""
    state = RunState(plan)
    for event in events:
        fold(state, event)
    return state


def settle(state: RunState) -> None:
    """Work out what can move, and from here on move with every event."""
    state.live = True
    if state.facts.end is not None:
        return
    if state.root.stage is Stage.NEW:
        state.root.stage, state.root.status = Stage.RUNNING, Status.RUNNING
        watch_deadline(state, state.root, 0.0)
    progress(state, state.root)
    if state.cancelling is not None:
        end_everything(state, state.cancelling)


def issue(state: RunState, action: Action) -> None:
    """The engine works on `action`, whose outcome will be an event; forgotten in a crash, then asked for again.

    An action that is nothing but a record (and `BeginAttempt`, whose record comes first) needs no such mark: its event
    must be folded before `decide` is asked again.
    """
    match action:
        case AskCondition(asker=path):
            pass
        case StopAttempt(path=path):
            state.stops.pop(path, None)
            return
        case FinishNode(gather=False):
            return
        case EndRun() | StartNode() | BeginAttempt() | WaitForRetry() | WaitForLoop():
            return
        case CompletePause() | RequestPause():
            return
        case _:
            path = getattr(action, "path", "")
    instance = state.instances[path]
    state.frontier.pop(path, None)
    if not instance.issued:
        instance.issued = True
        state.issued += 1


def withdraw(state: RunState, path: str) -> None:
    """An action that was issued came to nothing (its command was stopped): it is asked for again."""
    instance = state.instances[path]
    if instance.issued:
        unissue(state, instance)
        state.frontier[path] = instance


def wake(state: RunState, now: float) -> None:
    """Let the time pass: due retries, iterations, gates and time limits can move from here on."""
    if state.pausing is not None:
        return
    while state.timers and state.timers[0][0] <= now:
        _, _, path = heapq.heappop(state.timers)
        _timer_due(state, state.instances[path], now)
    active = state.active_s(now)
    while state.deadlines and state.deadlines[0][0] <= active + _ROUNDING_S:
        _, _, path = heapq.heappop(state.deadlines)
        _deadline_due(state, state.instances[path])


_ROUNDING_S = 0.001
"""active time is a difference of moments: a due time that was worked out of it may miss by the last digits"""


def _timer_due(state: RunState, instance: Instance, now: float) -> None:
    if instance.stage is Stage.GATE:
        state.frontier[instance.path] = instance
    elif instance.until is None or instance.until > now:
        return
    elif instance.stage is Stage.WAITING:
        instance.until = None
        instance.stage = Stage.READY
        progress(state, instance)
    elif instance.role is Role.LOOP and instance.stage is Stage.RUNNING:
        instance.until = None
        key = str(instance.cursor + 1)
        if instance.items is not None:
            key = instance.items[instance.cursor][0]
        state.iteration(instance, key).asked |= Asked.DELAY
        progress(state, instance)


def _deadline_due(state: RunState, instance: Instance) -> None:
    if instance.stage is not Stage.RUNNING or instance.node is None or instance.node.timeout_s is None:
        return
    instance.stopped = f"timed out after {instance.node.timeout_s:g} s"
    cut(state, instance, instance.stopped)


_HANDLERS: dict[type, Callable[[RunState, Any], None]] = fold_run.HANDLERS | fold_nodes.HANDLERS
