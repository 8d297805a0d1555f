"""One node as it stands in a run: a place in the tree of instances, and how far it has come."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any

from msgspec import Struct

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
    REFRESH = 1024
    """the items of a loop are to be read once more (not an answer, but kept like one)"""


class Conversation(Struct, array_like=True, frozen=True):
    """What is known of the session of a prompt: its folder and agent, what it has counted, whether it was continued."""

    directory: str | None = None
    usage: dict[str, float] = {}
    continued: bool = False
    adapter: str | None = None


class Instance(Struct, array_like=True, eq=False, kw_only=False):
    """Mutable inside the state, so that one event costs O(1); never handed out for writing.

    The fields up to `former` are what events recorded, and what the state cache keeps, in this order (of `stage` it
    keeps `noted`, the stage that the last event left); the rest is worked out again by `settle`. `used` counts
    attempts against the retry budget, `attempt` all attempts. Times are seconds since the epoch. `position` is the
    place of an iteration among the items of its loop, from 0. `open` are the children that were reached and have not
    ended, in that order. `result` and `reason` say how the node will end.
    """

    path: str
    stage: Stage = Stage.NEW
    status: Status = Status.PENDING
    asked: int = 0
    attempt: int = 0
    used: int = 0
    generation: int = 0
    position: int = 0
    digest: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    ended_seq: int = 0
    exit: int | None = None
    signal: str | None = None
    session: str | None = None
    conversation: Conversation | None = None
    outcome: Outcome | None = None
    result: Status | None = None
    reason: str = ""
    until: float | None = None
    inputs: str | None = None
    outputs: dict[str, Value] = {}
    artifacts: tuple[Artifact, ...] = ()
    items: list[tuple[str, Value | None]] | None = None
    spent: dict[str, float] | None = None
    variables: dict[str, str] | None = None
    former: list[tuple[str, int]] | None = None
    """paths that it had, oldest first, each with the last attempt that began under it"""
    noted: Stage = Stage.NEW
    node: Node | None = None
    parent: Instance | None = None
    role: Role = Role.NODE
    cursor: int = 0
    open: Any = None
    stopped: str | None = None
    ending: str | None = None
    held: int = 0
    issued: bool = False
    queue: Any = None

    def __repr__(self) -> str:
        return f"<{self.path or '(root)'} {self.role.name} {self.stage.name} {self.status}>"

    def called(self, attempt: int) -> str:
        """The path under which an attempt began."""
        for path, last in self.former or ():
            if attempt <= last:
                return path
        return self.path

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
