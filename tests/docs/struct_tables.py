"""Classes of data (`msgspec.Struct`) → tables in Markdown: their fields, types and what their docstrings say."""

from __future__ import annotations

import ast
import datetime as dt
import inspect
import textwrap
import types
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

import msgspec

_PLAIN = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    dt.datetime: "time",
    Any: "any value",
    type(None): "null",
}


def docstring(cls: type) -> str:
    """The docstring on one line for each paragraph."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(cls) or "").split("\n\n"))


def table(
    cls: type[msgspec.Struct], *, without: frozenset[str] = frozenset(), defaults: bool = True
) -> Iterator[str]:
    """Field, type, default (where fields that have it are left out), words."""
    fields = [field for field in msgspec.structs.fields(cls) if field.name not in without]
    if not fields:
        return
    words = _words(cls)
    absent = " When it is absent |" if defaults else ""
    yield from (f"| Field | Type |{absent} |", f"|---|---|{'---|' if defaults else ''}---|")
    for field in fields:
        default = (" required |" if field.required else f" `{_default(field)}` |") if defaults else ""
        says = words.get(field.name, "")
        yield f"| `{field.encode_name}` | {_cell(type_words(field.type))} |{default} {_cell(says)} |"


def type_words(form: Any) -> str:
    """A type in words; classes of data are named."""
    if form in _PLAIN:
        return _PLAIN[form]
    origin, inner = get_origin(form), get_args(form)
    if origin in (Union, types.UnionType):
        return " or ".join(type_words(one) for one in inner)
    if origin in (list, set, frozenset) or (origin is tuple and inner[1:] == (...,)):
        return f"list of {type_words(inner[0])}"
    if origin is tuple:
        return f"list: {', '.join(type_words(one) for one in inner)}"
    if origin is dict:
        return f"mapping of {type_words(inner[0])} to {type_words(inner[1])}"
    if isinstance(form, type) and issubclass(form, StrEnum):
        return " or ".join(f"`{one.value}`" for one in form)
    return f"[{form.__name__}](#{form.__name__.lower()})"


def classes_in(form: Any) -> Iterator[type[msgspec.Struct]]:
    """The classes of data that a type is made of, itself included, inner ones after it."""
    if isinstance(form, type) and issubclass(form, msgspec.Struct):
        yield form
        for field in msgspec.structs.fields(form):
            yield from classes_in(field.type)
    for inner in get_args(form):
        yield from classes_in(inner)


def _default(field: msgspec.structs.FieldInfo) -> str:
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if isinstance(value, dt.datetime):
        return value.isoformat().replace("+00:00", "Z")
    return msgspec.json.encode(value).decode()


def _words(cls: type) -> dict[str, str]:
    """field -> the text that stands below it in the source."""
    found: dict[str, str] = {}
    for each in reversed([one for one in cls.__mro__ if issubclass(one, msgspec.Struct) and one is not msgspec.Struct]):
        [body] = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(body, ast.ClassDef)
        for field, below in zip(body.body, body.body[1:], strict=False):
            match field, below:
                case ast.AnnAssign(), ast.Expr(value=ast.Constant(value=str() as text)):
                    found[ast.unparse(field.target)] = " ".join(text.split())
    return found


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
