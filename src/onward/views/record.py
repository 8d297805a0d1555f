"""The events of a run → the record of one node: what was tried and when, what came out, why it ran or was kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from onward import clock
from onward.errors import StoreError
from onward.model import events as ev
from onward.model.status import Status
from onward.model.values import Value
from onward.state.instance import Instance
from onward.views import words
from onward.views.nodes import node_status
from onward.views.output import written_by
from onward.views.secrets import released_to
from onward.views.source import Source
from onward.views.titles import node_title


class Stream(Struct, frozen=True, kw_only=True):
    """Where one stream of an attempt lies, and how much it is."""

    file: str
    bytes: int


class Check(Struct, frozen=True, kw_only=True):
    """What one validator said."""

    index: int
    passed: bool
    detail: str


class Try(Struct, kw_only=True):
    """One attempt; `outcome` None: it has not ended."""

    attempt: int
    started_at: str
    key: str = ""
    adapter: str | None = None
    adapter_version: str | None = None
    model: str | None = None
    session: str | None = None
    ended_at: str | None = None
    outcome: str | None = None
    exit: int | None = None
    signal: str | None = None
    error: str | None = None
    duration_s: float | None = None
    usage: dict[str, float] = {}
    checks: list[Check] = []
    out: Stream | None = None
    err: Stream | None = None


class Result(Struct, frozen=True, kw_only=True):
    """One result; a large one lies in `file`."""

    type: str
    bytes: int
    value: Any = None
    file: str | None = None


class Made(Struct, frozen=True, kw_only=True):
    """A file that the node made, as it was recorded."""

    path: str
    bytes: int
    sha256: str


class Happened(Struct, frozen=True, kw_only=True):
    """One thing that happened to the node, in words."""

    at: str
    text: str


class NodeRecord(Struct, frozen=True, kw_only=True):
    """Everything about one node."""

    schema: int = 1
    run: str
    path: str
    kind: str
    title: str
    status: str
    reason: str
    why: str
    definition_sha256: str
    inputs_sha256: str | None
    attempts: list[Try]
    results: dict[str, Result]
    artifacts: list[Made]
    metrics: dict[str, float]
    items: int | None
    secrets: list[str]
    history: list[Happened]


def node_record(source: Source, path: str, events: Iterable[ev.Event]) -> NodeRecord:
    """The record of a node that the run knows. `events` are those of the whole run."""
    instance = source.state.ensure(path)
    gathering = _Gathering(source, path)
    for event in events:
        gathering.take(event)
    node = instance.node
    return NodeRecord(
        run=source.run_id,
        path=path,
        kind=node.kind.value if node is not None else "",
        title=node_title(source.state, node, instance) if node is not None else "",
        status=node_status(source.state, source.around(), instance),
        reason=instance.reason,
        why=_why(instance, gathering),
        definition_sha256=instance.digest,
        inputs_sha256=instance.inputs,
        attempts=list(gathering.tries.values()),
        results={name: result_view(source, value) for name, value in gathering.outputs.items()},
        artifacts=[Made(path=one.path, bytes=one.bytes, sha256=one.sha256) for one in instance.artifacts],
        metrics=gathering.metrics,
        items=len(instance.items) if instance.items is not None else None,
        secrets=released_to(instance) if node is not None else [],
        history=gathering.history,
    )


_OVERRIDES = {
    "rerun": "to be done again",
    "skip": "skipped",
    "done": "taken as done",
    "refresh": "items to be read again",
}


class _Gathering:
    """What the events say about one node, and the resumes between them."""

    def __init__(self, source: Source, path: str) -> None:
        self._source = source
        self._path = path
        self.tries: dict[int, Try] = {}
        self.outputs: dict[str, Value] = {}
        self.metrics: dict[str, float] = {}
        self.history: list[Happened] = []
        self.ended: str | None = None
        self.resumed_since = 0
        self.override: ev.Override | None = None
        self.begun = False

    def take(self, event: ev.Event) -> None:
        """One event of the run."""
        if isinstance(event, ev.WorkflowResume):
            self.resumed_since += 1
            if self.begun:
                self._tell(event, "the run was resumed" + (f" ({event.reason})" if event.reason else ""))
        elif getattr(event, "path", None) == self._path:
            self.begun = True
            self._take_own(event)

    def _take_own(self, event: ev.Event) -> None:
        match event:
            case ev.AttemptStart():
                self._attempt_started(event)
            case ev.AttemptSession():
                self.tries[event.attempt].session = event.session
            case ev.AttemptEnd():
                self._attempt_ended(event)
            case ev.Validation():
                self._validated(event)
            case ev.NodeStart():
                self._tell(event, "begun")
            case ev.NodeEnd():
                self._ended(event)
            case ev.ConditionAsked():
                self._tell(event, _condition_words(event))
            case ev.LoopItems():
                self._tell(event, f"{words.amount(len(event.items), 'item')} read from {event.source or 'the list'}")
            case ev.RetryWait():
                self._tell(event, f"attempt {event.attempt} is due at {words.moment(event.until)}")
            case ev.GateOpen():
                self._tell(event, f"asked: {words.one_line(event.question)}")
            case ev.GateDecision():
                note = f" ({words.one_line(event.note)})" if event.note else ""
                self._tell(event, f"answered {event.choice} by {event.by or 'somebody'}{note}")
            case ev.Override():
                self._overridden(event)
            case ev.Note():
                self._tell(event, words.one_line(event.text))

    def _attempt_started(self, event: ev.AttemptStart) -> None:
        self.override, self.ended, self.resumed_since = None, None, 0
        out, err = written_by(self._source, event.path, event.attempt)
        self.tries[event.attempt] = Try(
            attempt=event.attempt,
            started_at=clock.to_iso(event.at),
            key=event.key,
            adapter=event.adapter,
            adapter_version=event.adapter_version,
            model=event.model,
            session=event.session,
            out=Stream(file=out.file, bytes=out.size),
            err=Stream(file=err.file, bytes=err.size),
        )
        self._tell(event, f"attempt {event.attempt} started")

    def _attempt_ended(self, event: ev.AttemptEnd) -> None:
        found = self.tries.get(event.attempt) or Try(attempt=event.attempt, started_at=clock.to_iso(event.at))
        self.tries[event.attempt] = found
        found.ended_at, found.outcome = clock.to_iso(event.at), event.outcome.value
        found.exit, found.signal, found.error = event.exit, event.signal, event.error
        found.duration_s, found.usage = event.duration_s, event.usage
        found.session = event.session or found.session
        found.adapter_version = event.adapter_version or found.adapter_version
        self.outputs = event.outputs
        self.metrics = event.metrics or self.metrics
        reason = words.why(event.error or "", event.exit, event.signal)
        self._tell(event, f"attempt {event.attempt} ended: {event.outcome.value}" + (f", {reason}" if reason else ""))

    def _validated(self, event: ev.Validation) -> None:
        checks = [Check(index=one.index, passed=one.passed, detail=one.detail) for one in event.checks]
        if event.attempt in self.tries:
            self.tries[event.attempt].checks = checks
        bad = [str(check.index + 1) for check in checks if not check.passed]
        self._tell(event, f"validators that did not pass: {', '.join(bad)}" if bad else "all validators passed")

    def _ended(self, event: ev.NodeEnd) -> None:
        self.ended, self.resumed_since = event.status.value, 0
        self.outputs = event.outputs or self.outputs
        self.metrics = event.metrics or self.metrics
        reason = f": {words.one_line(event.reason)}" if event.reason else ""
        self._tell(event, f"ended, {words.status_word(event.status)}{reason}")

    def _overridden(self, event: ev.Override) -> None:
        self.override = event
        by = f" by {words.one_line(event.by)}" if event.by else ""
        reason = f": {words.one_line(event.reason)}" if event.reason else ""
        self._tell(event, f"{_OVERRIDES.get(event.action, event.action)}{by}{reason}")

    def _tell(self, event: ev.Event, text: str) -> None:
        self.history.append(Happened(at=clock.to_iso(event.at), text=text))


def _condition_words(event: ev.ConditionAsked) -> str:
    answer = "could not be worked out" if event.error else "holds" if event.result else "does not hold"
    return f"{event.where.value} {answer}" + (f": {words.one_line(event.detail)}" if event.detail else "")


def _why(instance: Instance, gathered: _Gathering) -> str:
    """Why the node ran, was kept or was left out, in a sentence."""
    override = gathered.override
    if override is not None and override.action in ("done", "skip"):
        return gathered.history[-1].text if gathered.history else override.action
    if override is not None and override.action == "rerun":
        return "it is to be done again" + (f": {words.one_line(override.reason)}" if override.reason else "")
    if gathered.ended is None:
        return "it has not ended" if gathered.begun else "it was not reached"
    if gathered.ended == Status.SKIPPED:
        return f"left out: {words.one_line(instance.reason)}" if instance.reason else "left out"
    if gathered.resumed_since:
        times = words.amount(gathered.resumed_since, "resume")
        return f"kept over {times}: it had ended before, {words.status_word(gathered.ended)}"
    number = len(gathered.tries)
    return f"it ran, in {words.amount(number, 'attempt')}" if number else "it ran"


def result_view(source: Source, value: Value) -> Result:
    if value.sha256 is None:
        return Result(type=value.type, bytes=value.bytes, value=value.value)
    return Result(type=value.type, bytes=value.bytes, file=source.folder.values.path(value.sha256))


def result_head(source: Source, value: Result, limit: int) -> str:
    """The beginning of a result as text, for people."""
    if value.file is not None:
        try:
            with open(value.file, "rb") as file:
                return file.read(limit).decode("utf-8", "replace")
        except OSError as error:
            raise StoreError(
                f"the stored result {value.file} cannot be read: {error.strerror}",
                help=f"`onward verify {source.run_id}` tells what else is missing",
            ) from error
    import msgspec

    text = value.value if isinstance(value.value, str) else msgspec.json.encode(value.value).decode()
    return text[:limit]
