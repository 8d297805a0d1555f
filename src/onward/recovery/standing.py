"""The record of a node beside today's plan and beside the results that it used: edited, stale."""

from __future__ import annotations

from collections.abc import Mapping

from onward.model.values import Root
from onward.state.instance import Instance
from onward.state.lookup import climb, target_of
from onward.state.run_state import RunState
from onward.tasks.references import used_by


def is_edited(instance: Instance) -> bool:
    """Whether a node has ended under another definition than the run has now."""
    node = instance.node
    return bool(instance.ended and node is not None and instance.digest and instance.digest != node.digest)


def stale_paths(state: RunState, given: Mapping[str, str] | None = None) -> frozenset[str]:
    """Ended nodes that used the value of a variable, or the result of a node, that is another one by now.

    `given` are variables that are about to get a value.
    """
    changed = dict(state.facts.variables_changed)
    known = state.facts.variables
    changed.update(
        {name: state.facts.seq + 1 for name, value in (given or {}).items() if known.get(name, value) != value}
    )
    if not changed and not any(instance.generation for instance in state.instances.values()):
        return frozenset()
    return frozenset(
        instance.path
        for instance in state.instances.values()
        if instance.ended and instance.is_leaf and _is_stale(state, instance, changed)
    )


def _is_stale(state: RunState, user: Instance, changed: Mapping[str, int]) -> bool:
    for used in used_by(user):
        place = climb(user, used.level)
        if used.ref.root is Root.VARIABLE and state.scope(place) is state.root:
            if changed.get(used.ref.name, 0) > user.ended_seq:
                return True
        else:
            target = target_of(state, place, used.ref)
            if target is not None and target.ended and target.ended_seq > user.ended_seq:
                return True
    return False
