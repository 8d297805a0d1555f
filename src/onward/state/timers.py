"""What waits for a time: the next attempt or iteration, the end of a gate, the time limit of a container."""

from __future__ import annotations

import heapq

from onward.state.instance import Instance, Role, Stage
from onward.state.run_state import RunState


def watch_timer(state: RunState, instance: Instance) -> None:
    """Wake `instance` at the time that it waits for: the next attempt or iteration, or the end of its gate."""
    due = instance.until
    if instance.stage is Stage.GATE:
        gate = state.gates.get(instance.path)
        due = gate.expires_at.timestamp() if gate is not None and gate.expires_at is not None else None
    if due is not None:
        state.ticket += 1
        heapq.heappush(state.timers, (due, state.ticket, instance.path))


def watch_deadline(state: RunState, instance: Instance, started_active_s: float) -> None:
    """A container with `timeout` began; the deadline counts active seconds."""
    node = instance.node
    if node is not None and node.timeout_s is not None and not instance.is_leaf and instance.role is not Role.LOOP:
        state.ticket += 1
        heapq.heappush(state.deadlines, (started_active_s + node.timeout_s, state.ticket, instance.path))
