"""A node that got another name (`was`) → its record, and that of all below it, under the new path.

The journal is not rewritten: events before the resume that found the new name tell of the old path, later ones of the
new. So the records move when that resume is folded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import structs

from onward.model.events import Change
from onward.state.instance import Instance, Stage
from onward.state.run_state import RunState

_PART = re.compile(r"(?:\[[^\]]*\]|[^/\[]|\[)+")
_KEY = re.compile(r"\[[^\]]*\]$")


def rename(state: RunState, former: str, name: str) -> None:
    """`former` is the static path that the records have now, `name` what its last part is called from now on."""
    names = former.split("/")
    moved = [one for one in state.instances.values() if _is_at(one.path, names)]
    if not moved or any(_renamed(one.path, names, name) in state.instances for one in moved):
        return
    for instance in moved:
        _move(state, instance, _renamed(instance.path, names, name))


def former_paths(state: RunState, changes: Iterable[Change]) -> list[tuple[str, str]]:
    """Old and new path of each record whose own name changes; what lies below goes with it. `state` is left alone."""
    paths, found = list(state.instances), []
    for change in changes:
        if not change.former:
            continue
        names, name = change.former.split("/"), change.path.rpartition("/")[2]
        at = [path for path in paths if _is_at(path, names)]
        found += [(path, _renamed(path, names, name)) for path in at if len(_PART.findall(path)) == len(names)]
        paths = [_renamed(path, names, name) if _is_at(path, names) else path for path in paths]
    return found


def _move(state: RunState, instance: Instance, path: str) -> None:
    former, was_leaf = instance.path, instance.is_leaf
    del state.instances[former]
    if instance.attempt:
        instance.former = [*(instance.former or ()), (former, instance.attempt)]
    instance.path, instance.node = path, None
    state.instances[path] = instance
    state.place(instance)
    _move_registers(state, former, instance)
    counted = instance.is_leaf - was_leaf  # only what is a leaf in the plan of today is counted
    if counted:
        state.done_leaves += counted * instance.ended
        state.running += counted * (instance.stage is Stage.RUNNING)


def _move_registers(state: RunState, former: str, instance: Instance) -> None:
    """What is kept beside the instances, by their paths."""
    path = instance.path
    gate = state.gates.pop(former, None)
    if gate is not None:
        state.gates[path] = structs.replace(gate, path=path)
    if state.charged.pop(former, None) is not None:
        state.charged[path] = instance
    raised = state.facts.budgets.pop(former, None)
    if raised is not None:
        state.facts.budgets.setdefault(path, raised)


def _is_at(path: str, names: list[str]) -> bool:
    parts = _PART.findall(path)[: len(names)]
    return len(parts) == len(names) and [_KEY.sub("", part) for part in parts] == names


def _renamed(path: str, names: list[str], name: str) -> str:
    parts = _PART.findall(path)
    at = len(names) - 1
    key = _KEY.search(parts[at])
    parts[at] = name + (key[0] if key else "")
    return "/".join(parts)
