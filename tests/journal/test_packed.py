"""A compressed journal reads like a plain one, and a crash while packing or unpacking loses nothing."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from onward import files
from onward.errors import JournalError, StoreError
from onward.journal import packed
from onward.journal.reader import is_anchored, read
from onward.journal.repair import mend_tail, tail_events
from onward.journal.verify import verify
from onward.journal.writer import Journal
from onward.model import events as ev


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    with Journal.create(path) as writing:
        writing.add(ev.WorkflowStart(run="w-1", workflow_file="w.yaml", datetime="2026-02-02T10:00:00-08:00"))
        for number in range(200):
            writing.add(ev.Note(text=f"note {number}"))
            if number % 7 == 0:
                writing.flush()
        writing.flush()
    return path


def test_reading_gives_the_same_events_positions_and_proof(journal: Path) -> None:
    plain, proof, tail = read(journal), verify(journal), tail_events(journal, 3)
    events = plain.all()
    before, after = packed.pack(journal)
    assert not journal.exists()
    assert after < before / 3
    again = read(journal)
    assert again.all() == events
    assert again.position == plain.position
    assert is_anchored(journal, plain.position)
    assert verify(journal) == proof
    assert tail_events(journal, 3) == tail
    assert packed.size_of(journal) == before


def test_reading_from_the_middle_works_too(journal: Path) -> None:
    whole = read(journal)
    pieces = whole.all()
    packed.pack(journal)
    half = read(journal)
    for _ in zip(range(100), half, strict=False):
        pass
    assert read(journal, after=whole.position).all() == []
    assert len(pieces) == 201


def test_unpacking_gives_the_same_bytes_and_appending_goes_on(journal: Path) -> None:
    data = journal.read_bytes()
    packed.pack(journal)
    reading = read(journal).finish()
    assert mend_tail(reading) is None
    assert journal.read_bytes() == data
    assert not Path(packed.packed_of(journal)).exists()
    with Journal.open(journal, reading.position, epoch=2) as writing:
        writing.add(ev.Note(text="more"))
        writing.flush()
    assert verify(journal).whole


def test_packing_twice_changes_nothing(journal: Path) -> None:
    events = read(journal).all()
    packed.pack(journal)
    packed.pack(journal)
    assert read(journal).all() == events


@pytest.mark.parametrize("work", [packed.pack, packed.unpack])
def test_whichever_file_change_fails_nothing_is_lost(
    journal: Path, work: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = read(journal).all()
    for at in range(12):
        if work is packed.unpack and not packed.is_packed(journal):
            packed.pack(journal)
        calls = iter(range(1_000))

        def fault(call: str, path: str, size: int, at: int = at, calls: Iterator[int] = calls) -> int:
            if next(calls) == at:
                raise OSError(5, "no")
            return size

        monkeypatch.setattr(files, "_fault", fault)
        with suppress(StoreError, JournalError):
            work(journal)
        monkeypatch.setattr(files, "_fault", None)
        assert read(journal).all() == events, at


def test_a_plain_journal_beside_a_stale_compressed_one_counts(journal: Path) -> None:
    Path(packed.packed_of(journal)).write_bytes(gzip.compress(b"old\n"))
    assert len(read(journal).all()) == 201
    packed.unpack(journal)
    assert not Path(packed.packed_of(journal)).exists()
    assert len(read(journal).all()) == 201


@pytest.mark.parametrize("keep", [10, 200, 400])
def test_a_cut_compressed_journal_gives_what_can_be_read_and_asks(journal: Path, keep: int) -> None:
    packed.pack(journal)
    path = Path(packed.packed_of(journal))
    path.write_bytes(path.read_bytes()[:keep])
    found = read(journal)
    assert len(found.all()) < 201
    assert any(finding.needs_choice for finding in found.findings)


def test_no_journal_of_either_form_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="No such file"):
        read(tmp_path / "journal.jsonl").all()
