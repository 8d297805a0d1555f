"""The runs of a store → one row for each, newest first, without reading more of a journal than is needed.

An ended run is known by the first and the last lines of its journal; any other is folded.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from onward import clock
from onward.errors import OnwardError
from onward.journal.lines import EVENTS
from onward.journal.packed import open_reading
from onward.journal.repair import tail_events
from onward.model import events as ev
from onward.store.folder import RunFolder
from onward.store.runs import Store
from onward.views.nodes import iso
from onward.views.source import Source
from onward.views.status import run_reason, run_status

UNREADABLE = "unreadable"
TAIL = 8
"""events at the end that are looked at"""

_SAYS_NOTHING = (ev.Note, ev.SnapshotTaken, ev.PhaseComplete)


class RunRow(Struct, frozen=True, kw_only=True):
    """One run. `status` as in `onward status`, or `unreadable`, and then `reason` says why."""

    run: str
    workflow: str
    title: str
    status: str
    reason: str
    started_at: str | None
    ended_at: str | None
    driven: bool


def run_rows(store: Store) -> Iterator[RunRow]:
    """The rows, newest first; the caller takes as many as are wanted."""
    for folder in store.runs():
        try:
            yield run_row(folder)
        except OnwardError as error:
            yield _unreadable(folder, error)


def run_row(folder: RunFolder) -> RunRow:
    """The row of one run. Raises `StateError` when it cannot be read."""
    return _quickly(folder) or _folded(folder)


def _quickly(folder: RunFolder) -> RunRow | None:
    """From both ends of the journal, when the run has ended."""
    end, start = _last_word(folder), _first_event(folder)
    if not isinstance(end, ev.WorkflowEnd) or not isinstance(start, ev.WorkflowStart):
        return None
    return RunRow(
        run=folder.run_id,
        workflow=start.name,
        title=start.title or start.name,
        status=end.status.value,
        reason=end.reason,
        started_at=clock.to_iso(start.at),
        ended_at=clock.to_iso(end.at),
        driven=folder.driver() is not None,
    )


def _first_event(folder: RunFolder) -> ev.Event | None:
    try:
        with open_reading(folder.journal) as file:
            return EVENTS.decode(file.readline())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None  # the whole journal is read then, and tells what is wrong


def _last_word(folder: RunFolder) -> ev.Event | None:
    """The last event that says how the run stands."""
    events = tail_events(folder.journal, TAIL)
    return next((event for event in reversed(events) if not isinstance(event, _SAYS_NOTHING)), None)


def _folded(folder: RunFolder) -> RunRow:
    source = Source(folder)
    facts = source.state.facts
    status = run_status(source.state, driven=source.driven)
    return RunRow(
        run=folder.run_id,
        workflow=facts.name,
        title=facts.title or facts.name,
        status=status.value,
        reason=run_reason(source.state, status),
        started_at=clock.to_iso(folder.started_at()),
        ended_at=iso(facts.ended_at),
        driven=source.driven,
    )


def _unreadable(folder: RunFolder, error: OnwardError) -> RunRow:
    return RunRow(
        run=folder.run_id,
        workflow="",
        title="",
        status=UNREADABLE,
        reason=error.message,
        started_at=clock.to_iso(folder.started_at()),
        ended_at=None,
        driven=False,
    )
