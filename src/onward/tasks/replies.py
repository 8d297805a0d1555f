"""What an agent program printed → its reply, session id and usage, by the places that its adapter names.

A place is `text` (everything), `json:<path>` (the output is one JSON value) or `jsonl:<path>` (one value a line; the
last line that has the path counts). A path is names and numbers with dots between them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from onward.model.nodes import Adapter
from onward.tasks.failures import Failure
from onward.tasks.json_text import shown, to_json

_decode = msgspec.json.Decoder().decode
_NOTHING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The last message of an agent. `text` None: it said none."""

    text: str
    session: str | None = None
    usage: dict[str, float] = field(default_factory=dict)


def reply_of(adapter: Adapter, printed: str) -> Reply:
    """Raises `Failure` when the reply is not where the adapter says."""
    said = _at(adapter.reply, printed)
    if said is _NOTHING:
        raise Failure(
            "no-reply",
            f"`{adapter.name}` printed nothing at `{adapter.reply}`: {shown(printed)}",
            help="the log of the task has all of it",
        )
    session = _NOTHING if adapter.session is None else _at(adapter.session, printed)
    return Reply(
        text=said if isinstance(said, str) else to_json(said),
        session=session if isinstance(session, str) else None,
        usage=_numbers(adapter, printed),
    )


def _numbers(adapter: Adapter, printed: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, place in (("tokens", adapter.usage), ("usd", adapter.cost)):
        value = _NOTHING if place is None else _at(place, printed)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = float(value)
        elif isinstance(value, dict):
            found |= {k: float(v) for k, v in value.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    return found


def _at(place: str, printed: str) -> Any:
    """The value at a place, or `_NOTHING`."""
    form, _, path = place.partition(":")
    match form:
        case "json":
            return _below(_parsed(printed), path)
        case "jsonl":
            for line in reversed(printed.splitlines()):
                value = _below(_parsed(line), path)
                if value is not _NOTHING:
                    return value
            return _NOTHING
        case _:
            return printed


def _parsed(text: str) -> Any:
    try:
        return _decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return _NOTHING


def _below(value: Any, path: str) -> Any:
    for part in filter(None, path.split(".")):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.lstrip("-").isdigit() and -len(value) <= int(part) < len(value):
            value = value[int(part)]
        else:
            return _NOTHING
    return value
