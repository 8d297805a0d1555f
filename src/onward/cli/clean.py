"""`onward clean`: removes ended runs, or compresses their journals, and tells what that freed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.drawing import draw
from onward.cli.durations import DURATION
from onward.cli.target import print_json, store_of
from onward.errors import OnwardError, RunBusy, StoreError
from onward.model.status import RunStatus
from onward.store.folder import RunFolder
from onward.store.runs import Store
from onward.views import words
from onward.views.cleaning import REMOVABLE, USUAL, Rule, may_still_go, size_of, to_compress, to_remove
from onward.views.listing import RunRow, run_rows
from onward.views.table import Line


@click.command("clean")
@click.option("--older-than", type=DURATION, metavar="D", help="Only runs that ended so long ago (30s, 5m, 2h, 3d).")
@click.option(
    "--status",
    multiple=True,
    type=click.Choice([status.value for status in REMOVABLE]),
    help="Only runs that ended so (may be given again); failed ones only go when named here.",
)
@click.option("--keep", type=click.IntRange(min=0), default=0, metavar="N", help="Not the newest N of these runs.")
@click.option(
    "--compress", is_flag=True, help="Compress these journals instead; all stays readable."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done; nothing is.")
@common_options(json=True)
def command(
    common: Common, older_than: float | None, status: tuple[str, ...], keep: int, compress: bool, dry_run: bool
) -> int:
    """Remove runs that have ended: journal, results and logs. What they made in your folders stays.

    Runs that are paused, interrupted or driven are never touched. A run goes when all that is asked for holds.
    With --compress nothing goes: every command reads a compressed journal, and a resume unpacks it.
    """
    statuses = tuple(RunStatus(one) for one in status) or (REMOVABLE if compress else USUAL)
    rule = Rule(statuses=statuses, older_than_s=older_than, keep=keep)
    cleaning = (Compressing if compress else Cleaning)(store_of(common), rule, dry_run=dry_run)
    cleaning.work()
    if common.json:
        print_json(cleaning.as_data())
    else:
        draw(cleaning.lines(quiet=common.quiet), common)
    for error in cleaning.errors:
        common.note(words.block(f"error[{error.code}]: {error}"))
    return max((error.exit_code for error in cleaning.errors), default=0)


class Cleaning:
    """What was removed, and what could not be."""

    verb = ("removed", "would remove")
    aim = "remove"

    def __init__(self, store: Store, rule: Rule, *, dry_run: bool) -> None:
        self.store = store
        self.rule = rule
        self.dry_run = dry_run
        self.done: list[tuple[RunRow, int]] = []
        self.errors: list[OnwardError] = []

    def work(self) -> None:
        """Remove the runs, oldest first; one that cannot be removed keeps nothing else from going."""
        for row in reversed(list(self._due(clock.now().timestamp()))):
            try:
                self._treat(row)
            except RunBusy:
                continue  # somebody goes on with it just now
            except StoreError as error:
                self.errors.append(error)

    def _due(self, now: float) -> Iterator[RunRow]:
        return to_remove(run_rows(self.store), self.rule, now)

    def _treat(self, row: RunRow) -> None:
        folder = RunFolder(self.store.runs_folder / row.run)
        size = size_of(folder)
        if not self.dry_run:
            if not may_still_go(folder, self.rule):
                return
            folder.remove()
        self.done.append((row, size))

    @property
    def freed(self) -> int:
        """Bytes."""
        return sum(size for _, size in self.done)

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        removed = [
            {"run": row.run, "workflow": row.workflow, "status": row.status, "ended_at": row.ended_at, "bytes": size}
            for row, size in self.done
        ]
        errors = [error.message for error in self.errors]
        return {"schema": 1, "dry_run": self.dry_run, self.verb[0]: removed, "bytes": self.freed, "errors": errors}

    def lines(self, *, quiet: bool) -> Iterator[Line]:
        """For people."""
        verb = self.verb[self.dry_run]
        now = clock.now().timestamp()
        for row, size in self.done if not quiet else []:
            age = words.age(now - clock.from_iso(row.ended_at).timestamp()) if row.ended_at else ""
            yield Line(f"{verb} {row.run}  {row.status} {age}  {words.size(size)}")
        if self.done:
            yield Line(f"{verb} {words.amount(len(self.done), 'run')}, {words.size(self.freed)}", "head")
        else:
            yield Line(f"no run to {self.aim} in {self.store.root}", "dim")


class Compressing(Cleaning):
    """Whose journals were compressed, and whose could not be. `done` counts the bytes that this freed."""

    verb = ("compressed", "would compress")
    aim = "compress"

    def _due(self, now: float) -> Iterator[RunRow]:
        return to_compress(run_rows(self.store), self.rule, now, self.store.runs_folder)

    def _treat(self, row: RunRow) -> None:
        folder = RunFolder(self.store.runs_folder / row.run)
        freed = folder.journal.stat().st_size
        if not self.dry_run:
            if not may_still_go(folder, self.rule):
                return
            before, after = folder.compress()
            freed = before - after
        self.done.append((row, freed))
