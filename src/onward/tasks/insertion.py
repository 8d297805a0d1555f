"""A value -> the text that stands for it: in a prompt, an argument, a variable of the environment, a file."""

from __future__ import annotations

import re
from typing import Any

from onward.tasks.failures import Failure
from onward.tasks.json_text import to_json

MOST_BYTES_IN_PLACE = 64 * 1024
"""most bytes of one argument or variable; Linux refuses 128 KiB"""

_TICKS = re.compile(r"`{3,}")


def as_text(value: Any, source: str) -> str:
    """Text as it is, a number or truth value as JSON. `source` names the reference in errors."""
    if isinstance(value, str):
        if "\0" in value:
            raise Failure(
                "not-text", f"`{{{{{source}}}}}` holds a NUL byte, so it is no text", help="make it an artifact"
            )
        return value
    if value is None:
        raise Failure(
            "needs-json",
            f"`{{{{{source}}}}}` is null, which has no text",
            help=f'write {{{{{source} | default "…"}}}} or {{{{{source} | json}}}}',
        )
    if isinstance(value, bool | int | float):
        return to_json(value)
    kind = "list" if isinstance(value, list) else "mapping"
    raise Failure(
        "needs-json",
        f"`{{{{{source}}}}}` is a {kind}, which has no place in text",
        help=f"write {{{{{source} | json}}}}",
    )


def in_place(text: str, where: str) -> str:
    """The text, if it may be an argument or a variable of the environment (`where`)."""
    if len(text) <= MOST_BYTES_IN_PLACE // 4 and text.isascii() and "\0" not in text:
        return text
    if "\0" in text:
        raise Failure("not-text", f"{where} holds a NUL byte, which the system does not take there")
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise Failure("not-text", f"{where} is not valid Unicode text: {error.reason}") from error
    if size > MOST_BYTES_IN_PLACE:
        raise Failure(
            "too-big",
            f"{where} has {size:,} bytes; the limit is {MOST_BYTES_IN_PLACE:,}",
            help="hand it over through `stdin:`, or as a file with `| path`",
        )
    return text


def fenced(text: str) -> str:
    """The text between fences longer than any inside."""
    longest = max((len(found) for found in _TICKS.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def lines_of(text: str) -> list[str]:
    """The lines that are not empty, without their ends (`\\n` or `\\r\\n`)."""
    return [line for each in text.split("\n") if (line := each.removesuffix("\r"))]
