"""Lines with the names of styles → what a terminal shows; plain text where colours are not wanted."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

import click

from onward.cli.common import Common
from onward.views.table import Line
from onward.views.words import MARKS, PLAIN_MARKS

STYLES: dict[str, dict[str, Any]] = {
    "head": {"bold": True},
    "dim": {"dim": True},
    "warning": {"fg": "yellow"},
    "command": {"fg": "cyan"},
    "running": {"fg": "blue"},
    "waiting": {"fg": "magenta"},
    "succeeded": {"fg": "green"},
    "failed": {"fg": "red"},
    "interrupted": {"fg": "yellow"},
    "paused": {"fg": "yellow"},
    "cancelled": {"dim": True},
    "skipped": {"dim": True},
    "pending": {"dim": True},
}


def draw(lines: Iterable[Line], common: Common, stream: TextIO | None = None) -> None:
    """Print the lines, on stdout unless told."""
    target = stream or sys.stdout
    colour = common.colors(target)
    text = "\n".join(styled(line, colour) for line in lines)
    click.echo(text, file=target, color=colour)


def styled(line: Line, colour: bool) -> str:
    """One line as it is printed."""
    style = STYLES.get(line.style) if colour else None
    return click.style(line.text, **style) if style and line.text else line.text


def marks_for(stream: TextIO) -> dict[str, str]:
    """Marks that this stream can show."""
    encoding = getattr(stream, "encoding", None) or "ascii"
    try:
        "".join(MARKS.values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return PLAIN_MARKS
    return MARKS
