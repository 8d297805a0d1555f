"""A path that a person gave → whether the run has, or will have, a node there; else an error with what to write."""

from __future__ import annotations

import re
from difflib import get_close_matches

from onward.errors import UsageError
from onward.state.run_state import SECTIONS, RunState

_PART = re.compile(r"(?:\[[^\]]*\]|[^/\[]|\[)+")
_KEY = re.compile(r"\[[^\]]*\]$")
_SHOWN = 5


def check_place(state: RunState, path: str) -> None:
    """Raises `UsageError` for what is no node, the run as a whole, or stands in a loop whose iteration is not named."""
    if state.get(path) is None:
        _check_parts(state, path)
    if not path or path.rpartition("/")[2] in SECTIONS:
        raise unknown(state, path)


def unknown(state: RunState, path: str) -> UsageError:
    """There is no such node."""
    if not path:
        return UsageError("the path is empty", help="`onward show` lists the nodes")
    close = get_close_matches(path, [*state.index, *state.instances], n=1)
    help = f"did you mean `{close[0]}`?" if close and close[0] else "`onward show` lists the nodes"
    return UsageError(f"the workflow has no node `{path}`", help=help)


def _check_parts(state: RunState, path: str) -> None:
    """Each loop on the way to a node that was not reached yet needs the key of an iteration."""
    parts = _PART.findall(path)
    place, static = "", ""
    for part in parts:
        name = _KEY.sub("", part)
        place, static = (f"{place}/{name}", f"{static}/{name}") if place else (name, name)
        node, last = state.index.get(static), part is parts[-1]
        if node is None:
            if name not in SECTIONS:
                raise unknown(state, path)
            continue
        if part == name:
            if node.loop is not None and not last and f"{place}/{parts[parts.index(part) + 1]}" not in state.instances:
                raise _names_no_iteration(state, path, place)
        else:
            place += part[len(name) :]
            if node.loop is None or not _has_iteration(state, place):
                raise unknown(state, path)


def _has_iteration(state: RunState, place: str) -> bool:
    loop, _, key = place.removesuffix("]").rpartition("[")
    instance = state.get(loop)
    known = instance.items if instance is not None else None
    return state.get(place) is not None or (known is not None and any(each == key for each, _ in known))


def _names_no_iteration(state: RunState, path: str, loop: str) -> UsageError:
    instance = state.get(loop)
    keys = [key for key, _ in instance.items or ()] if instance is not None else []
    keys = keys or [key for key in map(str, range(1, _SHOWN + 1)) if f"{loop}[{key}]" in state.instances]
    shown = ", ".join(f"`{loop}[{key}]{path[len(loop) :]}`" for key in keys[:_SHOWN]) + (" …" if keys[_SHOWN:] else "")
    return UsageError(
        f"`{path}` is in the loop `{loop}`: say in which iteration", help=shown or f"no iteration of `{loop}` has begun"
    )
