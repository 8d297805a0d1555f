"""Fields of a node -> its definition hash (`format.md` 5.1); a whole plan -> its digest.

In: what makes up the work. Out: words for people, budgets of time and tries, order and limits, what happens on failure
and on resume. Children hash themselves. Texts go in as they are written, references by their source: a hash does not
change when a node moves to another place, and does when a reference is spelled otherwise.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from onward.model.nodes import Approve, Kind, Loop, Plan
from onward.model.values import Ref, Template

IN = frozenset(
    {
        "work", "include", "with_", "env", "included_env", "secrets", "directory", "schema", "outputs", "values",
        "artifacts", "validators", "before", "after", "hand_off", "worktree",
    }
)  # fmt: skip
"""fields of `Node` that are hashed as they are; `loop` and `work` of a question in part"""
LOOP_IN = ("items", "glob", "command", "until", "while_", "item", "key")
APPROVE_IN = ("question", "show", "choices", "fields")
_PLAN_OUT = frozenset({"root", "digest", "files", "file", "undeclared"})


def definition_digest(kind: Kind, written: Mapping[str, Any]) -> str:
    """The definition hash of a node: of its kind and those of its fields that are written in the file."""
    parts: dict[str, Any] = {"kind": kind.value}
    for name, value in written.items():
        if name == "loop":
            parts["loop"] = _some(value, LOOP_IN)
        elif name == "work" and isinstance(value, Approve):
            parts["work"] = _some(value, APPROVE_IN)
        elif name == "secrets":
            parts[name] = sorted(value)
        elif name in IN:
            parts[name] = plain(value)
    return _sha256(parts)


def rest_digest(written: Mapping[str, Any]) -> str:
    """A hash of the other fields, empty when there are none."""
    parts: dict[str, Any] = {}
    for name, value in written.items():
        if isinstance(value, Loop):
            parts[name] = _some(value, [each for each in value.__struct_fields__ if each not in LOOP_IN])
        elif isinstance(value, Approve):
            parts[name] = value.on_timeout
        elif name not in IN:
            parts[name] = plain(value)
    return _sha256(parts) if parts else ""


def plan_digest(plan: Plan, nodes: Iterable[str]) -> str:
    """The digest of a whole plan. `nodes` has one text per node: path, place in its list, and the hashes above."""
    facts = {name: plain(getattr(plan, name)) for name in plan.__struct_fields__ if name not in _PLAN_OUT}
    return _sha256([facts, sorted(nodes)])


def plain(value: Any) -> Any:
    """A value of the plan as JSON values; what has its default is left out."""
    kind = type(value)
    if kind is str:
        return value
    if kind is Template:
        return {"text": [part if isinstance(part, str) else {"ref": part.source} for part in value.parts]}
    if kind is tuple or kind is list:
        return [plain(each) for each in value]
    if kind is dict:
        return {key: plain(each) for key, each in value.items()}
    if kind is Ref:
        return {"ref": value.source}
    return _struct(value) if isinstance(value, Struct) else value


def _struct(value: Struct) -> dict[str, Any]:
    tag = value.__struct_config__.tag
    parts: dict[str, Any] = {} if tag is None else {"is": tag}
    for name, default in _defaults(type(value)):
        each = getattr(value, name)
        if each != default:
            parts[name] = plain(each)
    return parts


@cache
def _defaults(struct: type[Struct]) -> list[tuple[str, Any]]:
    """The fields of a class with their defaults (`NODEFAULT`, which equals nothing, where there is none)."""
    return [
        (field.name, field.default if field.default_factory is NODEFAULT else field.default_factory())
        for field in fields(struct)
    ]


def _some(value: Struct, names: Iterable[str]) -> dict[str, Any]:
    whole = _struct(value)
    return {name: whole[name] for name in names if name in whole}


def _sha256(parts: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()
