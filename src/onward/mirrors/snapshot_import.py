"""A snapshot of requirement 2 → what a new run keeps of it (`format.md` 8.4): tasks that are done, and variables.

Tasks are found by their paths. A top-level node is done when something of it is completed and nothing of it is pending
or failed; of the others single tasks and iterations are. Results are not in a snapshot: what still needs one is told
at the start. A snapshot of ours whose run is there leads to that run, which knows everything.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from onward import clock
from onward.mirrors import checkpoint_file, snapshot_file, snapshot_parts, state_import
from onward.mirrors.pause_errors import SnapshotError
from onward.mirrors.snapshot_file import WorkflowSnapshot
from onward.mirrors.state_import import Imported
from onward.model.events import Override
from onward.model.nodes import Plan

BY = "snapshot"

_KEYS = re.compile(r"\[[^\]]*\]")


class RunIsHere(SnapshotError):
    """A snapshot of a run that is there itself."""

    code = "run-is-here"


class SnapshotImported(Imported, frozen=True, kw_only=True):
    """What a new run takes over from a snapshot."""

    workflow_id: str

    @property
    def facts(self) -> dict[str, Any]:
        """For `WorkflowStart.imported`."""
        return {**super().facts, "kind": "snapshot", "workflow_id": self.workflow_id}


def is_snapshot(data: bytes) -> bool:
    """Whether a file looks like one, whatever is wrong with it (a state file has other fields)."""
    return b'"workflow_id"' in data and b'"completed_tasks"' in data and b'"current_step_index"' not in data


def take_over(data: bytes, plan: Plan, source: str, *, directory: str) -> SnapshotImported:
    """What to keep. Raises `SnapshotError`, `RunIsHere`; `WorkflowCheckpointError` where a result would be missing."""
    fields = snapshot_file.decode_fields(data, source)
    # Snapshots of large runs share pieces, which lie beside them.
    fields = snapshot_parts.join(fields, os.path.dirname(source) or os.curdir)
    snapshot = snapshot_file.from_fields(fields, source)
    _refuse_if_here(snapshot, source)
    whole, single, unknown = _split(snapshot, plan)
    known = state_import.take_over(
        _as_state(snapshot, plan, whole), plan, source, folder=os.curdir, directory=directory
    )
    reason = f"listed as completed in {os.path.basename(source)}"
    overrides = [Override(path=path, action="done", by=BY, reason=reason) for path in [*whole, *single]]
    return SnapshotImported(
        workflow_id=snapshot.workflow_id,
        source=source,
        overrides=tuple(overrides),
        variables=known.variables,
        datetime=known.datetime,
        started_at=known.started_at,
        resumed_count=known.resumed_count,
        warnings=(*known.warnings, *_told(unknown)),
        unmatched=tuple(unknown),
    )


def _refuse_if_here(snapshot: WorkflowSnapshot, source: str) -> None:
    place = snapshot.onward or {}
    journal, run = place.get("journal"), place.get("run")
    if not isinstance(journal, str) or not isinstance(run, str) or "\0" in journal:
        return
    found = os.path.join(os.path.dirname(os.path.abspath(source)), journal)
    if os.path.isfile(found):
        raise RunIsHere(
            f"run `{run}` of that snapshot is here itself, and knows more than the snapshot",
            help=f"go on with it: `onward resume {run}`; or back to that point: `onward snapshot rollback {run} ID`",
        )


# ---------------------------------------------------------------- which tasks


def _split(snapshot: WorkflowSnapshot, plan: Plan) -> tuple[list[str], list[str], list[str]]:
    """Top-level nodes that are done as a whole, single tasks of others, and names that this workflow does not have."""
    static = {node.path: node for node in plan.root.walk() if node.path}
    tops = [node.name for step in plan.root.steps for node in step]
    left = [*snapshot.pending_tasks, *snapshot.failed_tasks]
    completed = [path for path in dict.fromkeys(snapshot.completed_tasks) if path not in set(left)]
    open_tops, begun = {_top(path) for path in left}, {_top(path) for path in completed}
    whole = [name for name in tops if name in begun and name not in open_tops]
    single, unknown = [], []
    for path in completed:
        if _KEYS.sub("", path) not in static:
            unknown.append(path)
        elif _top(path) not in whole:
            single.append(path)
    return whole, single, unknown


def _top(path: str) -> str:
    return _KEYS.sub("", path).partition("/")[0]


def _told(unknown: list[str]) -> Iterator[str]:
    if unknown:
        listed = ", ".join(f"`{path}`" for path in unknown)
        yield f"the snapshot names tasks that this workflow does not have: {listed}"


def _as_state(snapshot: WorkflowSnapshot, plan: Plan, whole: Iterable[str]) -> dict[str, Any]:
    """The same as a state file would tell it, so that the same checks are made."""
    done = list(whole)
    moment = clock.local(snapshot.timestamp).isoformat(timespec="seconds")
    variables = snapshot.configuration.get("variables")
    steps = [[node.name for node in step] for step in plan.root.steps]
    open_steps = (index for index, step in enumerate(steps) if not set(step) <= set(done))
    return {
        "version": checkpoint_file.VERSION,
        "workflow_file": plan.file,
        "started_at": moment,
        "resumed_count": 0,
        "datetime_preserved": moment,
        "completed_tasks": done,
        "failed_tasks": [],
        "current_step_index": next(open_steps, len(steps)),
        "variables": dict(variables) if isinstance(variables, dict) else {},
    }
