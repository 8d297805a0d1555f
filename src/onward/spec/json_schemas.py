"""A JSON Schema in a workflow, inline or in a file: its text → its value, and what is wrong with its shape.

Needs no schema library: keywords are looked at, not their meaning.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from onward.errors import Place, Problem
from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree
from onward.spec.excerpts import excerpt, quoted
from onward.spec.forms import either
from onward.spec.read import DEEPEST, Unreadable, lines_of, read
from onward.spec.scalars import Json, data

TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")


class SchemaFault(NamedTuple):
    """What is wrong in a schema, and where."""

    message: str
    place: Place
    help: str | None = None


def schema_faults(tree: Tree) -> Iterator[SchemaFault]:
    """Every place where the tree cannot be a JSON Schema."""
    if isinstance(tree, Scalar) and tree.text in ("true", "false"):
        return
    if not isinstance(tree, Mapping):
        yield SchemaFault("a JSON Schema must be a mapping, true or false", tree.place)
        return
    yield from _type_faults(tree)
    yield from _required_faults(tree)
    for key in _ONE:
        value = tree.get(key)
        if value is not None and not (key == "items" and isinstance(value, Sequence)):
            yield from schema_faults(value)
    for key in _LISTS:
        yield from _list_faults(key, tree.get(key))
    for key in _NAMED:
        yield from _named_faults(key, tree.get(key))


def _type_faults(tree: Mapping) -> Iterator[SchemaFault]:
    value = tree.get("type")
    if value is None:
        return
    for each in value.items if isinstance(value, Sequence) else (value,):
        if not isinstance(each, Scalar):
            yield SchemaFault(f"type must be {either(TYPES)}", each.place)
        elif each.text not in TYPES:
            near = difflib.get_close_matches(each.text, TYPES, n=1)
            help = f"did you mean {quoted(near[0])}?" if near else None
            yield SchemaFault(f"type must be {either(TYPES)}, not {quoted(each.text)}", each.place, help)


def _required_faults(tree: Mapping) -> Iterator[SchemaFault]:
    value = tree.get("required")
    if value is None:
        return
    if not isinstance(value, Sequence) or not all(isinstance(item, Scalar) for item in value.items):
        yield SchemaFault("required must be a list of names", value.place, "for example `required: [count]`")


def _list_faults(key: str, value: Tree | None) -> Iterator[SchemaFault]:
    if value is None:
        return
    if not isinstance(value, Sequence):
        yield SchemaFault(f"{key} must be a list of schemas", value.place)
        return
    for item in value.items:
        yield from schema_faults(item)


def _named_faults(key: str, value: Tree | None) -> Iterator[SchemaFault]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        yield SchemaFault(f"{key} must be a mapping of names to schemas", value.place)
        return
    for entry in value.entries.values():
        yield from schema_faults(entry.value)


def read_schema(text: str, shown: str) -> tuple[Tree, Json, list[Problem]]:
    """The text of a schema file as tree and as JSON value; Unreadable when it is neither JSON nor YAML.

    In a file whose name ends with `.json` numbers are those of JSON; in YAML they are typed as free-form values.
    """
    if not shown.endswith(".json"):
        tree, problems, _ = read(text, shown)
        return tree, data(tree), problems
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        place = Place(file=shown, line=error.lineno, column=error.colno)
        raise Unreadable(_not_json(error.msg, place, text)) from None
    except (RecursionError, ValueError) as error:
        raise Unreadable(_not_json(str(error), Place(file=shown), text)) from None
    return _tree(value, Place(file=shown), 0), value, []


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _integer(digits: str) -> int | float:
    # Beyond 64 bits a whole number can be neither stored nor compared exactly by other programs.
    return int(digits) if len(digits) < 19 else float(digits)


def _not_json(reason: str, place: Place, text: str) -> Problem:
    source = excerpt(lines_of(text), place)
    return Problem(code="not-json", message=f"the schema is not JSON: {reason}", place=place, source=source)


def _tree(value: Any, place: Place, depth: int) -> Tree:
    """A JSON value as a tree whose every place is the file."""
    if depth > DEEPEST:
        message = f"lists and mappings are nested more than {DEEPEST} deep"
        raise Unreadable(Problem(code="too-deep", message=message, place=place))
    match value:
        case dict():
            entries = {
                key: Entry(key=Scalar(text=key, place=place), value=_tree(each, place, depth + 1))
                for key, each in value.items()
            }
            return Mapping(entries=entries, place=place)
        case list():
            return Sequence(items=tuple(_tree(each, place, depth + 1) for each in value), place=place)
        case str():
            return Scalar(text=value, place=place, plain=False)
        case _:
            return Scalar(text=json.dumps(value), place=place)
