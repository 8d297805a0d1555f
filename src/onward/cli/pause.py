"""`onward pause`: ask a run to stop at a safe point, and wait until it has."""

from __future__ import annotations

import time

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.durations import DURATION
from onward.cli.elsewhere import elsewhere
from onward.cli.target import at, print_json, store_of
from onward.engine.embedded.requests import pause
from onward.errors import OnwardError, UsageError
from onward.store.folder import RunFolder
from onward.store.lock import this_process
from onward.views.source import Source

BEYOND_GRACE_S = 30.0
LOOK_S = 0.02
EXIT_NOT_YET = 1


@click.command("pause")
@click.argument("run", required=False)
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record.")
@click.option("--grace", type=DURATION, metavar="D", help="How long running tasks may go on by themselves.")
@click.option("--now", is_flag=True, help="No grace: running tasks are stopped at once, and interrupted.")
@click.option("--wait", "wait_s", type=DURATION, metavar="D", help="How long to wait until all is quiet.")
@click.option("--all", "everything", is_flag=True, help="Every run of the store that has not ended.")
@common_options(json=True)
def command(
    common: Common,
    run: str | None,
    reason: str,
    grace: float | None,
    now: bool,
    wait_s: float | None,
    everything: bool,
) -> int:
    """Ask a run to pause. No new task starts; running ones may end within the grace, then they are stopped.

    Ends with 0 when the run is paused, with 1 when that takes longer than `--wait`.
    """
    if run is not None and everything:
        raise UsageError("a run and --all are two different things", help="leave one out")
    store = store_of(common)
    folders = store.runs() if everything else [store.find(run)]
    asked = [_ask(folder, common, reason, grace, now=now, quiet=everything) for folder in folders]
    waiting = [pair for pair in asked if pair is not None]
    rows = []
    for folder, grace_s in waiting:
        paused = _wait(folder, wait_s if wait_s is not None else grace_s + BEYOND_GRACE_S)
        rows.append({"run": folder.run_id, "paused": paused})
        _tell(common, folder, at(store), paused=paused)
    if common.json:
        print_json({"schema": 1, "runs": rows} if everything else {"schema": 1, **rows[0]})
    return 0 if all(row["paused"] for row in rows) else EXIT_NOT_YET


def _ask(
    folder: RunFolder, common: Common, reason: str, grace: float | None, *, now: bool, quiet: bool
) -> tuple[RunFolder, float] | None:
    source = Source(folder)
    state = source.state
    if state.facts.end is not None:
        if quiet:
            return None
        raise UsageError(f"run `{folder.run_id}` has ended already: {state.facts.end.value}")
    grace_s = 0.0 if now else source.plan.grace_s if grace is None else grace
    try:
        there, by = elsewhere(folder), this_process().user
        if there is not None:
            there.pause(reason, by, grace_s, now=now)
        else:
            pause(folder, reason, by, grace_s, lambda _, text: common.note(text))
    except OnwardError as error:
        if not quiet:
            raise
        click.echo(f"run {folder.run_id}: {error}", err=True)
        return None
    return folder, grace_s


def _wait(folder: RunFolder, wait_s: float) -> bool:
    source = Source(folder)
    until = clock.monotonic() + wait_s
    while not _quiet(source):
        if clock.monotonic() >= until:
            return False
        time.sleep(LOOK_S)
        source.refresh()
    return True


def _quiet(source: Source) -> bool:
    state = source.state
    return state.facts.end is not None or (state.pausing is not None and state.pausing.complete)


def _tell(common: Common, folder: RunFolder, where: str, *, paused: bool) -> None:
    if paused:
        common.note(f"run {folder.run_id} is paused; go on with: onward resume {folder.run_id}{where}")
    else:
        click.echo(f"run {folder.run_id} is not quiet yet; see it with: onward status {folder.run_id}{where}", err=True)
