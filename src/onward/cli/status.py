"""`onward status`: what is done, running, waiting and left; who drives it; what to do next."""

from __future__ import annotations

import sys
import time

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.drawing import draw, marks_for
from onward.cli.target import at, print_json, store_of
from onward.views.source import Source
from onward.views.status import StatusView, status_view
from onward.views.table import status_lines

WATCH_S = 0.25
CLEAR = "\x1b[H\x1b[2J"


@click.command("status")
@click.argument("run", required=False)
@click.option("--watch", is_flag=True, help="Stay, and show each change until the run has ended.")
@click.option(
    "--nodes",
    type=click.Choice(["all", "open", "none"]),
    default="all",
    show_default=True,
    help="Which nodes --json lists.",
)
@common_options(json=True)
def command(common: Common, run: str | None, watch: bool, nodes: str) -> int:
    """Show what is done, running, waiting and left, who drives the run, and what to do next.

    RUN is a run id or the beginning of one; without it the newest run is shown.
    """
    store = store_of(common)
    source, where = Source(store.find(run)), at(store)
    view = status_view(source.state, source.around(where), nodes=nodes)
    if common.json and not watch:
        from onward.cli.status_findings import with_findings

        view = with_findings(view, source.folder, where)
    _show(view, common, clear=watch)
    while watch and view.ended_at is None:
        time.sleep(WATCH_S)
        driver = source.driver
        if source.refresh() or source.driver != driver:
            view = status_view(source.state, source.around(where), nodes=nodes)
            _show(view, common, clear=True)
    return 0


def _show(view: StatusView, common: Common, *, clear: bool) -> None:
    if common.json:
        print_json(view, compact=clear)
        return
    if clear and common.colors(sys.stdout):
        click.echo(CLEAR, nl=False)
    draw(status_lines(view, now=clock.now().timestamp(), marks=marks_for(sys.stdout)), common)
