"""State ↔ bytes, so that a resume need not fold a long journal from its first line.

Only what events recorded is kept; what can move is worked out again by `settle`. The bytes fit one plan: after an edit
of the workflow the journal is read from its first line.
"""

from __future__ import annotations

from operator import attrgetter

import msgspec
from msgspec import Struct

from onward.model.events import GateOpen
from onward.model.nodes import Plan
from onward.state.instance import NO_OUTPUTS, Asked, Instance
from onward.state.run_state import Pausing, RunFacts, RunState

FORMAT = 3
_OF_THE_PLAN = "="


class Cached(Struct):
    """The whole state."""

    format: int
    facts: RunFacts
    instances: list[Instance]
    gates: dict[str, GateOpen]
    pausing: Pausing | None = None
    cancelling: str | None = None
    done_leaves: int = 0
    plan_digest: str = ""


class _ToWrite(Cached):
    """The same with rows cut off behind what is kept."""

    instances: list[list[object]]  # type: ignore[assignment]


_KEPT = Instance.__struct_fields__[: Instance.__struct_fields__.index("former") + 1]
_row = attrgetter(*_KEPT)
_DIGEST = _KEPT.index("digest")
_STAGE = _KEPT.index("stage")
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Cached)


def encode_state(state: RunState) -> bytes:
    """The bytes from which `decode_state` makes the same state. Of most nodes the digest is that of the plan."""
    rows = []
    for instance in state.instances.values():
        row = list(_row(instance))
        row[_STAGE] = instance.noted
        if instance.node is not None and instance.digest == instance.node.digest:
            row[_DIGEST] = _OF_THE_PLAN
        rows.append(row)
    return _encoder.encode(
        _ToWrite(
            format=FORMAT,
            facts=state.facts,
            instances=rows,
            gates=state.gates,
            pausing=state.pausing,
            cancelling=state.cancelling,
            done_leaves=state.done_leaves,
            plan_digest=state.plan.digest,
        )
    )


def decode_state(plan: Plan, data: bytes) -> RunState | None:
    """The state that was encoded, over today's plan; None when the bytes are of another format, plan, or damaged."""
    try:
        cached = _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    if cached.format != FORMAT or cached.plan_digest != plan.digest:
        return None
    state = RunState(plan)
    state.facts, state.gates = cached.facts, cached.gates
    state.pausing, state.cancelling = cached.pausing, cached.cancelling
    state.done_leaves = cached.done_leaves
    for instance in cached.instances:
        _attach(state, instance)
    state.running = len(state.running_leaves())
    state.charged = {one.path: one for one in cached.instances if one.spent is not None}
    return state


def _attach(state: RunState, instance: Instance) -> None:
    if instance.path:
        state.place(instance)
    else:
        instance.node = state.root.node
        state.root = instance
    instance.noted = instance.stage
    if instance.asked is not Asked.NONE:
        instance.asked &= ~Asked.CUT
    if instance.digest == _OF_THE_PLAN:
        instance.digest = instance.node.digest if instance.node is not None else ""
    if not instance.outputs:
        instance.outputs = NO_OUTPUTS
    state.instances[instance.path] = instance
