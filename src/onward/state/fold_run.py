"""Events of the run as a whole → the state: start, resume, pause, cancel, end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from onward.model import events as ev
from onward.model.status import Outcome
from onward.state.advance import cut, end_one
from onward.state.instance import Instance, Stage
from onward.state.rename import rename
from onward.state.reset import forget_failures
from onward.state.run_state import Pausing, RunState


def end_everything(state: RunState, reason: str) -> None:
    """The run is cancelled: all that has not ended is brought to its end."""
    root = state.root
    if root.stage is Stage.RUNNING and root.ending is None:
        root.ending = reason
        cut(state, root, reason)
    elif root.stage is Stage.HANDLING:
        section = state.existing_section(root, "@on-failure")
        for child in list((section.open if section is not None else None) or ()):
            end_one(state, child, reason)


def _workflow_start(state: RunState, event: ev.WorkflowStart) -> None:
    facts = state.facts
    facts.run, facts.name, facts.title = event.run, event.name, event.title
    facts.workflow_file, facts.file, facts.directory = event.workflow_file, event.file, event.directory
    facts.definition_sha256 = event.definition_sha256
    facts.variables = dict(event.variables)
    facts.datetime, facts.adapter, facts.limit = event.datetime, event.adapter, event.limit
    facts.watch, facts.owner = dict(event.watch), event.owner
    facts.revision = event.revision
    facts.started_at = facts.span_at = facts.last_at
    state.root.started_at = facts.started_at
    if event.imported:
        facts.resumed_count = int(event.imported.get("resumed_count", 0))


def _begin_span(state: RunState) -> None:
    """A driver works from now on; a span that nobody closed ended with the last event before."""
    facts = state.facts
    if facts.span_at is not None:
        facts.active_s += max(0.0, facts.previous_at - facts.span_at)
    facts.span_at = facts.last_at


def _workflow_resume(state: RunState, event: ev.WorkflowResume) -> None:
    facts, now = state.facts, state.facts.last_at
    _begin_span(state)
    facts.resumed_count, facts.resumed_at, facts.owner = event.resumed_count, now, event.owner
    for name, value in event.variables.items():
        if facts.variables.get(name, value) != value:
            facts.variables_changed[name] = event.seq
    facts.variables.update(event.variables)
    for path, raised in event.budget.items():
        facts.budgets[path] = facts.budgets.get(path, {}) | raised
    facts.definition_sha256 = event.definition_sha256 or facts.definition_sha256
    facts.end, facts.ended_at, facts.end_reason = None, None, ""
    for change in event.changes:
        if change.former:
            rename(state, change.former, change.path.rpartition("/")[2])
    if state.pausing is not None:
        _shift_delays(state, now - state.pausing.requested_at)
    state.pausing = state.cancelling = None
    if not state.running and any(map(waits_for_limit, state.instances.values())):
        close_span(state)
    forget_failures(state)


def _shift_delays(state: RunState, seconds: float) -> None:
    """Delays of retries and loops stand still in a pause; a rate limit (`LIMITED`) runs on the wall clock."""
    for instance in state.instances.values():
        if instance.until is not None and instance.outcome is not Outcome.LIMITED:
            instance.until += seconds


def _take_over(state: RunState, event: ev.TakeOver) -> None:
    _begin_span(state)
    state.facts.owner = event.owner
    state.facts.resumed_count += 1


PERSON = "person"
"""the cause of a pause that does not end by itself"""


def _pause_request(state: RunState, event: ev.PauseRequest) -> None:
    facts = state.facts
    if facts.span_at is not None:
        facts.active_s += max(0.0, facts.last_at - facts.span_at)
        facts.span_at = None
    before = state.pausing
    if before is None:
        state.pausing = Pausing(event.reason, event.by, event.cause, event.grace_s, facts.last_at)
    elif before.cause != PERSON:
        # Asked again during a pause: it goes on, and what a person wants counts more than what a program did.
        before.reason, before.by, before.cause, before.until = event.reason, event.by, event.cause, None


def _workflow_pause(state: RunState, event: ev.WorkflowPause) -> None:
    state.facts.paused_at = state.facts.last_at
    if state.pausing is None:
        state.pausing = Pausing("", "", "person", 0.0, state.facts.last_at)
    state.pausing.complete = True
    state.pausing.until = event.until.timestamp() if event.until is not None else None


def _cancel_request(state: RunState, event: ev.CancelRequest) -> None:
    state.cancelling = event.reason or "cancelled"
    state.pausing = None
    if state.live:
        end_everything(state, state.cancelling)


def _workflow_end(state: RunState, event: ev.WorkflowEnd) -> None:
    facts = state.facts
    close_span(state)
    facts.end, facts.end_reason, facts.ended_at = event.status, event.reason, facts.last_at
    state.root.stage = state.root.noted = Stage.ENDED
    state.root.status, state.root.reason = event.status, event.reason
    state.root.outputs = event.outputs
    state.frontier.pop("", None)


def close_span(state: RunState) -> None:
    """Active time ends here."""
    facts = state.facts
    if facts.span_at is not None:
        facts.active_s += max(0.0, facts.last_at - facts.span_at)
        facts.span_at = None


def waits_for_limit(instance: Instance) -> bool:
    """While nothing but a limit is waited for, no time of a `timeout` passes."""
    return instance.stage is Stage.WAITING and instance.outcome is Outcome.LIMITED


HANDLERS: dict[type, Callable[[RunState, Any], None]] = {
    ev.WorkflowStart: _workflow_start,
    ev.WorkflowResume: _workflow_resume,
    ev.TakeOver: _take_over,
    ev.PauseRequest: _pause_request,
    ev.WorkflowPause: _workflow_pause,
    ev.CancelRequest: _cancel_request,
    ev.WorkflowEnd: _workflow_end,
}
