"""The runs of a store and a rule → the ended runs that the rule lets go, and the room they take."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from onward import clock
from onward.journal.packed import is_packed
from onward.model.status import RunStatus
from onward.store.folder import RunFolder
from onward.views.listing import RunRow, run_row

REMOVABLE = (RunStatus.SUCCEEDED, RunStatus.CANCELLED, RunStatus.FAILED)
USUAL = (RunStatus.SUCCEEDED, RunStatus.CANCELLED)
"""a failed run can be resumed, so it goes only where that is asked for"""

WORTH_BYTES = 4096
"""below, a compressed journal takes as much of the disk as a plain one"""

_BLOCK = 512


class Rule(Struct, frozen=True, kw_only=True):
    """Which ended runs may go: of these statuses, ended so long ago, and not among the `keep` newest of these."""

    statuses: tuple[RunStatus, ...] = USUAL
    older_than_s: float | None = None
    keep: int = 0


def to_remove(rows: Iterable[RunRow], rule: Rule, now: float) -> Iterator[RunRow]:
    """The rows (given newest first) of runs that may go."""
    ended = (row for row in rows if _is_ended(row, rule))
    for number, row in enumerate(ended):
        if number >= rule.keep and _is_old(row, rule, now):
            yield row


def may_still_go(folder: RunFolder, rule: Rule) -> bool:
    """Whether a run that was listed has still ended: somebody may have gone on with it meanwhile."""
    return _is_ended(run_row(folder), rule)


def to_compress(rows: Iterable[RunRow], rule: Rule, now: float, runs: Path) -> Iterator[RunRow]:
    """The rows whose journals may be compressed and are not yet; small ones are not worth it."""
    for row in to_remove(rows, rule, now):
        journal = RunFolder(runs / row.run).journal
        if not is_packed(journal) and journal.exists() and journal.stat().st_size >= WORTH_BYTES:
            yield row


def size_of(folder: RunFolder) -> int:
    """The bytes that a run takes on the disk."""
    total = 0
    for place, _, names in os.walk(folder.root):
        for path in (place, *(os.path.join(place, name) for name in names)):
            try:
                total += os.lstat(path).st_blocks * _BLOCK
            except FileNotFoundError:
                continue  # a temporary file that is gone
    return total


def _is_ended(row: RunRow, rule: Rule) -> bool:
    return not row.driven and row.ended_at is not None and row.status in rule.statuses


def _is_old(row: RunRow, rule: Rule, now: float) -> bool:
    if rule.older_than_s is None or row.ended_at is None:
        return True
    return now - clock.from_iso(row.ended_at).timestamp() >= rule.older_than_s
