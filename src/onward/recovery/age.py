"""The moment of the last event, and now → how fresh a run is: under 24 hours, up to 7 days, older."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

DAY_S = 24 * 3600.0
WEEK_S = 7 * DAY_S


class Freshness(StrEnum):
    """The three ages of an interrupted run."""

    FRESH = "fresh"
    """under 24 hours: goes on without a word"""
    AGED = "aged"
    """24 hours to 7 days: a warning"""
    OLD = "old"
    """beyond: a fresh start is recommended"""


class Age(Struct, frozen=True, kw_only=True):
    """`seconds` since the last event; `ahead_s`: by how much that lies in the future, where the clock went back."""

    freshness: Freshness
    seconds: float
    ahead_s: float = 0.0


CLOCKS_DIFFER_S = 5.0
"""a last event so little ahead is the clock of another host, not worth a word"""


def age_of(last_at: float, now: float) -> Age:
    """Times are seconds since the epoch. Exactly 24 hours, or 7 days, is the older class."""
    seconds = now - last_at
    if seconds < 0:
        ahead = -seconds if -seconds > CLOCKS_DIFFER_S else 0.0
        return Age(freshness=Freshness.FRESH, seconds=0.0, ahead_s=ahead)
    if seconds < DAY_S:
        return Age(freshness=Freshness.FRESH, seconds=seconds)
    return Age(freshness=Freshness.AGED if seconds < WEEK_S else Freshness.OLD, seconds=seconds)
