"""What is set back, and when: failures at a resume, sections when work before them runs again, reruns by hand.

Attempt numbers are never set back, so the folder of an attempt is never used twice.
"""

from __future__ import annotations

from onward.model.status import Status
from onward.state.advance import stops
from onward.state.instance import NO_OUTPUTS, Asked, Instance, Role, Stage
from onward.state.run_state import SECTIONS, RunState


def reset(state: RunState, instance: Instance) -> None:
    """As if never reached; what is known of its children stays with them."""
    if instance.ended and instance.is_leaf:
        state.done_leaves -= 1
    state.gates.pop(instance.path, None)
    state.frontier.pop(instance.path, None)
    instance.stage = instance.noted = Stage.NEW
    instance.status = Status.PENDING
    instance.asked &= Asked.SKIP_IF | Asked.UNTIL_FALSE | Asked.UNTIL_TRUE | Asked.WHILE | Asked.DELAY
    instance.used = instance.cursor = 0
    instance.open = None
    instance.stopped = instance.ending = instance.result = instance.until = instance.outcome = None
    instance.reason = ""
    instance.ended_at = None
    instance.ended_seq = 0
    instance.outputs = NO_OUTPUTS
    instance.artifacts = ()
    for name in SECTIONS:
        section = state.existing_section(instance, name)
        if section is not None:
            section.stage, section.cursor, section.open, section.stopped = Stage.NEW, 0, None, None


def forget_failures(state: RunState, below: Instance | None = None) -> None:
    """At a resume: what failed or was cancelled gets another chance, with a fresh attempt budget.

    A failure that `on-failure: continue` passed over stays as it is, and so does all below a node that ended.
    """
    prefix = "" if below is None else below.path
    if below is None and state.root.ended:
        reset(state, state.root)
    for instance in list(state.instances.values()):
        if below is not None and (instance is below or not _is_below(instance.path, prefix)):
            continue
        around = _node_around(instance)
        if around is not None and around.stage is Stage.ENDED and around is not below:
            continue
        if _has_failed(instance):
            reset(state, instance)
            _reset_below(state, f"{instance.path}/@on-failure" if instance.path else "@on-failure")


def _node_around(instance: Instance) -> Instance | None:
    """The node that `instance` belongs to: a section has no end of its own, its owner has."""
    parent = instance.parent
    return parent.parent if parent is not None and parent.role is Role.SECTION else parent


def _has_failed(instance: Instance) -> bool:
    if instance.role is Role.SECTION:
        return False
    if instance.stage is Stage.ENDED:
        if instance.status is Status.CANCELLED:
            return True
        return instance.status is Status.FAILED and (instance.parent is None or stops(instance))
    return False


def restart_sections(state: RunState, instance: Instance) -> None:
    """Work runs: a `@merge` whose members run again starts over, and so does a `@finally` after which work ran."""
    child, owner = instance, instance.parent
    while owner is not None:
        node = owner.node
        if node is not None and owner.role is not Role.SECTION:
            section = child.path.rpartition("/")[2] if child.role is Role.SECTION else ""
            if node.merge and not section:
                _restart(state, owner, "@merge")
            if node.finally_steps and section != "@finally":
                _restart(state, owner, "@finally")
        child, owner = owner, owner.parent


def _restart(state: RunState, owner: Instance, name: str) -> None:
    section = state.existing_section(owner, name)
    if section is not None:
        _reset_below(state, section.path)


def rerun(state: RunState, instance: Instance) -> None:
    """By hand: the node and all below it is done again, under a new idempotency key; its ancestors are open again."""
    instance.generation += 1
    reset(state, instance)
    instance.items = None
    instance.asked = Asked.NONE
    for other in list(state.instances.values()):
        if _is_below(other.path, instance.path):
            other.generation += 1
            reset(state, other)
            other.items = None
            other.asked = Asked.NONE
    restart_sections(state, instance)
    ancestor = instance.parent
    while ancestor is not None:
        if ancestor.stage not in (Stage.NEW, Stage.RUNNING):
            reset(state, ancestor)
        ancestor = ancestor.parent


def _is_below(path: str, ancestor: str) -> bool:
    return path != ancestor and (not ancestor or path.startswith((f"{ancestor}/", f"{ancestor}[")))


def _reset_below(state: RunState, path: str) -> None:
    """A section and all below it."""
    for other in list(state.instances.values()):
        if other.path == path or _is_below(other.path, path):
            reset(state, other)
