"""Pieces of a file as they may be shown: short, on one line, without characters that steer a terminal."""

from __future__ import annotations

import re

from onward.errors import Place

_WIDEST = 240
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text with each control character replaced by one visible sign."""
    return _STEERING.sub(lambda found: " " if found[0] == "\t" else "�", text)


def quoted(text: str, *, longest: int = 60) -> str:
    """The text in backticks, cut where it is long."""
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return f"`{printable(short)}`"


def excerpt(lines: list[str], place: Place) -> str | None:
    """The line of a place; None when the marker under it would stand too far right to be of use."""
    if place.line > len(lines) or place.column > _WIDEST:
        return None
    line = lines[place.line - 1]
    return printable(line if len(line) <= _WIDEST else line[: _WIDEST - 1] + "…")
