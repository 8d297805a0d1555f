"""A store → the runs that nobody drives and that should go on by themselves, and why the others are left (`--all`).

Interrupted runs and those that a shutdown paused go on; those that a person paused do not, because that person had a
reason; those that wait for an answer could not.
"""

from __future__ import annotations

import os

from msgspec import Struct

from onward.errors import OnwardError
from onward.model.status import RunStatus
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.store.room import CAUSES, shortage
from onward.store.runs import Store
from onward.views import words
from onward.views.source import Source
from onward.views.status import run_status

PERSON = "person"


class Left(Struct, frozen=True, kw_only=True):
    """A run that has not ended and does not go on by itself. `error`: it cannot be read."""

    run: str
    status: str
    why: str
    error: bool = False


class Found(Struct):
    """What `--all` takes up, oldest first, and what it leaves."""

    runs: list[RunFolder]
    left: list[Left]


def to_take_up(store: Store, now: float) -> Found:
    """Look at every run of the store that has not ended."""
    found = Found([], [])
    for folder in reversed(store.runs()):
        try:
            source = Source(folder)
        except OnwardError as error:
            found.left.append(Left(run=folder.run_id, status="unreadable", why=error.message, error=True))
            continue
        if source.state.facts.end is not None:
            continue
        why = "it is driven already" if source.driven else why_not(source.state, now)
        why = why or _why_still(folder, source.state)
        if why is None:
            found.runs.append(folder)
        else:
            status = run_status(source.state, driven=source.driven)
            found.left.append(Left(run=folder.run_id, status=status.value, why=why))
    return found


def why_not(state: RunState, now: float) -> str | None:
    """Why a run that nobody drives does not go on by itself; None: it does."""
    pausing = state.pausing
    if pausing is not None and pausing.cause == PERSON:
        by = f" by {pausing.by}" if pausing.by else ""
        reason = f": {pausing.reason}" if pausing.reason else ""
        return f"it was paused{by}{reason}"
    if pausing is not None and pausing.until is not None and pausing.until > now:
        return f"its limit is over at {words.moment(words.at_time(pausing.until))}"
    if state.status is RunStatus.WAITING and not _a_gate_is_due(state, now):
        return f"it waits for an answer at {', '.join(state.gates)}"
    return None


def _why_still(folder: RunFolder, state: RunState) -> str | None:
    """A run that paused because room was short goes on when there is enough."""
    if state.pausing is None or state.pausing.cause not in CAUSES:
        return None
    found = shortage(folder.root, os.environ)
    return None if found is None else found.reason


def _a_gate_is_due(state: RunState, now: float) -> bool:
    expiries = (gate.expires_at for gate in state.gates.values())
    return any(expiry is not None and expiry.timestamp() <= now for expiry in expiries)
