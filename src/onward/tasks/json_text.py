"""JSON text <-> values, strictly: no `NaN`, no number that would change, no half characters.

Numbers keep every digit of a whole number; what does not survive the way there and back is refused.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from onward.tasks.failures import Failure

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

_FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*(\w*)[^\n`]*\n(.*?)^[ \t]*\2[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
_SHOWN = 60


def to_json(value: Any) -> str:
    """Compact JSON text of a value, other alphabets as they are."""
    try:
        return _encode(value).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Failure("not-json", f"a value cannot be written as JSON: {error}") from error


def from_json(text: str | bytes, what: str) -> Any:
    """The value of a JSON text; `what` names it in the error."""
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise Failure("not-json", f"{what} is not JSON: {error}", help=f"it begins with {shown(text)}") from error
    except RecursionError as error:
        raise Failure("not-json", f"{what} is JSON that is nested too deep") from error


def from_reply(text: str, what: str) -> Any:
    """The JSON of an agent's reply: the whole of it, else its last `json` fence (`format.md` 4.1)."""
    try:
        return from_json(text, what)
    except Failure:
        body = _last_fence(text)
        if body is None:
            raise
    return from_json(body, f"the last `json` fence of {what}")


def _last_fence(text: str) -> str | None:
    fences = [(found[3].lower(), found[4]) for found in _FENCE.finditer(text)]
    marked = [body for language, body in fences if language == "json"]
    plain = [body for language, body in fences if not language]
    return next(reversed(marked or plain), None)


def shown(text: str | bytes) -> str:
    """The beginning of a text for a message, in quotes."""
    start = text[:_SHOWN]
    if isinstance(start, bytes):
        start = start.decode(errors="replace")
    return repr(start) + ("…" if len(text) > _SHOWN else "")
