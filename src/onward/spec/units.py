"""What someone may have meant by a duration or a boolean that is spelled in another way."""

from __future__ import annotations

import re

from onward.spec.excerpts import quoted
from onward.spec.scalars import LONGEST_S, SECONDS

_WORDS = {
    "ms": 0.001,
    "s": 1,
    "sec": 1,
    "second": 1,
    "m": 60,
    "min": 60,
    "minute": 60,
    "h": 3600,
    "hr": 3600,
    "hour": 3600,
    "d": 86400,
    "day": 86400,
    "w": 604800,
    "week": 604800,
}
_PART = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([A-Za-z]+)\s*,?")
_TRUE = ("yes", "y", "on", "1", "true")
_FALSE = ("no", "n", "off", "0", "false")


def duration_help(text: str) -> tuple[str, str]:
    """Message and help for text that is no duration."""
    if re.fullmatch("[0-9]{1,12}", text):
        return f"{quoted(text)} has no unit", f"write {text}s, {text}m or {text}h"
    seconds = _seconds(text)
    if seconds is not None and seconds > LONGEST_S:
        return f"{quoted(text)} is longer than a hundred years", "leave it out for no limit"
    message = f"{quoted(text)} is not a duration"
    if seconds is not None and seconds == int(seconds) and seconds > 0:
        return message, f"write {in_one_unit(int(seconds))}"
    return message, "write a whole number and one unit: 30s, 5m, 2h or 3d"


def in_one_unit(seconds: int) -> str:
    """`90m` for 5400: the largest unit that fits without a rest."""
    unit = next(unit for unit, size in reversed(SECONDS.items()) if seconds % size == 0)
    return f"{seconds // SECONDS[unit]}{unit}"


def flag_help(text: str) -> str:
    """What to write instead of `yes`."""
    word = text.lower()
    if word in _TRUE:
        return "write `true`"
    if word in _FALSE:
        return "write `false`"
    return "write `true` or `false`"


def _seconds(text: str) -> float | None:
    total = 0.0
    end = 0
    while end < len(text):
        part = _PART.match(text, end)
        word = part[2].lower() if part else ""
        size = _WORDS.get(word) or _WORDS.get(word.removesuffix("s"))
        if part is None or size is None:
            return None
        total += float(part[1]) * size
        end = part.end()
    return total if end else None
