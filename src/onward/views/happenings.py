"""An event that just happened, and the state after it → the line that tells people of it; most events need none."""

from __future__ import annotations

from onward.model import events as ev
from onward.model.status import Outcome, Status
from onward.state.instance import Instance, Stage
from onward.state.run_state import RunState
from onward.views import words
from onward.views.status import approve_command
from onward.views.table import Line
from onward.views.titles import node_title


def happening(state: RunState, event: ev.Event, run: str, at: str = "") -> list[Line]:
    """The lines for one event. `at` follows the run id in commands (` --store DIR` where that is needed)."""
    match event:
        case ev.AttemptStart():
            return _attempt_started(state, event)
        case ev.AttemptEnd():
            return _attempt_ended(state, event)
        case ev.NodeEnd():
            return [_node_ended(state, event)]
        case ev.RetryWait():
            when = words.moment(event.until)
            return [_line(event.path, f"attempt {event.attempt} is due at {when}", Status.WAITING)]
        case ev.LoopItems():
            return [_line(event.path, words.amount(len(event.items), "item"), Status.RUNNING)]
        case ev.GateOpen():
            return gate_lines(event, run, at)
        case ev.GateDecision():
            note = f" ({words.one_line(event.note, 80)})" if event.note else ""
            by = f" by {words.one_line(event.by)}" if event.by else ""
            return [_line(event.path, f"answered: {words.one_line(event.choice)}{by}{note}", Status.RUNNING)]
        case ev.Override():
            return [_line(event.path, _override_words(event), Status.SKIPPED)]
        case ev.Note(path=str(path)):
            return [_line(path, words.one_line(event.text), Status.RUNNING)]
        case ev.CancelRequest():
            return [Line(f"the run is to end: {words.one_line(event.reason) or 'cancelled'}", Status.CANCELLED)]
        case _:
            return []


def gate_lines(gate: ev.GateOpen, run: str, at: str = "") -> list[Line]:
    """An open question, and the command that answers it."""
    question = [Line(f"    {line}") for line in words.block(gate.question).split("\n")]
    answer = Line(f"    answer: {approve_command(gate, run, at)}", "command")
    return [_line(gate.path, "a question for you", Status.WAITING), *question, answer]


def _attempt_started(state: RunState, event: ev.AttemptStart) -> list[Line]:
    again = f"started again, attempt {event.attempt}" if event.attempt > 1 else "started"
    return [_line(_named(state, event.path), again, Status.RUNNING)]


def _attempt_ended(state: RunState, event: ev.AttemptEnd) -> list[Line]:
    """Only what the end of the node will not tell: that there is another attempt, or that it was interrupted."""
    instance = state.get(event.path)
    if event.outcome is Outcome.INTERRUPTED:
        return [_line(event.path, "interrupted", "interrupted")]
    if event.outcome is Outcome.LIMITED:
        until = f"; goes on at {words.moment(event.reset_at)}" if event.reset_at is not None else ""
        return [_line(event.path, f"a usage limit is reached{until}", Status.WAITING)]
    if event.outcome is Outcome.OK or instance is None or not _is_tried_again(instance, event.attempt):
        return []
    reason = words.why(event.error or event.outcome.value, event.exit, event.signal)
    return [_line(event.path, f"attempt {event.attempt} failed: {reason}", "warning")]


def _is_tried_again(instance: Instance, attempt: int) -> bool:
    """The next attempt may have begun already: both events are often on disk together."""
    return instance.attempt > attempt or instance.stage in (Stage.RETRY, Stage.WAITING)


def _node_ended(state: RunState, event: ev.NodeEnd) -> Line:
    instance = state.get(event.path)
    lasted = _lasted(state, instance)
    text = words.status_word(event.status) + (f" ({lasted})" if lasted and event.status is Status.SUCCEEDED else "")
    if event.status is not Status.SUCCEEDED:
        reason = words.one_line(event.reason)
        if event.status is Status.FAILED and instance is not None:
            reason = words.why(event.reason, instance.exit, instance.signal)
        text += f": {words.shortened(reason, 300)}" if reason else ""
    return _line(event.path, text, event.status)


def _lasted(state: RunState, instance: Instance | None) -> str:
    """How long it took; the time before a resume, when nobody drove, is left out."""
    if instance is None or instance.started_at is None or instance.ended_at is None:
        return ""
    return words.duration(instance.ended_at - max(instance.started_at, state.facts.resumed_at or 0.0))


def _named(state: RunState, path: str) -> str:
    instance = state.get(path)
    node = instance.node if instance is not None else None
    title = node_title(state, node, instance) if node is not None else ""
    return f"{path} ({title})" if title else path


def _override_words(event: ev.Override) -> str:
    said = {
        "rerun": "is done again",
        "skip": "is left out",
        "done": "is taken as done",
        "refresh": "its items are read again",
    }
    reason = f": {words.one_line(event.reason)}" if event.reason else ""
    return said.get(event.action, event.action) + reason


def _line(path: str, text: str, style: str) -> Line:
    return Line(f"{words.one_line(path, 120)}: {text}", style)
