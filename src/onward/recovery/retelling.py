"""A state → the events that lead to it, as few as will do: for a journal that was lost, and for a run that is forked.

What only the journal knew (each earlier try, conditions that decided nothing more) is not told again.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from msgspec.structs import replace

from onward.model import events as ev
from onward.model.status import Outcome, Where
from onward.state.instance import Asked, Instance, Role, Stage
from onward.state.run_state import RunState

_CHECKED = (Stage.WORKED, Stage.VALID, Stage.SURE, Stage.CLOSING, Stage.CLOSED, Stage.ENDED)


def unstamped(event: ev.Event) -> ev.Event:
    """The event as it was before a journal took it; its time stays."""
    return replace(event, seq=0, epoch=0, batch=0)


def retell(state: RunState) -> Iterator[ev.Event]:
    """Everything but the start of the run. `state` is one that was read and not settled."""
    for instance in list(state.instances.values()):
        if instance.path and instance.role is not Role.SECTION:
            yield from retell_node(instance)
    for gate in state.gates.values():
        yield unstamped(gate)
    last = _moment(state.facts.last_at)
    if state.pausing is not None and state.pausing.complete:
        pausing = state.pausing
        yield ev.PauseRequest(at=last, reason=pausing.reason, by=pausing.by, cause=pausing.cause)
        until = _moment(pausing.until) if pausing.until is not None else None
        yield ev.WorkflowPause(at=last, active=tuple(pausing.active), until=until)
    if state.facts.end is not None:
        ended = _moment(state.facts.ended_at or state.facts.last_at)
        outputs = state.root.outputs
        yield ev.WorkflowEnd(at=ended, status=state.facts.end, reason=state.facts.end_reason, outputs=outputs)


def retell_node(instance: Instance) -> Iterator[ev.Event]:
    """What leads to this one instance."""
    stage = instance.noted if instance.noted is not Stage.NEW else instance.stage
    for _ in range(instance.generation):
        yield ev.Override(path=instance.path, action="rerun", reason="as before", at=_begun(instance))
    if instance.is_leaf:
        yield from _leaf(instance, stage)
    elif stage is not Stage.NEW or instance.items is not None:
        yield from _container(instance)
    yield from _rounds(instance)
    if stage is Stage.ENDED:
        yield ev.NodeEnd(
            at=_ended(instance),
            path=instance.path,
            status=instance.status,
            reason=instance.reason,
            outputs=instance.outputs,
            artifacts=instance.artifacts,
            inputs_sha256=instance.inputs,
        )


def _leaf(instance: Instance, stage: Stage) -> Iterator[ev.Event]:
    if not instance.attempt:
        yield from _answer(instance, stage)
        return
    yield ev.AttemptStart(
        at=_begun(instance),
        path=instance.path,
        attempt=instance.attempt,
        definition_sha256=instance.digest,
        inputs_sha256=instance.inputs,
        session=instance.session,
    )
    outcome = _outcome(instance, stage)
    if outcome is None:
        return
    yield ev.AttemptEnd(
        at=_ended(instance),
        path=instance.path,
        attempt=instance.attempt,
        outcome=outcome,
        exit=instance.exit,
        signal=instance.signal,
        error=instance.reason if outcome is not Outcome.OK and instance.reason else None,
        session=instance.session,
        outputs=instance.outputs,
    )
    if stage is Stage.WAITING and instance.until is not None:
        until = _moment(instance.until)
        yield ev.RetryWait(at=_ended(instance), path=instance.path, attempt=instance.attempt + 1, until=until)


def _answer(instance: Instance, stage: Stage) -> Iterator[ev.Event]:
    """The answer that a question got, where its end was not recorded yet."""
    said = {name: str(value.value) for name, value in instance.outputs.items() if value.value is not None}
    if stage in (Stage.NEW, Stage.GATE, Stage.ENDED) or "choice" not in said:
        return
    fields = {name: text for name, text in said.items() if name not in ("choice", "note", "by", "at")}
    at = dt.datetime.fromisoformat(said["at"]) if "at" in said else _ended(instance)
    yield ev.GateOpen(at=_begun(instance), path=instance.path, choices=(said["choice"],))
    yield ev.GateDecision(
        at=at,
        path=instance.path,
        choice=said["choice"],
        note=said.get("note", ""),
        fields=fields,
        by=said.get("by", ""),
    )


def _outcome(instance: Instance, stage: Stage) -> Outcome | None:
    """How its last try went; None: it is under way."""
    if stage is Stage.RUNNING:
        return None
    if stage in (Stage.NEW, Stage.REACHED, Stage.READY):
        return Outcome.INTERRUPTED
    if instance.outcome is not None:
        return instance.outcome
    return Outcome.OK if stage in _CHECKED else Outcome.ERROR


def _container(instance: Instance) -> Iterator[ev.Event]:
    node = instance.node
    if instance.started_at is not None or instance.stage is not Stage.NEW:
        kind = node.kind.value if node is not None else ""
        yield ev.NodeStart(
            at=_begun(instance), path=instance.path, kind=kind, definition_sha256=instance.digest
        )
    if instance.items is not None:
        items = tuple(ev.LoopItem(key=key, value=value) for key, value in instance.items)
        yield ev.LoopItems(at=_begun(instance), path=instance.path, items=items)


_ROUNDS = (
    (Asked.WHILE, Where.WHILE, True),
    (Asked.WHILE_FALSE, Where.WHILE, False),
    (Asked.UNTIL_TRUE, Where.UNTIL, True),
    (Asked.UNTIL_FALSE, Where.UNTIL, False),
)


def _rounds(instance: Instance) -> Iterator[ev.Event]:
    """Answers that a `while` or `until` loop got for this round."""
    if instance.role is Role.ITERATION:
        for flag, where, result in _ROUNDS:
            if instance.asked & flag:
                yield ev.ConditionAsked(at=_ended(instance), path=instance.path, where=where, result=result)


def _begun(instance: Instance) -> dt.datetime:
    return _moment(instance.started_at or instance.ended_at or 0.0)


def _ended(instance: Instance) -> dt.datetime:
    return _moment(instance.ended_at or instance.started_at or 0.0)


def _moment(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)
