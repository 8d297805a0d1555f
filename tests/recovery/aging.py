"""A journal → the same journal as if everything had happened some days earlier, with a chain that holds."""

from __future__ import annotations

import datetime as dt

from msgspec.structs import replace

from onward.journal import reader
from onward.journal.writer import Journal
from onward.store.folder import RunFolder


def age_journal(folder: RunFolder, *, days: float) -> None:
    """Rewrite the journal of a run that nobody drives; a saved state goes away."""
    events = reader.read(folder.journal).all()
    draft = folder.root / "older"
    journal = Journal.create(draft)
    for event in events:
        journal.add(replace(event, seq=0, epoch=0, batch=0, at=event.at - dt.timedelta(days=days)))
    journal.flush()
    journal.close()
    draft.replace(folder.journal)
    folder.state.unlink(missing_ok=True)
