"""`onward runs`: the runs of the store, newest first."""

from __future__ import annotations

import sys
from itertools import islice

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.drawing import draw, marks_for
from onward.cli.target import print_json, store_of
from onward.model.status import RunStatus
from onward.views import words
from onward.views.listing import UNREADABLE, RunRow, run_rows
from onward.views.table import Line

MOST_ROWS = 30


@click.command("runs")
@click.option("--status", multiple=True, help="Only runs of this status (may be given again).")
@click.option("--workflow", metavar="NAME", help="Only runs of the workflow of that name.")
@click.option("--limit", type=click.IntRange(min=0), help=f"At most so many (0: all; without --json {MOST_ROWS}).")
@common_options(json=True)
def command(
    common: Common, status: tuple[str, ...], workflow: str | None, limit: int | None
) -> int:
    """List the runs of the store, newest first."""
    _check_statuses(status)
    store = store_of(common)
    wanted = (row for row in run_rows(store) if _fits(row, status, workflow))
    most = limit if limit is not None else 0 if common.json else MOST_ROWS
    rows = list(islice(wanted, most or None))
    if common.json:
        print_json({"schema": 1, "runs": rows})
        return 0
    if not rows:
        common.note(f"no such run in {store.root}" if status or workflow else f"no run in {store.root}")
        return 0
    draw(_lines(rows), common)
    if next(wanted, None) is not None:
        common.note(f"and older ones: `--limit {most * 2}`, or `--limit 0` for all")
    return 0


def _check_statuses(given: tuple[str, ...]) -> None:
    known = [*(status.value for status in RunStatus), UNREADABLE]
    for status in given:
        if status not in known:
            raise click.BadParameter(f"`{status}` is none of {', '.join(known)}", param_hint="--status")


def _fits(row: RunRow, status: tuple[str, ...], workflow: str | None) -> bool:
    return (not status or row.status in status) and (workflow is None or row.workflow == workflow)


def _lines(rows: list[RunRow]) -> list[Line]:
    now, marks = clock.now().timestamp(), marks_for(sys.stdout)
    width = max(len(row.run) for row in rows)
    return [Line(_text(row, width, now, marks), row.status) for row in rows]


def _text(row: RunRow, width: int, now: float, marks: dict[str, str]) -> str:
    age = words.age(now - clock.from_iso(row.started_at).timestamp()) if row.started_at else ""
    title = words.one_line(row.title, 40) if row.title != row.workflow else ""
    reason = words.one_line(row.reason, 60)
    facts = [row.status + (f": {reason}" if reason else ""), age, title]
    return f"{marks.get(row.status, '!')} {row.run:{width}}  " + "  ".join(fact for fact in facts if fact)
