"""What an agent said when it could not go on → whether that is a limit, and until when.

Only texts of an agent that did not end well are looked through: what a good reply says about limits is nobody's limit.
Times are found in this order: seconds since the epoch, durations, ISO times, dates, and times of the day, which are
read on the clock that the program had.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from enum import StrEnum

from onward.tasks.agents.reading import Told

FARTHEST = dt.timedelta(days=40)
"""a reset that a text names farther away is taken for a mistake in reading"""
_MARGIN_S = 1.0
_MOST_MARGIN_S = 30.0
_MARGIN_SHARE = 0.01
_MILLISECONDS_OF_AN_EPOCH = 1_000_000_000_000


class Trouble(StrEnum):
    """Why an agent could not go on, where its words tell."""

    LIMIT = "limit"
    QUOTA = "quota"
    AUTH = "auth"
    NO_SESSION = "no-session"


_TROUBLES = (
    (Trouble.NO_SESSION, "no conversation found with session id"),
    (Trouble.NO_SESSION, "no rollout found"),
    (Trouble.NO_SESSION, "no such session"),
    (Trouble.NO_SESSION, "invalid session (?:id|identifier)"),
    (Trouble.NO_SESSION, r"(?:session|thread|conversation) (?:\S+ )?(?:not found|does not exist)"),
    (Trouble.NO_SESSION, "no (?:saved |previous )?sessions? found"),
    (Trouble.QUOTA, "out of credits?|spend cap|credit balance is too low|payment required|billing_error"),
    (Trouble.QUOTA, "insufficient[_ ](?:quota|funds|credit)|check your plan and billing"),
    (Trouble.LIMIT, r"hit your (?:\S+ ){0,2}limit|limit will reset|limits? (?:has been )?reached"),
    (Trouble.LIMIT, "usage limit|usage exceeded|hit a rate limit"),
    (Trouble.LIMIT, "rate[ _-]?limit(?:_error|_exceeded|ed| reached| exceeded)"),
    (Trouble.LIMIT, r"\b429\b|too many requests|resource_exhausted|resource has been exhausted"),
    (Trouble.LIMIT, r"(?:exhausted|exceeded) your (?:\S+ ){0,3}(?:quota|usage)|quota[ _]exceeded"),
    (Trouble.AUTH, r"authentication[_ ]failed|not able to authenticate|\b401\b|unauthorized|not logged in"),
    (Trouble.AUTH, "(?:invalid|incorrect)[ _]api[ _]key|api key not valid|invalid auth method"),
)
_PATTERNS = tuple((trouble, re.compile(words, re.IGNORECASE)) for trouble, words in _TROUBLES)


def trouble_in(texts: Iterable[str]) -> Trouble | None:
    """What the texts are about; the first kind of trouble that any of them names."""
    known = [text.replace("’", "'") for text in texts]
    return next((trouble for trouble, words in _PATTERNS if any(words.search(text) for text in known)), None)


def reset_of(told: Told | None, texts: Iterable[str], at: dt.datetime, zone: dt.tzinfo) -> dt.datetime | None:
    """When the limit is over; None where nobody said, or what was said is past.

    `at` is when the agent ended, `zone` that of its clock. A moment that stands in a field is taken as it is; one that
    was read out of a text is put a little later, since such texts are cut to seconds or minutes.
    """
    named = _told(told, at)
    if named is not None:
        return named if named > at else None
    named = next((found for text in texts if (found := _in_text(text, at, zone)) is not None), None)
    if named is None or not at < named <= at + FARTHEST:
        return None
    margin = min(_MOST_MARGIN_S, _MARGIN_S + _MARGIN_SHARE * (named - at).total_seconds())
    return named + dt.timedelta(seconds=round(margin, 3))


def _told(told: Told | None, at: dt.datetime) -> dt.datetime | None:
    if told is None:
        return None
    if told.at is not None:
        return _of_epoch(told.at)
    return at + dt.timedelta(seconds=told.in_s) if told.in_s is not None else None


def _of_epoch(number: float) -> dt.datetime | None:
    seconds = number / 1000 if number >= _MILLISECONDS_OF_AN_EPOCH else number
    try:
        return dt.datetime.fromtimestamp(seconds, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return None


# ---------------------------------------------------------------- in words

_EPOCH = re.compile(r"\|\s*(\d{10}(?:\d{3})?)\b")
_UNIT = r"(?:milliseconds?|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h|days?|d)"
_DURATION = re.compile(
    r"(?:try(?:ing)?(?: again)?|retry(?:ing)?|retry[-_ ]?after|retryDelay|resets?|reset_after|available|wait|again)"
    r"(?:[ :=\"]+(?:in|after|for|about|approximately))*[ :=\"]+"
    rf"(\d+(?:\.\d+)?\s*{_UNIT}(?![a-z])(?:[ ,]*(?:and )?\d+(?:\.\d+)?\s*{_UNIT}(?![a-z]))*)",
    re.IGNORECASE,
)
_BARE_DURATION = re.compile(r"(?:retry[-_ ]?after|retryDelay)[ :=\"]+(\d+)(?=[\s\",.;}]|$)", re.IGNORECASE)
_PART = re.compile(rf"(\d+(?:\.\d+)?)\s*({_UNIT})", re.IGNORECASE)
_ISO = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)\b")
_US_DATE = re.compile(r"\b(\d{1,2})/(\d{1,2})/(\d{4})\b")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_CLOCK = re.compile(
    r"(?:(?P<month>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? (?P<day>\d{1,2})(?:st|nd|rd|th)?"
    r"(?:,? (?P<year>\d{4}))?,? (?:at )?)?"
    r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>[ap])\.?m\b\.?"
    r"(?: ?\((?P<zone>[A-Za-z_]+(?:/[A-Za-z_+-]+)*)\))?",
    re.IGNORECASE,
)
_JUST_OVER = dt.timedelta(minutes=2)
"""a time of the day is cut to minutes: one that has just passed is meant for now, not for tomorrow"""


def _in_text(text: str, at: dt.datetime, zone: dt.tzinfo) -> dt.datetime | None:
    for find in (_epoch_in, _duration_in, _iso_in, _clock_in, _date_in):
        found = find(text, at, zone)
        if found is not None:
            return found
    return None


def _epoch_in(text: str, _at: dt.datetime, _zone: dt.tzinfo) -> dt.datetime | None:
    found = _EPOCH.search(text)
    return None if found is None else _of_epoch(float(found[1]))


def _duration_in(text: str, at: dt.datetime, _zone: dt.tzinfo) -> dt.datetime | None:
    found = _DURATION.search(text)
    if found is not None:
        seconds = sum(float(number) * _SIZES[_first(unit)] for number, unit in _PART.findall(found[1]))
        return at + dt.timedelta(seconds=seconds)
    bare = _BARE_DURATION.search(text)
    return None if bare is None else at + dt.timedelta(seconds=float(bare[1]))


_SIZES = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _first(unit: str) -> str:
    unit = unit.lower()
    return "ms" if unit == "ms" or unit.startswith("milli") else unit[0]


def _iso_in(text: str, _at: dt.datetime, _zone: dt.tzinfo) -> dt.datetime | None:
    found = _ISO.search(text)
    if found is None:
        return None
    try:
        return dt.datetime.fromisoformat(found[0]).astimezone(dt.UTC)
    except ValueError:
        return None


def _date_in(text: str, _at: dt.datetime, zone: dt.tzinfo) -> dt.datetime | None:
    found = _US_DATE.search(text)
    return None if found is None else _moment(int(found[3]), int(found[1]), int(found[2]), 0, 0, zone)


def _clock_in(text: str, at: dt.datetime, zone: dt.tzinfo) -> dt.datetime | None:
    """`7pm (America/Los_Angeles)`, `8:10 PM`, `Mar 3rd, 2026 8:10 PM`; at the end of the minute that is named."""
    found = _CLOCK.search(text)
    if found is None:
        return None
    zone = _zone_called(found["zone"]) or zone
    here = at.astimezone(zone)
    hour = int(found["hour"]) % 12 + (12 if found["half"].lower() == "p" else 0)
    minute = int(found["minute"] or 0)
    if found["month"] is None:
        moment = _moment(here.year, here.month, here.day, hour, minute, zone)
        if moment is not None and moment + _JUST_OVER < at:
            tomorrow = here.date() + dt.timedelta(days=1)
            moment = _moment(tomorrow.year, tomorrow.month, tomorrow.day, hour, minute, zone)
    else:
        month = _MONTHS.index(found["month"].lower()) + 1
        year = int(found["year"]) if found["year"] else here.year + (month < here.month - 6)
        moment = _moment(year, month, int(found["day"]), hour, minute, zone)
    if moment is None:
        return None
    end = moment + dt.timedelta(minutes=1 if found["minute"] else 0)
    return max(end, at + dt.timedelta(minutes=1))


def _moment(year: int, month: int, day: int, hour: int, minute: int, zone: dt.tzinfo) -> dt.datetime | None:
    try:
        return dt.datetime(year, month, day, hour, minute, tzinfo=zone).astimezone(dt.UTC)
    except ValueError:
        return None


def _zone_called(name: str | None) -> dt.tzinfo | None:
    if name is None:
        return None
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None


def zone_of(environment_tz: str | None, local: dt.datetime) -> dt.tzinfo:
    """The zone of a program's clock: its variable `TZ`, else that of this machine."""
    zone = _zone_called(environment_tz) or local.tzinfo
    assert zone is not None
    return zone
