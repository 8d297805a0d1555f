"""A state as it was found, and the same after the events that a resume begins with → what becomes of each task.

The events are those that the real resume records, folded into a state in memory; so what is foretold here and what is
done later follow from the same rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

import msgspec
from msgspec import Struct

from onward import clock
from onward.model.events import Event, Override
from onward.model.nodes import Node, Prompt
from onward.model.status import OnResume, Outcome, Status
from onward.recovery.fate import Fate, FateOf
from onward.state.fold import fold, settle
from onward.state.instance import Instance, Role, Stage
from onward.state.run_state import RunState


class Verdict(StrEnum):
    """What a resume does with a task."""

    KEEP = "keep"
    AGAIN = "do again"
    CONTINUE = "continue"
    ASK = "ask"
    BEGIN = "begin"
    """it was not reached yet: its turn comes as ever"""


class NodeVerdict(Struct, frozen=True, kw_only=True):
    """One task: `reason` is why, in plain words."""

    path: str
    kind: str
    verdict: Verdict
    reason: str


class Before(Struct, frozen=True):
    """What matters of an instance as it was found."""

    stage: Stage
    status: Status
    attempt: int
    outcome: Outcome | None
    reason: str
    until: float | None


def found_in(state: RunState) -> dict[str, Before]:
    """Every instance as it is now; taken before `go_on` changes the state."""
    return {
        one.path: Before(one.stage, one.status, one.attempt, one.outcome, one.reason, one.until)
        for one in state.instances.values()
    }


def go_on(state: RunState, events: Sequence[Event]) -> None:
    """Let the events of a resume happen in memory; afterwards the state is that in which its driver begins."""
    now = clock.now()
    for event in events:
        fold(state, msgspec.structs.replace(event, at=now))
    settle(state)


def verdicts(
    state: RunState,
    before: Mapping[str, Before],
    events: Sequence[Event],
    fate: FateOf,
    changed: Mapping[str, Sequence[str]],
) -> list[NodeVerdict]:
    """Every task in the order of the file. `state` is the one after `go_on`; `changed`: artifacts that differ."""
    why = {event.path: event.reason for event in events if isinstance(event, Override)}
    judge = _Judge(before, why, fate, changed)
    found = [
        _part_of_done(path, node) if _is_part_of_done(state, path) else judge.of(path, node, state.get(path))
        for path, node in tasks(state, before)
    ]
    return list(_with_sections_started_over(found))


def _with_sections_started_over(found: list[NodeVerdict]) -> Iterator[NodeVerdict]:
    """A `@merge` and a `@finally` start over when work before them runs."""
    moves = [one.path for one in found if one.verdict is not Verdict.KEEP]
    for one in found:
        section = next((name for name in ("@finally", "@merge") if f"/{name}/" in f"/{one.path}"), None)
        if one.verdict is Verdict.KEEP and section is not None and moves:
            owner = f"/{one.path}".rpartition(f"/{section}/")[0].lstrip("/")
            if any(_is_before(path, owner, section) for path in moves):
                reason = "work before it runs, so it starts over"
                yield msgspec.structs.replace(one, verdict=Verdict.AGAIN, reason=reason)
                continue
        yield one


def _is_before(path: str, owner: str, section: str) -> bool:
    """Whether a task belongs to `owner` and its end comes before that section."""
    if owner and path != owner and not path.startswith((f"{owner}/", f"{owner}[")):
        return False
    below = path[len(owner) :].lstrip("/")
    return not below.startswith((section, "@finally"))


def _is_part_of_done(state: RunState, path: str) -> bool:
    """Whether nothing is known of a task but that what is around it is done."""
    if state.get(path) is not None:
        return False
    place = path
    while place := _around(place):
        around = state.get(place)
        if around is not None:
            return around.ended and around.status.passed
    return False


def _part_of_done(path: str, node: Node) -> NodeVerdict:
    return NodeVerdict(path=path, kind=node.kind.value, verdict=Verdict.KEEP, reason="what it is part of is done")


def _around(path: str) -> str:
    """The path of the node around: `a[k]/b` → `a[k]` → `a`."""
    return path.rpartition("[")[0] if path.endswith("]") else path.rpartition("/")[0]


def tasks(state: RunState, before: Mapping[str, Before]) -> Iterator[tuple[str, Node]]:
    """Path and node of every task; a loop whose items are not known yet stands for them."""
    yield from _below(state, before, state.plan.root, "", whole=True)


def _node(state: RunState, before: Mapping[str, Before], node: Node, path: str) -> Iterator[tuple[str, Node]]:
    if node.loop is None:
        if node.kind.leaf:
            yield path, node
        yield from _below(state, before, node, path, whole=True)
        return
    keys = _keys(state, before, path, node)
    if not keys:
        yield path, node
    for key in keys:
        below = f"{path}[{key}]"
        if node.kind.leaf:
            yield below, node
        yield from _below(state, before, node, below, whole=False)
    yield from _sections(state, before, node, path, ("@merge", "@finally"))


def _keys(state: RunState, before: Mapping[str, Before], path: str, node: Node) -> list[str]:
    loop = state.get(path)
    if loop is not None and loop.items is not None:
        return [key for key, _ in loop.items]
    assert node.loop is not None
    keys: list[str] = []
    while node.loop.counted and f"{path}[{len(keys) + 1}]" in before:
        keys.append(str(len(keys) + 1))
    return keys


def _below(
    state: RunState, before: Mapping[str, Before], node: Node, path: str, *, whole: bool
) -> Iterator[tuple[str, Node]]:
    for step in (*node.steps, node.members):
        for child in step:
            yield from _node(state, before, child, f"{path}/{child.name}" if path else child.name)
    names = ("@merge", "@on-failure", "@finally") if whole else ("@on-failure",)
    yield from _sections(state, before, node, path, names)


def _sections(
    state: RunState, before: Mapping[str, Before], node: Node, path: str, names: tuple[str, ...]
) -> Iterator[tuple[str, Node]]:
    parts = {"@merge": node.merge, "@on-failure": node.on_failure_steps, "@finally": node.finally_steps}
    for name in names:
        below = f"{path}/{name}" if path else name
        if name == "@on-failure" and below not in before:
            continue
        for step in parts[name]:
            for child in step:
                yield from _node(state, before, child, f"{below}/{child.name}")


class _Judge:
    def __init__(
        self,
        before: Mapping[str, Before],
        why: Mapping[str, str],
        fate: FateOf,
        changed: Mapping[str, Sequence[str]],
    ) -> None:
        self._before, self._why, self._fate, self._changed = before, why, fate, changed

    def of(self, path: str, node: Node, after: Instance | None) -> NodeVerdict:
        verdict, reason = self._judged(path, node, after)
        return NodeVerdict(path=path, kind=node.kind.value, verdict=verdict, reason=reason)

    def _judged(self, path: str, node: Node, after: Instance | None) -> tuple[Verdict, str]:
        found = self._before.get(path)
        if after is not None and after.ended:
            return self._kept(path, found, after)
        if found is None or found.stage is Stage.NEW:
            return Verdict.BEGIN, "its turn has not come yet"
        if found.stage is Stage.ENDED:
            return Verdict.AGAIN, self._why_again(path, found)
        if after is not None and after.role is Role.LOOP:
            return Verdict.CONTINUE, "goes on where it stopped"
        return self._open(path, node, found)

    def _kept(self, path: str, found: Before | None, after: Instance) -> tuple[Verdict, str]:
        if path in self._changed:
            return Verdict.KEEP, f"done; kept although changed since: {', '.join(self._changed[path])}"
        if found is None or found.stage is not Stage.ENDED:
            said = "left out, as asked" if after.status is Status.SKIPPED else "taken as done, as asked"
            return Verdict.KEEP, said
        node = after.node
        edited = bool(node is not None and after.digest and after.digest != node.digest)
        said = _ENDED.get(after.status, "done")
        return Verdict.KEEP, f"{said}; edited since, and kept as it was" if edited else said

    def _why_again(self, path: str, found: Before) -> str:
        place = path
        while place:
            if place in self._why:
                return _asked(self._why[place])
            place = _around(place)
        if found.status is Status.CANCELLED:
            return "it was cut off"
        if found.status is Status.FAILED:
            return f"it failed: {found.reason}" if found.reason else "it failed"
        return "work that it depends on is done again"

    def _open(self, path: str, node: Node, found: Before) -> tuple[Verdict, str]:
        match found.stage:
            case Stage.GATE:
                return Verdict.ASK, "its question is open"
            case Stage.WAITING if found.until is not None:
                return Verdict.CONTINUE, "it waits for its next try"
            case Stage.WORKED | Stage.VALID | Stage.SURE | Stage.CLOSING | Stage.CLOSED:
                return Verdict.CONTINUE, "its work is done; what checks it is left"
            case Stage.RUNNING:
                return self._running(path, node, found)
            case Stage.RETRY:
                return Verdict.AGAIN, f"a try of it failed: {found.reason}" if found.reason else "a try of it failed"
            case _ if found.attempt:
                return self._lost(node)
            case _:
                return Verdict.BEGIN, "its turn had come, and it had not begun"

    def _running(self, path: str, node: Node, found: Before) -> tuple[Verdict, str]:
        match self._fate(path, found.attempt):
            case Fate.LIVES:
                return Verdict.CONTINUE, "it still runs; it is waited for"
            case Fate.ENDED:
                return Verdict.CONTINUE, "it ended meanwhile; its result is used"
            case _:
                return self._lost(node)

    def _lost(self, node: Node) -> tuple[Verdict, str]:
        if node.on_resume is OnResume.ASK:
            return Verdict.ASK, "it was interrupted, and what it did may have happened already"
        if node.on_resume is OnResume.CHECK and node.after:
            return Verdict.AGAIN, "it was interrupted; done again unless its checks hold"
        if isinstance(node.work, Prompt) and node.work.keep_session:
            return Verdict.CONTINUE, "it was interrupted; the agent goes on in its conversation if it can"
        return Verdict.AGAIN, "it was interrupted"


_ENDED = {
    Status.SKIPPED: "left out",
    Status.FAILED: "it failed, and the run went on",
    Status.CANCELLED: "cut off",
}


def _asked(reason: str) -> str:
    return "as asked" if reason.startswith("--") else reason
