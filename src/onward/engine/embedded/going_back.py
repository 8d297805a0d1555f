"""A run that nobody drives, and a node → the same run, with that node and what follows it to be done again.

History stays: what is set back is set back by events. The run is paused then, so that nothing goes on by itself.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from onward.engine.embedded.opening import adopt_definition, look_at, open_run
from onward.errors import UsageError
from onward.model import events as ev
from onward.recovery.abandoned import Abandoned, abandoned_by
from onward.recovery.choices import Choices, overrides_for
from onward.state.fold import fold
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.store.lock import this_process

Tell = Callable[[str, str], None]


class Back(Struct, kw_only=True):
    """What is set back."""

    overrides: list[ev.Override]
    abandoned: Abandoned


def look_back(folder: RunFolder, path: str) -> Back:
    """What a rewind would set back; nothing is changed. Raises `UsageError` for a path that the run does not have."""
    seen = look_at(folder)
    seen.take_names()
    return _back(seen.state, path)


def rewind(folder: RunFolder, path: str, tell: Tell, *, reason: str = "") -> Back:
    """Do it. Raises `RunBusy` when the run is driven."""
    opened = open_run(folder, tell)
    by = this_process().user
    text = f"back to `{path}`" + (f": {reason}" if reason else "")
    try:
        opened.take_names()
        back = _back(opened.state, path)
        renamed = tuple(change for change in opened.changes if change.former)
        resumed_count = opened.state.facts.resumed_count
        events: tuple[ev.Event, ...] = (
            *opened.notes,
            ev.WorkflowResume(reason=text, by=by, resumed_count=resumed_count, owner=this_process(), changes=renamed),
            *back.overrides,
            ev.PauseRequest(reason=text, by=by, cause="person"),
            ev.WorkflowPause(),
        )
        if renamed:
            adopt_definition(opened)
        for event in events:
            fold(opened.state, opened.journal.add(event))
        opened.journal.flush()
    finally:
        opened.journal.close()
        opened.lock.release()
    return back


def _back(state: RunState, path: str) -> Back:
    overrides = overrides_for(state, Choices(rerun_from=(path,)), this_process().user)
    if state.get(path) is None:
        raise UsageError(f"`{path}` has not begun yet", help="there is nothing to go back to; `onward resume` goes on")
    return Back(overrides=overrides, abandoned=abandoned_by(state, overrides))
