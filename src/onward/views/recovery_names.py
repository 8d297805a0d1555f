"""Nodes of a run → what people call them: titles, or names made readable; never a path."""

from __future__ import annotations

import re

from onward.model.nodes import Node
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState
from onward.views import words
from onward.views.titles import filled, run_title

NAME_CHARACTERS = 70


def readable(name: str) -> str:
    """`gather-requirements` → `Gather requirements`."""
    text = re.sub(r"[-_.\s]+", " ", name).strip()
    return words.one_line(text[:1].upper() + text[1:], NAME_CHARACTERS)


def feature_of(state: RunState) -> str:
    """What the run is about: the variable `feature`, else its title, else its name."""
    return words.one_line(state.facts.variables.get("feature") or run_title(state), NAME_CHARACTERS)


def workflow_of(state: RunState) -> str:
    """What kind of work it is, in words: the first sentence of the description, else title or name."""
    sentence = re.split(r"(?<=[.!?])\s|\n", state.plan.description.strip(), maxsplit=1)[0].rstrip(".")
    return words.one_line(sentence or run_title(state) if sentence or state.plan.title else "", 100) or readable(
        state.facts.name
    )


def top_nodes(state: RunState) -> list[Node]:
    """The steps of the workflow as people see them."""
    return [node for step in state.plan.root.steps for node in step]


def title_of(state: RunState, node: Node) -> str:
    """The title of a node, else its name made readable."""
    title = filled(state, state.get(node.path) or state.root, node.title) if node.title is not None else ""
    return words.one_line(title, NAME_CHARACTERS) or readable(node.name)


def name_of(state: RunState, path: str) -> str:
    """What people call the node of a path, with the item of a loop and the step that it belongs to."""
    instance = state.get(path)
    node = state.index.get(path) if instance is None else instance.node
    if node is None:
        return readable(path.rpartition("/")[2])
    own = _own_title(state, node, instance)
    item = _item_of(path)
    said = f"{own} for {item}" if item else own
    top = path.partition("/")[0].partition("[")[0]
    if top in (node.name, "@finally", "@on-failure"):
        return said
    around = state.index.get(top)
    return f"{said} ({title_of(state, around)})" if around is not None else said


def _own_title(state: RunState, node: Node, instance: Instance | None) -> str:
    if node.title is None:
        return readable(node.name)
    user = instance if instance is not None and instance.role is not Role.ITERATION else state.root
    return words.one_line(filled(state, user, node.title), NAME_CHARACTERS) or readable(node.name)


def _item_of(path: str) -> str:
    """The item of the innermost loop; a round that has only a number is no name."""
    if "[" not in path:
        return ""
    key = path.rpartition("[")[2].partition("]")[0]
    return f"round {key}" if key.isdigit() else words.one_line(key, 40)
