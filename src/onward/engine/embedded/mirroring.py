"""What is written from the state beside the journal: the state cache, and the mirrors of a run.

All of it can be deleted and made again. A mirror that cannot be written later than at the start of a run is a
warning, said once, for as long as the journal can be written.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onward import clock
from onward.engine.observer import Observer
from onward.errors import OnwardError, StateError, WorkflowCheckpointError
from onward.journal.writer import Journal
from onward.mirrors.snapshot_keeper import RunSnapshots, mirror_of
from onward.mirrors.snapshot_run import Reflected
from onward.mirrors.state_file import StateFile
from onward.model.events import Event, Note, SnapshotTaken, WorkflowEnd, WorkflowResume
from onward.state.cache import encode_state
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.tasks.measured import measured_so_far

if TYPE_CHECKING:
    from onward.recovery.sparq_mirror import SparqMirror

CACHE_AFTER_EVENTS = 2_000
SHARE_OF_TIME = 20
"""a cache that took one second to write is written again after twenty at the earliest"""


class Mirroring:
    """All mirrors of one driver, and the state cache."""

    def __init__(self, folder: RunFolder, state_file: StateFile | None, observer: Observer) -> None:
        self._folder = folder
        self._state_file = state_file
        self._observer = observer
        self._snapshots: RunSnapshots | None = None
        self._sparq: SparqMirror | None = None
        self._state: RunState | None = None
        self._cache_failed = False
        self._told: set[str] = set()
        self._troubles: list[Note] = []
        self._uncached = 0
        self._cache_due = 0.0

    def attend(self, state: RunState) -> None:
        """This is the state that is mirrored."""
        self._snapshots = snapshots_of(self._folder, state)
        self._state = state
        if state.plan.mirror_sparq is not None:
            from onward.recovery.sparq_mirror import sparq_mirror_of

            self._sparq = sparq_mirror_of(self._folder, state)

    def begin(self, *, fresh: bool) -> None:
        """Write every mirror for the first time. Raises `WorkflowCheckpointError`, `SnapshotError` where that fails."""
        if self._state_file is not None:
            self._state_file.begin(fresh=fresh)
        if self._snapshots is not None:
            self._snapshots.begin()
        if self._sparq is not None and self._state is not None:
            self._sparq.begin(self._state)

    def snapshot(
        self, state: RunState, journal: Journal, cause: str, *, compress: bool = False, key: bytes | None = None
    ) -> SnapshotTaken | None:
        """Take a snapshot of what is on the disk; None, and a warning, where it cannot be written."""
        if self._snapshots is None:
            return None
        reflected = Reflected(seq=journal.position.seq, chain=journal.position.chain, cause=cause)
        try:
            self._snapshots.mirror(state, reflected)
        except (OnwardError, OSError) as error:
            self._warn("mirror of snapshots", str(error))
        try:
            return self._snapshots.take(state, reflected, compress=compress, key=key)
        except (OnwardError, OSError) as error:
            self._warn("snapshot", str(error))
            return None

    def changed(self, state: RunState, events: Sequence[Event], journal: Journal) -> None:
        """Called after each flush."""
        self._bring_up_to_date(state, events)
        if self._snapshots is not None and self._snapshots.mirrors:
            self._tell_snapshots(self._snapshots, events)
        if self._sparq is not None:
            self._tell_sparq(self._sparq, state, events)
        self._uncached += len(events)
        if self._uncached >= CACHE_AFTER_EVENTS and clock.monotonic() >= self._cache_due:
            self._write_cache(state, journal)

    def close(self, state: RunState, journal: Journal) -> None:
        """Called once, when the driver stops in good order."""
        self._bring_up_to_date(state, None)
        if self._sparq is not None:
            self._tell_sparq(self._sparq, state, None)
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
            self._warn("state file", str(error))

    def _tell_snapshots(self, snapshots: RunSnapshots, events: Sequence[Event]) -> None:
        try:
            for event in events:
                if isinstance(event, WorkflowResume):
                    snapshots.resumed()
                elif isinstance(event, WorkflowEnd):
                    snapshots.ended(event.status)
        except OnwardError as error:
            self._warn("mirror of snapshots", str(error))

    def _tell_sparq(self, mirror: SparqMirror, state: RunState, events: Sequence[Event] | None) -> None:
        try:
            if events is None:
                mirror.close(state)
            else:
                mirror.changed(state, events)
        except StateError as error:
            self._warn("mirror of SparQ", str(error))

    def _warn(self, what: str, text: str) -> None:
        """Said once of each mirror."""
        if what not in self._told:
            self._told.add(what)
            self._observer.message("warning", text)
            self._troubles.append(Note(text=text, level="warning"))

    def take_troubles(self) -> list[Note]:
        """Warnings since the last call, for the journal: so `status` shows them too."""
        troubles, self._troubles = self._troubles, []
        return troubles

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


def snapshots_of(folder: RunFolder, state: RunState) -> RunSnapshots:
    """What takes the snapshots of a run."""
    file = Path(state.plan.file)
    return RunSnapshots(
        folder.root,
        file=os.fspath(file),
        mirror=mirror_of(state.plan, file.parent / state.plan.directory),
        metrics_of=lambda instance: measured_so_far(instance, folder.attempt_path(instance.path, instance.attempt)),
    )
