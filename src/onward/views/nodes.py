"""The nodes of a run → one row for each, in the order of the file and of the items of loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from onward.journal.findings import Finding
from onward.model.events import Note, Owner
from onward.model.nodes import Node
from onward.model.status import Outcome, RunStatus, Status
from onward.recovery.fate import Fate
from onward.recovery.standing import is_edited, stale_paths
from onward.state.instance import Instance, Stage
from onward.state.run_state import RunState
from onward.views import words
from onward.views.progress import iteration_keys
from onward.views.titles import node_title


def _lost(path: str, attempt: int) -> Fate:  # noqa: ARG001 - the shape of `Around.fate`
    return Fate.LOST


class Around(Struct, frozen=True, kw_only=True):
    """What a reader knows beside the state: who drives, what is wrong, how commands find the run.

    `fate` tells what became of an attempt that nothing drives. `at` follows the run id in commands (` --store DIR`
    where that is needed).
    """

    run: str
    now: float
    driver: Owner | None = None
    since: str | None = None
    file: str = ""
    directory: str = ""
    engine: str = "embedded"
    fate: Callable[[str, int], Fate] = _lost
    findings: Sequence[Finding] = ()
    notes: Sequence[Note] = ()
    problems: Sequence[str] = ()
    at: str = ""


class NodeView(Struct, frozen=True, kw_only=True):
    """One node. `attempts` is a number, `signal` a name such as `SIGKILL`."""

    path: str
    kind: str
    title: str
    status: str
    reason: str = ""
    attempts: int = 0
    exit: int | None = None
    signal: str | None = None
    started_at: str | None = None
    ended_at: str | None = None
    duration_s: float | None = None
    session: str | None = None
    edited: bool = False
    stale: bool = False


def node_views(state: RunState, around: Around, which: str = "all") -> list[NodeView]:
    """The nodes in the order of the file, iterations in the order of their items."""
    if which == "none":
        return []
    stale = stale_paths(state)
    listed = _Listing(state).nodes()
    views = (_node(state, around, path, node, instance, stale) for path, node, instance in listed)
    if which == "open":
        return [view for view in views if view.status not in ("succeeded", "skipped")]
    return list(views)


class _Listing:
    """Every node in order: reached ones with their instance, others without."""

    def __init__(self, state: RunState) -> None:
        self._state = state

    def nodes(self) -> Iterator[tuple[str, Node | None, Instance | None]]:
        yield from self._below(self._state.plan.root, "", whole=True)
        for instance in self._state.instances.values():
            if instance.node is None and instance.path:
                yield instance.path, None, instance

    def _node(self, node: Node, path: str) -> Iterator[tuple[str, Node | None, Instance | None]]:
        instance = self._state.get(path)
        yield path, node, instance
        if node.loop is None:
            yield from self._below(node, path, whole=True)
            return
        for key in (iteration_keys(self._state, instance) if instance is not None else None) or ():
            below = f"{path}[{key}]"
            yield below, node, self._state.get(below)
            yield from self._below(node, below, whole=False)
        yield from self._sections(node, path, ("@merge", "@finally"))

    def _below(self, node: Node, path: str, *, whole: bool) -> Iterator[tuple[str, Node | None, Instance | None]]:
        for step in (*node.steps, node.members):
            for child in step:
                yield from self._node(child, f"{path}/{child.name}" if path else child.name)
        yield from self._sections(node, path, ("@merge", "@on-failure", "@finally") if whole else ("@on-failure",))

    def _sections(
        self, node: Node, path: str, names: tuple[str, ...]
    ) -> Iterator[tuple[str, Node | None, Instance | None]]:
        for name, steps in (
            ("@merge", node.merge),
            ("@on-failure", node.on_failure_steps),
            ("@finally", node.finally_steps),
        ):
            below = f"{path}/{name}" if path else name
            if name in names and (name != "@on-failure" or self._state.get(below) is not None):
                for step in steps:
                    for child in step:
                        yield from self._node(child, f"{below}/{child.name}")


def _node(
    state: RunState, around: Around, path: str, node: Node | None, instance: Instance | None, stale: frozenset[str]
) -> NodeView:
    kind = node.kind.value if node is not None else ""
    title = node_title(state, node, instance) if node is not None else ""
    if instance is None:
        return NodeView(path=path, kind=kind, title=title, status=Status.PENDING.value)
    started, ended = instance.started_at, instance.ended_at
    lasted = None if started is None else max(0.0, (ended if ended is not None else around.now) - started)
    return NodeView(
        path=path,
        kind=kind,
        title=title,
        status=node_status(state, around, instance),
        reason=instance.reason,
        attempts=instance.attempt,
        exit=instance.exit,
        signal=instance.signal,
        started_at=iso(started),
        ended_at=iso(ended),
        duration_s=None if lasted is None else round(lasted, 3),
        session=instance.session,
        edited=is_edited(instance),
        stale=path in stale,
    )


def node_status(state: RunState, around: Around, instance: Instance) -> str:
    """The status of a node; one that was begun and that nothing works on any more is `interrupted`."""
    if instance.ended or (around.driver is not None and instance.stage is not Stage.READY):
        return instance.status.value
    if instance.is_leaf and instance.outcome is Outcome.INTERRUPTED and instance.stage in (Stage.READY, Stage.REACHED):
        return RunStatus.INTERRUPTED.value
    if instance.status is not Status.RUNNING or around.driver is not None:
        return instance.status.value
    if instance.is_leaf:
        lives = around.fate(instance.path, instance.attempt) is Fate.LIVES
        return Status.RUNNING.value if lives else RunStatus.INTERRUPTED.value
    waits = any(gate.startswith(instance.path) for gate in state.gates)
    return Status.WAITING.value if waits else RunStatus.INTERRUPTED.value


def iso(seconds: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC, as `clock.to_iso` writes it."""
    if seconds is None:
        return None
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(whole)}.{micro:06d}Z"


@lru_cache(maxsize=1024)
def _second(whole: int) -> str:
    # Many nodes begin and end within the same second, and this is most of the work for a row.
    return words.at_time(whole).strftime("%Y-%m-%dT%H:%M:%S")
