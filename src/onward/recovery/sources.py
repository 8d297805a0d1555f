"""`--from`: a `.sparq` folder, a state file of requirement 1, or a snapshot of 2 → what a new run takes over of it."""

from __future__ import annotations

import os
from pathlib import Path

from onward.errors import UsageError
from onward.mirrors.state_import import Imported
from onward.model.nodes import Plan
from onward.recovery.sparq import SparqImported


def import_from(source: Path, plan: Plan) -> Imported | SparqImported:
    """Read the source. Raises `NoSparq`, `WorkflowCheckpointError`, `UsageError` when it is neither."""
    if source.is_dir():
        from onward.mirrors.sparq_read import read_sparq
        from onward.recovery.sparq import take_over_sparq

        return take_over_sparq(read_sparq(source), plan)
    from onward.mirrors import snapshot_file, snapshot_import, state_import

    directory = os.path.normpath(Path(plan.file).parent / plan.directory)
    data = snapshot_file.read(source)
    if data is not None and snapshot_import.is_snapshot(data):
        return snapshot_import.take_over(data, plan, os.fspath(source), directory=directory)
    kept = state_import.load(source)
    if kept is None:
        raise UsageError(f"{source} does not exist", help="name a `.sparq` folder, a state file or a snapshot")
    return state_import.take_over(kept, plan, source, folder=Path.cwd(), directory=directory)
