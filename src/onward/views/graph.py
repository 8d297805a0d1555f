"""A plan, or a run of it → nested boxes, which others draw: rows that follow each other, boxes side by side in a row.

The graph is that of the file: a loop is one box, and in a run the boxes inside it count their iterations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, count

from msgspec import Struct

from onward.model.nodes import Kind, Loop, Node, Plan
from onward.model.status import RunStatus, Status
from onward.model.values import Data, Template
from onward.state.instance import Role
from onward.state.run_state import RunState
from onward.views import words
from onward.views.nodes import Around, node_status

LONGEST_LABEL = 60

_URGENT = (
    RunStatus.INTERRUPTED, Status.FAILED, Status.WAITING, Status.RUNNING, Status.CANCELLED, Status.PENDING,
    Status.SUCCEEDED, Status.SKIPPED,
)  # fmt: skip


class Box(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node. `detail` says what it is, `status` how it stands (of a file: nothing).

    `rows` are its steps, `members` tells that they are those of a `parallel`, whose rows only hold what others need.
    `needs` leads from boxes to boxes among these; `sections` are `merge`, `on failure` and `finally`.
    """

    id: str
    path: str
    label: str
    detail: str
    status: str | None = None
    rows: tuple[tuple[Box, ...], ...] = ()
    members: bool = False
    needs: tuple[tuple[str, str], ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def leaf(self) -> bool:
        """Whether there is nothing in it."""
        return not self.rows and not self.sections


class Section(Struct, frozen=True, kw_only=True):
    """Steps of a box that come after its body; `id` is that of the section as a whole."""

    id: str
    name: str
    rows: tuple[tuple[Box, ...], ...]


class Graph(Struct, frozen=True, kw_only=True):
    """The whole. `status` is that of the run, None of a file."""

    name: str
    title: str
    status: str | None
    root: Box


Stands = Callable[[Node], tuple[str | None, str]]
"""node -> its status, and words about its iterations"""


def graph_of_plan(plan: Plan) -> Graph:
    """What a workflow file would do."""
    root = _Maker(lambda _: (None, "")).root(plan)
    return Graph(name=plan.name, title=_words(words.plain(plan.title)), status=None, root=root)


def graph_of_run(plan: Plan, state: RunState, around: Around, *, title: str, status: str) -> Graph:
    """How far a run has come."""
    found = _statuses(state, around)
    root = _Maker(lambda node: found.get(node.path, (Status.PENDING.value, ""))).root(plan)
    return Graph(name=state.facts.name or plan.name, title=_words(title), status=status, root=root)


def _statuses(state: RunState, around: Around) -> dict[str, tuple[str, str]]:
    """Static path -> the status that is most urgent among its instances, and how many of several are done."""
    found: dict[str, list[str]] = {}
    iterations: dict[str, list[str]] = {}
    for instance in state.instances.values():
        if instance.node is not None and instance.path and instance.role is not Role.SECTION:
            into = iterations if instance.role is Role.ITERATION else found
            into.setdefault(instance.node.path, []).append(node_status(state, around, instance))
    return {path: (_urgent(statuses), _done(iterations.get(path, statuses))) for path, statuses in found.items()}


def _urgent(statuses: list[str]) -> str:
    return next((str(one) for one in _URGENT if one in statuses), statuses[0])


def _done(statuses: list[str]) -> str:
    if len(statuses) == 1:
        return ""
    done = sum(status in (Status.SUCCEEDED, Status.SKIPPED) for status in statuses)
    return f"{done:,} of {len(statuses):,}"


class _Maker:
    def __init__(self, stands: Stands) -> None:
        self._stands = stands
        self._numbers = count()

    def root(self, plan: Plan) -> Box:
        node = plan.root
        number = self._id()
        rows = self._rows(node.steps)
        return Box(id=number, path="", label=plan.name, detail="workflow", rows=rows, sections=self._sections(node))

    def _id(self) -> str:
        return f"n{next(self._numbers)}"

    def _rows(self, steps: Iterable[Iterable[Node]]) -> tuple[tuple[Box, ...], ...]:
        return tuple(tuple(self._box(node) for node in step) for step in steps)

    def _box(self, node: Node) -> Box:
        number = self._id()
        status, counted = self._stands(node)
        steps = _levels(node.members) if node.members else node.steps
        rows = self._rows(steps)
        pairs = zip(chain.from_iterable(steps), chain.from_iterable(rows), strict=True)
        ids = {each.name: box.id for each, box in pairs}
        needs = [(ids[other], ids[member.name]) for member in node.members for other in member.needs if other in ids]
        return Box(
            id=number,
            path=node.path,
            label=_words(node.name),
            detail=", ".join(part for part in (_kind(node), counted) if part),
            status=status,
            rows=rows,
            members=bool(node.members),
            needs=tuple(needs),
            sections=self._sections(node),
        )

    def _sections(self, node: Node) -> tuple[Section, ...]:
        lists = (("merge", node.merge), ("on failure", node.on_failure_steps), ("finally", node.finally_steps))
        return tuple(Section(id=self._id(), name=name, rows=self._rows(steps)) for name, steps in lists if steps)


def _levels(members: tuple[Node, ...]) -> tuple[tuple[Node, ...], ...]:
    """Members of a `parallel` in rows: each below all that it needs."""
    names = {member.name for member in members}
    placed: set[str] = set()
    rows: list[tuple[Node, ...]] = []
    while len(placed) < len(names):
        row = tuple(m for m in members if m.name not in placed and placed.issuperset(names.intersection(m.needs)))
        if not row:  # a plan has no circles, but a stored one might be from anywhere
            row = tuple(m for m in members if m.name not in placed)
        rows.append(row)
        placed.update(member.name for member in row)
    return tuple(rows)


# ---------------------------------------------------------------- words


def _kind(node: Node) -> str:
    kind = "sequence" if node.kind is Kind.TASK else node.kind.value
    parts = [kind, f"include of {_words(node.included.file)}" if node.included is not None else ""]
    if node.kind is Kind.INCLUDE:
        parts.pop(0)
    if node.loop is not None:
        parts.append(_loop(node.loop))
    if node.skip_if:
        parts.append("may be skipped")
    return ", ".join(part for part in parts if part)


def _loop(loop: Loop) -> str:
    if loop.counted:
        return f"{'until' if loop.until else 'while'} …, at most {loop.max:,} rounds"
    return f"for each {_words(loop.item)}{_items(loop)}" + (f", {loop.limit:,} at once" if loop.limit > 1 else "")


def _items(loop: Loop) -> str:
    if loop.glob is not None:
        return f" of {_words(words.plain(loop.glob.pattern))}"
    if isinstance(loop.items, Data):
        if isinstance(loop.items.value, list):
            return f" of {words.amount(len(loop.items.value), 'item')}"
        if loop.items.holes and isinstance(loop.items.holes[0].template, Template):
            return f" of {_words(words.plain(loop.items.holes[0].template))}"
    return ""


def _words(text: str) -> str:
    return words.one_line(text, LONGEST_LABEL)
