"""Nodes that a person wants done again → all that has to be done again with them (`format.md` 5.3).

A finished node that used the result of one that is done again is done again too, and so on. The merge and the
`finally` steps around them start over by themselves when work before them runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from onward.errors import UsageError
from onward.model.events import Override
from onward.model.values import Root
from onward.state.instance import Instance, Role
from onward.state.lookup import climb, target_of
from onward.state.run_state import RunState
from onward.tasks.references import used_by


def overrides_for(state: RunState, paths: Iterable[str], by: str) -> list[Override]:
    """One override for each node to be done again. Raises `UsageError` for a path that the workflow does not have."""
    wanted = list(dict.fromkeys(paths))
    if not wanted:
        return []
    for path in wanted:
        _check(state, path)
    events = [Override(path=path, action="rerun", by=by, reason="--rerun") for path in wanted]
    again = set(wanted)
    for path, cause in _dependents(state, again):
        events.append(Override(path=path, action="rerun", by=by, reason=f"it used the result of `{cause}`"))
    return events


def _dependents(state: RunState, again: set[str]) -> Iterable[tuple[str, str]]:
    """Paths and what they depend on, until nothing is added any more; `again` grows with them."""
    found = True
    while found:
        found = False
        for instance in list(state.instances.values()):
            if not instance.ended or instance.role is Role.SECTION or _covered(instance.path, again):
                continue
            cause = _cause(state, instance, again)
            if cause is not None:
                again.add(instance.path)
                found = True
                yield instance.path, cause


def _cause(state: RunState, user: Instance, again: set[str]) -> str | None:
    for used in used_by(user):
        if used.ref.root is not Root.NODE:
            continue
        target = target_of(state, climb(user, used.level), used.ref)
        if target is None or _is_around(target.path, user.path):
            continue
        if _covered(target.path, again) or any(_is_around(target.path, path) for path in again):
            return target.path
    return None


def _covered(path: str, again: set[str]) -> bool:
    """Whether a node is done again, itself or with one around it."""
    return any(path == other or _is_around(other, path) for other in again)


def _is_around(outer: str, inner: str) -> bool:
    return inner.startswith((f"{outer}/", f"{outer}["))


def _check(state: RunState, path: str) -> None:
    if path in state.index or state.get(path) is not None:
        return
    close = get_close_matches(path, state.index, n=1)
    help = f"did you mean `{close[0]}`?" if close else "`onward show` lists the nodes"
    raise UsageError(f"the workflow has no node `{path}`", help=help)
