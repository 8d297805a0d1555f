"""What `decide` asks an engine to do. Each ends in events, and only events change the state."""

from __future__ import annotations

from msgspec import Struct

from onward.model.conditions import Condition
from onward.model.status import Status, Where


class StartNode(Struct, frozen=True):
    """Record that a container, loop or iteration begins: `NodeStart`."""

    path: str


class AskCondition(Struct, frozen=True):
    """Ask whether all `conditions` hold: `ConditionAsked`. `asker` is the node whose surroundings count."""

    path: str
    where: Where
    conditions: tuple[Condition, ...]
    asker: str


class ReadItems(Struct, frozen=True):
    """Read the items of a `for-each` loop: `LoopItems`, or `ConditionAsked` with an error."""

    path: str


class BeginAttempt(Struct, frozen=True):
    """Start attempt number `attempt`: `AttemptStart` now, `AttemptEnd` when it has ended."""

    path: str
    attempt: int


class StopAttempt(Struct, frozen=True):
    """End the running attempt of a leaf that was cancelled; its `AttemptEnd` follows."""

    path: str
    reason: str


class WaitForRetry(Struct, frozen=True):
    """Record when the next attempt starts: `RetryWait`, `delay_s` from now or at `until_s` (since the epoch)."""

    path: str
    attempt: int
    delay_s: float
    until_s: float | None = None


class WaitForLoop(Struct, frozen=True):
    """Record when the next iteration starts: `LoopDelay`."""

    path: str
    index: int
    delay_s: float


class Validate(Struct, frozen=True):
    """Ask the validators of the attempt that ended: `Validation`."""

    path: str
    attempt: int


class OpenGate(Struct, frozen=True):
    """Put a question to a person: `GateOpen`."""

    path: str
    purpose: str


class ExpireGate(Struct, frozen=True):
    """The time of a gate is over: `GateDecision` by the time limit, or the deadline is taken away."""

    path: str


class FinishNode(Struct, frozen=True):
    """End a node: `NodeEnd`. With `gather`, its artifacts, outputs and hand-off are collected first.

    When collecting fails the answer is `ConditionAsked(where=artifacts, result=False)` instead.
    """

    path: str
    status: Status
    reason: str = ""
    gather: bool = False


class EndRun(Struct, frozen=True):
    """Record the end of the run: `WorkflowEnd`."""

    status: Status
    reason: str = ""


class RequestPause(Struct, frozen=True):
    """Something is used up: the run pauses itself."""

    reason: str
    cause: str


class CompletePause(Struct, frozen=True):
    """Everything is quiet after a pause request: snapshot, then `WorkflowPause`."""

    active: tuple[str, ...]


Action = (
    StartNode
    | AskCondition
    | ReadItems
    | BeginAttempt
    | StopAttempt
    | WaitForRetry
    | WaitForLoop
    | Validate
    | OpenGate
    | ExpireGate
    | FinishNode
    | EndRun
    | CompletePause
    | RequestPause
)
