"""The page of the journal is what the classes of events say, and its sample is what a run really writes."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from journal_page import EVENTS, SAMPLE, page, run_sample

from onward.journal.lines import EVENTS as DECODER
from onward.journal.lines import NO_CHAIN, chain_of, is_linked

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "journal.md"


def test_the_page_is_made_from_the_classes():
    assert PAGE.read_text("utf-8") == page(), "python tests/docs/journal_page.py > docs/reference/journal.md"


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_every_event_says_what_it_is(event):
    assert (event.__doc__ or "").strip()


def test_the_sample_on_the_page_is_a_whole_journal():
    text = PAGE.read_text("utf-8")
    lines = text[text.index("```json\n") + 8 :].partition("\n```")[0].encode().splitlines()
    previous = NO_CHAIN.encode()
    for number, line in enumerate(lines, 1):
        assert is_linked(line, previous), line
        assert DECODER.decode(line).seq == number
        previous = chain_of(line)


def test_a_run_writes_what_the_sample_shows():
    recorded = SAMPLE.read_bytes().splitlines()
    assert [shape(line) for line in run_sample()] == [shape(line) for line in recorded]


def shape(line: bytes) -> object:
    """The line without what differs from run to run: times, chain, and into which batch a line came."""
    event = json.loads(line)
    differs = {"at", "chain", "batch", "datetime", "duration_s"}
    known = {key: value for key, value in event.items() if key not in differs}
    return msgspec.json.encode(list(event)), known
