"""Text as written -> parts: plain text and references that are not resolved yet (`format.md` 4.2).

```
reference = "{{" [ws] head { "." name | "[" number "]" | "[" string "]" } { "|" filter } [ws] "}}"
head      = name | "[" string "]"
filter    = "json" | "path" | "fence" | "default" string
literal   = "{{" [ws] string [ws] "}}"
```

A string stands in double quotes; in it `\\"`, `\\\\`, `\\n` and the other short escapes of JSON hold. Whatever stands
between braces and does not fit is text, and stays as it is byte for byte; where it begins like a reference it is
also told as a `NearMiss`, so that a checker can say so if the name is known.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from onward.model.values import Filter

_WS = r"[ \t\r\n]*+"
# Combining marks are no word characters for `re`, yet letters may be written with them.
_NAME = r"[^\W_][\w\u0300-\u036f-]*+"
_STEP = r"\w[\w\u0300-\u036f-]*+"
_STRING = r'"(?:[^"\\]|\\["\\/bfnrt])*"'
_FILTER = rf"{_WS}\|{_WS}(?:(?:json|path|fence)(?![\w-])|default{_WS}{_STRING})"
_HEAD = rf"(?:{_NAME}|\[{_STRING}\])"

_FITTING = re.compile(
    rf"\{{\{{{_WS}"
    rf"(?:(?P<literal>{_STRING})"
    rf"|(?P<source>(?P<head>{_HEAD})(?P<steps>(?:\.{_STEP}|\[\d++\]|\[{_STRING}\])*)(?P<filters>(?:{_FILTER})*)))"
    rf"{_WS}\}}\}}"
)
_NEAR = re.compile(rf"\{{\{{{_WS}(?P<source>(?P<head>{_HEAD})[^{{}}]*)\}}\}}")
_ONE_STEP = re.compile(rf"\.(?P<name>{_STEP})|\[(?P<number>\d+)\]|\[(?P<string>{_STRING})\]")
_ONE_FILTER = re.compile(rf"\|{_WS}(?P<name>json|path|fence|default){_WS}(?P<argument>{_STRING})?")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class Step(NamedTuple):
    """One accessor after the head; `bracket` tells `["name"]` and `[0]` from `.name`."""

    value: str | int
    bracket: bool = False


class Reference(NamedTuple):
    """A fitting `{{…}}`; `source` is what stands between the braces, `at` the offset of the first brace."""

    head: str
    steps: tuple[Step, ...]
    filters: tuple[Filter, ...]
    source: str
    at: int


class NearMiss(NamedTuple):
    """A `{{…}}` that begins with a name and does not fit."""

    head: str
    source: str
    at: int


class Scanned(NamedTuple):
    """What a text holds, in order. Neighbouring pieces of text are joined; empty ones are left out."""

    parts: tuple[str | Reference, ...]
    near: tuple[NearMiss, ...] = ()

    @property
    def references(self) -> tuple[Reference, ...]:
        """The references alone."""
        return tuple(part for part in self.parts if isinstance(part, Reference))

    @property
    def text(self) -> str | None:
        """The text, literals replaced, if there is no reference in it."""
        if any(isinstance(part, Reference) for part in self.parts):
            return None
        return "".join(part for part in self.parts if isinstance(part, str))

    @property
    def lone(self) -> Reference | None:
        """The reference that is all there is, if so."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only if isinstance(only, Reference) else None


def scan(text: str) -> Scanned:
    """Take `text` apart. Never raises."""
    if "{{" not in text:
        return Scanned((text,) if text else ())
    parts: list[str | Reference] = []
    near: list[NearMiss] = []
    plain, end = "", 0
    for match in _FITTING.finditer(text):
        start = match.start()
        if start > end:
            gap = text[end:start]
            _look_for_near_misses(gap, end, near)
            plain += gap
        end = match.end()
        if match["literal"] is not None:
            plain += unquoted(match["literal"])
            continue
        if plain:
            parts.append(plain)
            plain = ""
        parts.append(_reference(match))
    if end < len(text):
        _look_for_near_misses(text[end:], end, near)
        plain += text[end:]
    if plain:
        parts.append(plain)
    return Scanned(tuple(parts), tuple(near))


def scan_name(text: str) -> Reference | None:
    """A name or path of a node as `succeeded` and `failed` take it (`check`, `review.tests`), without braces."""
    found = _FITTING.fullmatch("{{" + text + "}}")
    return None if found is None or found["head"] is None else _reference(found)


def literal(text: str) -> str:
    """How `text` is written so that it is no reference."""
    return '{{"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"}}'


def unquoted(string: str) -> str:
    """The text of a string of the grammar."""
    inner = string[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), inner)


def _look_for_near_misses(gap: str, at: int, near: list[NearMiss]) -> None:
    if "{{" in gap:
        near.extend(
            NearMiss(_name(match["head"]), match["source"].strip(), at + match.start()) for match in _NEAR.finditer(gap)
        )


def _reference(match: re.Match[str]) -> Reference:
    source, *written = match.group("source", "head", "steps", "filters")
    return Reference(*_read(*written), source, match.start())


@lru_cache(maxsize=1024)
def _read(head: str, steps: str, filters: str) -> tuple[str, tuple[Step, ...], tuple[Filter, ...]]:
    # Workflows use the same few variables over and over.
    return (
        _name(head),
        tuple([_step(step) for step in _ONE_STEP.finditer(steps)]) if steps else (),
        _filters(filters) if filters else (),
    )


def _name(head: str) -> str:
    name = unquoted(head[1:-1]) if head.startswith("[") else head
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def _step(match: re.Match[str]) -> Step:
    name, number, string = match.group("name", "number", "string")
    if name is not None:
        return Step(name)
    return Step(_number(number) if string is None else unquoted(string), bracket=True)


def _number(digits: str) -> int | str:
    # Python refuses to read more than 4300 digits; such a number is no index of anything.
    return int(digits) if len(digits) <= 18 else digits


def _filters(text: str) -> tuple[Filter, ...]:
    return tuple(
        Filter(name=match["name"], argument=None if match["argument"] is None else unquoted(match["argument"]))
        for match in _ONE_FILTER.finditer(text)
    )
