"""The events of a run → who decided what about it, when and why: the audit of a run, in order.

A decision is what a person or a program outside chose: to start, pause, resume, cancel, approve, skip, do again, go
back, carry off. The chain of the journal (`onward verify`) proves that none was removed or altered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from onward import clock
from onward.model import events as ev

_ROLLED_BACK = "rolled back to "


class Decision(Struct, frozen=True, kw_only=True):
    """`what` is a word: started, paused, resumed, taken over, cancelled, approved, rejected, answered, skipped, done,
    rerun, refreshed, rolled back, exported, imported. `cause` says of a pause whether a person asked for it."""

    at: str
    seq: int
    what: str
    by: str = ""
    path: str | None = None
    reason: str = ""
    choice: str | None = None
    cause: str | None = None
    paths: tuple[str, ...] = ()
    """what is done again after going back"""


class Decisions(Struct, frozen=True, kw_only=True):
    """The whole."""

    schema: int = 1
    run: str
    decisions: list[Decision]


def decisions(run: str, events: Iterable[ev.Event]) -> Decisions:
    """Every decision about a run."""
    return Decisions(run=run, decisions=list(_all(events)))


def about(path: str, events: Iterable[ev.Event]) -> Iterator[ev.Event]:
    """Only what was decided about one node."""
    return (event for event in events if isinstance(event, ev.GateDecision | ev.Override) and event.path == path)


_OVERRIDES = {"skip": "skipped", "rerun": "rerun", "done": "done", "refresh": "refreshed"}
_ANSWERS = {"approve": "approved", "reject": "rejected"}


def _all(events: Iterable[ev.Event]) -> Iterator[Decision]:
    back: list[str] = []
    for event in events:
        if _is_of_rollback(event):
            if isinstance(event, ev.Override):
                back.append(event.path)
        elif isinstance(event, ev.Note):
            yield from _of_note(event, tuple(back))
            back = []
        else:
            yield from _of(event)


def _of(event: ev.Event) -> Iterator[Decision]:
    match event:
        case ev.WorkflowStart():
            yield _made(event, "started", by=event.owner.user if event.owner is not None else "")
        case ev.PauseRequest():
            yield _made(event, "paused", by=event.by, reason=event.reason, cause=event.cause)
        case ev.WorkflowResume() if event.reason != "cancel":  # only so that a run that nobody drives can be ended
            yield _made(event, "resumed", by=event.by, reason=event.reason)
        case ev.TakeOver():
            yield _made(event, "taken over", by=event.by)
        case ev.CancelRequest():
            yield _made(event, "cancelled", by=event.by, reason=event.reason)
        case ev.GateDecision():
            what = _ANSWERS.get(event.choice, "answered")
            yield _made(event, what, by=event.by, reason=event.note, path=event.path, choice=event.choice)
        case ev.Override():
            what = _OVERRIDES.get(event.action, event.action)
            yield _made(event, what, by=event.by, reason=event.reason, path=event.path)
        case _:
            return


def _of_note(note: ev.Note, back: tuple[str, ...]) -> Iterator[Decision]:
    by = str(note.data.get("by", ""))
    for key, what in (("rollback", "rolled back"), ("export", "exported"), ("import", "imported")):
        if key in note.data:
            yield _made(note, what, by=by, reason=note.text, paths=back)


def _is_of_rollback(event: ev.Event) -> bool:
    """A rollback is one decision, although several events make it."""
    match event:
        case ev.WorkflowResume() | ev.Override() | ev.PauseRequest():
            return event.reason.startswith(_ROLLED_BACK)
        case _:
            return False


def _made(
    event: ev.Event,
    what: str,
    *,
    by: str = "",
    reason: str = "",
    path: str | None = None,
    choice: str | None = None,
    cause: str | None = None,
    paths: tuple[str, ...] = (),
) -> Decision:
    at = clock.to_iso(event.at)
    return Decision(
        at=at, seq=event.seq, what=what, by=by, reason=reason, path=path, choice=choice, cause=cause, paths=paths
    )
