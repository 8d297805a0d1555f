"""`onward probe`: whether the drivers of this host advance, and whether the store can be used, as an exit code."""

from __future__ import annotations

import click

from onward.cli.common import Common, common_options
from onward.cli.durations import DURATION
from onward.cli.target import print_json, store_of
from onward.views.life import Life, is_live, is_ready

EXIT_NO = 1


@click.command("probe")
@click.argument("what", type=click.Choice(["live", "ready"]))
@click.option("--within", type=DURATION, default="60s", metavar="D", help="How old its last sign of life may be (60s).")
@common_options(json=True)
def command(common: Common, what: str, within: float) -> int:
    """For liveness and readiness probes: ends with 0 for yes, 1 for no.

    live: every driver on this host has given a sign of life of late. A driver that hangs, or was stopped, has not.
    ready: runs can be made and driven in the store.
    """
    store = store_of(common)
    life = is_live(store, within) if what == "live" else is_ready(store)
    _tell(common, what, life)
    return 0 if life.yes else EXIT_NO


def _tell(common: Common, what: str, life: Life) -> None:
    if common.json:
        print_json({"schema": 1, "probe": what, "yes": life.yes, "reasons": life.reasons})
        return
    for reason in life.reasons:
        click.echo(reason)
    if life.yes:
        common.note(f"{what}: yes")
