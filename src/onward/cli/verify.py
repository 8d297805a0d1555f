"""`onward verify`: whether a run on disk is what was recorded."""

from __future__ import annotations

from collections.abc import Iterator

import click

from onward.cli.common import Common, common_options
from onward.cli.drawing import draw
from onward.cli.target import print_json, store_of
from onward.views import words
from onward.views.source import Source
from onward.views.table import Line
from onward.views.verification import Count, Verified, verified

EXIT_ARTIFACTS = 1
EXIT_STATE = 4


@click.command("verify")
@click.argument("run", required=False)
@common_options(json=True)
def command(common: Common, run: str | None) -> int:
    """Check the chain of the journal, stored results and artifacts of a run.

    Ends with 0 when all is as it was recorded, with 1 when only artifacts differ, with 4 when something that onward
    itself keeps does.
    """
    found = verified(Source(store_of(common).find(run), use_cache=False))
    print_json(found) if common.json else draw(_lines(found), common)
    if found.ok:
        return 0
    return EXIT_ARTIFACTS if found.state_is_whole and found.journal.whole else EXIT_STATE


def _lines(found: Verified) -> Iterator[Line]:
    journal = found.journal
    yield Line(found.run, "head")
    if journal.whole:
        yield Line(f"journal: {words.amount(journal.lines, 'line')}, none altered or removed", "succeeded")
    else:
        yield Line(f"journal: proven up to event {journal.proven} of {journal.last}", "failed")
    yield Line(f"  head of the chain: {journal.head}", "dim")
    yield Line(f"  {journal.tail}", "dim")
    yield _counted("stored results", found.values)
    yield _counted("artifacts", found.artifacts)
    for fault in found.faults:
        where = f"{words.one_line(fault.path)}: " if fault.path else ""
        yield Line(f"{fault.kind}: {where}{words.one_line(fault.text)}", "failed")


def _counted(what: str, count: Count) -> Line:
    return Line(f"{what}: {count.intact:,} of {count.total:,} intact", "" if count.intact == count.total else "failed")
