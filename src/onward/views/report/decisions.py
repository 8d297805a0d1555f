"""The events of a run → what people (and time limits) decided about it, and when it stopped and went on."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from onward.model import events as ev
from onward.model.events import AnyEvent
from onward.views import words


class Decision(Struct, frozen=True, kw_only=True):
    """`style` is a status; `path` the node that it is about; `who` and `why` may be empty."""

    at: float
    what: str
    style: str
    path: str = ""
    who: str = ""
    why: str = ""


def decisions(events: Iterable[AnyEvent]) -> list[Decision]:
    """All of them, in order."""
    return [made for event in events if (made := _made(event)) is not None]


_OVERRIDES = {
    "rerun": ("to be done again", "running"),
    "skip": ("left out", "skipped"),
    "done": ("taken as done", "succeeded"),
    "refresh": ("items to be read again", "running"),
}


def _made(event: AnyEvent) -> Decision | None:
    match event:
        case ev.GateOpen():
            return _said(event, "asked", "waiting", why=event.question, path=event.path)
        case ev.GateDecision():
            style = "failed" if event.choice in ("reject", "stop") else "succeeded"
            return _said(event, f"answered: {event.choice}", style, event.by, _note(event), event.path)
        case ev.Override():
            what, style = _OVERRIDES.get(event.action, (event.action, "running"))
            return _said(event, what, style, event.by, event.reason, event.path)
        case ev.Note() if event.level != "note":
            return _said(event, event.level, "interrupted", why=event.text, path=event.path or "")
        case _:
            return _of_the_run(event)


def _of_the_run(event: AnyEvent) -> Decision | None:
    match event:
        case ev.WorkflowStart():
            imported = event.imported
            taken = f"taken over from {imported.get('file')}" if imported else ""
            at = f"at git commit {event.revision[:12]}" if event.revision else ""
            return _said(event, "started", "running", _owner(event.owner), "\n".join(filter(None, (taken, at))))
        case ev.WorkflowResume():
            return _said(event, "resumed", "running", event.by or _owner(event.owner), _changes(event))
        case ev.TakeOver():
            return _said(event, "taken over", "running", event.by or _owner(event.owner))
        case ev.PauseRequest():
            cause = "" if event.cause in ("", "person") else f"({event.cause})"
            return _said(event, "pause asked for", "paused", event.by, " ".join(filter(None, (event.reason, cause))))
        case ev.WorkflowPause():
            stopped = f"interrupted: {', '.join(event.active)}" if event.active else ""
            return _said(event, "paused", "paused", why=stopped)
        case ev.CancelRequest():
            return _said(event, "end asked for", "cancelled", event.by, event.reason)
        case ev.WorkflowEnd():
            return _said(event, f"ended: {event.status.value}", event.status.value, why=event.reason)
        case ev.SnapshotTaken():
            return _said(event, "snapshot taken", "pending", why=f"{event.file}, of event {event.of:,}")
        case _:
            return None


def _said(event: AnyEvent, what: str, style: str, who: str = "", why: str = "", path: str = "") -> Decision:
    return Decision(at=event.at.timestamp(), what=what, style=style, who=who, why=why, path=path)


def _note(event: ev.GateDecision) -> str:
    return "\n".join(filter(None, (event.note, *(f"{name}: {value}" for name, value in event.fields.items()))))


def _owner(owner: ev.Owner | None) -> str:
    if owner is None:
        return ""
    return f"{owner.user} on {owner.host}" if owner.user else owner.host


def _changes(event: ev.WorkflowResume) -> str:
    edits = ", ".join(f"{one.path} {one.change}" for one in event.changes)
    values = ", ".join(f"{name} = {words.shortened(value, 60)}" for name, value in event.variables.items())
    raised = ", ".join(_budget(path, limits) for path, limits in event.budget.items())
    found = event.artifacts
    intact = f"{found.get('verified', 0)} of {found.get('total', 0)} artifacts intact" if found.get("total") else ""
    return "\n".join(filter(None, (event.reason, edits, values, raised, intact)))


def _budget(path: str, limits: dict[str, float]) -> str:
    told = " and ".join(f"{number:,g} {unit}" for unit, number in limits.items())
    return f"budget of {path or 'the run'} raised to {told}"
