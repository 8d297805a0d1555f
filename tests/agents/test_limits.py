"""What agents say about limits: whether it is one, and until when."""

from __future__ import annotations

import datetime as dt
import zoneinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.tasks.agents.limits import FARTHEST, Trouble, reset_of, trouble_in, zone_of
from onward.tasks.agents.reading import Told
from onward.tasks.agents.usage import UsageOf, used_by_attempt

AT = dt.datetime(2026, 9, 21, 10, 0, 30, tzinfo=dt.UTC)
TOKYO = zoneinfo.ZoneInfo("Asia/Tokyo")


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("try again in 30 seconds", "10:01:00"),
        ("Please try again in 20s.", "10:00:50"),
        ("Please try again in 6m0s", "10:06:30"),
        ("try again in 1h30m", "11:30:30"),
        ("Please try again in 2 hours", "12:00:30"),
        ("Please wait 2 minutes before trying again", "10:02:30"),
        ("try again in 1 hour and 20 minutes", "11:20:30"),
        ("Please try again in 500ms", "10:00:30"),
        ("retry after 7200 seconds", "12:00:30"),
        ("Retry-After: 60", "10:01:30"),
        ('"retryDelay": "34s"', "10:01:04"),
        ("Suggested retry after 7200s.. Retrying after 5653ms...", "12:00:30"),
        ("Claude AI usage limit reached|1790000000", "14:13:20"),
        ("limit reached|1790000000000", "14:13:20"),
        ("resets at 2026-09-21T11:00:00Z", "11:00:00"),
        ("try again at 8:10 PM.", "20:10:00"),
        ("try again at 10:00 AM", "10:00:30"),
        ("resets 2:10pm (UTC)", "14:10:00"),
        ("Your limit will reset at 1pm (Europe/Berlin).", "11:00:00"),
        ("You've hit your limit · resets 7pm (Asia/Tokyo)", "10:00:30"),
        ("resets 8pm (Asia/Tokyo)", "11:00:00"),
        ("resets Sep 21 at 4pm (America/New_York)", "20:00:00"),
    ],
)
def test_the_end_of_a_limit_is_read(text: str, least: str) -> None:
    named = dt.datetime.fromisoformat(f"2026-09-21T{least}+00:00")
    found = reset_of(None, [text], AT, dt.UTC)
    assert found is not None
    assert dt.timedelta() <= found - named <= dt.timedelta(seconds=91), found


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("try again at Mar 3rd, 2027 8:10 PM", None),
        ("try again at Sep 23rd, 2026 8:10 PM", "2026-09-23T20:10:00"),
        ("resets Sep 28 at 4pm (UTC)", "2026-09-28T16:00:00"),
        ("try again at 9:00 AM", "2026-09-22T09:00:00"),
        ("will reset when your monthly cycle ends on 10/17/2026", "2026-10-17T00:00:00"),
        ("try again later", None),
        ("reached 5 times in 3 ways", None),
        ("resets Feb 30 at 4pm", None),
        ("13/45/2026", None),
        ("", None),
    ],
)
def test_days_are_read_and_what_names_none_is_unknown(text: str, least: str | None) -> None:
    found = reset_of(None, [text], AT, dt.UTC)
    if least is None:
        assert found is None
    else:
        named = dt.datetime.fromisoformat(f"{least}+00:00")
        assert found is not None
        assert dt.timedelta() <= found - named <= dt.timedelta(seconds=91), found


def test_a_time_of_the_day_is_read_on_the_clock_of_the_program() -> None:
    found = reset_of(None, ["try again at 8:10 PM"], AT, TOKYO)  # it is 19:00:30 there
    assert found is not None
    assert found.astimezone(TOKYO).strftime("%H:%M") == "20:11"
    assert zone_of("Asia/Tokyo", AT) == TOKYO
    assert zone_of("No/Such", AT) == dt.UTC
    assert zone_of(None, AT) == dt.UTC


def test_a_field_is_stronger_than_words_and_what_is_past_is_unknown() -> None:
    assert reset_of(Told(at=1_790_000_000), ["try again in 5 s"], AT, dt.UTC) == dt.datetime.fromtimestamp(
        1_790_000_000, dt.UTC
    )
    assert reset_of(Told(in_s=60), [], AT, dt.UTC) == AT + dt.timedelta(seconds=60)
    assert reset_of(Told(at=AT.timestamp() - 1), [], AT, dt.UTC) is None
    assert reset_of(Told(), ["try again in 60 s"], AT, dt.UTC) is not None


@given(st.text(max_size=200), st.sampled_from(["try again in ", "resets ", "|", "retry after ", "at "]))
def test_no_text_harms_and_no_reset_is_past_or_far_away(text: str, before: str) -> None:
    found = reset_of(None, [before + text], AT, dt.UTC)
    assert found is None or AT < found <= AT + FARTHEST + dt.timedelta(seconds=30)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("You’ve hit your usage limit. Try again later.", Trouble.LIMIT),
        ("API Error: 429 rate_limit_error", Trouble.LIMIT),
        ("RESOURCE_EXHAUSTED", Trouble.LIMIT),
        ("The API provider has rate limited you. Try again later or check your quotas.", Trouble.LIMIT),
        ("Your workspace is out of credits", Trouble.QUOTA),
        ("Quota exceeded. Check your plan and billing details.", Trouble.QUOTA),
        ("not able to authenticate you. Check your API key.", Trouble.AUTH),
        ("No conversation found with session ID: 1", Trouble.NO_SESSION),
        ("Error: no rollout found for thread id 1", Trouble.NO_SESSION),
        ("Error resuming session: No previous sessions found for this project.", Trouble.NO_SESSION),
        ("Error resuming session: Invalid session identifier", Trouble.NO_SESSION),
        ("No saved session found with ID 1. Run `qwen --resume` without an ID", Trouble.NO_SESSION),
        ("\x1b[91m\x1b[1mError: \x1b[0mSession not found", Trouble.NO_SESSION),
        ("warning: rate limit headers are missing", None),
        ("the time limit of this test is 5 s", None),
        ("line 4291 of the log", None),
        ("it failed", None),
    ],
)
def test_kinds_of_trouble(text: str, trouble: Trouble | None) -> None:
    assert trouble_in([text]) is trouble


def test_counters_of_a_session_are_subtracted_and_those_of_a_run_are_not() -> None:
    now, before = {"input_tokens": 300.0, "usd": 0.3, "new": 1.0}, {"input_tokens": 100.0, "usd": 0.1}
    assert used_by_attempt(now, before, UsageOf.SESSION) == {"input_tokens": 200, "usd": 0.2, "new": 1}
    assert used_by_attempt(now, before, UsageOf.RUN) == now
    assert used_by_attempt({"input_tokens": 50.0}, before, UsageOf.SESSION) == {"input_tokens": 50}, "begun again"
