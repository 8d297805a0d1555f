"""The run in the store → plan and state in the workflow, part by part."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from temporalio import workflow
from temporalio.exceptions import ApplicationError

with workflow.unsafe.imports_passed_through():
    import msgspec

    from onward.engine.temporal import messages as ms
    from onward.engine.temporal.outbox import FOR_EVER, RETRY
    from onward.model.nodes import Plan
    from onward.state.cache import decode_state
    from onward.state.run_state import RunState

READ_WITHIN_S = 30.0
"""a journal is read in one go, without heartbeats"""


async def load(given: ms.Given) -> RunState:
    """The state as the journal has it, over its plan; nothing moves yet."""
    first = await _part(given, 0)
    data = first.data
    for number in range(1, first.parts):
        data += (await _part(given, number)).data
    if hashlib.sha256(data).hexdigest() != first.digest:
        raise ApplicationError("the state of the run changed while it was read", type=ms.TROUBLE)
    whole = ms.unpack(data, ms.Whole)
    plan = msgspec.json.decode(whole.plan, type=Plan)
    state = decode_state(plan, whole.state)
    if state is None:
        raise ApplicationError("the state of the run does not fit its plan", type=ms.TROUBLE)
    return state


async def _part(given: ms.Given, number: int) -> ms.Loaded:
    about = ms.About(run=given.run, store=given.store, epoch=0, beat_s=given.beat_s)
    data: bytes = await workflow.execute_activity(
        ms.LOAD,
        args=[ms.plain(about), number],
        result_type=bytes,
        start_to_close_timeout=FOR_EVER,
        heartbeat_timeout=timedelta(seconds=max(READ_WITHIN_S, given.heartbeat_s)),
        retry_policy=RETRY,
        summary="plan and state" if not number else f"plan and state, part {number + 1}",
    )
    return msgspec.msgpack.decode(data, type=ms.Loaded)
