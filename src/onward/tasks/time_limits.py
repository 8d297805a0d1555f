"""How long a task may run and be silent: what its node says, and for agents always some end."""

from __future__ import annotations

from msgspec import Struct

from onward.model.nodes import Kind, Node

AGENT_TIMEOUT_S = 4 * 3600.0
AGENT_IDLE_S = 30 * 60.0
"""of a prompt whose node says nothing: some agents wait for ever, silently, for a network or a limit"""


class TimeLimits(Struct, frozen=True):
    """Seconds; None: no end."""

    timeout_s: float | None
    idle_s: float | None


def time_limits(node: Node) -> TimeLimits:
    """Those of one attempt."""
    if node.kind is not Kind.PROMPT:
        return TimeLimits(node.timeout_s, node.idle_s)
    timeout_s = AGENT_TIMEOUT_S if node.timeout_s is None else node.timeout_s
    return TimeLimits(timeout_s, AGENT_IDLE_S if node.idle_s is None else node.idle_s)
