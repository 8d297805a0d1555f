"""Records of a run that are broken → kept as `.bak`, and written anew from what is left. For the owner of the lock.

Nothing is deleted: the old journal and the old state lie beside the new ones under a name of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from onward import files
from onward.errors import JournalError, StoreError
from onward.journal import reader
from onward.journal.findings import FindingKind
from onward.journal.packed import is_packed, packed_of
from onward.journal.writer import Journal
from onward.model.events import AnyEvent
from onward.model.nodes import Plan
from onward.state.run_state import RunState
from onward.store.folder import RunFolder

if TYPE_CHECKING:
    from onward.recovery.rebuild import Rebuilt

Tell = Callable[[str, str], None]

LAST_LINES = 50
"""of a journal of which the reader makes nothing"""


def lost_its_head(reading: reader.Reading) -> bool:
    """Whether the first line does not say which run this is."""
    return any(finding.kind is FindingKind.UNREADABLE_HEAD for finding in reading.findings)


def is_gone(folder: RunFolder) -> bool:
    """Whether a run has no journal any more, and is one: its plan is there."""
    return not folder.journal.exists() and not is_packed(folder.journal) and folder.plan.exists()


def rebuilt_run(folder: RunFolder, plan: Plan) -> Rebuilt:
    """What can be put together; nothing is written."""
    from onward.recovery.rebuild import rebuild

    return rebuild(folder, plan, _readable(folder))


def state_of(plan: Plan, rebuilt: Rebuilt) -> RunState:
    """The state of a run that was put together, over a plan."""
    from onward.recovery import rebuild

    return rebuild.state_of(plan, rebuilt)


def write_rebuilt(folder: RunFolder, plan: Plan, tell: Tell) -> None:
    """Keep the old journal as `.bak`, and put a new one in its place. A crash in between is harmless."""
    rebuilt = rebuilt_run(folder, plan)
    draft = folder.journal.with_name("journal.rebuilt")
    files.remove(draft)
    journal = Journal.create(draft, epoch=_epoch(folder) + 1, before_flush=folder.values.flush)
    try:
        for event in rebuilt.events:
            journal.add(event)
        journal.flush()
    finally:
        journal.close()
    old = Path(packed_of(folder.journal)) if is_packed(folder.journal) else folder.journal
    kept = _keep(old)
    try:
        files.move(draft, folder.journal)
    except OSError as error:
        raise files.trouble(error, "replace the journal", folder.journal, JournalError) from error
    files.flush_folder(folder.root)
    tell("warning", f"{rebuilt.text} The old journal is kept as {kept.name}")


def set_aside_broken_state(folder: RunFolder, tell: Tell) -> None:
    """A saved state that cannot be read is kept as `.bak`; the journal has led to the same state."""
    from onward.store.cache import read_cache

    problem = read_cache(folder.state).problem
    if problem is None:
        return
    kept = _keep(folder.state)
    files.remove(folder.state)
    text = f"the saved state was broken ({problem}) and is kept as {kept.name}; it was rebuilt from the journal"
    tell("warning", f"{text}. Verify before resuming: `onward status {folder.run_id}`")


def _readable(folder: RunFolder) -> list[AnyEvent]:
    """Every event that can be read; where the reader finds no order in them, the last lines alone."""
    from onward.journal.repair import tail_events

    try:
        return reader.read(folder.journal).all() or tail_events(folder.journal, LAST_LINES)
    except (JournalError, StoreError):
        return []


def _epoch(folder: RunFolder) -> int:
    return max((event.epoch for event in _readable(folder)), default=0)


def _keep(path: Path) -> Path:
    """A copy beside it, flushed: `name.bak`, or the first free number of it."""
    data = path.read_bytes()
    number, kept = 1, path.with_name(f"{path.name}.bak")
    while kept.exists() and kept.read_bytes() != data:
        number += 1
        kept = path.with_name(f"{path.name}.bak-{number}")
    files.write_atomic(kept, data)
    return kept
