"""What `decide` asks an engine to do. Each ends in events, and only events change the state."""

from __future__ import annotations

from dataclasses import dataclass

from onward.model.conditions import Condition
from onward.model.status import Status, Where


@dataclass(frozen=True, slots=True)
class StartNode:
    """Record that a container, loop or iteration begins: `NodeStart`."""

    path: str


@dataclass(frozen=True, slots=True)
class AskCondition:
    """Ask whether all `conditions` hold: `ConditionAsked`. `asker` is the node whose surroundings count."""

    path: str
    where: Where
    conditions: tuple[Condition, ...]
    asker: str


@dataclass(frozen=True, slots=True)
class ReadItems:
    """Read the items of a `for-each` loop: `LoopItems`, or `ConditionAsked` with an error."""

    path: str


@dataclass(frozen=True, slots=True)
class BeginAttempt:
    """Start attempt number `attempt`: `AttemptStart` now, `AttemptEnd` when it has ended."""

    path: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StopAttempt:
    """End the running attempt of a leaf that was cancelled; its `AttemptEnd` follows."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class WaitForRetry:
    """Record when the next attempt starts: `RetryWait`, `delay_s` from now or at `until_s` (since the epoch)."""

    path: str
    attempt: int
    delay_s: float
    until_s: float | None = None


@dataclass(frozen=True, slots=True)
class WaitForLoop:
    """Record when the next iteration starts: `LoopDelay`."""

    path: str
    index: int
    delay_s: float


@dataclass(frozen=True, slots=True)
class Validate:
    """Ask the validators of the attempt that ended: `Validation`."""

    path: str
    attempt: int


@dataclass(frozen=True, slots=True)
class OpenGate:
    """Put a question to a person: `GateOpen`."""

    path: str
    purpose: str


@dataclass(frozen=True, slots=True)
class ExpireGate:
    """The time of a gate is over: `GateDecision` by the time limit, or the deadline is taken away."""

    path: str


@dataclass(frozen=True, slots=True)
class FinishNode:
    """End a node: `NodeEnd`. With `gather`, its artifacts, outputs and hand-off are collected first.

    When collecting fails the answer is `ConditionAsked(where=artifacts, result=False)` instead.
    """

    path: str
    status: Status
    reason: str = ""
    gather: bool = False


@dataclass(frozen=True, slots=True)
class EndRun:
    """Record the end of the run: `WorkflowEnd`."""

    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CompletePause:
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
)
