"""A run, and what `onward resume` was asked for → what that resume would do. Nothing is changed and nothing is driven.

The events are made by the function that makes those of the real resume, so both follow the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from onward import clock
from onward.engine.embedded.launch import ResumeOptions, first_events
from onward.engine.embedded.opening import look_at
from onward.model.events import Event
from onward.model.status import RunStatus, Status
from onward.recovery.artifacts import ArtifactsChanged
from onward.recovery.diagnose import Diagnosis, diagnose
from onward.recovery.seen import Seen
from onward.state.run_state import RunState


class Ahead(Struct, kw_only=True):
    """What lies ahead. `ended`: the run has succeeded or was cancelled, and nothing is asked of it."""

    seen: Seen
    diagnosis: Diagnosis
    told: list[tuple[str, str]]
    was: RunStatus
    """how the journal left it; `running` means interrupted where nobody drives"""
    ended: Status | None = None


class _Listener:
    """Keeps what is said."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def message(self, level: str, text: str) -> None:
        self.told.append((level, text))

    def started(self, state: RunState, folder: Path) -> None:
        """Nothing."""

    def changed(self, state: RunState, events: Sequence[Event]) -> None:
        """Nothing."""

    def ended(self, state: RunState) -> None:
        """Nothing."""


def look_ahead(options: ResumeOptions, *, git: bool = True) -> Ahead:
    """Raises `StateError` when there is nothing to look at, `UsageError` for a path that the workflow does not have."""
    seen = look_at(options.run, original=options.original)
    seen.take_names()
    listener = _Listener()
    ended, was = seen.state.facts.end, seen.state.status
    again = any(getattr(options, name, ()) for name in _SETS_BACK)
    over = ended if ended in (Status.SUCCEEDED, Status.CANCELLED) and not again else None
    events: Sequence[Event] = () if over is not None else _events(options, seen, listener)
    found = diagnose(seen, events, clock.now().timestamp(), git=git)
    return Ahead(seen=seen, diagnosis=found, told=listener.told, was=was, ended=over)


_SETS_BACK = ("rerun", "rerun_from", "skip", "done", "refresh", "rerun_changed", "rerun_stale")


def _events(options: ResumeOptions, seen: Seen, listener: _Listener) -> Sequence[Event]:
    try:
        return first_events(options, seen, listener)
    except ArtifactsChanged:
        # A choice that is one of the findings; what the resume does with the rest is shown as if they were kept.
        listener.told.clear()
        return first_events(msgspec.structs.replace(options, yes=True), seen, listener)
