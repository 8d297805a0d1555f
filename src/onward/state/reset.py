"""What is set back, and when: failures at a resume, sections when work before them runs again, reruns by hand.

Attempt numbers are never set back, so the folder of an attempt is never used twice.
"""

from __future__ import annotations

from onward.model.status import Status
from onward.model.values import Value
from onward.state.advance import stops
from onward.state.instance import NO_OUTPUTS, Asked, Instance, Role, Stage
from onward.state.places import release
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
    _reopen_around(state, instance)


def refresh(state: RunState, loop: Instance) -> None:
    """By hand, or by `refresh: true`: the items are read once more. Iterations that have ended stay as they are."""
    if loop.ended:
        reset(state, loop)
        restart_sections(state, loop)
        _reopen_around(state, loop)
    loop.asked |= Asked.REFRESH


def take_items(state: RunState, loop: Instance, items: list[tuple[str, Value | None]]) -> None:
    """The items were read. At a refresh, what has passed stays, and what is gone from the source is dropped.

    An iteration that is gone and at work just now stays too: it is not ended in the middle.
    """
    before, fresh = loop.items, {key for key, _ in items}
    if loop.asked & Asked.REFRESH and before is not None:
        kept = []
        for key, value in before:
            if key in fresh:
                continue
            child = state.get(f"{loop.path}[{key}]")
            if child is not None and (child.status.passed or _works_below(state, child)):
                kept.append((key, value))
            else:
                _drop(state, f"{loop.path}[{key}]")
        items = kept + items
        loop.cursor = 0
    loop.asked &= ~Asked.REFRESH
    loop.items = items


def _works_below(state: RunState, instance: Instance) -> bool:
    return any(
        other.stage is Stage.RUNNING and other.is_leaf
        for other in state.instances.values()
        if other is instance or _is_below(other.path, instance.path)
    )


def _drop(state: RunState, path: str) -> None:
    """Forget an iteration; its record stays in the journal."""
    for other in [one for one in state.instances.values() if one.path == path or _is_below(one.path, path)]:
        release(state, other)
        other.stage = Stage.NEW  # whoever waits for a place with it is passed over
        if other.ended and other.is_leaf:
            state.done_leaves -= 1
        if other.parent is not None and other.parent.open is not None:
            other.parent.open.pop(other, None)
        for register in (state.gates, state.frontier, state.instances):
            register.pop(other.path, None)


def _reopen_around(state: RunState, instance: Instance) -> None:
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
