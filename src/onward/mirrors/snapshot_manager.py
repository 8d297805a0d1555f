"""Snapshots of workflows in a folder: `snapshots/<workflow_id>.snapshot.json`, the newest of each, and older ones.

The files are the truth. Nothing is kept in memory, so that threads, processes and pods that share the folder see the
same; every change is made under a lock of that folder, and each file is whole at every instant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from onward import clock, files
from onward.errors import StoreError
from onward.mirrors import snapshot_file
from onward.mirrors.pause_errors import SnapshotError, SnapshotNotFound
from onward.mirrors.pause_lock import FolderLock
from onward.mirrors.snapshot_file import SUFFIX, WorkflowSnapshot, check_id

FOLDER = "snapshots"
HISTORY = "history"

_NUMBERED = re.compile(r"(\d{6,})" + re.escape(SUFFIX))

Duration = float | timedelta


class SnapshotManager:
    """Makes, finds, restores and removes snapshots below `base_path`. `keep`: how many of each workflow stay."""

    def __init__(self, base_path: str | os.PathLike[str], *, keep: int = 1) -> None:
        if keep < 1:
            raise SnapshotError(f"`keep` is at least 1, not {keep}")
        self.base_path = os.fspath(base_path)
        self.folder = os.path.join(self.base_path, FOLDER)
        self.keep = keep
        self.damaged: dict[str, SnapshotError] = {}
        """files that the last `load` could not use, by path"""
        self.lock = FolderLock(self.base_path)

    # ------------------------------------------------------------ making

    def create_snapshot(
        self,
        workflow_id: str,
        stage: str = "",
        completed_tasks: Sequence[str] | None = None,
        pending_tasks: Sequence[str] | None = None,
        failed_tasks: Sequence[str] | None = None,
        current_task_id: str = "",
        current_activity_id: str = "",
        task_metrics: Mapping[str, Any] | None = None,
        workflow_metrics: Mapping[str, Any] | None = None,
        configuration: Mapping[str, Any] | None = None,
        *,
        paused_at: datetime | None = None,
    ) -> WorkflowSnapshot:
        """Capture the state as it is now; on the disk when this returns. Raises `SnapshotError`."""
        snapshot = WorkflowSnapshot(
            workflow_id=check_id(workflow_id),
            timestamp=clock.now(),
            stage=stage,
            completed_tasks=list(completed_tasks or ()),
            pending_tasks=list(pending_tasks or ()),
            failed_tasks=list(failed_tasks or ()),
            current_task_id=current_task_id,
            current_activity_id=current_activity_id,
            task_metrics=dict(task_metrics or {}),
            workflow_metrics=dict(workflow_metrics or {}),
            configuration=dict(configuration or {}),
            paused_at=None if paused_at is None else snapshot_file.moment(paused_at),
        )
        return self.save(snapshot)

    def save(self, snapshot: WorkflowSnapshot) -> WorkflowSnapshot:
        """Keep a snapshot that was made elsewhere. Returns what a reader of the file gets."""
        workflow_id = check_id(snapshot.workflow_id)
        data = snapshot_file.encode(snapshot)
        kept = snapshot_file.decode(data, workflow_id)  # before anything is written: what is kept can be read
        with self.lock:
            if self.keep > 1:
                self._add_to_history(workflow_id, data)
            snapshot_file.write(self.path_of(workflow_id), data)
        return kept

    def path_of(self, workflow_id: str) -> str:
        """Where the newest snapshot of a workflow is, or would be."""
        return os.path.join(self.folder, check_id(workflow_id) + SUFFIX)

    # ------------------------------------------------------------ finding

    def get_latest_snapshot(self, workflow_id: str) -> WorkflowSnapshot | None:
        """The newest snapshot of a workflow; None where there is none. Raises `SnapshotError` for a damaged one."""
        return _read(self.path_of(workflow_id))

    def get_all_snapshots(self, workflow_id: str | None = None) -> list[WorkflowSnapshot]:
        """The newest snapshot of every workflow, by id; or all that are kept of one, oldest first.

        Files that cannot be used are passed over; `load` tells of them.
        """
        if workflow_id is None:
            return [snapshot for _, snapshot in self._readable(self.folder)]
        history = [snapshot for _, snapshot in self._readable(self._history_of(workflow_id))]
        latest = self.get_latest_snapshot(workflow_id)
        if latest is None:
            return history
        return [older for older in history if older.timestamp != latest.timestamp] + [latest]

    def restore_from_snapshot(self, workflow_id: str) -> WorkflowSnapshot:
        """What a workflow goes on from. Raises `SnapshotNotFound`, or `SnapshotError` for a damaged one."""
        found = self.get_latest_snapshot(workflow_id)
        if found is None:
            raise SnapshotNotFound(
                f"there is no snapshot of `{workflow_id}` in {self.folder}", help="save one before pausing"
            )
        return found

    def load(self) -> int:
        """Look at every snapshot on the disk: how many can be used. `damaged` names those that cannot, and why."""
        usable, damaged = 0, {}
        for path in _snapshot_files(self.folder):
            try:
                usable += _read(path) is not None
            except SnapshotError as error:
                damaged[path] = error
        self.damaged = damaged
        return usable

    # ------------------------------------------------------------ changing

    def mark_resumed(self, workflow_id: str, *, at: datetime | None = None) -> WorkflowSnapshot:
        """The workflow went on from its newest snapshot (now, or `at`). Raises `SnapshotNotFound`."""
        path = self.path_of(workflow_id)
        with self.lock:
            data = snapshot_file.read(path)
            if data is None:
                raise SnapshotNotFound(f"there is no snapshot of `{workflow_id}` in {self.folder}")
            fields = snapshot_file.decode_fields(data, path)
            fields["resumed_at"] = clock.to_iso(snapshot_file.moment(at))
            snapshot = snapshot_file.from_fields(fields, path)
            snapshot_file.write(path, snapshot_file.encode_fields(fields, workflow_id))
        return snapshot

    def delete_snapshot(self, workflow_id: str) -> bool:
        """Remove all snapshots of a workflow, when it has ended; False when there were none."""
        path = self.path_of(workflow_id)
        with self.lock:
            history = self._history_of(workflow_id)
            older = [snapshot_file.remove(one) for one in _snapshot_files(history)]
            if os.path.isdir(history):
                _remove_folder(history)
            return snapshot_file.remove(path) or any(older)

    def clear_old_snapshots(self, older_than: Duration) -> int:
        """Remove snapshots made longer ago than that (seconds, or a `timedelta`). Returns how many.

        A file that cannot be used is judged by when it was written.
        """
        limit = clock.now() - (older_than if isinstance(older_than, timedelta) else timedelta(seconds=older_than))
        with self.lock:
            old = [path for path in self._all_files() if _made_at(path) < limit.timestamp()]
            removed = [snapshot_file.remove(path) for path in old]
            for folder in {os.path.dirname(path) for path in old} - {self.folder}:
                if not os.listdir(folder):
                    _remove_folder(folder)
        return sum(removed)

    def rollback(self, workflow_id: str, number: int) -> WorkflowSnapshot:
        """Make snapshot `number` of the history (`history_of`) the newest one again; what came later stays in it."""
        path = os.path.join(self._history_of(workflow_id), _name(number))
        found = _read(path)
        if found is None:
            raise SnapshotNotFound(
                f"`{workflow_id}` has no snapshot {number}", help=f"it has {_listed(self.history_of(workflow_id))}"
            )
        return self.save(found)

    def history_of(self, workflow_id: str) -> dict[int, WorkflowSnapshot]:
        """The numbered snapshots of a workflow, oldest first; empty unless `keep` is more than 1."""
        return {_number(path): one for path, one in self._readable(self._history_of(workflow_id))}

    # ------------------------------------------------------------ numbers

    def get_snapshot_stats(self) -> dict[str, Any]:
        """Counts of newest snapshots: `total`, `paused`, `resumed`, `damaged`; `bytes`, `oldest`, `newest`."""
        total = self.load()
        found = self.get_all_snapshots()
        moments = sorted(snapshot.timestamp for snapshot in found)
        return {
            "total": total,
            "paused": sum(1 for one in found if one.paused_at is not None and not _went_on(one)),
            "resumed": sum(1 for one in found if one.resumed_at is not None),
            "damaged": len(self.damaged),
            "versions": sum(1 for _ in self._all_files()) - len(self.damaged),
            "bytes": sum(_size(path) for path in self._all_files()),
            "oldest": moments[0] if moments else None,
            "newest": moments[-1] if moments else None,
        }

    # ------------------------------------------------------------ history

    def _history_of(self, workflow_id: str) -> str:
        return os.path.join(self.folder, HISTORY, check_id(workflow_id))

    def _add_to_history(self, workflow_id: str, data: bytes) -> None:
        folder = self._history_of(workflow_id)
        present = _snapshot_files(folder)
        number = _number(present[-1]) + 1 if present else 1
        snapshot_file.write(os.path.join(folder, _name(number)), data)
        for path in present[: max(0, len(present) + 1 - self.keep)]:
            snapshot_file.remove(path)

    def _all_files(self) -> Iterator[str]:
        yield from _snapshot_files(self.folder)
        history = os.path.join(self.folder, HISTORY)
        for name in sorted(_names(history)):
            yield from _snapshot_files(os.path.join(history, name))

    def _readable(self, folder: str) -> Iterator[tuple[str, WorkflowSnapshot]]:
        for path in _snapshot_files(folder):
            try:
                found = _read(path)
            except SnapshotError:
                continue  # `load` tells of it; one damaged file hides no other
            if found is not None:
                yield path, found


def _went_on(snapshot: WorkflowSnapshot) -> bool:
    paused, resumed = snapshot.paused_at, snapshot.resumed_at
    return resumed is not None and paused is not None and resumed >= paused


def _read(path: str) -> WorkflowSnapshot | None:
    data = snapshot_file.read(path)
    return None if data is None else snapshot_file.decode(data, path)


def _snapshot_files(folder: str) -> list[str]:
    return sorted(os.path.join(folder, name) for name in _names(folder) if _is_snapshot(name))


def _is_snapshot(name: str) -> bool:
    return name.endswith(SUFFIX) and not name.startswith(".")


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise SnapshotError(f"cannot list {folder}: {error.strerror}") from error


def _name(number: int) -> str:
    return f"{number:06d}{SUFFIX}"


def _number(path: str) -> int:
    found = _NUMBERED.fullmatch(os.path.basename(path))
    return int(found[1]) if found is not None else 0


def _made_at(path: str) -> float:
    try:
        found = _read(path)
    except SnapshotError:
        return os.stat(path).st_mtime
    return found.timestamp.timestamp() if found is not None else clock.now().timestamp()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _remove_folder(path: str) -> None:
    try:
        files.remove_tree(path)
    except StoreError as error:
        raise SnapshotError(f"the snapshots were not removed: {error.message}", help=error.help) from error


def _listed(history: Mapping[int, WorkflowSnapshot]) -> str:
    return ", ".join(str(number) for number in history) or "none (it keeps older ones with `keep` above 1)"
