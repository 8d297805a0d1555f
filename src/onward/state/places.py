"""Places of `limit`: a leaf takes one of every limit around it, and waits in the queue of the first that is full."""

from __future__ import annotations

from collections import deque

from onward.state.instance import Instance, Role, Stage
from onward.state.run_state import RunState


def admit(state: RunState, instance: Instance) -> None:
    """Into the frontier, if every limit has a place for it; else into the queue of the first that is full."""
    if instance.works and instance.ending is None and not instance.held and not _acquire(state, instance):
        return
    if not instance.issued:
        state.frontier[instance.path] = instance


def _scopes(state: RunState, instance: Instance) -> list[tuple[Instance, int]]:
    found = [(state.root, state.limit)]
    place = instance.parent
    while place is not None and place is not state.root:
        if place.node is not None and place.node.limit is not None and place.role is not Role.SECTION:
            found.append((place, place.node.limit))
        place = place.parent
    return found


def hold(state: RunState, instance: Instance) -> None:
    """A leaf that already runs (re-attached) holds its places whether or not they are free."""
    if instance.works and not instance.held:
        for scope, _ in _scopes(state, instance):
            scope.held += 1
        instance.held = 1


def _acquire(state: RunState, instance: Instance) -> bool:
    scopes = _scopes(state, instance)
    for scope, limit in scopes:
        if scope.held >= limit:
            if scope.queue is None:
                scope.queue = deque()
            scope.queue.append(instance)
            return False
    for scope, _ in scopes:
        scope.held += 1
    instance.held = 1
    return True


_MAY_WAIT = frozenset({Stage.REACHED, Stage.READY, Stage.RETRY, Stage.WORKED, Stage.VALID, Stage.SURE})
"""Stages in which a leaf may wait for a place; one whose work is done needs a place again after a resume."""


def release(state: RunState, instance: Instance) -> None:
    """Give the places of a leaf back, and let those in who wait for one."""
    if not instance.held or not instance.is_leaf:
        return
    instance.held = 0
    scopes = _scopes(state, instance)
    for scope, _ in scopes:
        scope.held -= 1
    for scope, limit in scopes:
        while scope.queue and scope.held < limit:
            candidate = scope.queue.popleft()
            if candidate.stage in _MAY_WAIT and not candidate.held:
                admit(state, candidate)
