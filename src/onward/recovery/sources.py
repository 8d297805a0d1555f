"""`--from`: a `.sparq` folder, or a state file of requirement 1 → what a new run of a workflow takes over of it."""

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
    from onward.mirrors import state_import

    kept = state_import.load(source)
    if kept is None:
        raise UsageError(f"{source} does not exist", help="name a `.sparq` folder or a state file")
    directory = os.path.normpath(Path(plan.file).parent / plan.directory)
    return state_import.take_over(kept, plan, source, folder=Path.cwd(), directory=directory)
