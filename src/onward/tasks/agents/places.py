"""What a program of the user's own printed → reply, session, usage and limits, found where its adapter says.

A place is `text` (all of it), `json:<path>` (the output is one JSON value) or `jsonl:<path>` (the last line that has
the path); a path is keys and numbers with dots between.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

from onward import clock
from onward.model.nodes import Adapter
from onward.tasks.agents.reading import Dialect, Reading, Told
from onward.tasks.failures import Failure
from onward.tasks.json_text import from_json, to_json
from onward.tasks.output_files import read_text_bytes, read_whole

_SECONDS_OF_AN_EPOCH = 1_000_000_000
_MILLISECONDS_OF_AN_EPOCH = 1_000_000_000_000
_FIELDS = ("reply", "session", "usage", "cost", "limit")


def read_places(adapter: Adapter, path: str, size: int) -> Reading:
    """What stands in a log of `size` bytes. Raises `TaskError` when it cannot be a reply."""
    wanted = {name: place for name in _FIELDS if (place := getattr(adapter, name)) and place != "text"}
    found = _find(wanted, path, size) if wanted else {}
    text = _text_of(found.get("reply"))
    if adapter.reply == "text":
        text = read_text_bytes(path, size, "the reply").decode()
    reading = Reading(session=_text_of(found.get("session")), text=text, usage=_usage(found))
    limit = found.get("limit")
    if limit in (None, False, "", 0):
        reading.done = True
    else:
        moment = _moment(limit)
        reading.limit = Told(at=moment.timestamp() if moment is not None else None)
    return reading


def session_teller(adapter: Adapter) -> Dialect | None:
    """What hears the session id while the program runs, where it stands in a line of its own."""
    form, _, path = (adapter.session or "").partition(":")
    if form != "jsonl":
        return None
    way = path.split(".")
    return lambda reading, event: reading.names_session(_text_of(at(event, way)))


def _find(wanted: dict[str, str], path: str, size: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    ways = {name: (place.partition(":")[0], place.partition(":")[2].split(".")) for name, place in wanted.items()}
    if any(form == "json" for form, _ in ways.values()) and size:
        whole = from_json(read_whole(path, "the reply") or b"", "the reply")
        found.update({name: at(whole, way) for name, (form, way) in ways.items() if form == "json"})
    by_line = {name: way for name, (form, way) in ways.items() if form == "jsonl"}
    if by_line and size:
        found.update(_last_in_lines(path, by_line))
    return found


def _last_in_lines(path: str, ways: dict[str, list[str]]) -> dict[str, Any]:
    """The last value of each way; lines that cannot have any are not even parsed."""
    found: dict[str, Any] = {}
    hints = {name: _hint(way) for name, way in ways.items()}
    with open(path, "rb") as file:
        for line in file:
            names = [name for name, hint in hints.items() if hint in line]
            if not names:
                continue
            try:
                value = from_json(line, "a line")
            except Failure:  # agents print warnings between their events
                continue
            for name in names:
                here = at(value, ways[name])
                if here is not None:
                    found[name] = here
    return found


def _hint(way: list[str]) -> bytes:
    names = [step for step in way if not step.isdecimal()]
    return to_json(names[-1]).encode() if names else b""


def at(value: Any, way: list[str]) -> Any:
    """What stands at the end of the way; None when there is nothing."""
    for step in way:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def _text_of(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return to_json(value)


def _usage(found: dict[str, Any]) -> dict[str, float]:
    usage = {name: float(number) for name, number in _numbers(found.get("usage"))}
    cost = found.get("cost")
    if isinstance(cost, int | float) and not isinstance(cost, bool):
        usage["usd"] = float(cost)
    return usage


def _numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _numbers(each, f"{name}.{key}" if name else key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name or "tokens", value


def _moment(value: Any) -> dt.datetime | None:
    """A time in words, seconds or milliseconds since the epoch, or so many seconds from now."""
    if isinstance(value, str):
        try:
            return clock.from_iso(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if value >= _MILLISECONDS_OF_AN_EPOCH:
        value /= 1000
    if value >= _SECONDS_OF_AN_EPOCH:
        return dt.datetime.fromtimestamp(value, dt.UTC)
    return clock.now() + dt.timedelta(seconds=max(0, value))
