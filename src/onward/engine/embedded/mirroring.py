"""What is written from the state beside the journal: the state cache, and the mirrors of a run.

All of it can be deleted and made again. A mirror that cannot be written later than at the start of a run is a
warning, said once, for as long as the journal can be written.
"""

from __future__ import annotations

from collections.abc import Sequence

from onward import clock
from onward.engine.observer import Observer
from onward.errors import StateError, WorkflowCheckpointError
from onward.journal.writer import Journal
from onward.mirrors.state_file import StateFile
from onward.model.events import Event
from onward.state.cache import encode_state
from onward.state.run_state import RunState
from onward.store.folder import RunFolder

CACHE_AFTER_EVENTS = 2_000
SHARE_OF_TIME = 20
"""a cache that took one second to write is written again after twenty at the earliest"""


class Mirroring:
    """All mirrors of one driver, and the state cache."""

    def __init__(self, folder: RunFolder, state_file: StateFile | None, observer: Observer) -> None:
        self._folder = folder
        self._state_file = state_file
        self._observer = observer
        self._cache_failed = False
        self._told = False
        self._uncached = 0
        self._cache_due = 0.0

    def begin(self, *, fresh: bool) -> None:
        """Write every mirror for the first time. Raises `WorkflowCheckpointError` where that cannot be done."""
        if self._state_file is not None:
            self._state_file.begin(fresh=fresh)

    def changed(self, state: RunState, events: Sequence[Event], journal: Journal) -> None:
        """Called after each flush."""
        self._bring_up_to_date(state, events)
        self._uncached += len(events)
        if self._uncached >= CACHE_AFTER_EVENTS and clock.monotonic() >= self._cache_due:
            self._write_cache(state, journal)

    def close(self, state: RunState, journal: Journal) -> None:
        """Called once, when the driver stops in good order."""
        self._bring_up_to_date(state, None)
        if self._uncached:
            self._write_cache(state, journal)

    def _bring_up_to_date(self, state: RunState, events: Sequence[Event] | None) -> None:
        """A state file that cannot be written any more is told once, and harms nothing: the journal is the truth."""
        if self._state_file is None:
            return
        try:
            if events is None:
                self._state_file.close(state)
            else:
                self._state_file.changed(state, events)
        except WorkflowCheckpointError as error:
            if not self._told:
                self._told = True
                self._observer.message("warning", str(error))

    def _write_cache(self, state: RunState, journal: Journal) -> None:
        begun = clock.monotonic()
        try:
            self._folder.write_cache(journal.position, encode_state(state), durable=False)
        except StateError as error:
            if not self._cache_failed:
                self._cache_failed = True
                self._observer.message("warning", f"the state cache cannot be written: {error.message}")
        now = clock.monotonic()
        self._uncached = 0
        self._cache_due = now + SHARE_OF_TIME * (now - begun)
