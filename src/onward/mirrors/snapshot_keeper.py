"""The snapshots that a driver keeps of its run: numbered ones in the run's folder, and the mirror of the workflow.

A snapshot is written only when the event that it reflects is on the disk. It is a mirror: one that cannot be written
harms nothing but itself.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from onward import files
from onward.errors import StoreError
from onward.mirrors import snapshot_file
from onward.mirrors.pause_errors import SnapshotError
from onward.mirrors.snapshot_file import WorkflowSnapshot
from onward.mirrors.snapshot_history import SnapshotHistory, keep_of
from onward.mirrors.snapshot_manager import SnapshotManager
from onward.mirrors.snapshot_run import MetricsOf, Reflected, Sums, snapshot_of
from onward.model.events import SnapshotTaken
from onward.model.nodes import Plan
from onward.model.status import Status
from onward.state.run_state import RunState

USUALLY_KEPT = 20
"""so many numbered snapshots stay when a driver makes another one"""


def mirror_of(plan: Plan, directory: str | os.PathLike[str]) -> str | None:
    """The folder of `mirror: {snapshots: …}`; `directory` is the one in which tasks work."""
    if plan.mirror_snapshots is None:
        return None
    return os.path.normpath(os.path.join(directory, plan.mirror_snapshots))


class RunSnapshots:
    """Takes snapshots of one run. `folder` is the run's; `mirror` the folder that the workflow names."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        file: str,
        mirror: str | None = None,
        metrics_of: MetricsOf = lambda _: {},
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._folder = os.fspath(folder)
        self._file = file
        self._journal = os.path.join(self._folder, "journal.jsonl")
        self._sums = Sums(self._journal)
        self._metrics_of = metrics_of
        self._keep = keep_of(environment, USUALLY_KEPT)
        self.history = SnapshotHistory(os.path.join(self._folder, "snapshots"))
        self._manager = SnapshotManager(mirror) if mirror is not None else None

    @property
    def mirrors(self) -> bool:
        """Whether the workflow names a folder for them."""
        return self._manager is not None

    def begin(self) -> None:
        """Raise `SnapshotError` where the mirror could not be written."""
        if self._manager is None:
            return
        folder = self._manager.folder
        try:
            files.make_folder(folder)
        except StoreError as error:
            raise SnapshotError(error.message, help=error.help) from error
        if not os.access(folder, os.W_OK | os.X_OK):
            raise SnapshotError(f"the folder {folder} of snapshots cannot be written", help="name another one")

    def take(
        self, state: RunState, reflected: Reflected, *, compress: bool = False, key: bytes | None = None
    ) -> SnapshotTaken:
        """Write a numbered snapshot of the state. Returns the event that tells of it. Raises `SnapshotError`."""
        snapshot = self._of(state, reflected, self.history.folder)
        kept, digest = self.history.add(snapshot, compress=compress, key=key)
        for old in self.history.to_prune(keep=self._keep):
            self.history.remove(old)
        name = os.path.relpath(kept.path, self._folder)
        return SnapshotTaken(file=name, of=reflected.seq, sha256=digest)

    def mirror(self, state: RunState, reflected: Reflected) -> None:
        """Write the mirror, where the workflow names one. Raises `SnapshotError`."""
        if self._manager is not None and state.facts.end in (None, Status.FAILED):
            self._manager.save(self._of(state, reflected, self._manager.folder))

    def _of(self, state: RunState, reflected: Reflected, base: str) -> WorkflowSnapshot:
        places = {"file": _seen_from(base, self._file), "journal": _seen_from(base, self._journal)}
        return snapshot_of(state, reflected, metrics_of=self._metrics_of, sums=self._sums.now(), places=places)

    def resumed(self) -> None:
        """The run goes on: the mirror says so."""
        manager, run = self._manager, os.path.basename(self._folder)
        if manager is not None and snapshot_file.read(manager.path_of(run)) is not None:
            manager.mark_resumed(run)

    def ended(self, status: Status) -> None:
        """The run has ended; a mirror that stayed after a success would have it resumed for ever."""
        if self._manager is not None and status in (Status.SUCCEEDED, Status.CANCELLED):
            self._manager.delete_snapshot(os.path.basename(self._folder))


def _seen_from(folder: str, path: str) -> str:
    """Relative to the folder of the snapshot, so that both can be moved together, unless only `/` is common."""
    base, target = os.path.realpath(folder), os.path.realpath(path)
    return target if os.path.commonpath([base, target]) == os.path.sep else os.path.relpath(target, base)
