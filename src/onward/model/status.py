"""The statuses, outcomes and other closed sets of words."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """How a node or a run stands."""

    PENDING = "pending"
    """not reached yet"""
    RUNNING = "running"
    """begun and not ended"""
    WAITING = "waiting"
    """a gate is open, or a delay runs"""
    SUCCEEDED = "succeeded"
    """ended well"""
    FAILED = "failed"
    """ended badly"""
    SKIPPED = "skipped"
    """left out: by `skip-if`, or by a person"""
    CANCELLED = "cancelled"
    """not done, because the run or its group was ended"""

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen to a node of this status."""
        return self in _ENDED

    @property
    def passed(self) -> bool:
        """Whether what follows may go on."""
        return self in (Status.SUCCEEDED, Status.SKIPPED)


_ENDED = frozenset({Status.SUCCEEDED, Status.FAILED, Status.SKIPPED, Status.CANCELLED})


class RunStatus(StrEnum):
    """How a run stands, as `status` shows it."""

    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    """no driver lives and the run has not ended"""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Outcome(StrEnum):
    """What an attempt ends in."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"
    INVALID = "invalid"
    """the work ended, but outputs, schema or validators do not fit"""
    LIMITED = "limited"
    """a rate or usage limit: neither a success nor a failure"""
    INTERRUPTED = "interrupted"
    """ended by a pause, a crash or a lost keeper; not counted against `retry`"""


class Where(StrEnum):
    """At which point of a node's life a condition is asked."""

    SKIP_IF = "skip-if"
    BEFORE = "before"
    AFTER = "after"
    WHILE = "while"
    UNTIL = "until"
    ARTIFACTS = "artifacts"
    """whether the artifacts, outputs and hand-off of a node could be collected"""
    DONE_ALREADY = "done-already"
    """whether an interrupted leaf with `on-resume: check` had done its work after all"""
    ITEMS = "items"
    """whether the items of a loop could be read"""


class Then(StrEnum):
    """What follows the failure of a node."""

    STOP = "stop"
    CONTINUE = "continue"
    ASK = "ask"


class OnResume(StrEnum):
    """What a resume does with an interrupted leaf (`format.md` 5.3)."""

    RETRY = "retry"
    ASK = "ask"
    CHECK = "check"
    ALWAYS = "always"
