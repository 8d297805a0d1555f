"""The state of a run → what `status --json` prints (schema 1), and with it the command that goes on.

Times are ISO 8601 in UTC, durations in seconds. `status` of the run is one of `running`, `waiting`, `paused`,
`interrupted` (it has not ended, and nothing drives it), `succeeded`, `failed`, `cancelled`; that of a node one of
`pending`, `running`, `waiting`, `succeeded`, `failed`, `skipped`, `cancelled`, `interrupted`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec import Struct

from onward import clock
from onward.journal.findings import Finding
from onward.model.events import GateOpen
from onward.model.status import Outcome, RunStatus
from onward.recovery.fate import Fate
from onward.state.instance import Stage
from onward.state.run_state import RunState
from onward.views import words
from onward.views.nodes import Around, NodeView, iso, node_views
from onward.views.progress import leaf_counts, step_index
from onward.views.titles import run_title

SCHEMA = 1


class DriverView(Struct, frozen=True, kw_only=True):
    """The process that drives the run; `since` it does."""

    alive: bool
    host: str
    pid: int
    since: str | None


class ProgressView(Struct, frozen=True, kw_only=True):
    """Tasks in all and done; a loop counts its items once they are known, else 1."""

    total: int
    done: int
    percent: int


class StepView(Struct, frozen=True, kw_only=True):
    """The first top-level step that is not done (counted from 0), and how many there are."""

    index: int
    of: int


class GateView(Struct, frozen=True, kw_only=True):
    """An open question."""

    path: str
    question: str
    choices: list[str]
    fields: dict[str, list[str] | None]
    expires_at: str | None


class ChoiceView(Struct, frozen=True, kw_only=True):
    """One answer to a finding, and the command that gives it."""

    id: str
    text: str
    command: str


class FindingView(Struct, frozen=True, kw_only=True):
    """Something that a person should know: `severity` is `note`, `warning` or `choice`."""

    kind: str
    severity: str
    path: str | None
    text: str
    choices: list[ChoiceView] = []


class StatusView(Struct, frozen=True, kw_only=True):
    """The whole."""

    schema: int = SCHEMA
    run: str
    workflow: str
    file: str
    title: str
    engine: str
    status: str
    reason: str
    started_at: str | None
    ended_at: str | None
    datetime: str
    resumed_count: int
    directory: str
    variables: dict[str, str]
    driver: DriverView | None
    progress: ProgressView
    step: StepView
    nodes: list[NodeView]
    gates: list[GateView]
    findings: list[FindingView]
    next: str | None


def status_view(state: RunState, around: Around, *, nodes: str = "all") -> StatusView:
    """Everything about a run. `nodes`: `all`, `open` (what has not ended well) or `none`."""
    facts = state.facts
    status = run_status(state, driven=around.driver is not None)
    counts = leaf_counts(state)
    return StatusView(
        run=facts.run or around.run,
        workflow=facts.name,
        file=around.file or facts.file,
        title=run_title(state),
        engine=around.engine,
        status=status,
        reason=run_reason(state, status),
        started_at=iso(facts.started_at or None),
        ended_at=iso(facts.ended_at),
        datetime=facts.datetime,
        resumed_count=facts.resumed_count,
        directory=around.directory or facts.directory,
        variables=facts.variables,
        driver=_driver(around),
        progress=ProgressView(total=counts.total, done=counts.done, percent=counts.percent),
        step=StepView(index=step_index(state), of=len(state.plan.root.steps)),
        nodes=node_views(state, around, nodes),
        gates=[_gate(gate) for gate in state.gates.values()],
        findings=list(_findings(state, status, around)),
        next=next_command(state, status, around.run, around.at),
    )


# ---------------------------------------------------------------- the run


def run_status(state: RunState, *, driven: bool) -> RunStatus:
    """How the run stands, seen by a reader who knows whether somebody drives it."""
    status = state.status
    if status is RunStatus.RUNNING and driven and _only_waits(state):
        return RunStatus.WAITING
    if status is RunStatus.RUNNING and not driven:
        return RunStatus.INTERRUPTED
    return status


def _only_waits(state: RunState) -> bool:
    """Nothing runs, and a question is open or a limit has to pass."""
    if state.running or state.pausing is not None:
        return False
    return bool(state.gates) or _reset_at(state) is not None


def _reset_at(state: RunState) -> float | None:
    """When the first usage limit that is waited for is over."""
    due = [
        instance.until
        for instance in state.instances.values()
        if instance.stage is Stage.WAITING and instance.outcome is Outcome.LIMITED and instance.until is not None
    ]
    return min(due, default=None)


def run_reason(state: RunState, status: RunStatus) -> str:
    """Why it stands so: who paused it and why, what is waited for, what failed."""
    if state.facts.end is not None:
        return state.facts.end_reason
    if status is RunStatus.PAUSED and state.pausing is not None:
        return _pause_reason(state)
    if status is RunStatus.WAITING:
        reset = _reset_at(state)
        if reset is not None and not state.gates:
            return f"a usage limit is reached; it goes on at {words.moment(words.at_time(reset))}"
        return f"{words.amount(len(state.gates), 'question')} open" if state.gates else ""
    if state.pausing is not None and not state.pausing.complete:
        return "a pause was asked for"
    return state.cancelling or ""


def _pause_reason(state: RunState) -> str:
    pausing = state.pausing
    assert pausing is not None
    by = f"by {pausing.by}" if pausing.by else ""
    cause = "" if pausing.cause in ("person", "") else f"({pausing.cause})"
    return " ".join(part for part in (pausing.reason, by, cause) if part)


def next_command(state: RunState, status: RunStatus, run: str, at: str = "") -> str | None:
    """The command that goes on, or None where there is nothing to do."""
    match status:
        case RunStatus.WAITING if state.gates:
            return approve_command(next(iter(state.gates.values())), run, at)
        case RunStatus.PAUSED | RunStatus.INTERRUPTED | RunStatus.FAILED:
            return f"onward resume {run}{at}"
        case RunStatus.RUNNING if state.gates:
            return approve_command(next(iter(state.gates.values())), run, at)
        case _:
            return None


def approve_command(gate: GateOpen, run: str, at: str = "") -> str:
    """The command that answers a gate; the choice is named where `approve` is not offered."""
    choice = "" if not gate.choices or "approve" in gate.choices else f" --choice {shlex.quote(gate.choices[0])}"
    return f"onward approve {run} {shlex.quote(gate.path)}{choice}{at}"


def _driver(around: Around) -> DriverView | None:
    driver = around.driver
    if driver is None:
        return None
    return DriverView(alive=True, host=driver.host, pid=driver.pid, since=around.since)


# ---------------------------------------------------------------- gates and findings


def _gate(gate: GateOpen) -> GateView:
    return GateView(
        path=gate.path,
        question=gate.question,
        choices=list(gate.choices),
        fields={name: None if options is None else list(options) for name, options in gate.fields.items()},
        expires_at=clock.to_iso(gate.expires_at) if gate.expires_at is not None else None,
    )


def _findings(state: RunState, status: RunStatus, around: Around) -> Iterator[FindingView]:
    for problem in around.problems:
        yield FindingView(kind="definition", severity="warning", path=None, text=problem)
    for finding in around.findings:
        yield _journal_finding(finding, around)
    if status is RunStatus.INTERRUPTED:
        yield from _interrupted(state, around)
    for note in around.notes:
        if note.level != "note":
            yield FindingView(kind="note", severity="warning", path=note.path, text=note.text)


def _journal_finding(finding: Finding, around: Around) -> FindingView:
    choices = []
    if finding.needs_choice:
        command = f"onward resume {around.run} --accept-damage{around.at}"
        choices = [ChoiceView(id="accept-damage", text="go on without what the damaged lines held", command=command)]
    return FindingView(
        kind=finding.kind.value,
        severity="choice" if finding.needs_choice else "note",
        path=None,
        text=f"journal, {finding.where}: {finding.text}",
        choices=choices,
    )


def _interrupted(state: RunState, around: Around) -> Iterator[FindingView]:
    for instance in state.running_leaves():
        kind, text = _FATES[around.fate(instance.path, instance.attempt)]
        yield FindingView(kind=kind, severity="note", path=instance.path, text=text)


_FATES = {
    Fate.LIVES: ("still-running", "still runs although nothing drives the run; a resume waits for it"),
    Fate.ENDED: ("ended-meanwhile", "ended while nothing drove the run; a resume takes its result"),
    Fate.LOST: ("interrupted", "was running when the run was interrupted"),
}
