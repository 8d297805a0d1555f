"""A torn tail is set aside, then cut; a chain proves what it can; old journals are read for ever."""

import errno
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from crash import faults
from journal import journals
from onward.errors import JournalError
from onward.journal import upgrade
from onward.journal.reader import read
from onward.journal.repair import mend_tail
from onward.journal.verify import verify
from onward.journal.writer import Journal
from onward.model import events as nouns
from onward.model.events import Note

RECORDED = Path(__file__).parent / "recorded"
TORN = b'{"type":"note","seq":99,"te'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def torn(path: Path) -> bytes:
    """A journal with a torn tail. Returns what is good of it."""
    journals.steps(path, 3)
    good = path.read_bytes()
    path.write_bytes(good + TORN)
    return good


# ---------------------------------------------------------------- the torn tail


def test_a_torn_tail_is_set_aside_and_cut_and_the_next_line_stands_alone(path: Path) -> None:
    good = torn(path)
    reading = read(path).finish()
    note = mend_tail(reading)
    assert path.read_bytes() == good
    assert (path.parent / "journal.torn-1").read_bytes() == TORN
    assert note is not None
    assert "journal.torn-1" in note.text
    with Journal.open(path, reading.position, epoch=2) as journal:
        journal.add(note)
        journal.flush()
    events, again = journals.finished(path)
    assert again.findings == []
    assert events[-1] == note


def test_a_journal_without_a_torn_tail_is_left_as_it_is(path: Path) -> None:
    journals.steps(path, 3)
    before = path.read_bytes()
    assert mend_tail(read(path).finish()) is None
    assert path.read_bytes() == before


def test_a_second_torn_tail_gets_a_file_of_its_own(path: Path) -> None:
    torn(path)
    mend_tail(read(path).finish())
    path.write_bytes(path.read_bytes() + TORN + b"x")
    mend_tail(read(path).finish())
    assert (path.parent / "journal.torn-1").read_bytes() == TORN
    assert (path.parent / "journal.torn-2").read_bytes() == TORN + b"x"


def test_a_crash_between_setting_aside_and_cutting_leaves_one_copy(path: Path) -> None:
    good = torn(path)

    def fail_to_cut(call: str, _: str, size: int) -> int:
        if call == "cut":
            raise OSError(errno.EIO, "the disk is gone")
        return size

    with faults.hooked(fail_to_cut), pytest.raises(JournalError, match="cannot cut the torn end"):
        mend_tail(read(path).finish())
    assert path.read_bytes() == good + TORN
    mend_tail(read(path).finish())
    assert path.read_bytes() == good
    assert sorted(file.name for file in path.parent.glob("journal.torn-*")) == ["journal.torn-1"]


def test_a_tail_that_grew_after_it_was_read_is_not_cut(path: Path) -> None:
    torn(path)
    reading = read(path).finish()
    path.write_bytes(path.read_bytes() + b"xt\n")
    grown = path.read_bytes()
    with pytest.raises(JournalError, match="has changed since it was read"):
        mend_tail(reading)
    assert path.read_bytes() == grown


def test_only_the_torn_tail_is_ever_cut(path: Path) -> None:
    good = torn(path).splitlines(keepends=True)
    good[3] = b"rubbish\n"
    path.write_bytes(b"".join(good) + TORN)
    mend_tail(read(path).finish())
    assert path.read_bytes() == b"".join(good)


# ---------------------------------------------------------------- verify


def test_a_whole_journal_is_proven_to_its_last_event(path: Path) -> None:
    events = journals.steps(path, 3)
    found = verify(path)
    assert (found.whole, found.proven, found.last, found.complete) == (True, len(events), len(events), None)
    assert "would not show" in found.tail


def test_an_altered_event_is_proven_up_to_the_one_before(path: Path) -> None:
    journals.steps(path, 5)
    path.write_bytes(path.read_bytes().replace(b'"path":"s3"', b'"path":"s9"'))
    found = verify(path)
    assert not found.whole
    assert found.proven == 5
    assert found.findings[0].line == 6


@pytest.mark.parametrize("removed", [1, 4, 6])
def test_a_removed_event_is_noticed(removed: int, path: Path) -> None:
    journals.steps(path, 5)
    lines = journals.lines(path)
    path.write_bytes(b"".join(lines[: removed - 1] + lines[removed:]))
    found = verify(path)
    assert not found.whole
    assert found.proven == removed - 1


def test_lines_cut_off_at_the_end_are_noticed_with_a_head_that_was_noted_elsewhere(path: Path) -> None:
    journals.steps(path, 5)
    head = read(path).finish().position
    assert verify(path, seq=head.seq, chain=head.chain).complete is True
    path.write_bytes(b"".join(journals.lines(path)[:-2]))
    assert verify(path).whole
    cut = verify(path, seq=head.seq, chain=head.chain)
    assert (cut.complete, cut.whole) == (False, False)
    assert "was cut or replaced" in cut.tail


def test_a_journal_that_was_written_anew_does_not_lead_to_the_head(path: Path) -> None:
    journals.steps(path, 3)
    head = read(path).finish().position
    path.unlink()
    with journals.new(path) as journal:
        for _ in range(head.seq):
            journal.add(Note(text="forged"))
        journal.flush()
    assert verify(path).whole
    assert verify(path, seq=head.seq, chain=head.chain).complete is False


# ---------------------------------------------------------------- recorded journals


def event_types() -> set[str]:
    """The types of all events there are."""
    return {kind.__struct_config__.tag for kind in nouns.AnyEvent.__args__}


def test_the_recorded_journal_of_version_1_is_read_whole() -> None:
    events, reading = journals.finished(RECORDED / "v1.jsonl")
    assert reading.findings == []
    assert verify(RECORDED / "v1.jsonl").whole
    assert reading.position.version == 1
    recorded = {event.__struct_config__.tag for event in events}
    assert recorded <= event_types()
    assert len(recorded) >= 24


def test_nothing_that_the_recorded_journal_says_is_lost_in_reading() -> None:
    path = RECORDED / "v1.jsonl"
    for event, line in zip(read(path), journals.lines(path), strict=True):
        recorded = json.loads(line)
        del recorded["chain"]
        assert json.loads(msgspec.json.encode(event)) == recorded


def renamed(line: dict[str, Any]) -> dict[str, Any]:
    """What a version 2 would do that calls the text of a note its words."""
    if line["type"] == "note":
        line["text"] = line.pop("words")
    return line


def test_lines_of_an_older_version_are_upgraded_and_newer_ones_behind_them_are_not(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with journals.new(path) as journal:
        journal.add(Note(text="old"))
        journal.flush()
    old = path.read_bytes().replace(b'"text"', b'"words"')
    path.write_bytes(rechained(old))
    assert len(read(path).all()) == 1
    monkeypatch.setattr(upgrade, "VERSION", 2)
    monkeypatch.setitem(upgrade.UPGRADES, 1, renamed)
    events, reading = journals.finished(path)
    assert reading.findings == []
    assert events[1].text == "old"
    assert reading.position.version == 1


def rechained(lines: bytes) -> bytes:
    """The same lines as another program would have closed them."""
    from onward.journal.lines import END_BYTES, close

    chain, closed = b"", []
    for line in lines.splitlines():
        line, chain = close(line[:-END_BYTES] + b"}", chain)
        closed.append(line + b"\n")
    return b"".join(closed)
