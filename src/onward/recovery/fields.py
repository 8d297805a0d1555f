"""Two versions of a configuration file → which of its fields differ, with the old and the new value in a few words."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

MOST_FIELDS = 20_000
SHOWN_CHARACTERS = 60
HIDDEN = "***"

_SECRET = re.compile(r"pass(word|wd|phrase)?|secret|token|credential|api.?key|private.?key", re.IGNORECASE)
_ABSENT = object()


class FieldChange(Struct, frozen=True, kw_only=True):
    """One field; `before` or `after` is None where the field is not there. What may be a secret is not shown."""

    name: str
    before: str | None
    after: str | None


class Unreadable(Exception):
    """One of the versions is no text of its form; the message says which and why."""


def form_of(path: str) -> str | None:
    """The form that a file's name promises: `json`, `yaml`, `toml`; None for a text without fields."""
    return {".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}.get(os.path.splitext(path)[1].lower())


def changed_fields(path: str, before: bytes, after: bytes) -> list[FieldChange] | None:
    """What differs, in the order of the old file; None for a form without fields. Raises `Unreadable`."""
    form = form_of(path)
    if form is None:
        return None
    old, new = _flat(_data(form, before, "the kept version")), _flat(_data(form, after, "it"))
    names = dict.fromkeys([*old, *new])
    return [
        FieldChange(name=name, before=_shown(name, old), after=_shown(name, new))
        for name in names
        if old.get(name, _ABSENT) != new.get(name, _ABSENT)
    ]


def top_of(path: str, content: bytes) -> Any:
    """The data of a configuration file. Raises `Unreadable`."""
    return _data(form_of(path) or "json", content, "it")


def _data(form: str, content: bytes, which: str) -> Any:
    try:
        match form:
            case "json":
                return msgspec.json.decode(content)
            case "toml":
                import tomllib

                return tomllib.loads(content.decode())
            case _:
                return _yaml(content.decode())
    except (ValueError, RecursionError, msgspec.DecodeError) as error:
        raise Unreadable(f"{which} is no {form.upper()}: {error}") from None


def _yaml(text: str) -> Any:
    from onward.spec.data import NotData, yaml_data

    try:
        return yaml_data(text)
    except NotData as error:
        raise ValueError(str(error)) from None


def _flat(data: Any) -> dict[str, Any]:
    """`a.b[0].c` → value; empty lists and mappings are values."""
    found: dict[str, Any] = {}
    for name, value in _walk(data, ""):
        found[name] = value
        if len(found) > MOST_FIELDS:
            raise Unreadable(f"it has more than {MOST_FIELDS:,} fields")
    return found


def _walk(data: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _walk(value, f"{name}.{key}" if name else str(key))
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _walk(value, f"{name}[{index}]")
    else:
        yield name, data


def _shown(name: str, fields: dict[str, Any]) -> str | None:
    if name not in fields:
        return None
    if _SECRET.search(name):
        return HIDDEN
    value = fields[name]
    text = value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"
