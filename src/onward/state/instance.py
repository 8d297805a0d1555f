"""One node as it stands in a run: a place in the tree of instances, and how far it has come."""

from __future__ import annotations

from collections import deque
from enum import IntEnum, IntFlag
from typing import Any

from onward.model.nodes import Kind, Node
from onward.model.status import Outcome, Status
from onward.model.values import Artifact, Value

NO_OUTPUTS: dict[str, Value] = {}


class Role(IntEnum):
    """What an instance stands for."""

    NODE = 0
    """the node itself"""
    LOOP = 1
    """a looped node as a whole; its children are iterations"""
    ITERATION = 2
    """one iteration of a looped node"""
    SECTION = 3
    """`@merge`, `@on-failure` or `@finally`: a sequence below its owner, without events of its own"""


class Stage(IntEnum):
    """How far an instance has come.

    ```
    NEW → REACHED → READY → RUNNING → WORKED → VALID → SURE ──────────────┐
             │        ↑ ↖      │  ↘                                       ▼
             │     WAITING ← RETRY  BROKEN → HANDLING → HANDLED → CLOSING → CLOSED → ENDED
             └────────────────────────────────────────────────────────────↗
    ```
    `GATE` (a question is open) lies on the way of an `approve` leaf and after `HANDLED` with `on-failure: ask`.
    """

    NEW = 0
    """not reached"""
    REACHED = 1
    """reached: `skip-if` and `ensure.before` are asked"""
    READY = 2
    """may begin"""
    RUNNING = 3
    """a leaf: an attempt runs; a container: its children do"""
    RETRY = 4
    """an attempt failed and another one is due"""
    WAITING = 5
    """waits for the time of the next attempt"""
    GATE = 6
    """a question is open"""
    WORKED = 7
    """the work ended well; validators are next"""
    VALID = 8
    """validators passed; `ensure.after` is next"""
    SURE = 9
    """`ensure.after` holds; artifacts are next"""
    BROKEN = 10
    """failed; `on-failure` steps are next"""
    HANDLING = 11
    """`on-failure` steps run"""
    HANDLED = 12
    """`on-failure` steps are done; `then` is next"""
    CLOSING = 13
    """`finally` steps run"""
    CLOSED = 14
    """only the end has to be recorded"""
    ENDED = 15
    """the end is recorded"""


class Asked(IntFlag):
    """Conditions whose answer is known and not asked again."""

    NONE = 0
    SKIP_IF = 1
    BEFORE = 2
    WHILE = 4
    WHILE_FALSE = 8
    UNTIL_TRUE = 16
    UNTIL_FALSE = 32
    ARTIFACTS = 64
    GATE = 128
    """the question of `on-failure: ask` was answered"""
    DELAY = 256
    """the delay before this iteration is over"""
    CUT = 512
    """a time limit or `fail-fast` ended the body: no further child is reached"""


class Instance:
    """Mutable inside the state, so that one event costs O(1); never handed out for writing.

    `used` counts attempts against the retry budget, `attempt` all attempts. Times are seconds since the epoch.
    `position` is the place of an iteration among the items of its loop, from 0. `open` are the
    children that were reached and have not ended, in that order. `result` and `reason` say how the node will end.
    """

    __slots__ = (
        "artifacts", "asked", "attempt", "cursor", "digest", "ended_at", "ended_seq", "ending", "exit", "generation",
        "held", "inputs", "issued", "items", "node", "open", "outcome", "outputs", "parent", "path", "position",
        "queue", "reason", "result", "role", "session", "signal", "stage", "started_at", "status", "stopped", "until",
        "used", "variables",
    )  # fmt: skip

    def __init__(self, path: str, node: Node | None, parent: Instance | None, role: Role) -> None:
        self.path = path
        self.node = node
        self.parent = parent
        self.role = role
        self.stage = Stage.NEW
        self.status = Status.PENDING
        self.asked = Asked.NONE
        self.attempt = 0
        self.used = 0
        self.generation = 0
        self.cursor = 0
        self.position = 0
        self.open: dict[Instance, None] | None = None
        self.stopped: str | None = None
        self.ending: str | None = None
        self.held = 0
        self.issued = False
        self.queue: deque[Instance] | None = None
        self.items: list[tuple[str, Value | None]] | None = None
        self.until: float | None = None
        self.outcome: Outcome | None = None
        self.result: Status | None = None
        self.reason = ""
        self.outputs: dict[str, Value] = NO_OUTPUTS
        self.variables: dict[str, str] | None = None
        self.artifacts: tuple[Artifact, ...] = ()
        self.digest = ""
        self.inputs: str | None = None
        self.exit: int | None = None
        self.signal: str | None = None
        self.session: str | None = None
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.ended_seq = 0

    def __repr__(self) -> str:
        return f"<{self.path or '(root)'} {self.role.name} {self.stage.name} {self.status}>"

    @property
    def ended(self) -> bool:
        """Whether its end is recorded."""
        return self.stage is Stage.ENDED

    @property
    def is_leaf(self) -> bool:
        """Whether it does work itself (a loop as a whole does not, its iterations may)."""
        return (
            self.node is not None and self.node.kind.leaf and (self.role is Role.NODE or self.role is Role.ITERATION)
        )

    @property
    def works(self) -> bool:
        """Whether it takes a place of `limit`: a leaf that is no `approve`."""
        return self.is_leaf and self.node is not None and self.node.kind is not Kind.APPROVE

    @property
    def name(self) -> str:
        """Its last path part, for messages."""
        return self.path[len(self.parent.path) :].lstrip("/") if self.parent is not None else ""

    @property
    def key(self) -> Any:
        """The key of an iteration, else None."""
        if self.role is not Role.ITERATION or self.parent is None:
            return None
        return self.path[len(self.parent.path) + 1 : -1]
