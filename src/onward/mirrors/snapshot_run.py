"""The state of a run → a snapshot of requirement 2 (`format.md` 8.4, `settled.md` 94). Pure, but for metrics.

Tasks are leaves by their paths. What is pending is in the order of the file, the current task included; a loop whose
items are not known yet is its own path. Everything is worked out from recorded facts, so it is the same whether a
driver asks or a reader.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import Struct

from onward import clock
from onward.mirrors.snapshot_file import WorkflowSnapshot
from onward.model.nodes import Node
from onward.model.status import Outcome, Status
from onward.state.advance import stops
from onward.state.instance import Instance, Stage
from onward.state.run_state import RunState

MetricsOf = Callable[[Instance], dict[str, Any]]
"""what a task that runs has measured so far"""


PAUSE = "pause"
"""why a snapshot is taken: everything is quiet, and the next event says that the run is paused"""


class Reflected(Struct, frozen=True, kw_only=True):
    """Which event a snapshot reflects, and why it was taken: pause-request, pause, failure, request, time, export."""

    seq: int
    chain: str
    cause: str


def snapshot_of(
    state: RunState,
    reflected: Reflected,
    *,
    metrics_of: MetricsOf,
    sums: dict[str, float],
    places: dict[str, str],
) -> WorkflowSnapshot:
    """The snapshot. `sums` are the metrics of all tasks, `places` the file and journal as the reader finds them."""
    facts, now = state.facts, clock.now()
    current = current_leaf(state)
    pending = list(pending_leaves(state))
    completed, failed = _ended(state)
    return WorkflowSnapshot(
        workflow_id=facts.run,
        timestamp=now,
        stage=_stage(state),
        completed_tasks=completed,
        pending_tasks=pending,
        failed_tasks=failed,
        current_task_id=current.path if current is not None else "",
        current_activity_id=_activity(current),
        task_metrics=_task_metrics(current, metrics_of, now.timestamp()),
        workflow_metrics={**sums, "total_time": round(state.active_s(now.timestamp()), 3)},
        configuration=_configuration(state, current or _first(state, pending)),
        paused_at=now if reflected.cause == PAUSE else _moment(facts.paused_at),
        resumed_at=_moment(facts.resumed_at),
        onward={
            "run": facts.run,
            **places,
            "seq": reflected.seq,
            "chain": reflected.chain,
            "cause": reflected.cause,
            "definition_sha256": facts.definition_sha256,
        },
    )


# ---------------------------------------------------------------- tasks


def current_leaf(state: RunState) -> Instance | None:
    """The first task that runs or was interrupted; else the first one that waits for somebody or for a time."""
    # Most instances have ended: the cheapest question comes first.
    open_leaves = [one for one in state.instances.values() if one.stage is not Stage.ENDED and one.is_leaf]
    order = {path: number for number, path in enumerate(state.index)} if open_leaves else {}
    for wanted in (_runs, _was_interrupted, _waits):
        found = [instance for instance in open_leaves if wanted(instance)]
        if found:
            return min(found, key=lambda one: order.get(one.node.path if one.node is not None else "", 0))
    return None


def pending_leaves(state: RunState) -> Iterator[str]:
    """The tasks that are not done, in the order of the file."""
    yield from _below(state, state.plan.root, "")


def _below(state: RunState, node: Node, path: str) -> Iterator[str]:
    """Pending leaves below a container, an iteration or the root."""
    prefix = f"{path}/" if path else ""
    for step in node.steps:
        for child in step:
            yield from _of(state, child, f"{prefix}{child.name}")
    for child in node.members:
        yield from _of(state, child, f"{prefix}{child.name}")
    for name, steps in _sections(node):
        if name != "@on-failure" or _has_begun(state, f"{prefix}{name}"):
            for step in steps:
                for child in step:
                    yield from _of(state, child, f"{prefix}{name}/{child.name}")


def _sections(node: Node) -> Iterator[tuple[str, tuple[tuple[Node, ...], ...]]]:
    yield "@merge", node.merge
    yield "@on-failure", node.on_failure_steps
    yield "@finally", node.finally_steps


def _of(state: RunState, node: Node, path: str) -> Iterator[str]:
    instance = state.get(path)
    if instance is not None and _is_over(instance):
        return
    if node.loop is None:
        yield from _one(state, node, path)
        return
    keys = list(_keys(state, path, instance))
    for key in keys:
        inner = f"{path}[{key}]"
        iteration = state.get(inner)
        if iteration is None or not _is_over(iteration):
            yield from _one(state, node, inner)
    if (instance is None or instance.items is None) and all(_has_ended(state, f"{path}[{key}]") for key in keys):
        yield path


def _has_ended(state: RunState, path: str) -> bool:
    found = state.get(path)
    return found is not None and found.ended


def _one(state: RunState, node: Node, path: str) -> Iterator[str]:
    """A node, or one iteration of it, that is not over."""
    if not node.kind.leaf:
        yield from _below(state, node, path)
        return
    instance = state.get(path)
    if instance is None or not instance.ended or instance.status is Status.CANCELLED:
        yield path


def _keys(state: RunState, path: str, loop: Instance | None) -> Iterator[str]:
    if loop is not None and loop.items is not None:
        yield from (key for key, _ in loop.items)
        return
    number = 1
    while state.get(f"{path}[{number}]") is not None:
        yield str(number)
        number += 1


def _is_over(instance: Instance) -> bool:
    """Whether nothing of it is done any more; what failed (and stopped the run) is tried again by a resume."""
    if not instance.ended:
        return False
    if instance.status.passed or instance.is_leaf:
        return instance.status is not Status.CANCELLED
    return instance.status is Status.FAILED and instance.parent is not None and not stops(instance)


def _has_begun(state: RunState, section: str) -> bool:
    found = state.get(section)
    return found is not None and any(path.startswith(f"{section}/") for path in state.instances)


def _ended(state: RunState) -> tuple[list[str], list[str]]:
    """Leaves that ended well, and those that failed, in the order in which they ended."""
    passed, failed = [], []
    for one in state.instances.values():
        if one.stage is Stage.ENDED and one.is_leaf:
            if one.status.passed:
                passed.append(one)
            elif one.status is Status.FAILED:
                failed.append(one)
    by_end = attrgetter("ended_seq")
    return [one.path for one in sorted(passed, key=by_end)], [one.path for one in sorted(failed, key=by_end)]


def _runs(instance: Instance) -> bool:
    return instance.stage is Stage.RUNNING


def _was_interrupted(instance: Instance) -> bool:
    return instance.outcome is Outcome.INTERRUPTED


def _waits(instance: Instance) -> bool:
    return instance.stage in (Stage.GATE, Stage.WAITING)


# ---------------------------------------------------------------- the rest


def _stage(state: RunState) -> str:
    """The active top-level node; where none is, the one that failed, else the next one."""
    nodes = [node.name for step in state.plan.root.steps for node in step]
    found = {name: state.get(name) for name in nodes}
    begun = [name for name in nodes if _is_active(found[name])]
    failed = [name for name in nodes if (one := found[name]) is not None and one.status is Status.FAILED]
    left = [name for name in nodes if (one := found[name]) is None or not one.ended]
    return next(iter([*begun, *failed, *left]), "")


def _is_active(instance: Instance | None) -> bool:
    return instance is not None and not instance.ended and (instance.started_at is not None or instance.attempt > 0)


def _activity(current: Instance | None) -> str:
    if current is None:
        return ""
    return current.session or f"{current.path}#{max(1, current.attempt)}"


def _task_metrics(current: Instance | None, metrics_of: MetricsOf, now: float) -> dict[str, Any]:
    if current is None or current.started_at is None:
        return {}
    return {**metrics_of(current), "duration": round(max(0.0, now - current.started_at), 3)}


def _configuration(state: RunState, about: Instance | Node | None) -> dict[str, Any]:
    node = about.node if isinstance(about, Instance) else about
    return {
        "timeout": node.timeout_s if node is not None else state.plan.root.timeout_s,
        "max_retries": node.retry.attempts - 1 if node is not None else 0,
        "variables": dict(state.facts.variables),
    }


def _first(state: RunState, pending: list[str]) -> Node | None:
    """The node of the next task."""
    for path in pending:
        instance = state.get(path)
        if instance is not None and instance.node is not None:
            return instance.node
        if path in state.index:
            return state.index[path]
    return next((node for node in state.index.values() if node.kind.leaf), None)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


# ---------------------------------------------------------------- metrics


class _Measured(Struct):
    type: str
    metrics: dict[str, float] = {}


_MARK = b'"metrics":{'


class Sums:
    """The metrics of all attempts in a journal, added up by name. What was read is not read again."""

    def __init__(self, journal: str | os.PathLike[str]) -> None:
        self._journal = journal
        self._read = 0
        self._sums: dict[str, float] = {}

    def now(self) -> dict[str, float]:
        """The sums up to the end of the journal. Lines without any metrics are not even decoded."""
        with open(self._journal, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < self._read:
                self._read, self._sums = 0, {}  # a torn tail was cut
            if size > self._read:
                with mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) as text:
                    end = text.rfind(b"\n") + 1
                    for line in _lines_with(text, _MARK, self._read):
                        _add(self._sums, line)
                self._read = max(self._read, end)
        return dict(self._sums)


def _lines_with(text: mmap.mmap, mark: bytes, begin: int) -> Iterator[bytes]:
    at = text.find(mark, begin)
    while at >= 0:
        start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
        if end < 0:
            return
        yield text[start:end]
        at = text.find(mark, end)


def _add(sums: dict[str, float], line: bytes) -> None:
    try:
        measured = msgspec.json.decode(line, type=_Measured)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return  # a damaged line is told by whoever reads the journal
    if measured.type == "attempt_end":
        for name, value in measured.metrics.items():
            sums[name] = round(sums.get(name, 0) + value, 6)
