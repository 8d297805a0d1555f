"""Nodes that are done again → all that has to be done again with them (`format.md` 5.3).

A finished node that used the result of one that is done again is done again too, and so on. The merge and the
`finally` steps around them start over by themselves when work before them runs.
"""

from __future__ import annotations

from collections.abc import Iterable

from onward.model.values import Root
from onward.state.instance import Instance, Role
from onward.state.lookup import climb, target_of
from onward.state.run_state import RunState
from onward.tasks.references import used_by


def dependents(state: RunState, again: set[str]) -> Iterable[tuple[str, str]]:
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
