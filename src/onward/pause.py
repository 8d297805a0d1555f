"""Pause, resume and snapshots of workflows, for orchestrators of your own.

    manager = SnapshotManager("/var/lib/mine")
    handler = PauseHandler(manager)

    with handler.activity("wf-1"):             # raises WorkflowPaused instead of beginning during a pause
        ...

    if handler.wait_for_pause_or_resume("wf-1", timeout=0):
        handler.save_snapshot("wf-1", "implement", ["T1.1"], ["T1.2"], [], "T1.2", "activity-1")
        handler.wait_while_paused("wf-1")

    handler.request_pause(PauseSignal(workflow_id="wf-1", reason="deploy", grace_period=25))     # from anywhere
    handler.request_resume(ResumeSignal(workflow_id="wf-1", reason="new pod"))

    if handler.has_snapshot("wf-1"):           # in the next process
        snapshot = handler.restore_snapshot("wf-1")
    ...
    handler.reset_pause_state("wf-1")          # the workflow has ended
    manager.delete_snapshot("wf-1")

Everything lies below the base path (`snapshots/`, `pause-state/`) and is on the disk when a call returns, so a pause
survives a restart and is seen from every process and pod that shares the folder. All calls are safe from threads; those
that wait have a twin for coroutines (`…_async`). Errors are `PauseError`s. `onward run` writes the same snapshots for
workflows with `mirror: {snapshots: FOLDER}`.
"""

from onward.mirrors.pause_errors import (
    BadSignal,
    BadWorkflowId,
    NotPaused,
    PauseError,
    SnapshotError,
    SnapshotNotFound,
    SnapshotSealed,
    WorkflowPaused,
)
from onward.mirrors.pause_handler import PauseHandler, SignalChannel
from onward.mirrors.pause_state import PauseSignal, PauseState, ResumeSignal
from onward.mirrors.snapshot_file import FIELDS, WorkflowSnapshot
from onward.mirrors.snapshot_manager import SnapshotManager

__all__ = [
    "FIELDS",
    "BadSignal",
    "BadWorkflowId",
    "NotPaused",
    "PauseError",
    "PauseHandler",
    "PauseSignal",
    "PauseState",
    "ResumeSignal",
    "SignalChannel",
    "SnapshotError",
    "SnapshotManager",
    "SnapshotNotFound",
    "SnapshotSealed",
    "WorkflowPaused",
    "WorkflowSnapshot",
]
