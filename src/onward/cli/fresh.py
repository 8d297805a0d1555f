"""`onward resume --fresh`: the old run goes to the archive, and a new one of the same workflow begins."""

from __future__ import annotations

import os

from onward.cli.common import Common
from onward.cli.progress import progress_for
from onward.cli.run import finish
from onward.engine.embedded.fresh import archive, name_successor, start_of
from onward.engine.embedded.launch import ResumeOptions, RunResult, start_run
from onward.engine.embedded.opening import look_at
from onward.engine.observer import Observer


def start_fresh(options: ResumeOptions, common: Common, where: str, *, detach: bool) -> int:
    """Archive, then start; a workflow that does not load leaves everything as it was."""
    seen = look_at(options.run)
    if seen.problem is not None:
        raise seen.problem
    start = start_of(seen, options.variables, options.adapter, options.limit)
    archived = archive(seen)
    common.note(f"the previous work is kept in {os.path.relpath(archived)}")

    def work(observer: Observer) -> RunResult:
        result = start_run(start, observer)
        name_successor(archived, result.run_id)
        return result

    if detach:
        from onward.cli.detached import drive_detached

        return drive_detached(work, common, where)
    with progress_for(common, where) as progress:
        result = work(progress)
    return finish(common, result)
