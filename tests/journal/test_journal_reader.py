"""A reader gets every event that was flushed, goes on behind damage, and says what it could not read."""

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from journal import journals
from onward.errors import JournalError
from onward.journal import reader
from onward.journal.findings import Finding, FindingKind
from onward.journal.lines import close
from onward.journal.reader import is_anchored, read
from onward.journal.repair import tail_events
from onward.model.events import AnyEvent, AttemptEnd, AttemptStart, GateDecision, Note, TakeOver
from onward.model.status import Outcome


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


def rewritten(path: Path, lines: list[bytes]) -> tuple[list[AnyEvent], list[Finding]]:
    """Put these lines in the place of the journal's and read them."""
    path.write_bytes(b"".join(lines))
    events, reading = journals.finished(path)
    return events, reading.findings


# ---------------------------------------------------------------- whole journals

any_text = st.text(st.characters(codec=None))
paths = st.text(min_size=1, max_size=20)
events_of_any_kind = st.one_of(
    st.builds(AttemptStart, path=paths, attempt=st.integers(1, 9), key=st.text(max_size=9)),
    st.builds(
        AttemptEnd,
        path=paths,
        attempt=st.integers(1, 9),
        outcome=st.sampled_from(Outcome),
        error=st.none() | st.text(),
        duration_s=st.floats(allow_nan=False, allow_infinity=False),
        metrics=st.dictionaries(st.text(), st.floats()),
    ),
    st.builds(GateDecision, path=paths, choice=st.text(), fields=st.dictionaries(st.text(), st.text())),
    st.builds(Note, text=any_text, data=st.dictionaries(any_text, st.none() | st.integers())),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(events_of_any_kind, min_size=1, max_size=4), max_size=5))
def test_what_was_flushed_is_read_back_from_any_position(batches: list[list[AnyEvent]], path: Path) -> None:
    path.unlink(missing_ok=True)
    with journals.new(path) as journal:
        marks = [(journal.position, 0)]
        added: list[AnyEvent] = []
        for batch in batches:
            added += [journal.add(msgspec.structs.replace(event)) for event in batch]
            journal.flush()
            marks.append((journal.position, len(added)))
    for position, count in marks:
        assert is_anchored(path, position)
        rest = read(path, after=position)
        assert rest.all() == added[count:]
        assert rest.position == marks[-1][0]
        assert rest.findings == []


@pytest.mark.parametrize("size", [1, 7, 100, 399, 400, 1000])
def test_lines_are_put_together_again_wherever_a_piece_ends(
    size: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = journals.steps(path, 6)
    position = read(path).finish().position
    monkeypatch.setattr(reader, "PIECE_BYTES", size)
    found, reading = journals.finished(path)
    assert found == events
    assert reading.position == position
    assert reading.findings == []


def test_the_chain_can_be_left_unchecked(path: Path) -> None:
    events = journals.steps(path, 6)
    reading = read(path, check_chain=False)
    assert reading.all() == events
    assert reading.position == read(path).finish().position


def test_a_journal_that_is_not_there_is_an_error_with_its_path(path: Path) -> None:
    with pytest.raises(JournalError, match=f"cannot read the journal {path}: No such file"):
        read(path).all()


def test_a_position_of_another_journal_is_not_anchored(path: Path, tmp_path: Path) -> None:
    journals.steps(path, 3)
    position = read(path).finish().position
    other = tmp_path / "other.jsonl"
    journals.steps(other, 2)
    assert is_anchored(path, position)
    assert not is_anchored(other, position)
    assert not is_anchored(path, replace(position, offset=position.offset - 1))
    assert not is_anchored(path, replace(position, offset=3))
    assert is_anchored(other, reader.START)


# ---------------------------------------------------------------- damage


def test_half_a_line_in_the_middle_is_named_and_what_follows_is_read(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    lines[4] = lines[4][: len(lines[4]) // 2] + b"\n"
    found, findings = rewritten(path, lines)
    assert found == events[:4] + events[5:]
    [finding] = findings
    assert (finding.kind, finding.line, finding.lines, finding.events) == ("damage", 5, 1, (5, 5))
    assert finding.needs_choice
    assert path.read_bytes()[finding.offset : finding.end] == lines[4]
    assert finding.where == f"line 5 (bytes {finding.offset} to {finding.end})"


def test_several_damaged_lines_in_a_row_are_one_finding(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    lines[3:6] = [b"rubbish\n", b"\n", b"[[[[\n"]
    found, findings = rewritten(path, lines)
    assert found == events[:3] + events[6:]
    assert [(f.kind, f.line, f.lines, f.events) for f in findings] == [("damage", 4, 3, (4, 6))]


def test_damage_in_two_places_is_two_findings(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    lines[2] = b"{}\n"
    lines[6] = b"\xff\xfe\n"
    found, findings = rewritten(path, lines)
    assert found == events[:2] + events[3:6] + events[7:]
    assert [(f.line, f.events) for f in findings] == [(3, (3, 3)), (7, (7, 7))]


def test_an_altered_line_is_damage_although_it_can_be_read(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    lines[4] = lines[4].replace(b'"exit":0', b'"exit":1')
    found, findings = rewritten(path, lines)
    assert found == events[:4] + events[5:]
    [finding] = findings
    assert (finding.kind, finding.line) == ("damage", 5)
    assert finding.event == replace(events[4], exit=1)


def test_removed_lines_are_a_gap_that_names_the_events(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    found, findings = rewritten(path, lines[:3] + lines[5:])
    assert found == events[:3] + events[5:]
    [finding] = findings
    assert (finding.kind, finding.line, finding.events, finding.needs_choice) == ("gap", 4, (4, 5), True)


def test_a_line_that_was_put_in_is_damage_and_nothing_is_missing(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    found, findings = rewritten(path, [*lines[:3], b"hello\n", *lines[3:]])
    assert found == events
    assert [(f.kind, f.line, f.events) for f in findings] == [("damage", 4, None)]


def test_a_line_that_was_repeated_counts_once(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    found, findings = rewritten(path, [*lines[:4], lines[2], *lines[4:]])
    assert found == events
    assert [(f.kind, f.line) for f in findings] == [("damage", 5)]


def test_a_number_that_was_altered_costs_no_other_line(path: Path) -> None:
    journals.steps(path, 5)
    lines = journals.lines(path)
    lines[3] = lines[3].replace(b'"seq":4', b'"seq":9')
    found, findings = rewritten(path, lines)
    assert len(found) == len(lines)
    assert [(f.line, f.needs_choice) for f in findings] == [(4, True)]


def test_damage_leaves_numbers_for_what_was_lost_and_appending_goes_on(path: Path) -> None:
    events = journals.steps(path, 3)
    lines = journals.lines(path)
    rewritten(path, [*lines[:-1], b"rubbish\n"])
    [added] = journals.appended(path, Note(text="on"))
    assert added.seq == len(lines) + 1
    found, reading = journals.finished(path)
    assert found == [*events[:-1], added]
    assert [(f.line, f.events) for f in reading.findings] == [(len(lines), (len(lines), len(lines)))]


# ---------------------------------------------------------------- the end


def test_a_last_line_without_its_newline_is_a_torn_tail(path: Path) -> None:
    events = journals.steps(path, 3)
    lines = journals.lines(path)
    for kept in (lines[-1][:-1], lines[-1][:-2], lines[-1][:1]):
        found, findings = rewritten(path, [*lines[:-1], kept])
        assert found == events[:-1]
        [finding] = findings
        assert (finding.kind, finding.line, finding.needs_choice) == ("torn-tail", len(lines), False)
        assert path.read_bytes()[finding.offset : finding.end] == kept


def test_a_whole_last_line_that_cannot_be_read_is_damage(path: Path) -> None:
    events = journals.steps(path, 3)
    lines = journals.lines(path)
    found, findings = rewritten(path, [*lines[:-1], lines[-1][:40] + b"\n"])
    assert found == events[:-1]
    assert [(f.kind, f.line, f.needs_choice) for f in findings] == [("damage", len(lines), True)]


def test_zeros_at_the_end_are_a_torn_tail(path: Path) -> None:
    events = journals.steps(path, 3)
    found, findings = rewritten(path, [*journals.lines(path), bytes(4096)])
    assert found == events
    assert [f.kind for f in findings] == ["torn-tail"]


def last_batch_of(path: Path, texts: list[str]) -> list[bytes]:
    with journals.new(path) as journal:
        for text in texts:
            journal.add(Note(text=text))
        journal.flush()
    return journals.lines(path)


def test_a_lost_page_in_the_last_batch_tears_off_what_follows_it(path: Path) -> None:
    lines = last_batch_of(path, ["a", "b" * 500, "c"])
    lines[2] = bytes(300) + lines[2][300:]
    found, findings = rewritten(path, lines)
    assert [event.seq for event in found] == [1, 2]
    [finding] = findings
    assert (finding.kind, finding.line) == ("torn-tail", 3)
    assert path.read_bytes()[finding.offset : finding.end] == lines[2] + lines[3]


def test_a_lost_page_at_the_beginning_of_the_last_batch_is_a_torn_tail(path: Path) -> None:
    lines = last_batch_of(path, ["a", "b"])
    lines[1] = bytes(len(lines[1]) - 5) + lines[1][-5:]
    found, findings = rewritten(path, lines)
    assert [event.seq for event in found] == [1]
    assert [(f.kind, f.line) for f in findings] == [("torn-tail", 2)]


def test_a_lost_page_in_an_earlier_batch_is_damage(path: Path) -> None:
    events = journals.steps(path, 5)
    lines = journals.lines(path)
    lines[6] = bytes(len(lines[6]) - 1) + b"\n"
    found, findings = rewritten(path, lines)
    assert found == events[:6] + events[7:]
    assert [(f.kind, f.line) for f in findings] == [("damage", 7)]


def test_a_torn_tail_behind_damage_is_found_too(path: Path) -> None:
    journals.steps(path, 4)
    lines = journals.lines(path)
    lines[2] = b"rubbish\n"
    _, findings = rewritten(path, [*lines[:-1], lines[-1][:20]])
    assert [f.kind for f in findings] == ["damage", "torn-tail"]


# ---------------------------------------------------------------- the beginning


def test_a_first_line_that_cannot_be_read_leaves_the_rest_readable(path: Path) -> None:
    events = journals.steps(path, 3)
    lines = journals.lines(path)
    found, findings = rewritten(path, [b"rubbish\n", *lines[1:]])
    assert found == events[1:]
    assert [(f.kind, f.line, f.needs_choice) for f in findings] == [("unreadable-head", 1, True)]


def test_a_first_line_that_is_no_start_is_found(path: Path) -> None:
    events = journals.steps(path, 3)
    found, findings = rewritten(path, journals.lines(path)[1:])
    assert found == events[1:]
    assert FindingKind.UNREADABLE_HEAD in [f.kind for f in findings]


NO_JOURNALS = [b"", b"\n", b"\0" * 5000, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), b"{", b"hello\n" * 9]


@pytest.mark.parametrize("content", NO_JOURNALS)
def test_what_is_no_journal_at_all_has_an_unreadable_head(content: bytes, path: Path) -> None:
    found, findings = rewritten(path, [content])
    assert found == []
    assert FindingKind.UNREADABLE_HEAD in [f.kind for f in findings]


def test_the_last_readable_events_are_found_from_the_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = journals.steps(path, 40)
    lines = journals.lines(path)
    lines[0] = b"\xff\xff\n"
    lines[-3] = b"rubbish\n"
    path.write_bytes(b"".join(lines) + b'{"type":"note","torn')
    readable = events[1:-3] + events[-2:]
    assert tail_events(path, 50) == readable[-50:]
    assert tail_events(path, 5) == readable[-5:]
    assert tail_events(path, 5000) == readable
    monkeypatch.setattr("onward.journal.repair._BLOCK_BYTES", 64)
    assert tail_events(path, 50) == readable[-50:]


# ---------------------------------------------------------------- other drivers and versions


def test_lines_of_a_driver_that_was_taken_over_are_left_out(path: Path) -> None:
    before = journals.steps(path, 2)
    whole = path.read_bytes()
    journals.appended(path, Note(text="in time"), Note(text="late"))
    in_time, late = path.read_bytes()[len(whole) :].splitlines(keepends=True)
    path.write_bytes(whole + in_time)
    taken = journals.appended(path, TakeOver(by="ada"))
    path.write_bytes(path.read_bytes() + late)
    after = journals.appended(path, Note(text="new"))
    events, reading = journals.finished(path)
    assert [event.epoch for event in events[len(before) :]] == [2, 3, 4]
    assert events[-2:] == [*taken, *after]
    assert [(f.kind, f.needs_choice) for f in reading.findings] == [("stale-driver", False)]
    assert path.read_bytes()[reading.findings[0].offset : reading.findings[0].end] == late


def test_an_altered_epoch_does_not_pass_for_a_line_of_an_old_driver(path: Path) -> None:
    journals.steps(path, 2)
    journals.appended(path, Note(text="x"))
    lines = journals.lines(path)
    lines[-1] = lines[-1].replace(b'"epoch":2', b'"epoch":1')
    _, findings = rewritten(path, lines)
    assert [(f.kind, f.line) for f in findings] == [("damage", len(lines))]


def with_line(path: Path, fields: dict[str, object]) -> None:
    """Append a line that some other program wrote."""
    position = read(path).finish().position
    seq = position.seq + 1
    body = {"type": "note", "seq": seq, "at": "2026-02-01T00:00:00Z", "epoch": 1, "batch": seq}
    line, _ = close(json.dumps(body | fields).encode(), position.chain.encode())
    with path.open("ab") as file:
        file.write(line + b"\n")


def test_an_event_of_a_type_that_only_a_newer_program_knows_is_passed_over(path: Path) -> None:
    events = journals.steps(path, 2)
    with_line(path, {"type": "teleported", "to": "moon"})
    with_line(path, {"type": "teleported", "to": "mars"})
    after = journals.appended(path, Note(text="home"))
    found, reading = journals.finished(path)
    assert found == [*events, *after]
    [finding] = reading.findings
    assert (finding.kind, finding.line, finding.lines) == ("unknown-event", len(events) + 1, 2)
    assert not finding.needs_choice


def test_a_field_that_only_a_newer_program_knows_is_passed_over(path: Path) -> None:
    journals.steps(path, 2)
    with_line(path, {"text": "hello", "colour": "green"})
    found, reading = journals.finished(path)
    assert found[-1].text == "hello"
    assert reading.findings == []


def test_a_journal_of_a_newer_version_is_read_as_well_as_can_be_and_said(path: Path) -> None:
    with_line_of_version(path, 2)
    with_line(path, {"text": "hello"})
    found, reading = journals.finished(path)
    assert [event.seq for event in found] == [1, 2]
    assert [(f.kind, f.needs_choice) for f in reading.findings] == [("newer-version", True)]
    assert reading.position.version == 2


def with_line_of_version(path: Path, version: int) -> None:
    body = {"type": "workflow_start", "seq": 1, "at": "2026-02-01T00:00:00Z", "epoch": 1, "batch": 1, "run": "r"}
    line, _ = close(json.dumps(body | {"version": version}).encode(), b"")
    path.write_bytes(line + b"\n")
