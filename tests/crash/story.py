"""A run as a driver writes it, with everything that journal and store can do; and the check that nothing was lost."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from onward.journal.findings import FindingKind
from onward.journal.reader import Reading, read
from onward.journal.repair import mend_tail
from onward.journal.verify import verify
from onward.journal.writer import LAST_WORDS, Journal
from onward.model.events import AnyEvent, AttemptEnd, AttemptStart, Note, WorkflowStart
from onward.model.status import Outcome
from onward.store.folder import RunFolder
from onward.store.runs import Store

RUN = "story-20260131-093000-abcd"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LARGE = "a large result\n" * 700

Told = Callable[[int], None]


def noon() -> datetime:
    return NOON


def tell(place: Path, told: Told) -> None:
    """Drive a small run. `told` gets the number of the last event each time somebody may be told of it."""
    store = Store(place / "work" / ".onward")
    with ExitStack() as open_things:
        new = store.create_run(
            RUN,
            definition={"flow.yaml": b"task: []", "parts/one.yaml": b"task: []"},
            plan=b"{}",
            start=WorkflowStart(run=RUN, name="story"),
            now=noon,
        )
        open_things.callback(new.lock.release)
        open_things.callback(new.journal.close)
        told(1)
        _drive(new.folder, new.journal, told)


def _drive(run: RunFolder, journal: Journal, told: Told) -> None:
    journal.add(AttemptStart(path="one", attempt=1))
    _flush(journal, told)
    run.attempt_folder("one", 1)
    journal.add(_ended(run, "one", "small"))
    journal.add(AttemptStart(path="each[a/b]/two", attempt=1))
    _flush(journal, told)
    run.write_cache(journal.position, b'{"done":["one"]}')
    run.inbox.drop("pause", {"reason": "lunch"})
    for signal in run.inbox.take():
        journal.add(Note(text=signal.kind))
        _flush(journal, told)
        run.inbox.done(signal)
    journal.add(_ended(run, "each[a/b]/two", LARGE))
    _flush(journal, told)
    run.write_cache(journal.position, b'{"done":["one","two"]}')


def _ended(run: RunFolder, path: str, text: str) -> AttemptEnd:
    return AttemptEnd(
        path=path, attempt=1, outcome=Outcome.OK, outputs={"text": run.values.to_value("text", text)}
    )


def _flush(journal: Journal, told: Told) -> None:
    journal.flush()
    told(journal.position.seq)


def whole_story(place: Path) -> list[AnyEvent]:
    """The events of the run as they are without any fault."""
    tell(place, lambda seq: None)
    return events_of(Store(place / "work" / ".onward").find(RUN))


def events_of(run: RunFolder) -> list[AnyEvent]:
    """The events of the run."""
    return read(run.journal).all()


def check_and_go_on(place: Path, told: int, story: list[AnyEvent]) -> None:
    """Do what a resume does. `told`: the last event that somebody was told of; all up to it must be there."""
    store = Store(place / "work" / ".onward")
    runs = store.runs()
    assert [run.run_id for run in runs] in ([], [RUN])
    if not runs:
        assert told == 0
    else:
        _check_run(runs[0], told, story)
        _go_on(runs[0])
    _check_left_overs(store, place)


def _check_run(run: RunFolder, told: int, story: list[AnyEvent]) -> None:
    reading = read(run.journal)
    events = reading.all()
    if isinstance(events[-1], Note) and events[-1].text == LAST_WORDS:
        events.pop()
    assert {finding.kind for finding in reading.findings} <= {FindingKind.TORN_TAIL}
    assert len(events) >= told
    assert events[: len(story)] == story[: len(events)]
    assert len(events) <= len(story)
    for event in events:
        if isinstance(event, AttemptEnd):
            assert run.values.load(event.outputs["text"]) in ("small", LARGE)
    loaded = run.load_cache()
    assert loaded.problem is None
    assert loaded.cache is None or loaded.cache.position.seq <= len(events)


def _go_on(run: RunFolder) -> None:
    with run.lock():
        run.clean_up()
        reading = Reading.finish(read(run.journal))
        mended = mend_tail(reading)
        with Journal.open(run.journal, reading.position, epoch=reading.position.epoch + 1, now=noon) as journal:
            if mended is not None:
                journal.add(mended)
            last = journal.add(Note(text="resumed"))
            journal.flush()
        for signal in run.inbox.take():
            run.inbox.done(signal)
    again = read(run.journal)
    assert again.all()[-1] == last
    assert again.findings == []
    assert verify(run.journal).whole
    assert run.driver() is None


def _check_left_overs(store: Store, place: Path) -> None:
    """Making another run removes what was half-made; no temporary file is left anywhere."""
    new = store.create_run("other", definition={}, plan=b"{}", start=WorkflowStart(run="other"))
    new.journal.close()
    new.lock.release()
    names = os.listdir(store.runs_folder)
    assert [name for name in names if name.startswith((".new-", ".gone-"))] == []
    assert [str(path) for path in place.rglob("*.onward-tmp")] == []
    new.folder.remove()
