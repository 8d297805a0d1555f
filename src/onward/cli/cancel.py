"""`onward cancel`: end a run; its `finally` steps still run."""

from __future__ import annotations

import time

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.elsewhere import elsewhere
from onward.cli.target import at, print_json, store_of
from onward.errors import UsageError
from onward.store.folder import RunFolder
from onward.store.lock import this_process
from onward.views.source import Source

WAIT_S = 60.0
LOOK_S = 0.05
EXIT_NOT_YET = 1


@click.command("cancel")
@click.argument("run", required=False)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record.")
@click.option("--now", is_flag=True, help="Running tasks are killed without a grace.")
@common_options(json=True)
def command(common: Common, run: str | None, reason: str, now: bool) -> int:
    """End a run: nothing new starts, running tasks are stopped, `finally` steps still run.

    Ends with 0 when the run has ended, with 1 when it still does so after a minute.
    """
    store = store_of(common)
    folder = store.find(run)
    source = Source(folder)
    if source.state.facts.end is not None:
        raise UsageError(f"run `{folder.run_id}` has ended already: {source.state.facts.end.value}")
    by, there = this_process().user, elsewhere(folder)
    if there is not None:
        there.cancel(reason, by)
        ended = _wait_for_end(source)
    elif source.driven:
        folder.inbox.drop("cancel", {"reason": reason, "by": by, "now": now})
        ended = _wait_for_end(source)
    else:
        ended = _end_alone(folder, reason, by, now=now, common=common, where=at(store))
    return _tell(common, folder, ended, at(store))


def _wait_for_end(source: Source) -> bool:
    """Until its driver has ended the run; False when that takes too long."""
    until = clock.monotonic() + WAIT_S
    while source.state.facts.end is None and clock.monotonic() < until:
        time.sleep(LOOK_S)
        source.refresh()
        if not source.driven and elsewhere(source.folder) is None:
            source.refresh()
            break
    return source.state.facts.end is not None


def _end_alone(folder: RunFolder, reason: str, by: str, *, now: bool, common: Common, where: str) -> bool:
    """Nobody drives the run: drive it to its end here, for the sake of its `finally` steps."""
    from onward.cli.progress import progress_for
    from onward.engine.embedded.launch import ResumeOptions, resume_run

    folder.inbox.drop("cancel", {"reason": reason, "by": by, "now": now})
    with progress_for(common, where) as progress:
        resume_run(ResumeOptions(run=folder, yes=True, reason="cancel"), progress)
    return Source(folder).state.facts.end is not None


def _tell(common: Common, folder: RunFolder, ended: bool, where: str) -> int:
    if common.json:
        print_json({"schema": 1, "run": folder.run_id, "ended": ended})
    if ended:
        common.note(f"run {folder.run_id} has ended")
        return 0
    click.echo(f"run {folder.run_id} is ending; see it with: onward status {folder.run_id}{where}", err=True)
    return EXIT_NOT_YET
