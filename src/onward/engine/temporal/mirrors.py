"""What a worker writes from the state beside the journal: state file, snapshots and their mirror, state cache."""

from __future__ import annotations

import os
from collections.abc import Sequence

from onward.engine.embedded.mirroring import Mirroring
from onward.engine.observer import Silent
from onward.journal.writer import Journal
from onward.mirrors.state_file import StateFile, path_of
from onward.model import events as ev
from onward.state.run_state import RunState
from onward.store.folder import RunFolder

FIRST_EVENTS = 1
"""what is in the journal when the first worker comes to a run"""


class Mirrors:
    """The mirrors of a run, which several workers write in turns: each begins again after another one wrote."""

    def __init__(self, folder: RunFolder, state: RunState) -> None:
        self._folder = folder
        self._state = state
        self._mirroring: Mirroring | None = None

    def somebody_wrote(self) -> None:
        """What was counted here is out of date."""
        self._mirroring = None

    def changed(self, events: Sequence[ev.Event], journal: Journal) -> None:
        """These events are in the journal. What cannot be written harms nothing: the journal is the truth."""
        self._current(fresh=events[0].seq == FIRST_EVENTS + 1).changed(self._state, events, journal)

    def snapshot(self, cause: str, journal: Journal) -> ev.SnapshotTaken | None:
        """A snapshot of what is in the journal; None where it cannot be written."""
        return self._current(fresh=False).snapshot(self._state, journal, cause)

    def _current(self, *, fresh: bool) -> Mirroring:
        if self._mirroring is None:
            self._mirroring = Mirroring(self._folder, self._state_file(), Silent())
            self._mirroring.attend(self._state)
            if fresh:
                self._mirroring.begin(fresh=True)
        return self._mirroring

    def _state_file(self) -> StateFile | None:
        plan = self._state.plan
        path = path_of(plan, os.path.normpath(os.path.join(os.path.dirname(plan.file), plan.directory)))
        if path is None or plan.checkpoint is None:
            return None
        policy = plan.checkpoint.cleanup_policy
        return StateFile(self._state, path, policy=policy, journal=self._folder.journal)
