"""A run whose journal has lost its head → the events of a new journal, from whatever else is left.

In this order: the saved state with the lines that came after it; else the start of the run, the lines that can be read
(the last fifty of them, or more), and the folders of attempts. The old journal is kept by whoever writes the new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onward import clock
from onward.errors import OnwardError
from onward.model import events as ev
from onward.model.nodes import Kind, Node, Plan
from onward.model.status import Outcome, Status
from onward.model.values import Value
from onward.recovery.evidence import Proven, Traces, leaves_of, prove
from onward.recovery.hand_offs import read_hand_off
from onward.recovery.retelling import retell, unstamped
from onward.state.cache import decode_state
from onward.state.fold import fold
from onward.state.run_state import RunState
from onward.store.cache import read_cache
from onward.store.folder import RunFolder
from onward.tasks.attempt_folder import Exit, read_exit
from onward.tasks.out import out_folder

_OF_THE_START = (ev.WorkflowStart, ev.TakeOver)


class Rebuilt(Struct, kw_only=True):
    """The events, unstamped but for their times; `text` says what they were put together from."""

    events: list[ev.Event]
    text: str


def rebuild(folder: RunFolder, plan: Plan, readable: list[ev.AnyEvent]) -> Rebuilt:
    """`plan` is the stored one, `readable` what can be read of the journal, oldest first. Nothing is written."""
    start = _start(folder, plan, readable)
    cached = _from_cache(folder, plan, readable)
    if cached is not None:
        events, text = cached, "the saved state and the lines of the journal that came after it"
    else:
        events = list(_from_traces(folder, plan, readable, start))
        text = f"the last {len(readable)} readable lines of the journal and what the tasks left on disk"
    last = readable[-1].at if readable else max((event.at for event in events), default=start.at)
    said = f"the journal had lost its beginning; this run was put together again from {text}. Verify before resuming."
    note = ev.Note(at=last, level="warning", text=said)
    return Rebuilt(events=[start, *events, note], text=said)


def state_of(plan: Plan, rebuilt: Rebuilt) -> RunState:
    """The state that those events lead to, over a plan."""
    state = RunState(plan)
    for event in rebuilt.events:
        fold(state, event)
    return state


# --- how it began -------------------------------------------------------------------------------------------------


def _start(folder: RunFolder, plan: Plan, readable: list[ev.AnyEvent]) -> ev.WorkflowStart:
    """The first event: kept beside the journal since it was written; else made up from the plan and the state file."""
    kept = _kept_start(folder)
    if kept is not None:
        return kept
    at = readable[0].at if readable else clock.now()
    moment = clock.local(at).isoformat(timespec="seconds")
    known = _from_state_file(plan)
    variables = {one.name: one.default for one in plan.variables if one.default is not None}
    return ev.WorkflowStart(
        at=at,
        run=folder.run_id,
        workflow_file=plan.file,
        file=plan.file,
        name=plan.name,
        title=plan.title if isinstance(plan.title, str) else "",
        definition_sha256=plan.digest,
        directory=str(Path(plan.file).parent / plan.directory),
        variables=variables | known.get("variables", {}),
        datetime=known.get("datetime_preserved", moment),
    )


def _kept_start(folder: RunFolder) -> ev.WorkflowStart | None:
    try:
        start = msgspec.json.decode(folder.start.read_bytes(), type=ev.WorkflowStart)
    except (OSError, msgspec.DecodeError):
        return None
    return replace(start, seq=0, epoch=0, batch=0) if start.run == folder.run_id else None


def _from_state_file(plan: Plan) -> dict[str, Any]:
    from onward.mirrors.state_file import path_of
    from onward.mirrors.state_import import load

    path = path_of(plan, str(Path(plan.file).parent / plan.directory))
    try:
        return (load(path) if path is not None else None) or {}
    except OnwardError:
        return {}


# --- from the saved state -------------------------------------------------------------------------------------------


def _from_cache(folder: RunFolder, plan: Plan, readable: list[ev.AnyEvent]) -> list[ev.Event] | None:
    """The state that was saved, then the lines after it; None where it is not whole, or lines between are missing."""
    cache = read_cache(folder.state).cache
    state = decode_state(plan, cache.state) if cache is not None else None
    if cache is None or state is None:
        return None
    later = [event for event in readable if event.seq > cache.position.seq]
    if later and later[0].seq != cache.position.seq + 1:
        return None
    return [*retell(state), *(unstamped(event) for event in later if not isinstance(event, _OF_THE_START))]


# --- from traces ----------------------------------------------------------------------------------------------------


def _from_traces(
    folder: RunFolder, plan: Plan, readable: list[ev.AnyEvent], start: ev.WorkflowStart
) -> Iterator[ev.Event]:
    told = [event for event in readable if not isinstance(event, _OF_THE_START)]
    traces = Traces()
    for event in told:
        traces.add(event)
    attempts = _Attempts(folder, plan, start.at)
    for path in attempts.found:
        traces.touched.add(path)
    proven = prove(plan.root, traces)
    ended = [node for node in plan.root.walk() if node.path in traces.ended and not node.kind.leaf]
    yield from attempts.inside(ended, traces)
    yield from _done(attempts, folder, proven, start.at)
    begun = {event.path for event in told if isinstance(event, ev.NodeStart)}
    for node in proven.open:
        if node.path not in begun:
            yield ev.NodeStart(
                at=start.at, path=node.path, kind=node.kind.value, definition_sha256=node.digest
            )
    yield from _told(told, plan)
    yield from attempts.under_way(proven, traces)


def _done(attempts: _Attempts, folder: RunFolder, proven: Proven, at: datetime) -> Iterator[ev.Event]:
    for node in proven.done:
        for leaf, single in leaves_of([node]):
            yield from attempts.ending_of(leaf, single=single)
        if not node.kind.leaf and node.loop is None and not node.values:
            outputs = _hand_off(folder, node)
            yield ev.NodeEnd(at=at, path=node.path, status=Status.SUCCEEDED, outputs=outputs, reason=_PROVEN)


_PROVEN = "what follows it had begun"


def _hand_off(folder: RunFolder, node: Node) -> dict[str, Value]:
    document = read_hand_off(folder, node.path)
    return {"hand-off": folder.values.to_value("json", document)} if document else {}


def _told(told: Sequence[ev.AnyEvent], plan: Plan) -> Iterator[ev.Event]:
    """What can be read, with the start of a try whose end alone can be; not the rounds of a loop that begins anew."""
    counted = tuple(f"{node.path}[" for node in plan.root.walk() if node.loop is not None and node.loop.counted)
    ended = {event.path for event in told if isinstance(event, ev.NodeEnd)}
    anew = tuple(prefix for prefix in counted if prefix[:-1] not in ended)
    begun: set[tuple[str, int]] = set()
    for event in told:
        path = getattr(event, "path", None)
        if isinstance(path, str) and anew and path.startswith(anew):
            continue
        if isinstance(event, ev.AttemptStart):
            begun.add((event.path, event.attempt))
        elif isinstance(event, ev.AttemptEnd) and (event.path, event.attempt) not in begun:
            yield ev.AttemptStart(at=event.at, path=event.path, attempt=event.attempt)
        yield unstamped(event)


class _Attempts:
    """The folders that attempts of plain tasks (outside of loops) have left."""

    def __init__(self, folder: RunFolder, plan: Plan, at: datetime) -> None:
        self._folder = folder
        self._at = at
        self._looped = tuple(f"{node.path}/" for node in plan.root.walk() if node.loop is not None)
        self.found: dict[str, tuple[Node, int]] = {}
        for node in plan.root.walk():
            if node.kind.leaf and node.loop is None and not node.path.startswith(self._looped or ("\0",)):
                number = self._last(node.path)
                if number:
                    self.found[node.path] = (node, number)

    def _last(self, path: str) -> int:
        place = Path(self._folder.attempt_path(path, 1)).parent
        try:
            return max((int(one.name) for one in place.iterdir() if one.name.isdigit()), default=0)
        except OSError:
            return 0

    def ending_of(self, node: Node, *, single: bool) -> Iterator[ev.Event]:
        """The end of a task that must have been done; its result where that is still on disk."""
        known = self.found.get(node.path) if single else None
        if known is None:
            yield ev.Override(at=self._at, path=node.path, action="done", by="recovery", reason=_PROVEN)
            return
        number = known[1]
        place = self._folder.attempt_path(node.path, number)
        exit = read_exit(place)
        at = datetime.fromtimestamp(exit.started + exit.duration_s, UTC) if exit is not None else self._at
        yield ev.AttemptStart(at=at, path=node.path, attempt=number, definition_sha256=node.digest)
        outputs = self._results(node, place, exit)
        yield ev.AttemptEnd(at=at, path=node.path, attempt=number, outcome=Outcome.OK, exit=0, outputs=outputs)
        yield ev.NodeEnd(at=at, path=node.path, status=Status.SUCCEEDED, reason=_PROVEN)

    def inside(self, ended: list[Node], traces: Traces) -> Iterator[ev.Event]:
        """The tasks of containers whose own end can be read, and theirs cannot."""
        for leaf, single in leaves_of(ended):
            if single and leaf.path in self.found and leaf.path not in traces.told:
                yield from self.ending_of(leaf, single=True)

    def under_way(self, proven: Proven, traces: Traces) -> Iterator[ev.Event]:
        """Attempts that nothing else tells of: a resume finds out how they ended, as after every crash."""
        done = {node.path for node in proven.done} | traces.ended
        for path, (node, number) in self.found.items():
            is_part_of_done = any(path == one or path.startswith(f"{one}/") for one in done)
            if not is_part_of_done and path not in traces.told:
                yield ev.AttemptStart(at=self._at, path=path, attempt=number, definition_sha256=node.digest)
                yield from self._failure(path, number)

    def _failure(self, path: str, number: int) -> Iterator[ev.Event]:
        """A try that went wrong is over: the resume tries again."""
        exit = read_exit(self._folder.attempt_path(path, number))
        if exit is None or exit.code == 0:
            return
        at = datetime.fromtimestamp(exit.started + exit.duration_s, UTC)
        reason = f"killed by {exit.signal}" if exit.signal else exit.error or f"exit code {exit.code}"
        yield ev.AttemptEnd(
            at=at, path=path, attempt=number, outcome=Outcome.ERROR, exit=exit.code, signal=exit.signal, error=reason
        )
        yield ev.NodeEnd(at=at, path=path, status=Status.FAILED, reason=reason)

    def _results(self, node: Node, place: str, exit: Exit | None) -> dict[str, Value]:
        found: dict[str, Value] = {}
        try:
            if node.kind is Kind.RUN:
                text = Path(place, "out").read_bytes().decode().removesuffix("\n")
                found["text"] = self._folder.values.to_value("text", text)
            elif exit is not None and exit.result is not None:
                found["json"] = self._folder.values.to_value("json", msgspec.json.decode(exit.result))
            for output in node.outputs if node.kind is Kind.RUN else ():
                written = Path(out_folder(node, place), output.name).read_bytes().decode().removesuffix("\n")
                data: Any = written
                if output.form == "json":
                    data = msgspec.json.decode(written)
                elif output.form == "lines":
                    data = [line for line in written.split("\n") if line]
                found[output.name] = self._folder.values.to_value(output.form, data)
        except (OSError, UnicodeDecodeError, msgspec.DecodeError, OnwardError):
            return found
        return found
