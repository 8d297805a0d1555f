"""Pause and resume signals, and the pause state of a workflow that they make, to and from a file of its own.

`pause-state/<workflow_id>.pause.json` is the truth, so that a pause survives a restart and is seen by every process
that shares the folder.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from math import isfinite

import msgspec
from msgspec import Struct

from onward import clock, files
from onward.errors import StoreError
from onward.mirrors.pause_errors import BadSignal, PauseError
from onward.mirrors.snapshot_file import check_id

FOLDER = "pause-state"
SUFFIX = ".pause.json"
GRACE_S = 30.0


class PauseSignal(Struct, frozen=True, kw_only=True):
    """A request to pause. `grace_period`: seconds (or a `timedelta`) that running activities get to end."""

    workflow_id: str
    reason: str = ""
    requested_at: datetime | None = None
    """now, where it is left out"""
    grace_period: float | timedelta = GRACE_S
    automatic: bool = False
    """asked for by a program (a limit, a shutdown), not by a person"""


class ResumeSignal(Struct, frozen=True, kw_only=True):
    """A request to go on."""

    workflow_id: str
    reason: str = ""
    requested_at: datetime | None = None
    """now, where it is left out"""


class PauseState(Struct, frozen=True, kw_only=True):
    """How it stands with the pauses of one workflow. Times in UTC, lengths in seconds."""

    workflow_id: str
    is_paused: bool
    signal_id: str
    """changes with every signal that changed something"""
    reason: str = ""
    requested_at: datetime | None = None
    paused_at: datetime | None = None
    grace_period: float = GRACE_S
    automatic: bool = False
    acknowledged_at: datetime | None = None
    """when the workflow said that nothing of it runs any more"""
    resumed_at: datetime | None = None
    resume_reason: str = ""
    pause_count: int = 0
    resume_attempts: int = 0
    resume_count: int = 0
    """attempts that resumed it"""
    restore_count: int = 0
    paused_s: float = 0.0
    """length of all pauses that are over"""

    @property
    def deadline(self) -> datetime | None:
        """When the grace is over; None while it is not paused."""
        if not self.is_paused or self.paused_at is None:
            return None
        return self.paused_at + timedelta(seconds=self.grace_period)


# ---------------------------------------------------------------- what signals do


def paused(before: PauseState | None, signal: PauseSignal) -> PauseState:
    """The state after a pause signal. One that comes during a pause can only shorten the grace."""
    now, grace = clock.now(), grace_of(signal)
    if before is not None and before.is_paused:
        waited = (now - before.paused_at).total_seconds() if before.paused_at is not None else 0.0
        return msgspec.structs.replace(before, grace_period=max(0.0, min(before.grace_period, waited + grace)))
    base = before or PauseState(workflow_id=signal.workflow_id, is_paused=False, signal_id="")
    return msgspec.structs.replace(
        base,
        is_paused=True,
        signal_id=clock.token_hex(16),
        reason=signal.reason,
        requested_at=requested(signal),
        paused_at=now,
        grace_period=grace,
        automatic=signal.automatic,
        acknowledged_at=None,
        pause_count=base.pause_count + 1,
    )


def resumed(before: PauseState, signal: ResumeSignal) -> PauseState:
    """The state after a resume signal: an attempt, and a success where it was paused."""
    tried = msgspec.structs.replace(before, resume_attempts=before.resume_attempts + 1)
    if not before.is_paused:
        return tried
    now = clock.now()
    lasted = (now - before.paused_at).total_seconds() if before.paused_at is not None else 0.0
    return msgspec.structs.replace(
        tried,
        is_paused=False,
        signal_id=clock.token_hex(16),
        resumed_at=now,
        resume_reason=signal.reason,
        resume_count=before.resume_count + 1,
        paused_s=before.paused_s + max(0.0, lasted),  # a clock that went back gives no time back
    )


def grace_of(signal: PauseSignal) -> float:
    """The grace in seconds. Raises `BadSignal`."""
    grace = signal.grace_period
    seconds = grace.total_seconds() if isinstance(grace, timedelta) else grace
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise BadSignal(f"the grace is seconds or a timedelta, not {type(grace).__name__}")
    if not isfinite(seconds) or seconds < 0:
        raise BadSignal(f"the grace is 0 seconds or more, not {seconds}")
    return float(seconds)


def requested(signal: PauseSignal | ResumeSignal) -> datetime:
    """When it was asked for, in UTC. Raises `BadSignal`."""
    at: object = signal.requested_at
    if at is None:
        return clock.now()
    if not isinstance(at, datetime) or at.tzinfo is None:
        raise BadSignal(f"`requested_at` is a datetime with an offset, not {at!r}", help="use `datetime.now(UTC)`")
    return at.astimezone(UTC)


# ---------------------------------------------------------------- files


def path_of(folder: str, workflow_id: str) -> str:
    """Where the pause state of a workflow is, or would be."""
    return os.path.join(folder, check_id(workflow_id) + SUFFIX)


def stamp_of(path: str) -> tuple[int, int, int] | None:
    """What changes when the file is written anew; None where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PauseError(f"cannot look at {path}: {error.strerror}") from error
    return found.st_ino, found.st_mtime_ns, found.st_size


def read(path: str) -> PauseState | None:
    """The state in a file; None where there is none. Raises `PauseError` for one that cannot be used."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PauseError(f"cannot read {path}: {error.strerror}") from error
    try:
        return msgspec.json.decode(data, type=PauseState)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise PauseError(
            f"the pause state {path} cannot be used: {error}", help="remove it: the workflow then counts as not paused"
        ) from error


def write(path: str, state: PauseState) -> None:
    """Keep a state, on the disk when this returns."""
    try:
        files.make_folder(os.path.dirname(path))
        files.write_atomic(path, msgspec.json.format(msgspec.json.encode(state), indent=2) + b"\n")
    except StoreError as error:
        raise PauseError(f"the pause state was not written: {error.message}", help=error.help) from error


def remove(path: str) -> bool:
    """Forget a state; False when there was none."""
    try:
        return files.remove(path)
    except StoreError as error:
        raise PauseError(f"the pause state was not removed: {error.message}", help=error.help) from error
