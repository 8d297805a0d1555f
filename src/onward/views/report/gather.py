"""The folder of a run → what the page tells: the status, a record for every node that was reached, decisions, absences.

The journal is read once for all nodes; each record is made of the events of its own node and of the resumes between.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter

from msgspec import Struct

from onward.journal.reader import read
from onward.model import events as ev
from onward.model.events import AnyEvent
from onward.model.status import RunStatus
from onward.views.graph import Graph, graph_of_run
from onward.views.nodes import NodeView
from onward.views.record import NodeRecord, Result, node_record, result_view
from onward.views.report.absence import Absence, Why, absences
from onward.views.report.artifacts import Kept, kept_artifacts
from onward.views.report.decisions import Decision, decisions
from onward.views.source import Source
from onward.views.status import StatusView, status_view
from onward.views.titles import run_title


class Entry(Struct, frozen=True, kw_only=True):
    """A node: its row, and its record if it was reached. `number` names it on the page."""

    number: int
    view: NodeView
    record: NodeRecord | None
    leaf: bool
    parent: str | None

    @property
    def path(self) -> str:
        """Where it stands in the run."""
        return self.view.path


class Gathered(Struct, frozen=True, kw_only=True):
    """The whole. `now` and `last` (the last event) are seconds since the epoch; `at` follows the run id in commands."""

    source: Source
    status: StatusView
    entries: list[Entry]
    outputs: dict[str, Result]
    decisions: list[Decision]
    absences: list[Absence]
    artifacts: Kept
    graph: Graph
    now: float
    last: float
    at: str

    @property
    def counts(self) -> Counter[str]:
        """How many tasks have which status."""
        return Counter(entry.view.status for entry in self.entries if entry.leaf)

    @property
    def usage(self) -> dict[str, float]:
        """What agents used, all attempts together."""
        total: dict[str, float] = {}
        for entry in self.entries:
            for attempt in entry.record.attempts if entry.record is not None else ():
                for name, number in attempt.usage.items():
                    total[name] = total.get(name, 0) + number
        return total


def gather(source: Source, at: str = "") -> Gathered:
    """Everything about a run as it is now."""
    around = source.around(at)
    status = status_view(source.state, around)
    events = read(source.folder.journal, check_chain=False).all()
    graph = graph_of_run(source.plan, source.state, around, title=run_title(source.state), status=status.status)
    return Gathered(
        source=source,
        status=status,
        entries=_entries(source, status.nodes, events),
        outputs={name: result_view(source, value) for name, value in (source.state.root.outputs or {}).items()},
        decisions=decisions(events),
        absences=[*absences(events), *_since_the_end(source, status)],
        artifacts=kept_artifacts(source),
        graph=graph,
        now=around.now,
        last=source.state.facts.last_at or around.now,
        at=at,
    )


def _since_the_end(source: Source, status: StatusView) -> list[Absence]:
    """A run that nobody drives, though it has neither ended nor was paused."""
    last = source.state.facts.last_at
    why = {RunStatus.INTERRUPTED: Why.INTERRUPTED, RunStatus.WAITING: Why.WAITING}.get(RunStatus(status.status))
    return [Absence(why=why, start=last, end=None)] if why is not None and last and status.driver is None else []


def seconds(moment: str | None) -> float | None:
    """Seconds since the epoch of an ISO time."""
    return None if moment is None else dt.datetime.fromisoformat(moment).timestamp()


def _entries(source: Source, views: list[NodeView], events: list[AnyEvent]) -> list[Entry]:
    own = _by_node(events)
    known = {view.path for view in views}
    return [
        Entry(
            number=number,
            view=view,
            record=node_record(source, view.path, own.get(view.path, ())) if _reached(source, view.path) else None,
            leaf=_is_leaf(source, view.path),
            parent=_parent(view.path, known),
        )
        for number, view in enumerate(views, 1)
    ]


def _by_node(events: list[AnyEvent]) -> dict[str, list[AnyEvent]]:
    """The events of each node; a resume belongs to all that were begun before it."""
    found: dict[str, list[AnyEvent]] = {}
    for event in events:
        if isinstance(event, ev.WorkflowResume):
            for one in found.values():
                one.append(event)
        elif isinstance(path := getattr(event, "path", None), str):
            found.setdefault(path, []).append(event)
    return found


def _reached(source: Source, path: str) -> bool:
    return source.state.get(path) is not None


def _is_leaf(source: Source, path: str) -> bool:
    """Whether it does work itself; what the definition does not know (any more) is told like a task."""
    instance = source.state.get(path)
    if instance is not None:
        return instance.is_leaf or instance.node is None
    node = source.state.index.get(path)
    return node is None or (node.kind.leaf and node.loop is None)


def _parent(path: str, known: set[str]) -> str | None:
    """The nearest node above that is listed: keys of iterations may hold a slash, sections are not listed."""
    cut = len(path)
    while (cut := max(path.rfind("/", 0, cut), path.rfind("[", 0, cut))) > 0:
        if path[:cut] in known:
            return path[:cut]
    return None
