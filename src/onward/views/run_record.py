"""The events of a run → its own record: starts, resumes, pauses, decisions, overrides and notes, in words."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from onward import clock
from onward.model import events as ev
from onward.views import words
from onward.views.record import Happened, Result, result_view
from onward.views.source import Source
from onward.views.status import run_status
from onward.views.titles import run_title


class RunRecord(Struct, frozen=True, kw_only=True):
    """Everything about a run but its nodes."""

    schema: int = 1
    run: str
    workflow: str
    title: str
    file: str
    folder: str
    directory: str
    status: str
    definition_sha256: str
    variables: dict[str, str]
    resumed_count: int
    outputs: dict[str, Result]
    history: list[Happened]


def run_record(source: Source, events: Iterable[ev.Event]) -> RunRecord:
    """The record of the run as a whole."""
    state, facts, around = source.state, source.state.facts, source.around()
    told = [Happened(at=clock.to_iso(event.at), text=text) for event in events if (text := in_words(event))]
    return RunRecord(
        run=source.run_id,
        workflow=facts.name,
        title=run_title(state),
        file=around.file,
        folder=str(source.folder.root),
        directory=around.directory,
        status=run_status(state, driven=source.driven).value,
        definition_sha256=facts.definition_sha256,
        variables=facts.variables,
        resumed_count=facts.resumed_count,
        outputs={name: result_view(source, value) for name, value in (state.root.outputs or {}).items()},
        history=told,
    )


def in_words(event: ev.Event) -> str:
    """What an event says about the run as a whole; empty for those of single attempts."""
    match event:
        case ev.WorkflowStart():
            imported = f", taken over from {words.one_line(str(event.imported.get('file')))}" if event.imported else ""
            return f"started{_by(event.owner)}{imported}"
        case ev.WorkflowResume():
            return f"resumed{_by(event.owner)}{_because(event.reason)}{_changes(event)}"
        case ev.TakeOver():
            return f"taken over{_by(event.owner)}"
        case ev.PauseRequest():
            who = f" by {words.one_line(event.by)}" if event.by else ""
            return f"a pause was asked for{who}{_because(event.reason)}"
        case ev.WorkflowPause():
            return "paused" + (f"; interrupted: {', '.join(map(words.one_line, event.active))}" if event.active else "")
        case ev.CancelRequest():
            return f"the end was asked for{_because(event.reason)}"
        case ev.WorkflowEnd():
            return f"ended, {event.status.value}{_because(event.reason)}"
        case ev.GateOpen():
            return f"{words.one_line(event.path)} asked: {words.one_line(event.question)}"
        case ev.GateDecision():
            note = f" ({words.one_line(event.note)})" if event.note else ""
            return f"{words.one_line(event.path)} answered {event.choice} by {words.one_line(event.by)}{note}"
        case ev.Override():
            by = f" by {words.one_line(event.by)}" if event.by else ""
            return f"{words.one_line(event.path)}: {event.action}{by}{_because(event.reason)}"
        case ev.SnapshotTaken():
            return f"snapshot {words.one_line(event.file)} of event {event.of}"
        case ev.Note():
            return f"{event.level}: {words.one_line(event.text)}"
        case _:
            return ""


def _by(owner: ev.Owner | None) -> str:
    if owner is None:
        return ""
    user = f" by {words.one_line(owner.user)}" if owner.user else ""
    return f"{user} on {words.one_line(owner.host)}, process {owner.pid}"


def _because(reason: str) -> str:
    return f": {words.one_line(reason)}" if reason else ""


def _changes(event: ev.WorkflowResume) -> str:
    if not event.changes:
        return ""
    return "; the workflow had changed: " + ", ".join(f"{words.one_line(c.path)} {c.change}" for c in event.changes)
