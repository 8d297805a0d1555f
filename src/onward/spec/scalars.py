"""The text of a scalar → a duration, number, boolean or JSON value, by the rules of `format.md` 3.1."""

from __future__ import annotations

import re
from typing import TypeAlias

from onward.spec.document import Mapping, Scalar, Sequence, Tree

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST_S = 100 * 365 * 86400
"""a hundred years; far from what dates and timers can carry"""

_DURATION = re.compile(r"([0-9]{1,12})([smhd])")
_WHOLE = re.compile(r"[0-9]{1,15}")
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")
_JSON_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,18})")
_JSON_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+")
_INTEGERS = range(-(2**63), 2**63)

_STRING = r'"(?:[^"\\]|\\.)*"'
_NAME = r"[^\W_][\w-]*"
_PATH = rf"(?:{_NAME}|\[{_STRING}\])(?:\.{_NAME}|\[[0-9]+\]|\[{_STRING}\])*"
_FILTERS = rf"(?:\s*\|\s*(?:json|path|fence|default\s+{_STRING}))*"
_REFERENCE = re.compile(rf"\{{\{{\s*{_PATH}{_FILTERS}\s*\}}\}}")
_LITERAL = rf"\{{\{{\s*{_STRING}\s*\}}\}}"
_BRACES = re.compile(rf"{_LITERAL}|(?P<reference>{_REFERENCE.pattern})")
_NODE = re.compile(_PATH)


def duration_s(text: str) -> float:
    """Seconds of `30s`, `5m`, `2h` or `3d`; ValueError for anything else."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"no duration: {text}")
    seconds = int(match[1]) * SECONDS[match[2]]
    if seconds > LONGEST_S:
        raise ValueError(f"no duration: {text}")
    return float(seconds)


def boolean(text: str) -> bool:
    """`true` or `false`; ValueError for anything else."""
    if text == "true":
        return True
    if text == "false":
        return False
    raise ValueError(f"no boolean: {text}")


def whole(text: str) -> int:
    """A whole number from 0 in digits; ValueError for anything else."""
    if _WHOLE.fullmatch(text) is None:
        raise ValueError(f"no whole number: {text}")
    return int(text)


def number(text: str) -> float:
    """A number from 0 such as `2` or `1.5`; ValueError for anything else."""
    if _NUMBER.fullmatch(text) is None:
        raise ValueError(f"no number: {text}")
    return float(text)


def free_value(scalar: Scalar) -> bool | int | float | str | None:
    """A scalar where any JSON value may stand.

    A plain one becomes a number only if printing the number gives the same characters back and it fits into 64 bits:
    `42` and `2.5` do; `3.10`, `007`, `1e3`, dates and account numbers of thirty digits stay text.
    """
    text = scalar.text
    if not scalar.plain:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _JSON_INTEGER.fullmatch(text) and text != "-0" and int(text) in _INTEGERS:
        return int(text)
    if _JSON_FRACTION.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text


_WORDS = {"": None, "null": None, "true": True, "false": False}


def data(tree: Tree) -> Json:
    """A tree as the JSON value it stands for."""
    match tree:
        case Scalar():
            return free_value(tree)
        case Sequence():
            return [data(item) for item in tree.items]
        case Mapping():
            return {key: data(entry.value) for key, entry in tree.entries.items()}


def has_reference(text: str) -> bool:
    """Whether some `{{…}}` in the text fits the grammar of a reference (`format.md` 4.2)."""
    return "{{" in text and any(found["reference"] for found in _BRACES.finditer(text))


def is_reference(text: str) -> bool:
    """Whether the text is exactly one `{{reference}}`."""
    return _REFERENCE.fullmatch(text.strip()) is not None


def is_node_name(text: str) -> bool:
    """Whether the text is what may stand between the braces of a reference, without filters."""
    return _NODE.fullmatch(text) is not None
