"""What a `.sparq` folder says, and a workflow → what a new run keeps of it, and what a person should know first.

Names of phases decide; one that the workflow does not have is told and not guessed. The open phase goes on at the
level that its status calls for: members and merge steps that are done and intact are kept, a question is asked again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from onward import clock
from onward.mirrors.sparq_read import Source, SparqState
from onward.mirrors.state_import import needed_results
from onward.model.events import Event, NodeEnd, NodeStart, Override
from onward.model.nodes import Kind, Node, Plan
from onward.model.status import Status
from onward.model.values import Value
from onward.recovery.age import Freshness, age_of
from onward.recovery.evidence import Traces, prove
from onward.recovery.fields import FieldChange, changed_fields
from onward.recovery.levels import LEVEL_OF, Level, Point

CONFIG = "sparq.config.json"
FRAMEWORKS = {"playwright": "playwright.config.*", "cypress": "cypress.config.*"}


class SparqImported(Struct, frozen=True, kw_only=True):
    """What a new run takes over; the fields are those of `onward.mirrors.state_import.Imported`."""

    source: str
    overrides: tuple[Event, ...] = ()
    variables: dict[str, str] = {}
    datetime: str
    started_at: str
    resumed_count: int = 1
    warnings: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()

    @property
    def facts(self) -> dict[str, Any]:
        """For `WorkflowStart.imported`."""
        done = [event.path for event in self.overrides if isinstance(event, Override | NodeEnd)]
        return {"kind": "sparq", "folder": self.source, "resumed_count": self.resumed_count, "done": done}


def level_of(state: SparqState) -> Level:
    """The recovery; what has no status that is known begins its open phase again."""
    try:
        return LEVEL_OF[Point(state.status)]
    except ValueError:
        return Level.NEXT if state.source is Source.LEGACY else Level.RERUN


def take_over_sparq(state: SparqState, plan: Plan) -> SparqImported:
    """What to keep. Nothing is read but what `state` holds."""
    taking = _Taking(state, plan)
    events = list(taking.events())
    moment = clock.local(clock.now() if state.at is None else _moment(state.at)).isoformat(timespec="seconds")
    declared = {variable.name for variable in plan.variables} | set(plan.undeclared)
    variables = {"feature": state.feature} if state.feature and "feature" in declared else {}
    return SparqImported(
        source=state.folder,
        overrides=tuple(events),
        variables=variables,
        datetime=moment,
        started_at=moment,
        warnings=(*state.warnings, *taking.warnings, *surroundings(state)),
        unmatched=tuple(taking.unmatched),
    )


def _moment(seconds: float) -> Any:
    import datetime as dt

    return dt.datetime.fromtimestamp(seconds, dt.UTC)


# --- what is kept -------------------------------------------------------------------------------------------------


class _Taking:
    def __init__(self, state: SparqState, plan: Plan) -> None:
        self._state = state
        self._plan = plan
        self._top = {_key(node.name): node for step in plan.root.steps for node in step}
        self._top |= {_key(node.was): node for node in list(self._top.values()) if node.was is not None}
        self.warnings: list[str] = []
        self.unmatched: list[str] = []

    def events(self) -> Iterator[Event]:
        done = self._phases()
        yield from (self._ended(node, hand_off) for node, hand_off in done.values())
        opened = self._top.get(_key(self._state.phase))
        if opened is None:
            if self._state.phase:
                self._no_such(self._state.phase)
        elif opened.name not in done:
            yield from self._open(opened)

    def _phases(self) -> dict[str, tuple[Node, dict[str, Any]]]:
        found: dict[str, tuple[Node, dict[str, Any]]] = {}
        for phase in self._state.completed:
            node = self._top.get(_key(phase.name))
            if node is None:
                self._no_such(phase.name)
            elif phase.missing:
                gone = ", ".join(phase.missing)
                self.warnings.append(f"`{node.name}` is done again: {gone} is gone")
            else:
                found[node.name] = (node, phase.hand_off)
        handing = {name for name, (node, hand_off) in found.items() if hand_off and node.hand_off is not None}
        for name, users in needed_results(self._plan, set(found), handing).items():
            del found[name]
            self.warnings.append(f"`{name}` is done again: {', '.join(users)} needs a result that nobody kept")
        return found

    def _no_such(self, name: str) -> None:
        self.unmatched.append(name)
        self.warnings.append(f"the workflow has no phase `{name}`; nothing of it is kept")

    def _ended(self, node: Node, hand_off: dict[str, Any]) -> Event:
        if node.hand_off is None or not hand_off:
            return Override(path=node.path, action="done", by=".sparq", reason="listed as completed")
        document = hand_off.get("handoff", hand_off)
        data = {"phase": node.path, "summary": "", "data": None} | (document if isinstance(document, dict) else {})
        written = msgspec.json.encode(data)
        outputs = {"hand-off": Value(type="json", bytes=len(written), value=data)}
        return NodeEnd(path=node.path, status=Status.SUCCEEDED, reason="listed as completed", outputs=outputs)

    def _open(self, phase: Node) -> Iterator[Event]:
        """The phase that was under way, at its level."""
        match level_of(self._state):
            case Level.PARALLEL:
                yield from self._parts(phase)
            case Level.MERGE:
                yield from self._parts(phase)
                yield from self._merge(phase)
            case Level.CHECKPOINT:
                yield from _before_question(phase)
            case Level.NEXT if self._state.source is Source.STATE:
                yield Override(path=phase.path, action="done", by=".sparq", reason="listed as completed")
            case _:
                return

    def _parts(self, phase: Node) -> Iterator[Event]:
        group = _group(phase)
        if group is None:
            self.warnings.append(f"`{phase.name}` has no group or loop: it begins again")
            return
        for part in self._state.parts:
            path = _member(group, part.name)
            if path is None:
                self._no_such(part.name)
            elif part.status == "completed" and part.intact:
                yield Override(path=path, action="done", by=".sparq", reason="completed, and intact")
            elif part.status == "completed":
                self.warnings.append(f"`{path}` is done again: what it made is not all there")

    def _merge(self, phase: Node) -> Iterator[Event]:
        group = _group(phase)
        steps = {node.name: node for step in group.merge for node in step} if group is not None else {}
        for part in self._state.merge:
            node = steps.get(part.name)
            if part.status != "completed":
                return
            if node is not None:
                yield Override(path=node.path, action="done", by=".sparq", reason="completed")


def _key(name: str) -> str:
    return name.casefold().replace("_", "-").replace(" ", "-")


def _group(phase: Node) -> Node | None:
    """The first group or list loop of a phase, itself included."""
    for node in phase.walk():
        if node.kind is Kind.PARALLEL or (node.loop is not None and not node.loop.counted):
            return node
    return None


def _member(group: Node, name: str) -> str | None:
    if group.loop is not None:
        return f"{group.path}[{name}]"
    return next((node.path for node in group.members if _key(node.name) == _key(name)), None)


def _before_question(phase: Node) -> Iterator[Event]:
    """Everything in the phase that comes before its question is done."""
    gate = next((node for node in phase.walk() if node.kind is Kind.APPROVE), None)
    if gate is None or gate is phase:
        return
    yield NodeStart(path=phase.path, kind=phase.kind.value, definition_sha256=phase.digest)
    for node in prove(phase, Traces(touched={gate.path})).done:
        yield Override(path=node.path, action="done", by=".sparq", reason="it came before the question")


# --- what should be known -----------------------------------------------------------------------------------------


def surroundings(state: SparqState) -> Iterator[str]:
    """Age, configuration, framework, artifacts: what requirement 3 wants to be said before anything goes on."""
    if state.at is not None:
        age = age_of(state.at, clock.now().timestamp())
        days = int(age.seconds // 86_400)
        if age.freshness is Freshness.AGED:
            yield f"it was left {days} days ago; things may have changed since"
        elif age.freshness is Freshness.OLD:
            yield f"it was left {days} days ago; a fresh start is recommended"
    yield from _configuration(state)
    yield from _framework(state)
    gone = [phase.name for phase in state.completed if phase.hand_off_gone]
    if gone:
        yield f"what these phases handed on is gone: {', '.join(gone)}"


def _configuration(state: SparqState) -> Iterator[str]:
    if state.config_hash is None:
        return
    path = state.root / CONFIG
    try:
        today = path.read_bytes()
    except OSError:
        yield f"{CONFIG} is gone since the start"
        return
    if hashlib.sha256(today).hexdigest() == state.config_hash:
        return
    shown = ", ".join(_field(change) for change in _changes(state, today)) or "no value that was kept differs"
    yield f"{CONFIG} has changed since the start: {shown}"


def _changes(state: SparqState, today: bytes) -> list[FieldChange]:
    from onward.recovery.fields import Unreadable

    try:
        found = changed_fields(CONFIG, msgspec.json.encode(state.config or {}), today) or []
    except Unreadable:
        return []
    whole = state.config or {}
    return [one for one in found if one.before is not None or one.name.partition(".")[0].partition("[")[0] in whole]


def _field(change: FieldChange) -> str:
    if change.before == change.after:
        return f"{change.name} (not shown)"
    return f"{change.name}: {change.before} → {change.after}"


def _framework(state: SparqState) -> Iterator[str]:
    if state.framework is None:
        return
    there = [name for name, pattern in FRAMEWORKS.items() if any(state.root.glob(pattern))]
    known = state.framework.casefold()
    if there and known in FRAMEWORKS and known not in there:
        yield (
            f"the project now uses {there[0]}, and the work was begun with {state.framework}: end-to-end tests that "
            "were made are worth nothing then; a fresh start is recommended"
        )


