"""How far a run has come: its leaves, those that need no more work, and the first step that is not done.

A loop counts its items once they are known (a `while` or `until` loop its rounds so far), else 1. A failure that
`on-failure: continue` passed over is done; one that a resume would try again is not. `on-failure` steps count once
they are reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from onward.model.nodes import Kind, Node
from onward.model.status import Status
from onward.state.advance import stops
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState

Steps = Iterable[Sequence[Node]]


class Counts(Struct, frozen=True):
    """Leaves in all, and those that are done."""

    total: int = 0
    done: int = 0

    @property
    def percent(self) -> int:
        """0 to 100; 100 only when all is done."""
        return 100 if self.done >= self.total else self.done * 100 // self.total

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.total + other.total, self.done + other.done)


def leaf_counts(state: RunState) -> Counts:
    """The leaves of the whole run."""
    counts = _Counting(state).body(state.plan.root, state.root, "")
    return Counts(counts.total, counts.total) if state.facts.end is Status.SUCCEEDED else counts


def counts_below(state: RunState, instance: Instance) -> Counts:
    """The leaves at and below one instance."""
    if instance.node is None:
        return Counts(1, int(is_done(instance)))
    counting = _Counting(state)
    if instance.role is Role.LOOP:
        return counting.loop(instance.node, instance, instance.path)
    return counting.body(instance.node, instance, instance.path)


def iteration_keys(state: RunState, loop: Instance) -> list[str] | None:
    """The keys of a loop's iterations in order (rounds so far, for `while` and `until`); None: not known yet."""
    if loop.items is not None:
        return [key for key, _ in loop.items]
    if loop.node is None or loop.node.loop is None or not loop.node.loop.counted:
        return None
    keys: list[str] = []
    while state.get(f"{loop.path}[{len(keys) + 1}]") is not None:
        keys.append(str(len(keys) + 1))
    return keys or None


def is_done(instance: Instance) -> bool:
    """Whether nothing more is to be done about it."""
    if not instance.ended:
        return False
    return instance.status.passed or (instance.status is Status.FAILED and not stops(instance))


def step_index(state: RunState) -> int:
    """The first top-level step (from 0) of which not every task is done; the number of steps when all are."""
    steps = state.plan.root.steps
    for index, step in enumerate(steps):
        found = [state.get(node.name) for node in step]
        if not all(instance is not None and is_done(instance) for instance in found):
            return index
    return len(steps)


class _Counting:
    def __init__(self, state: RunState) -> None:
        self._state = state
        self._unreached: dict[str, int] = {}

    def node(self, node: Node, path: str) -> Counts:
        """A node by its path, whether it was reached or not."""
        instance = self._state.get(path)
        if instance is None:
            return Counts(self._leaves(node))
        return self.loop(node, instance, path) if instance.role is Role.LOOP else self.body(node, instance, path)

    def loop(self, node: Node, loop: Instance, path: str) -> Counts:
        """All iterations, and what belongs to the loop as a whole."""
        keys = iteration_keys(self._state, loop)
        if keys is None:
            return Counts(1, int(is_done(loop)))
        total = done = 0
        for key in keys:
            child = self._state.get(f"{path}[{key}]")
            counts = Counts(self._leaves_once(node)) if child is None else self.body(node, child, child.path)
            total, done = total + counts.total, done + counts.done
        return self._closed(loop, Counts(total, done) + self._sections(node, path, ("@merge", "@finally")))

    def body(self, node: Node, instance: Instance, path: str) -> Counts:
        """One pass of a node: itself if it is a leaf, else what is below."""
        whole = instance.role is not Role.ITERATION
        if node.kind.leaf:
            own = Counts(1, int(is_done(instance)))
            return own + self._sections(node, path, ("@on-failure", "@finally") if whole else ("@on-failure",))
        found = self._steps(node.steps, path) + self._steps((node.members,), path)
        sections = ("@merge", "@on-failure", "@finally") if whole else ("@on-failure",)
        return self._closed(instance, found + self._sections(node, path, sections))

    def _closed(self, instance: Instance, counts: Counts) -> Counts:
        return Counts(counts.total, counts.total) if instance.ended and instance.status.passed else counts

    def _steps(self, steps: Steps, path: str) -> Counts:
        total = done = 0
        for step in steps:
            for child in step:
                counts = self.node(child, f"{path}/{child.name}" if path else child.name)
                total, done = total + counts.total, done + counts.done
        return Counts(total, done)

    def _sections(self, node: Node, path: str, names: tuple[str, ...]) -> Counts:
        counts = Counts()
        for name, steps in (
            ("@merge", node.merge),
            ("@on-failure", node.on_failure_steps),
            ("@finally", node.finally_steps),
        ):
            below = f"{path}/{name}" if path else name
            if steps and name in names and (name != "@on-failure" or self._state.get(below) is not None):
                counts += self._steps(steps, below)
        return counts

    def _leaves(self, node: Node) -> int:
        """Leaves of a node that was not reached."""
        return 1 if node.loop is not None else self._leaves_once(node)

    def _leaves_once(self, node: Node) -> int:
        known = self._unreached.get(node.path)
        if known is None:
            below = [child for step in (*node.steps, node.members) for child in step]
            if node.loop is None:
                below += [child for step in (*node.merge, *node.finally_steps) for child in step]
            own = int(node.kind in (Kind.PROMPT, Kind.RUN, Kind.CALL, Kind.APPROVE))
            known = self._unreached[node.path] = own + sum(self._leaves(child) for child in below)
        return known
