"""Events become lines that are on the disk when `flush` returns, or nothing more is written."""

import errno
import json
import math
import os
from pathlib import Path

import pytest

from crash import faults
from journal import journals
from onward.errors import JournalError, StoreError
from onward.journal.lines import CHAIN_DIGITS
from onward.journal.reader import read
from onward.journal.writer import LAST_WORDS, SPARE_BYTES, Journal
from onward.model.events import AttemptEnd, AttemptStart, Note, TakeOver, WorkflowStart
from onward.model.status import Outcome
from onward.store.lock import this_process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def test_an_event_is_stamped_when_it_is_added_and_read_back_as_it_was(path: Path) -> None:
    with journals.new(path) as journal:
        first = journal.add(AttemptStart(path="a", attempt=1))
        second = journal.add(AttemptEnd(path="a", attempt=1, outcome=Outcome.OK))
        journal.flush()
        third = journal.add(Note(text="alone"))
        journal.flush()
    stamps = [(event.seq, event.epoch, event.batch) for event in (first, second, third)]
    assert stamps == [(2, 1, 2), (3, 1, 2), (4, 1, 4)]
    assert second.at > first.at > journals.START_OF_TIME
    assert read(path).all()[1:] == [first, second, third]


def test_nothing_is_in_the_file_before_the_flush(path: Path) -> None:
    with journals.new(path) as journal:
        size = path.stat().st_size
        journal.add(Note(text="not yet"))
        assert path.stat().st_size == size
        assert journal.pending == 1
    assert len(read(path).all()) == 1


def test_a_batch_costs_one_write_and_one_flush(path: Path) -> None:
    with journals.new(path) as journal:
        for number in range(50):
            journal.add(Note(text=str(number)))
        with faults.counted() as calls:
            journal.flush()
        assert [call for call, _ in calls] == ["write", "flush"]
        assert journal.flush_count == 2


def test_a_flush_of_nothing_touches_nothing(path: Path) -> None:
    with journals.new(path) as journal, faults.counted() as calls:
        journal.flush()
    assert calls == []


def test_the_file_is_for_its_owner_alone(path: Path) -> None:
    journals.steps(path, 1)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_is_json_that_ends_with_the_chain(path: Path) -> None:
    journals.steps(path, 2)
    for line in journals.lines(path):
        fields = json.loads(line)
        assert list(fields)[:2] == ["type", "seq"]
        assert list(fields)[-1] == "chain"
        assert len(fields["chain"]) == CHAIN_DIGITS


def test_no_text_breaks_a_line(path: Path) -> None:
    nasty = "a\nb\r\nc\u2028d\x00e\x85f\x0b"
    with journals.new(path) as journal:
        journal.add(Note(text=nasty))
        journal.flush()
    assert path.read_bytes().count(b"\n") == 2
    assert read(path).all()[1].text == nasty


def test_broken_unicode_is_escaped_and_the_writer_gets_what_readers_will_get(path: Path) -> None:
    with journals.new(path) as journal:
        given = journal.add(Note(text="file \udc80.txt", data={"\udcff": ["\udc81"]}))
        journal.flush()
    assert given.text == "file \\udc80.txt"
    assert read(path).all()[1] == given


def test_numbers_that_are_not_finite_do_not_make_a_line_unreadable(path: Path) -> None:
    with journals.new(path) as journal:
        metrics = {"good": 1.5, "bad": math.nan, "worse": math.inf}
        given = journal.add(AttemptEnd(path="a", attempt=1, outcome=Outcome.OK, metrics=metrics))
        journal.flush()
    assert given.metrics == {"good": 1.5}
    assert read(path).all()[1] == given


def test_null_in_a_value_is_no_reason_to_change_it(path: Path) -> None:
    with journals.new(path) as journal:
        event = Note(text="x", data={"nothing": None})
        assert journal.add(event) is event
        journal.flush()
    assert read(path).all()[1].data == {"nothing": None}


def test_an_event_that_is_in_a_journal_already_is_refused(path: Path) -> None:
    with journals.new(path) as journal:
        event = journal.add(Note(text="once"))
        with pytest.raises(ValueError, match="event 2 is in a journal already"):
            journal.add(event)


def test_a_time_that_an_event_has_already_is_kept(path: Path) -> None:
    with journals.new(path) as journal:
        event = journal.add(Note(text="copied", at=journals.START_OF_TIME))
    assert event.at == journals.START_OF_TIME


def test_the_next_driver_goes_on_with_the_next_number_and_epoch(path: Path) -> None:
    before = journals.steps(path, 3)
    [added] = journals.appended(path, Note(text="next"))
    assert (added.seq, added.epoch) == (before[-1].seq + 1, 2)
    events, reading = journals.finished(path)
    assert events == [*before, added]
    assert reading.findings == []


def test_a_position_that_is_not_the_end_of_the_file_is_refused(path: Path) -> None:
    journals.steps(path, 1)
    position = read(path).finish().position
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(JournalError, match="somebody else has written to it"):
        Journal.open(path, position, epoch=2)


def test_a_journal_that_exists_is_not_made_again(path: Path) -> None:
    events = journals.steps(path, 1)
    with pytest.raises(JournalError, match="File exists"):
        Journal.create(path)
    assert read(path).all() == events


def test_files_that_events_refer_to_are_flushed_before_the_events(path: Path) -> None:
    order = []
    journal = Journal.create(path, before_flush=lambda: order.append("files"))
    journal.add(WorkflowStart(run="r"))
    with journal, faults.hooked(lambda call, _, size: order.append(call) or size):
        journal.flush()
    assert order == ["files", "write", "flush"]


def test_a_value_that_cannot_be_written_leaves_the_journal_as_it_was(path: Path) -> None:
    def refuse() -> None:
        raise StoreError("no room for a value")

    with Journal.create(path, before_flush=refuse) as journal:
        journal.add(WorkflowStart(run="r"))
        with pytest.raises(StoreError, match="no room"):
            journal.flush()
    assert path.read_bytes() == b""


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize("call", [1, 2], ids=["write", "flush"])
def test_after_a_failure_the_journal_refuses_every_use(call: int, path: Path) -> None:
    with journals.new(path) as journal:
        journal.add(Note(text="lost"))
        with faults.failing(call, errno.EIO), pytest.raises(JournalError, match="Input/output error") as caught:
            journal.flush()
        assert str(path) in caught.value.message
        assert "onward resume" in caught.value.help
        size = path.stat().st_size
        for use in (journal.flush, lambda: journal.add(Note(text="more"))):
            with pytest.raises(JournalError, match="is not used any more by this process"):
                use()
        assert path.stat().st_size == size


def test_a_full_disk_takes_the_last_batch_and_a_note_and_no_more(path: Path) -> None:
    with journals.new(path) as journal:
        journal.add(Note(text="the end of a task"))
        with faults.failing(1), pytest.raises(JournalError, match=r"No space left on device.*were saved"):
            journal.flush()
        with pytest.raises(JournalError):
            journal.add(Note(text="more"))
    assert not (path.parent / "spare").exists()
    events, reading = journals.finished(path)
    assert [event.text for event in events[1:]] == ["the end of a task", LAST_WORDS]
    assert reading.findings == []


def test_half_a_line_on_a_full_disk_is_taken_back_before_the_last_words(path: Path) -> None:
    with journals.new(path) as journal:
        journal.add(Note(text="the end of a task"))
        with faults.tearing(1, faults.disk_full), pytest.raises(JournalError):
            journal.flush()
    events, reading = journals.finished(path)
    assert [event.text for event in events[1:]] == ["the end of a task", LAST_WORDS]
    assert reading.findings == []


def test_a_disk_that_stays_full_gets_no_last_words_and_loses_nothing_that_was_there(path: Path) -> None:
    def full(call: str, _: str, size: int) -> int:
        if call == "write":
            faults.disk_full()
        return size

    with journals.new(path) as journal:
        journal.add(Note(text="the end of a task"))
        with faults.hooked(full), pytest.raises(JournalError, match="No space left on device") as caught:
            journal.flush()
    assert "saved" not in caught.value.message
    events, reading = journals.finished(path)
    assert len(events) == 1
    assert reading.findings == []


def test_the_spare_file_takes_real_room_and_is_made_again_by_the_next_driver(path: Path) -> None:
    journals.steps(path, 1)
    spare = path.parent / "spare"
    assert spare.stat().st_blocks * 512 >= SPARE_BYTES
    spare.unlink()
    journals.appended(path, Note(text="next"))
    assert spare.stat().st_size == SPARE_BYTES


def test_a_full_disk_without_room_for_the_spare_file_can_still_be_appended_to(path: Path) -> None:
    journals.steps(path, 1)
    (path.parent / "spare").unlink()
    position = read(path).finish().position
    with faults.failing(1, lasting=False), Journal.open(path, position, epoch=2) as journal:
        journal.add(Note(text="cancelled"))
        journal.flush()
    assert read(path).all()[-1].text == "cancelled"


def test_a_short_write_is_completed(path: Path) -> None:
    with journals.new(path) as journal:
        journal.add(Note(text="x" * 1000))
        with faults.hooked(lambda call, _, size: max(1, size // 3) if call == "write" else size):
            journal.flush()
    assert read(path).all()[1].text == "x" * 1000


def test_an_interrupted_write_is_not_taken_for_a_good_one(path: Path) -> None:
    def interrupt(call: str, _: str, size: int) -> int:
        if call == "flush":
            raise KeyboardInterrupt
        return size

    with journals.new(path) as journal:
        journal.add(Note(text="perhaps"))
        with faults.hooked(interrupt), pytest.raises(KeyboardInterrupt):
            journal.flush()
        with pytest.raises(JournalError, match="a write was interrupted"):
            journal.flush()


# ---------------------------------------------------------------- other drivers


def test_a_driver_that_was_taken_over_notices_before_it_writes(path: Path) -> None:
    with journals.new(path) as old:
        owner = this_process()
        [taken] = journals.appended(path, TakeOver(by="ada", owner=owner))
        old.add(Note(text="from the old driver"))
        with pytest.raises(JournalError, match=rf"process {owner.pid} on {owner.host} has taken over \(epoch 2\)"):
            old.flush()
        with pytest.raises(JournalError, match="is not used any more"):
            old.flush()
    assert read(path).all()[-1] == taken


def test_lines_that_an_old_driver_wrote_after_all_do_not_stop_the_new_one(path: Path) -> None:
    old = journals.new(path)
    position = old.position
    with old, Journal.open(path, position, epoch=2) as new:
        taken = new.add(TakeOver(by="ada"))
        new.flush()
        old._end = path.stat().st_size  # as if it had looked just before
        old.add(Note(text="too late"))
        old.flush()
        note = new.add(Note(text="new"))
        new.flush()
    events, reading = journals.finished(path)
    assert events[1:] == [taken, note]
    assert [finding.kind for finding in reading.findings] == ["stale-driver"]
    assert reading.findings[0].line == 3


@pytest.mark.parametrize("harm", ["removed", "cut"])
def test_a_journal_that_was_removed_or_cut_is_not_written_to(harm: str, path: Path) -> None:
    with journals.new(path) as journal:
        if harm == "removed":
            path.unlink()
        else:
            os.truncate(path, 10)
        journal.add(Note(text="where to?"))
        with pytest.raises(JournalError, match=f"was {harm}|has {harm}"):
            journal.flush()


def test_a_closed_journal_says_so(path: Path) -> None:
    journal = journals.new(path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="it was closed"):
        journal.add(Note(text="late"))
