"""Titles with references in them → the words that people see, as far as the state knows the values."""

from __future__ import annotations

from onward.model.nodes import Node
from onward.model.values import Ref, Template, Text, Value
from onward.state.instance import Instance, Role
from onward.state.lookup import Plain, look_up
from onward.state.run_state import RunState
from onward.views.words import plain


def run_title(state: RunState) -> str:
    """What people call the run: the workflow's title, else its name."""
    return filled(state, state.root, state.plan.title) or state.facts.title or state.facts.name


def node_title(state: RunState, node: Node, instance: Instance | None) -> str:
    """The title of a node (a loop's belongs to the whole loop); empty where it has none."""
    if node.title is None or (instance is not None and instance.role is Role.ITERATION):
        return ""
    return plain(node.title) if instance is None else filled(state, instance, node.title)


def filled(state: RunState, user: Instance, text: Text | None) -> str:
    """The text with its references filled in; one without a value here stays as it is written."""
    if not isinstance(text, Template):
        return text or ""
    return "".join(part if isinstance(part, str) else _value(state, user, part) for part in text.parts)


def _value(state: RunState, user: Instance, ref: Ref) -> str:
    written = f"{{{{{ref.source}}}}}"
    if ref.within or any(one.name != "default" for one in ref.filters):
        return written
    found = look_up(state, user, ref)
    if isinstance(found, Plain | Value) and isinstance(found.value, str | int | float):
        return str(found.value)
    return ref.default if ref.default is not None else written
