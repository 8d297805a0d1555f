"""State ↔ bytes, so that a resume need not fold a long journal from its first line.

Only what events recorded is kept; what can move is worked out again by `settle`. The bytes fit one plan: instances
are attached to today's nodes by path, so a cache made with an older definition is as good as the journal itself.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from onward.model.events import GateOpen
from onward.model.nodes import Plan
from onward.model.status import Outcome, Status
from onward.model.values import Artifact, Value
from onward.state.instance import NO_OUTPUTS, Asked, Instance, Stage
from onward.state.run_state import Pausing, RunFacts, RunState

FORMAT = 1


class Row(Struct, array_like=True):
    """One instance; `digest` None: that of today's node."""

    path: str
    stage: int
    status: Status
    asked: int
    attempt: int
    used: int
    generation: int
    position: int
    digest: str | None
    started_at: float | None
    ended_at: float | None
    ended_seq: int
    exit: int | None = None
    signal: str | None = None
    session: str | None = None
    outcome: Outcome | None = None
    result: Status | None = None
    reason: str = ""
    until: float | None = None
    inputs: str | None = None
    outputs: dict[str, Value] | None = None
    artifacts: tuple[Artifact, ...] = ()
    items: list[tuple[str, Value | None]] | None = None
    variables: dict[str, str] | None = None


class Cached(Struct):
    """The whole state."""

    format: int
    facts: RunFacts
    rows: list[Row]
    gates: dict[str, GateOpen]
    pausing: Pausing | None = None
    cancelling: str | None = None
    done_leaves: int = 0


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Cached)


def encode_state(state: RunState) -> bytes:
    """The bytes from which `decode_state` makes the same state."""
    return _encoder.encode(
        Cached(
            format=FORMAT,
            facts=state.facts,
            rows=[_row(instance) for instance in state.instances.values()],
            gates=state.gates,
            pausing=state.pausing,
            cancelling=state.cancelling,
            done_leaves=state.done_leaves,
        )
    )


def decode_state(plan: Plan, data: bytes) -> RunState | None:
    """The state that was encoded, over today's plan; None when the bytes are of another format or damaged."""
    try:
        cached = _decoder.decode(data)
    except msgspec.DecodeError:
        return None
    if cached.format != FORMAT:
        return None
    state = RunState(plan)
    state.facts, state.gates = cached.facts, cached.gates
    state.pausing, state.cancelling = cached.pausing, cached.cancelling
    state.done_leaves = cached.done_leaves
    for row in cached.rows:
        _fill(state.ensure(row.path), row)
    state.running = len(state.running_leaves())
    return state


def _row(instance: Instance) -> Row:
    digest: str | None = instance.digest
    if instance.node is not None and instance.digest == instance.node.digest:
        digest = None
    return Row(
        instance.path,
        int(instance.stage),
        instance.status,
        int(instance.asked),
        instance.attempt,
        instance.used,
        instance.generation,
        instance.position,
        digest,
        instance.started_at,
        instance.ended_at,
        instance.ended_seq,
        instance.exit,
        instance.signal,
        instance.session,
        instance.outcome,
        instance.result,
        instance.reason,
        instance.until,
        instance.inputs,
        instance.outputs or None,
        instance.artifacts,
        instance.items,
        instance.variables,
    )


def _fill(instance: Instance, row: Row) -> None:
    instance.stage, instance.status, instance.asked = Stage(row.stage), row.status, Asked(row.asked)
    instance.attempt, instance.used, instance.generation = row.attempt, row.used, row.generation
    instance.position = row.position
    instance.digest = row.digest if row.digest is not None else instance.node.digest if instance.node else ""
    instance.started_at, instance.ended_at, instance.ended_seq = row.started_at, row.ended_at, row.ended_seq
    instance.exit, instance.signal, instance.session = row.exit, row.signal, row.session
    instance.outcome, instance.result, instance.reason = row.outcome, row.result, row.reason
    instance.until, instance.inputs = row.until, row.inputs
    instance.outputs = row.outputs if row.outputs is not None else NO_OUTPUTS
    instance.artifacts = row.artifacts
    instance.items, instance.variables = row.items, row.variables
