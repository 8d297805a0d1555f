"""The record of a node beside today's plan and beside the results that it used: edited, stale."""

from __future__ import annotations

from onward.state.instance import Instance
from onward.state.lookup import climb, target_of
from onward.state.run_state import RunState
from onward.tasks.references import used_by


def is_edited(instance: Instance) -> bool:
    """Whether a node has ended under another definition than the run has now."""
    node = instance.node
    return bool(instance.ended and node is not None and instance.digest and instance.digest != node.digest)


def stale_paths(state: RunState) -> frozenset[str]:
    """Ended nodes that used the result of a node that ended again after them; only a rerun can bring that about."""
    if not any(instance.generation for instance in state.instances.values()):
        return frozenset()
    found = set()
    for instance in state.instances.values():
        if instance.ended and instance.is_leaf:
            for used in used_by(instance):
                target = target_of(state, climb(instance, used.level), used.ref)
                if target is not None and target.ended and target.ended_seq > instance.ended_seq:
                    found.add(instance.path)
    return frozenset(found)
