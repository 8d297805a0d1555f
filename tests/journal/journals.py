"""Journals for tests: written by the real writer, at a clock that goes a second per event."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from onward.journal.reader import Reading, read
from onward.journal.writer import Journal
from onward.model.events import AnyEvent, AttemptEnd, AttemptStart, WorkflowStart
from onward.model.status import Outcome

START_OF_TIME = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def ticking() -> Callable[[], datetime]:
    """A clock that is a second later each time it is asked."""
    seconds = itertools.count()
    return lambda: START_OF_TIME + timedelta(seconds=next(seconds))


def new(path: Path) -> Journal:
    """A journal that holds the start of a run."""
    journal = Journal.create(path, now=ticking())
    journal.add(WorkflowStart(run="five", name="five"))
    journal.flush()
    return journal


def steps(path: Path, count: int) -> list[AnyEvent]:
    """A journal of a sequence: the end of a step and the start of the next are one batch. Returns its events."""
    with new(path) as journal:
        journal.add(AttemptStart(path="s1", attempt=1))
        journal.flush()
        for number in range(1, count + 1):
            journal.add(AttemptEnd(path=f"s{number}", attempt=1, outcome=Outcome.OK, exit=0))
            if number < count:
                journal.add(AttemptStart(path=f"s{number + 1}", attempt=1))
            journal.flush()
    return read(path).all()


def lines(path: Path) -> list[bytes]:
    """The lines, each with its newline."""
    return path.read_bytes().splitlines(keepends=True)


def finished(path: Path) -> tuple[list[AnyEvent], Reading]:
    """The events, and the reading with its findings."""
    reading = read(path)
    return reading.all(), reading


def appended(path: Path, *events: AnyEvent) -> list[AnyEvent]:
    """Open the journal where reading it ends, as the next driver does, and add a batch."""
    reading = read(path).finish()
    position = reading.position
    with Journal.open(path, position, epoch=position.epoch + 1, now=ticking()) as journal:
        added = [journal.add(event) for event in events]
        journal.flush()
    return added
