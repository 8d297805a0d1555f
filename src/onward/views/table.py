"""A status view → lines of text: the head, a compact tree of nodes, questions, findings, what to do next.

A tree shows every top-level node; below a node that is not done its members, as far as there is room. Lines carry the
name of a style beside their text, so that who prints them decides about colours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from onward import clock
from onward.model.status import RunStatus, Status
from onward.views import words
from onward.views.nodes import NodeView
from onward.views.status import StatusView

MOST_BELOW = 12
"""rows below one node"""
MOST_TOP = 60
"""top-level rows; in a longer list neighbours that are done, or not begun, are counted together"""
FEW = 3


class Line(Struct, frozen=True):
    """A line of text and how it is to look: a status, `head`, `dim`, `warning`, `command` or nothing."""

    text: str
    style: str = ""


def status_lines(view: StatusView, *, now: float, marks: dict[str, str] = words.MARKS) -> Iterator[Line]:
    """The whole status, as `onward status` shows it."""
    yield from _head(view, now)
    yield Line("")
    yield from tree_lines(view.nodes, marks)
    yield from _questions(view)
    yield from _findings(view)
    if view.next is not None and not view.gates:
        yield Line("")
        yield Line(f"next: {view.next}", "command")


def _head(view: StatusView, now: float) -> Iterator[Line]:
    title = words.one_line(view.title, 100)
    yield Line(view.run + (f"  {title}" if title and title != view.workflow else ""), "head")
    reason = f": {words.one_line(view.reason)}" if view.reason else ""
    yield Line(words.RUN_WORDS.get(view.status, view.status) + reason, view.status)
    yield Line(", ".join(_facts(view, now)), "dim")
    if view.driver is not None:
        since = f" since {words.moment(clock.from_iso(view.driver.since))}" if view.driver.since else ""
        by = f"process {view.driver.pid} on" if view.driver.pid else f"{view.engine.capitalize()} at"
        yield Line(f"driven by {by} {words.one_line(view.driver.host)}{since}", "dim")


def _facts(view: StatusView, now: float) -> Iterator[str]:
    progress = view.progress
    yield f"{progress.done:,} of {words.amount(progress.total, 'task')} done ({progress.percent}%)"
    if view.step.index < view.step.of:
        yield f"step {view.step.index + 1} of {view.step.of}"
    if view.started_at is not None:
        started = clock.from_iso(view.started_at)
        yield f"started {words.moment(started)} ({words.age(now - started.timestamp())})"
    if view.ended_at is not None:
        yield f"ended {words.age(now - clock.from_iso(view.ended_at).timestamp())}"
    if view.resumed_count:
        yield f"resumed {words.amount(view.resumed_count, 'time')}"


# ---------------------------------------------------------------- the tree


def tree_lines(nodes: Sequence[NodeView], marks: dict[str, str], *, whole: bool = False) -> Iterator[Line]:
    """Every top-level node, and what is open below; all that is below with `whole`."""
    below = _by_parent(nodes)
    top = below.get("", [])
    if whole or len(top) <= MOST_TOP:
        for node in top:
            yield from _branch(node, below, marks, 1, whole)
        return
    for status, group in groupby(top, key=_gathered):
        same = list(group)
        if status is None or len(same) <= FEW:
            for node in same:
                yield from _branch(node, below, marks, 1, whole)
        else:
            noun = words.amount(len(same), "node")
            yield Line(f"  {marks.get(status, '?')} {noun} {words.status_word(status)}", status)


def _gathered(node: NodeView) -> str | None:
    """The status that nodes are counted under where there are too many to show each."""
    if node.status in (Status.SUCCEEDED, Status.SKIPPED):
        return Status.SUCCEEDED.value
    return node.status if node.status in (Status.PENDING, Status.CANCELLED) else None


def _by_parent(nodes: Sequence[NodeView]) -> dict[str, list[NodeView]]:
    known = {node.path for node in nodes}
    found: dict[str, list[NodeView]] = {}
    for node in nodes:
        found.setdefault(_parent(node.path, known), []).append(node)
    return found


def _parent(path: str, known: set[str]) -> str:
    """The nearest listed node above: keys of iterations may hold a slash, sections are not listed."""
    cut = len(path)
    while (cut := max(path.rfind("/", 0, cut), path.rfind("[", 0, cut))) > 0:
        if path[:cut] in known:
            return path[:cut]
    return ""


def _branch(
    node: NodeView, below: dict[str, list[NodeView]], marks: dict[str, str], depth: int, whole: bool
) -> Iterator[Line]:
    children = below.get(node.path, [])
    yield Line(f"{'  ' * depth}{marks.get(node.status, '?')} {_row(node, children)}", node.status)
    if not whole and node.status in (Status.SUCCEEDED, Status.SKIPPED, Status.PENDING):
        return
    most = len(children) if whole else MOST_BELOW
    shown = {one.path for one in sorted(children, key=_urgency)[:most]}
    for child in children:
        if child.path in shown:
            yield from _branch(child, below, marks, depth + 1, whole)
    if len(children) > most:
        yield Line(f"{'  ' * (depth + 1)}  and {len(children) - MOST_BELOW:,} more", "dim")


_URGENT = [RunStatus.INTERRUPTED, Status.FAILED, Status.WAITING, Status.RUNNING, Status.CANCELLED, Status.PENDING]


def _urgency(node: NodeView) -> int:
    return next((n for n, status in enumerate(_URGENT) if node.status == status), len(_URGENT))


def _row(node: NodeView, children: Sequence[NodeView]) -> str:
    name = words.one_line(label(node.path), 60)
    title = words.one_line(node.title, 60)
    facts = ", ".join(_row_facts(node, children))
    return "  ".join(part for part in (name, title, facts) if part)


def _row_facts(node: NodeView, children: Sequence[NodeView]) -> Iterator[str]:
    if children:
        done = sum(child.status in (Status.SUCCEEDED, Status.SKIPPED) for child in children)
        yield f"{done:,} of {len(children):,}"
    if node.status not in (Status.PENDING, Status.SUCCEEDED):
        reason = words.why(node.reason, node.exit, node.signal) if node.status != Status.RUNNING else ""
        yield words.status_word(node.status) + (f": {words.shortened(reason, 100)}" if reason else "")
    if node.attempts > 1:
        yield f"attempt {node.attempts}"
    if node.duration_s is not None and node.status in (Status.RUNNING, Status.SUCCEEDED, Status.FAILED):
        yield words.duration(node.duration_s)
    if node.edited:
        yield "edited since"
    if node.stale:
        yield "used an older result"


def label(path: str) -> str:
    """The last part of a path; an iteration by its key alone."""
    if path.endswith("]") and "[" in path:
        start = path.rfind("[")
        return path[start:]
    return path.rpartition("/")[2] if "[" not in path else path[path.rfind("]") + 1 :].lstrip("/") or path


# ---------------------------------------------------------------- what follows the tree


def _questions(view: StatusView) -> Iterator[Line]:
    for gate in view.gates:
        yield Line("")
        yield Line(f"question at {words.one_line(gate.path)}:", Status.WAITING)
        for line in words.block(gate.question).split("\n"):
            yield Line(f"  {line}")
        yield Line(f"  choices: {', '.join(words.one_line(choice) for choice in gate.choices)}", "dim")
        if gate.expires_at is not None:
            yield Line(f"  until {words.moment(clock.from_iso(gate.expires_at))}", "dim")
    if view.gates and view.next is not None:
        yield Line(f"answer: {view.next}", "command")


def _findings(view: StatusView) -> Iterator[Line]:
    for finding in view.findings:
        where = f"{words.one_line(finding.path)}: " if finding.path else ""
        severity = "note" if finding.severity == "note" else "warning"
        yield Line(f"{severity}: {where}{words.one_line(finding.text)}", "warning" if severity == "warning" else "dim")
        for choice in finding.choices:
            yield Line(f"  {choice.text}: {choice.command}", "command")
