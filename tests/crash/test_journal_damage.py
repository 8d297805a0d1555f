"""A journal cut at any byte, with any byte altered, any piece lost: never a traceback, never a lie, little lost."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from journal import journals
from onward.journal.findings import FindingKind
from onward.journal.reader import read
from onward.journal.repair import mend_tail, tail_events
from onward.journal.verify import verify
from onward.model.events import AnyEvent, Note

ALL = bool(os.environ.get("ONWARD_CRASH_ALL"))
"""all bits of a byte, and many more examples"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[AnyEvent]]:
    """A journal of two drivers, as bytes and events."""
    path = tmp_path_factory.mktemp("original") / "journal.jsonl"
    journals.steps(path, 4)
    journals.appended(path, Note(text="resumed\nand on"))
    journals.appended(path, Note(text="a"), Note(text="b"), Note(text="c"))
    return path.read_bytes(), read(path).all()


def batches(events: list[AnyEvent]) -> set[int]:
    """The numbers of events after which something was flushed."""
    return {event.batch - 1 for event in events} | {events[-1].seq}


@pytest.mark.crash
def test_a_journal_cut_at_any_byte_keeps_every_whole_line_and_goes_on(
    place: Path, original: tuple[bytes, list[AnyEvent]]
) -> None:
    data, events = original
    ends = [index + 1 for index, byte in enumerate(data) if byte == 10]
    path = place / "journal.jsonl"
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        whole = sum(end <= size for end in ends)
        found, reading = journals.finished(path)
        assert found == events[:whole]
        kinds = [finding.kind for finding in reading.findings]
        torn = size not in (0, *ends)
        assert kinds == [FindingKind.TORN_TAIL] * torn + [FindingKind.UNREADABLE_HEAD] * (whole == 0)
        mend_tail(reading)
        assert path.read_bytes() == data[: ends[whole - 1] if whole else 0]
        if whole:
            [added] = journals.appended(path, Note(text="on"))
            assert read(path).all() == [*events[:whole], added]
            assert verify(path).whole
        for aside in place.glob("journal.torn-*"):
            aside.unlink()


@pytest.mark.crash
def test_any_altered_byte_costs_its_own_line_and_is_said(
    place: Path, original: tuple[bytes, list[AnyEvent]]
) -> None:
    data, events = original
    path = place / "journal.jsonl"
    for index in range(len(data)):
        for bit in range(8) if ALL else (index % 8,):
            path.write_bytes(data[:index] + bytes([data[index] ^ 1 << bit]) + data[index + 1 :])
            check_altered(path, data[:index].count(b"\n") + 1, events)


def check_altered(path: Path, line: int, events: list[AnyEvent]) -> None:
    """One byte of that line is not what it was."""
    found, reading = journals.finished(path)
    plain = {event.seq: event for event in events}
    same = [event for event in found if plain.get(event.seq) == event]
    assert len(same) >= len(events) - 2
    # An altered number is all that may get through, and only with a finding that waits for a choice.
    for event in found:
        assert event in same or any(replace(event, seq=e.seq) == e for e in events)
    if len(same) < len(events) or len(found) != len(events):
        assert reading.findings
        assert any(f.needs_choice or f.kind is FindingKind.TORN_TAIL for f in reading.findings)
        assert not verify(path).whole or reading.torn_tail
        assert any(f.line <= line <= f.line + f.lines for f in reading.findings)


@pytest.mark.crash
@settings(max_examples=1500 if ALL else 150, deadline=None)
@given(data=st.data())
def test_any_mixture_of_harm_is_read_without_a_traceback(
    original: tuple[bytes, list[AnyEvent]], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content, events = original
    path = tmp_path_factory.getbasetemp() / "harmed.jsonl"
    harmed = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(harmed)))
        end = min(len(harmed), start + data.draw(st.integers(0, 300)))
        harmed[start:end] = data.draw(
            st.sampled_from([b"", b"\n", bytes(end - start), b"\xff\xfe", b"[" * 5000, b'{"seq":', bytes(harmed[:90])])
        )
    path.write_bytes(bytes(harmed))
    found, reading = journals.finished(path)
    known = [replace(event, seq=0) for event in events]
    # Of two lines that were made one (valid JSON) nothing proves which part is left; then a person is asked.
    assert all(replace(event, seq=0) in known for event in found) or any(f.needs_choice for f in reading.findings)
    assert len(found) == len(events) or reading.findings
    tail_events(path, 50)
    mend_tail(reading)
    [added] = journals.appended(path, Note(text="on"))
    assert read(path).all()[-1] == added


@pytest.mark.crash
@settings(max_examples=1000 if ALL else 100, deadline=None)
@given(data=st.data())
def test_pages_that_never_landed_cost_only_the_last_batch(
    original: tuple[bytes, list[AnyEvent]], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content, events = original
    path = tmp_path_factory.getbasetemp() / "pages.jsonl"
    last = events[-1].batch
    start = sum(len(line) for line in content.splitlines(keepends=True)[: last - 1])
    torn = bytearray(content[start:])
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(torn) - 1))
        end = min(len(torn), begin + data.draw(st.integers(1, 200)))
        torn[begin:end] = bytes(end - begin)
    path.write_bytes(content[:start] + bytes(torn))
    found, reading = journals.finished(path)
    assert found[: last - 1] == events[: last - 1]
    assert found == events[: len(found)]
    assert [finding.kind for finding in reading.findings] == [FindingKind.TORN_TAIL]
    mend_tail(reading)
    [added] = journals.appended(path, Note(text="on"))
    assert read(path).all() == [*found, added]
