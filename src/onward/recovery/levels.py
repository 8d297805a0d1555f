"""Where a run was interrupted → which of the six recoveries of requirement 3 fits, and the word that SparQ has for it.

`TABLE` is the one place that says what leads where; the diagram in `docs/concepts/recovery.md` is made from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from onward.model.nodes import Kind
from onward.model.status import Outcome, Status
from onward.state.advance import stops
from onward.state.instance import Instance, Role, Stage
from onward.state.run_state import RunState


class Level(StrEnum):
    """What a resume has to do first."""

    RERUN = "rerun"
    """a task was interrupted: it is done again, or goes on where its kind can"""
    PARALLEL = "parallel"
    """a group or loop was under way: what is done is kept, the rest is dispatched"""
    MERGE = "merge"
    """the results of a group were being combined: on at the first open step"""
    CHECKPOINT = "checkpoint"
    """a question is open: it is shown again"""
    NEXT = "next"
    """a step had ended: the next one begins"""
    FAILED = "failed"
    """something failed: retry, skip or start fresh"""


class Point(StrEnum):
    """How far the phase had come that was open; the values are the `phaseStatus` of SparQ."""

    STARTING = "starting"
    AGENT_DISPATCHED = "agent_dispatched"
    PARALLEL_DISPATCHED = "parallel_dispatched"
    PARALLEL_COLLECTING = "parallel_collecting"
    MERGING = "merging"
    CHECKPOINT_PENDING = "checkpoint_pending"
    CHECKPOINT_APPROVED = "checkpoint_approved"
    COMPLETING = "completing"
    COMPLETED = "completed"
    FAILED = "failed"


class Row(Struct, frozen=True):
    """A point, how it is recognized, and the recovery."""

    point: Point
    found: str
    level: Level


TABLE: tuple[Row, ...] = (
    Row(Point.STARTING, "the phase has begun, and no task of it has", Level.RERUN),
    Row(Point.AGENT_DISPATCHED, "a task runs, or was interrupted", Level.RERUN),
    Row(Point.PARALLEL_DISPATCHED, "a group or loop has begun, and no member has ended", Level.PARALLEL),
    Row(Point.PARALLEL_COLLECTING, "some members of a group or loop have ended", Level.PARALLEL),
    Row(Point.MERGING, "a step that combines the results of a group has begun", Level.MERGE),
    Row(Point.CHECKPOINT_PENDING, "a question is open", Level.CHECKPOINT),
    Row(Point.CHECKPOINT_APPROVED, "a question was answered, and nothing has begun since", Level.NEXT),
    Row(Point.COMPLETING, "the tasks of the phase are done, its own end is not recorded", Level.NEXT),
    Row(Point.COMPLETED, "the phase has ended, the next one has not begun", Level.NEXT),
    Row(Point.FAILED, "a task failed and stopped the run", Level.FAILED),
)
LEVEL_OF: dict[Point, Level] = {row.point: row.level for row in TABLE}


class Standing(Struct, frozen=True, kw_only=True):
    """Where a run stands: the point, the node that says so, and the top-level node around it (`""`: none)."""

    point: Point
    path: str = ""
    phase: str = ""

    @property
    def level(self) -> Level:
        """The recovery."""
        return LEVEL_OF[self.point]


def standing(state: RunState) -> Standing:
    """Look at a state as the journal left it (nothing settled yet); what decides most comes first."""
    for find in (_failed, _merging, _parallel, _question, _task):
        found = find(state)
        if found is not None:
            point, instance = found
            return Standing(point=point, path=instance.path, phase=_phase(instance))
    return _between(state)


# --- what can be found ------------------------------------------------------------------------------------------

Found = tuple[Point, Instance] | None


def _failed(state: RunState) -> Found:
    """Only what nothing goes on beside: a failed member of a group that still ran is one of its open members."""
    if state.facts.end is not Status.FAILED and any(_is_open_leaf(one) for one in state.instances.values()):
        return None
    failed = [one for one in state.instances.values() if _has_failed(one)]
    leaves = [one for one in failed if one.is_leaf]
    if state.facts.end is not Status.FAILED and not leaves:
        return None
    return Point.FAILED, (leaves or failed or [state.root])[0]


def _merging(state: RunState) -> Found:
    for one in _unended(state):
        if one.role is not Role.SECTION and one.node is not None and one.node.merge:
            section = state.existing_section(one, "@merge")
            if section is not None and any(child.parent is section and _begun(child) for child in _all(state)):
                return Point.MERGING, one
    return None


def _parallel(state: RunState) -> Found:
    """The outermost group that is open; a group that only waits for an answer is a question."""
    groups = [one for one in _unended(state) if _is_group(one)]
    if groups:
        group = min(groups, key=lambda one: one.path.count("/"))
        members = [one for one in _all(state) if one.parent is group and one.role is not Role.SECTION]
        return _group(state, group, members)
    index = {node.name: step for step in state.plan.root.steps if len(step) > 1 for node in step}
    for one in _all(state):
        if one.parent is state.root and one.path in index and not one.ended and _begun(one):
            names = {node.name for node in index[one.path]}
            return _group(state, one, [member for member in _all(state) if member.path in names])
    return None


def _group(state: RunState, group: Instance, members: list[Instance]) -> Found:
    open_leaves = [one for one in _all(state) if _is_open_leaf(one) and _is_at_or_below(one, members)]
    if open_leaves and all(one.stage is Stage.GATE for one in open_leaves):
        return None
    ended = any(member.ended for member in members)
    return (Point.PARALLEL_COLLECTING if ended else Point.PARALLEL_DISPATCHED), group


def _question(state: RunState) -> Found:
    return next(((Point.CHECKPOINT_PENDING, state.ensure(path)) for path in state.gates), None)


def _task(state: RunState) -> Found:
    for one in _all(state):
        if _is_open_leaf(one):
            return Point.AGENT_DISPATCHED, one
    for one in _unended(state):
        if one.parent is state.root and not any(_begun(child) for child in _all(state) if child.parent is one):
            return Point.STARTING, one
    return None


def _between(state: RunState) -> Standing:
    """Nothing is under way: what ended last says how far it had come."""
    ended = [one for one in _all(state) if one.ended]
    last = max(ended, key=lambda one: one.ended_seq, default=None)
    if last is None:
        return Standing(point=Point.STARTING)
    open_phase = next((one for one in _unended(state) if one.parent is state.root), None)
    if last.node is not None and last.node.kind is Kind.APPROVE and last.role is Role.NODE:
        return Standing(point=Point.CHECKPOINT_APPROVED, path=last.path, phase=_phase(last))
    if open_phase is not None:
        return Standing(point=Point.COMPLETING, path=open_phase.path, phase=open_phase.path)
    return Standing(point=Point.COMPLETED, path=last.path, phase=_phase(last))


# --- how one stands ---------------------------------------------------------------------------------------------


def _all(state: RunState) -> Iterator[Instance]:
    return iter([one for one in state.instances.values() if one.path])


def _unended(state: RunState) -> list[Instance]:
    """Containers and loops that have begun and not ended."""
    return [
        one
        for one in _all(state)
        if not one.is_leaf and one.role is not Role.SECTION and not one.ended and _begun(one)
    ]


def _begun(instance: Instance) -> bool:
    """By what events said: in a state that moves, what comes next is reached at once and has not begun."""
    return instance.noted is not Stage.NEW


def _is_open_leaf(instance: Instance) -> bool:
    """Work that was begun and has not ended: running, interrupted, between two tries, being checked, or asking."""
    if not instance.is_leaf or instance.ended or not _begun(instance):
        return False
    return bool(instance.attempt) or instance.stage is Stage.GATE or instance.outcome is Outcome.INTERRUPTED


def _has_failed(instance: Instance) -> bool:
    if not instance.ended or instance.role is Role.SECTION or instance.parent is None:
        return False
    return instance.status is Status.FAILED and stops(instance)


def _is_group(instance: Instance) -> bool:
    node = instance.node
    if node is None:
        return False
    if instance.role is Role.LOOP:
        return node.loop is not None and not node.loop.counted and node.loop.limit != 1
    return node.kind is Kind.PARALLEL


def _is_at_or_below(instance: Instance, members: list[Instance]) -> bool:
    return any(instance is one or instance.path.startswith((f"{one.path}/", f"{one.path}[")) for one in members)


def _phase(instance: Instance) -> str:
    """The top-level node that an instance belongs to; `""` for the root's own sections."""
    top = instance
    while top.parent is not None and top.parent.path:
        top = top.parent
    return "" if top.role is Role.SECTION else top.path
