"""Actions that need nothing but a record → their events. `now` is the time of the engine, which may not be ours."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

from onward.model import events as ev
from onward.model.actions import (
    Action,
    CompletePause,
    EndRun,
    FinishNode,
    RequestPause,
    StartNode,
    WaitForLoop,
    WaitForRetry,
)
from onward.state.instance import Role
from onward.state.run_state import RunState
from onward.tasks.gather import NOTHING, Gathered


def records_of(state: RunState, action: Action, now: dt.datetime) -> Sequence[ev.Event] | None:
    """The events of an action that needs no work; None for one that does."""
    if isinstance(action, FinishNode) and action.gather:
        return None
    record = _RECORDS.get(type(action))
    return None if record is None else record(state, action, now)


def _start_node(state: RunState, action: StartNode, _: dt.datetime) -> Sequence[ev.Event]:
    instance = state.instances[action.path]
    node = instance.node
    assert node is not None
    started = ev.NodeStart(path=action.path, kind=node.kind.value, definition_sha256=node.digest)
    if instance.parent is state.root and instance.role in (Role.NODE, Role.LOOP):
        title = node.title if isinstance(node.title, str) else ""
        return ev.PhaseStart(phase=action.path, title=title), started
    return (started,)


def finish_node(state: RunState, action: FinishNode, gathered: Gathered = NOTHING) -> Sequence[ev.Event]:
    """The end of a node, and of a phase where it is one. A gate's answers are its outputs."""
    instance = state.instances[action.path]
    node = instance.node
    assert node is not None
    ended = ev.NodeEnd(
        path=action.path,
        status=action.status,
        reason=action.reason,
        outputs=instance.outputs if instance.is_leaf and not instance.works else gathered.outputs,
        artifacts=gathered.artifacts,
        inputs_sha256=instance.inputs,
        edited=bool(instance.digest) and instance.digest != node.digest,
    )
    if instance.parent is state.root and not node.kind.leaf and instance.role in (Role.NODE, Role.LOOP):
        names = tuple(artifact.path for artifact in gathered.artifacts)
        phase = ev.PhaseComplete(
            phase=action.path, status=action.status, hand_off=gathered.hand_off, artifacts=names
        )
        return ended, phase
    return (ended,)


def _finish_node(state: RunState, action: FinishNode, _: dt.datetime) -> Sequence[ev.Event]:
    return finish_node(state, action)


def _wait_for_retry(_: RunState, action: WaitForRetry, now: dt.datetime) -> Sequence[ev.Event]:
    until = now + dt.timedelta(seconds=action.delay_s)
    if action.until_s is not None:
        until = dt.datetime.fromtimestamp(action.until_s, dt.UTC)
    return (ev.RetryWait(path=action.path, attempt=action.attempt, until=until),)


def _wait_for_loop(_: RunState, action: WaitForLoop, now: dt.datetime) -> Sequence[ev.Event]:
    until = now + dt.timedelta(seconds=action.delay_s)
    return (ev.LoopDelay(path=action.path, index=action.index, until=until),)


def _end_run(state: RunState, action: EndRun, now: dt.datetime) -> Sequence[ev.Event]:
    duration = state.active_s(now.timestamp())
    return (ev.WorkflowEnd(status=action.status, reason=action.reason, duration_s=round(duration, 3)),)


def _request_pause(state: RunState, action: RequestPause, _: dt.datetime) -> Sequence[ev.Event]:
    return (ev.PauseRequest(reason=action.reason, by="onward", cause=action.cause, grace_s=state.plan.grace_s),)


def _complete_pause(_: RunState, action: CompletePause, __: dt.datetime) -> Sequence[ev.Event]:
    return (ev.WorkflowPause(active=action.active),)


_RECORDS: dict[type, Callable[[RunState, Any, dt.datetime], Sequence[ev.Event]]] = {
    StartNode: _start_node,
    FinishNode: _finish_node,
    WaitForRetry: _wait_for_retry,
    WaitForLoop: _wait_for_loop,
    EndRun: _end_run,
    CompletePause: _complete_pause,
    RequestPause: _request_pause,
}
