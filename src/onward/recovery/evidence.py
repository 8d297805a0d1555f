"""What is left of a journal that lost its head, and the folders of attempts → which tasks must have been done.

A step of a sequence begins when all steps before it have ended. So whatever has a trace (an event that can still be
read, the folder of an attempt) proves that everything before it was done, at every depth. What nothing proves is done
again: every task runs at least once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from onward.model.events import Event, NodeEnd, PhaseComplete
from onward.model.nodes import Kind, Node
from onward.model.status import Status

Steps = tuple[tuple[Node, ...], ...]


class Traces(Struct):
    """Paths that have a trace, and those whose end can still be read."""

    touched: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    """those of which an event can be read"""
    ended: set[str] = field(default_factory=set)

    def add(self, event: Event) -> None:
        """Take in an event."""
        path = getattr(event, "path", None) or getattr(event, "phase", None)
        if not isinstance(path, str) or not path:
            return
        self.touched.add(path)
        self.told.add(path)
        if isinstance(event, NodeEnd | PhaseComplete) and event.status is not Status.CANCELLED:
            self.ended.add(path)

    def at_or_below(self, path: str) -> bool:
        """Whether anything of this node has a trace."""
        return any(one == path or one.startswith((f"{path}/", f"{path}[")) for one in self.touched)


class Proven(Struct):
    """`done`: nodes that must have ended although their end cannot be read; `open`: containers that had begun."""

    done: list[Node] = field(default_factory=list)
    open: list[Node] = field(default_factory=list)


def prove(root: Node, traces: Traces) -> Proven:
    """Go through the plan in the order of the file."""
    found = Proven()
    _sequence(root.steps, traces, found, whole=traces.at_or_below("@finally"))
    return found


def _sequence(steps: Steps, traces: Traces, found: Proven, *, whole: bool) -> None:
    """`whole`: what comes behind the steps has a trace, so all of them have ended."""
    reached = [index for index, step in enumerate(steps) if any(traces.at_or_below(node.path) for node in step)]
    last = len(steps) if whole else max(reached, default=0)
    for index, step in enumerate(steps[: last + 1]):
        for node in step:
            if node.path in traces.ended:
                continue
            if index < last:
                found.done.append(node)
            elif traces.at_or_below(node.path):
                _open(node, traces, found)


def _open(node: Node, traces: Traces, found: Proven) -> None:
    """A node that had begun and may not have ended."""
    if node.kind.leaf or node.loop is not None:
        return
    found.open.append(node)
    if node.kind is Kind.PARALLEL:
        merging = any(traces.at_or_below(child.path) for step in node.merge for child in step)
        for member in node.members:
            if member.path in traces.ended:
                continue
            if merging:
                found.done.append(member)
            elif traces.at_or_below(member.path):
                _open(member, traces, found)
        if merging:
            _sequence(node.merge, traces, found, whole=False)
        return
    behind = any(traces.at_or_below(child.path) for step in node.finally_steps for child in step)
    _sequence(node.steps, traces, found, whole=behind)


def leaves_of(nodes: Iterable[Node]) -> Iterator[tuple[Node, bool]]:
    """The tasks below, and whether each stands for itself: False for a loop, whose items nobody knows any more."""
    for node in nodes:
        if node.loop is not None:
            yield node, False
        elif node.kind.leaf:
            yield node, True
        else:
            inner = [child for step in (*node.steps, node.members, *node.merge, *node.finally_steps) for child in step]
            yield from leaves_of(inner)
