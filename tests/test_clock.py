"""Times are moments, ids are legal names."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward import clock

LEGAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
MOMENT = datetime(2026, 1, 31, 9, 30, 5, 120, tzinfo=UTC)


def test_now_is_in_utc() -> None:
    assert clock.now().utcoffset() == timedelta(0)


def test_local_time_is_the_same_moment_with_an_offset() -> None:
    assert clock.local(MOMENT) == MOMENT
    assert clock.local(MOMENT).tzinfo is not None


@pytest.mark.parametrize("characters", [0, 1, 4, 7, 32])
def test_a_token_has_as_many_characters_as_were_asked_for(characters: int) -> None:
    assert re.fullmatch(rf"[0-9a-f]{{{characters}}}", clock.token_hex(characters))


def test_a_run_id_tells_workflow_and_time() -> None:
    assert re.fullmatch(r"release-20260131-093005-[0-9a-f]{4}", clock.run_id("release", MOMENT))


def test_a_run_id_is_dated_in_utc() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=14)))
    assert clock.run_id("a", elsewhere)[:-4] == clock.run_id("a", MOMENT)[:-4]


@pytest.mark.parametrize(
    ("workflow", "start"),
    [
        ("Überprüfung der Änderung", "Uberprufung-der-Anderung-2026"),
        ("a/b: c", "a-b-c-2026"),
        ("-.hidden", "hidden-2026"),
        ("工作流", "run-2026"),
        ("", "run-2026"),
    ],
)
def test_a_run_id_keeps_of_a_name_what_is_legal(workflow: str, start: str) -> None:
    assert clock.run_id(workflow, MOMENT).startswith(start)


@given(st.text())
def test_every_name_gives_a_legal_run_id(workflow: str) -> None:
    assert LEGAL.fullmatch(clock.run_id(workflow, MOMENT))
    assert LEGAL.fullmatch(clock.run_id(workflow * 200, MOMENT))


def test_this_boot_has_one_name() -> None:
    assert clock.boot_id() == clock.boot_id() != ""


def test_times_are_written_with_microseconds_and_z() -> None:
    assert clock.to_iso(MOMENT) == "2026-01-31T09:30:05.000120Z"
    assert clock.to_iso(MOMENT.replace(microsecond=0)) == "2026-01-31T09:30:05.000000Z"


@given(st.datetimes(timezones=st.timezones(), min_value=datetime(1900, 1, 1), max_value=datetime(2200, 1, 1)))
def test_a_written_time_is_read_back(moment: datetime) -> None:
    assert clock.from_iso(clock.to_iso(moment)) == moment.astimezone(UTC)


def test_other_offsets_are_read_as_the_same_moment() -> None:
    assert clock.from_iso("2026-01-31T11:30:05.000120+02:00") == MOMENT


def test_a_time_without_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="no offset"):
        clock.to_iso(MOMENT.replace(tzinfo=None))
    with pytest.raises(ValueError, match="no offset"):
        clock.from_iso("2026-01-31T09:30:05")
