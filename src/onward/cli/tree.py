"""What goes on in a run → the rows of the live tree: running tasks below their containers, questions, the bar.

Kept up to date event by event; rows are made for a bounded number of tasks only.
"""

from __future__ import annotations

from msgspec import Struct

from onward import clock
from onward.model import events as ev
from onward.model.nodes import Kind
from onward.model.status import Status
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState
from onward.views import words
from onward.views.progress import Counts, leaf_counts
from onward.views.table import label
from onward.views.titles import node_title

RECOUNT_SHARE = 50
"""counting all leaves takes at most one part in so many of the time"""


class Row(Struct, frozen=True):
    """One row. `since` (seconds since the epoch) shows how long it takes; `bar` makes it the last row."""

    depth: int
    status: str
    text: str
    since: float | None = None
    bar: Counts | None = None


class Tree:
    """The tree of one run."""

    def __init__(self, state: RunState) -> None:
        self._state = state
        self._running: dict[str, float] = {}
        self._delayed: dict[str, float] = {}
        self._ended: dict[str, int] = {}
        self._counts = Counts()
        self._recount_after = 0.0
        self._uncertain = True
        self._look_at_all()

    @property
    def is_busy(self) -> bool:
        """Whether a task runs, so that the picture moves."""
        return bool(self._running)

    # ------------------------------------------------------------ events

    def take(self, state: RunState, event: ev.Event) -> None:
        """Take in one event; the state has it already."""
        self._state = state
        match event:
            case ev.AttemptStart(path=path):
                self._running[path] = event.at.timestamp()
                self._delayed.pop(path, None)
            case ev.AttemptEnd(path=path):
                self._running.pop(path, None)
            case ev.RetryWait(path=path):
                self._delayed[path] = event.until.timestamp()
            case ev.NodeEnd(path=path):
                self._end(path)
            case ev.Override() | ev.WorkflowResume():
                self._look_at_all()
            case ev.LoopItems() | ev.LoopDelay() | ev.NodeStart():
                self._uncertain = True

    def _end(self, path: str) -> None:
        self._running.pop(path, None)
        self._delayed.pop(path, None)
        instance = self._state.get(path)
        if instance is None:
            return
        if instance.parent is not None:
            above = instance.parent.path
            self._ended[above] = self._ended.get(above, 0) + 1
        if instance.is_leaf and instance.status.passed:
            self._counts = Counts(self._counts.total, min(self._counts.total, self._counts.done + 1))
        else:
            self._uncertain = True

    def _look_at_all(self) -> None:
        """Start over from the state: at the beginning, and when records were set aside."""
        self._running = {one.path: self._now() for one in self._state.running_leaves()}
        self._ended = {}
        for instance in self._state.instances.values():
            if instance.ended and instance.parent is not None:
                above = instance.parent.path
                self._ended[above] = self._ended.get(above, 0) + 1
        self._uncertain = True

    # ------------------------------------------------------------ rows

    def rows(self, most: int) -> tuple[Row, ...]:
        """The rows of this moment, at most so many."""
        active = self._active(most)
        rows: list[Row] = []
        shown: set[str] = set()
        left_out = len(self._running) + len(self._delayed) + len(self._state.gates)
        for instance in active:
            needed = [one for one in _ancestors(instance) if one.path not in shown]
            if len(rows) + len(needed) + 3 > most:
                break
            rows += [self._container_row(one) for one in needed]
            shown.update(one.path for one in needed)
            rows.append(self._leaf_row(instance))
            left_out -= 1
        if left_out > 0:
            rows.append(Row(1, "running", f"and {left_out:,} more"))
        return (*rows, self._bar())

    def _active(self, most: int) -> list[Instance]:
        """Leaves that run or wait, in the order of the tree, so that those of one container stand together."""
        paths = [*list(self._running)[:most], *list(self._delayed)[:most], *list(self._state.gates)[:most]]
        found = [one for path in dict.fromkeys(paths) if (one := self._state.get(path)) is not None]
        return sorted(found, key=_place)

    def _leaf_row(self, instance: Instance) -> Row:
        path, facts = instance.path, []
        if instance.attempt > 1:
            facts.append(f"attempt {instance.attempt}")
        status = Status.RUNNING if path in self._running else Status.WAITING
        if path in self._state.gates:
            facts.append("a question for you")
        elif path in self._delayed:
            facts.append(f"again at {words.moment(words.at_time(self._delayed[path]))}")
        return Row(_depth(instance), status.value, self._text(instance, facts), self._running.get(path))

    def _container_row(self, instance: Instance) -> Row:
        total = _members(instance)
        ended = self._ended.get(instance.path, 0)
        counts = f"{ended:,} of {total:,}" if total else ""
        return Row(_depth(instance), Status.RUNNING.value, self._text(instance, [counts] if counts else []))

    def _text(self, instance: Instance, facts: list[str]) -> str:
        node = instance.node
        title = node_title(self._state, node, instance) if node is not None else ""
        parts = [words.one_line(label(instance.path), 60), words.one_line(title, 60), ", ".join(facts)]
        return "  ".join(part for part in parts if part)

    def _bar(self) -> Row:
        now = clock.monotonic()
        if self._uncertain and now >= self._recount_after:
            self._counts = leaf_counts(self._state)
            self._uncertain = False
            done = clock.monotonic()
            self._recount_after = done + RECOUNT_SHARE * (done - now)
        return Row(0, "", "", self._state.facts.started_at or None, self._counts)

    def _now(self) -> float:
        return clock.now().timestamp()


def _ancestors(instance: Instance) -> list[Instance]:
    """The containers around a leaf, outermost first; sections and the root have no row."""
    found: list[Instance] = []
    place = instance.parent
    while place is not None and place.path:
        if place.role is not Role.SECTION:
            found.append(place)
        place = place.parent
    return found[::-1]


def _depth(instance: Instance) -> int:
    return len(_ancestors(instance))


def _place(instance: Instance) -> tuple[str, ...]:
    return tuple(one.path for one in [*_ancestors(instance), instance])


def _members(instance: Instance) -> int:
    """How many members, iterations or tasks a container has, as far as that is known."""
    node = instance.node
    if node is None:
        return 0
    if instance.role is Role.LOOP:
        return len(instance.items) if instance.items is not None else 0
    if node.kind is Kind.PARALLEL:
        return len(node.members)
    return sum(len(step) for step in node.steps)
