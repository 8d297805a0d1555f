"""What a reference names in a state: a stored or plain value, or nothing."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from onward.model.nodes import Kind, Node
from onward.model.values import Ref, Root, Value
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState


class Missing(Struct, frozen=True):
    """There is no value; `why` says so in words."""

    why: str


class Plain(Struct, frozen=True):
    """A value that the state knows (text, number, JSON value)."""

    value: Any


Found = Value | Plain | Missing


def look_up(state: RunState, user: Instance, ref: Ref) -> Found:
    """The value that `ref` names when the instance `user` uses it; keys below it (`ref.within`) are not applied."""
    match ref.root:
        case Root.VARIABLE:
            return _variable(state, user, ref.name)
        case Root.LOOP:
            return _loop_value(user, ref)
        case Root.RESERVED:
            return _reserved(state, user, ref.name)
        case Root.SELF:
            return result_of(user, ref.field)
        case Root.PREVIOUS:
            return _previous(state, user, ref)
        case _:
            target = state.get(join(climb(user, ref.up).path, ref.node))
            return _target(target, ref)


def target_of(state: RunState, user: Instance, ref: Ref) -> Instance | None:
    """The instance that a NODE, PREVIOUS or SELF reference names, if it was ever reached."""
    if ref.root is Root.SELF:
        return user
    if ref.root is Root.PREVIOUS:
        base = _previous_iteration(state, climb(user, ref.up))
        return None if base is None else state.get(join(base.path, ref.node))
    return state.get(join(climb(user, ref.up).path, ref.node))


def climb(instance: Instance, levels: int) -> Instance:
    """The instance `levels` above."""
    for _ in range(levels):
        if instance.parent is None:
            break
        instance = instance.parent
    return instance


def join(base: str, relative: str) -> str:
    """The path of `relative` below `base` (`[key]` follows without a slash)."""
    if not base or not relative:
        return base + relative
    return base + relative if relative.startswith("[") else f"{base}/{relative}"


def variables_at(state: RunState, user: Instance) -> dict[str, str]:
    """The variables visible at `user`, by name."""
    scope = state.scope(user)
    return state.facts.variables if scope is state.root else scope.variables or {}


def loop_values(user: Instance) -> dict[str, Found]:
    """The loop variables and `index` around `user`, the innermost last (it wins)."""
    found: dict[str, Found] = {}
    place: Instance | None = user
    chain = []
    while place is not None:
        if place.role is Role.ITERATION:
            chain.append(place)
        place = place.parent
    for iteration in reversed(chain):
        assert iteration.node is not None
        assert iteration.node.loop is not None
        found["index"] = Plain(_index(iteration))
        if not iteration.node.loop.counted:
            found[iteration.node.loop.item] = _item(iteration)
    return found


def _variable(state: RunState, user: Instance, name: str) -> Found:
    variables = variables_at(state, user)
    return Plain(variables[name]) if name in variables else Missing(f"the variable `{name}` has no value")


def _loop_value(user: Instance, ref: Ref) -> Found:
    iteration = climb(user, ref.up)
    if iteration.role is not Role.ITERATION:
        return Missing(f"`{ref.name}` has no value outside its loop")
    return Plain(_index(iteration)) if ref.name == "index" else _item(iteration)


def _index(iteration: Instance) -> int:
    loop = iteration.parent
    assert loop is not None
    if loop.items is None:
        return int(iteration.key)
    return iteration.position + 1


def _item(iteration: Instance) -> Found:
    loop = iteration.parent
    assert loop is not None
    if loop.items is not None and iteration.position < len(loop.items):
        key, value = loop.items[iteration.position]
        if key == iteration.key:
            return value if value is not None else Plain(key)
    return Missing(f"`{iteration.key}` is no longer among the items of the loop")


def _reserved(state: RunState, user: Instance, name: str) -> Found:
    facts = state.facts
    match name:
        case "datetime":
            return Plain(facts.datetime)
        case "run_id":
            return Plain(facts.run)
        case "workflow_file":
            return Plain(facts.workflow_file)
        case "workflow_name":
            return Plain(facts.name)
        case "attempt":
            return Plain(max(1, user.attempt))
        case _:
            return Missing(f"nothing is called `{name}`")


def _previous_iteration(state: RunState, iteration: Instance) -> Instance | None:
    loop = iteration.parent
    if loop is None or iteration.role is not Role.ITERATION or int(iteration.key) < 2:
        return None
    return state.get(f"{loop.path}[{int(iteration.key) - 1}]")


def _previous(state: RunState, user: Instance, ref: Ref) -> Found:
    base = _previous_iteration(state, climb(user, ref.up))
    if base is None:
        return Missing("there is no round before the first")
    return _target(state.get(join(base.path, ref.node)), ref)


def _target(target: Instance | None, ref: Ref) -> Found:
    # The steps of `merge` use the results of a group or loop whose members have ended, and which itself has not.
    if target is None or not (target.ended or ref.field == "results"):
        return Missing(f"`{ref.node}` has no result")
    return result_of(target, ref.field)


def result_of(target: Instance, field: str) -> Found:
    """One part of a node's result: `text`, `lines`, `json`, `status`, `results`, `hand-off`, an output's name."""
    if field == "status":
        return Plain(target.status.value)
    if field == "results":
        return Plain(ResultsOf(target.path))
    if field in ("text", "lines", "json") and field not in target.outputs:
        field = next((name for name in ("text", "json") if name in target.outputs), field)
    value = target.outputs.get(field)
    if value is not None:
        return value
    why = f"`{target.name}` was {target.status}" if target.status != "succeeded" else f"it has no `{field}`"
    return Missing(f"`{target.name}` has no `{field}`: {why}")


class ResultsOf(Struct, frozen=True):
    """Stands for `results`: the members or iterations below that path, to be laid out by whoever reads values."""

    path: str


def members_of(state: RunState, container: Instance) -> list[tuple[str, Instance]]:
    """Names (or keys) and instances of the members or iterations of a container, in the order of the file."""
    node = container.node
    if node is None:
        return []
    if container.role is Role.LOOP:
        keys = [key for key, _ in container.items] if container.items is not None else _rounds(state, container)
        pairs = [(key, state.get(f"{container.path}[{key}]")) for key in keys]
    else:
        pairs = [(child.name, state.get(join(container.path, child.name))) for child in _body(node)]
    return [(name, instance) for name, instance in pairs if instance is not None]


def _rounds(state: RunState, loop: Instance) -> list[str]:
    keys: list[str] = []
    while state.get(f"{loop.path}[{len(keys) + 1}]") is not None:
        keys.append(str(len(keys) + 1))
    return keys


def _body(node: Node) -> list[Node]:
    if node.kind is Kind.PARALLEL:
        return list(node.members)
    return [child for step in node.steps for child in step]
