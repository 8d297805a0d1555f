"""An attempt's folder → what became of the attempt: ended and how, still held by a keeper, or lost.

For a program: `exit.json` is valid → it ended; else its lock is held → it is under way (whatever process ids say); else
it was interrupted. A call has no lock of its own: the same is asked of the workers' folders (`find_call`).

The lock is an `flock` on the folder itself. It belongs to the open folder, not to a process, so it can be handed on
with the descriptor, and whoever holds the last copy holds it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from onward.tasks.call_slot import Slot
from onward.tasks.exit_record import CALLS_FILE, EARLIER_CALLS_FILE, FILE, PROCESS_FILE, RESULT_FILE, quoted
from onward.tasks.processes import Process, alive

_SLOT_OF_A_WORKER = 5


class Usage(NamedTuple):
    """What a task used, with the children it waited for. Memory is at least what the keeper itself has."""

    user_s: float = 0.0
    system_s: float = 0.0
    max_rss_kb: int = 0


class Exit(NamedTuple):
    """How an attempt ended (a tuple: one is made for every task, in the order in which it is sent).

    `code` is `None` when a signal ended it (`signal` names it) or nothing was started (`error` says why).
    `ended_by` is `timeout`, `idle`, or the reason given to `stop`; whatever the code then is, it did not end by itself.
    `started` is wall time, in seconds since 1970. `out` and `err` are the bytes of its output, `left_behind` the
    processes that outlive it. A call that succeeded has its JSON text in `result`, or in the file `result.json` of its
    folder.
    """

    code: int | None
    signal: str | None
    error: str | None
    ended_by: str | None
    started: float
    duration_s: float
    usage: Usage
    out: int
    err: int
    left_behind: int
    result: str | None = None
    result_file: bool = False

    @property
    def ended(self) -> float:
        return self.started + self.duration_s

    @property
    def ok(self) -> bool:
        return self.code == 0 and self.error is None and self.ended_by is None


class TaskProcess(Struct, frozen=True, kw_only=True):
    """Which process an attempt is; good for signals only (`attempt_is_held` says whether it is under way)."""

    pid: int
    start_time: int
    boot_id: str
    marker: str

    @property
    def alive(self) -> bool:
        return alive(self.pid, self.start_time, self.boot_id)

    @property
    def process(self) -> Process | None:
        """For `end_process_tree`; `None` when it is gone."""
        return Process(self.pid, self.start_time) if self.alive else None


class Trace(StrEnum):
    """Where a call is that a driver once sent to a worker."""

    ENDED = "ended"  # and its end is recorded
    HELD = "held"  # a worker has it, or has not yet said what it has: ask again
    LOST = "lost"  # nobody has it, and no end is recorded


class CallTrace(Struct, frozen=True, kw_only=True):
    """`exit` of an ended call; `worker`: the folder of the worker that has or had it."""

    trace: Trace
    exit: Exit | None = None
    worker: Path | None = None


def lock_attempt(folder: Path | str) -> int:
    """A descriptor that holds the lock of the folder, until its last copy is closed.

    Raises `BlockingIOError` when somebody holds it.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def attempt_is_held(folder: Path | str) -> bool:
    """Whether a keeper (or a driver about to hand over) holds the folder's lock. Any number may ask at once."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def read_exit(folder: Path | str) -> Exit | None:
    """`None` when no end is recorded; an empty or broken record is none."""
    return _as_exit(_read(Path(folder, FILE)))


def read_process(folder: Path | str) -> TaskProcess | None:
    """`None` of what has not run for a moment yet, and of a broken record."""
    facts = _json(_read(Path(folder, PROCESS_FILE)))
    try:
        return TaskProcess(
            pid=int(facts["pid"]),
            start_time=int(facts["start_time"]),
            boot_id=str(facts["boot_id"]),
            marker=str(facts["marker"]),
        )
    except (KeyError, TypeError, ValueError):
        return None


def find_call(workers: Path | str, id: str) -> CallTrace:
    """What became of a call that an earlier driver sent to a worker with its folder in `workers`.

    Its record may be found only after a lock was: so the lock is asked first, and a record that is not there when the
    lock is free never will be.
    """
    holder: Path | None = None
    for folder in _folders(Path(workers)):
        held = attempt_is_held(folder)
        recorded = _recorded_call(folder, id)
        if recorded is not None:
            return CallTrace(trace=Trace.ENDED, exit=recorded, worker=folder)
        if held and _current_call(folder) in (id, None):
            holder = folder
    if holder is not None:
        return CallTrace(trace=Trace.HELD, worker=holder)
    return CallTrace(trace=Trace.LOST)


def read_result(folder: Path | str) -> str:
    """The JSON text of a large result. Raises `OSError`."""
    return Path(folder, RESULT_FILE).read_text(encoding="utf-8")


def _recorded_call(worker: Path, id: str) -> Exit | None:
    """The first record wins: a worker that died after it had recorded the end may have a second one from its keeper."""
    start = b'\n{"id": ' + quoted(id).encode() + b","
    for name in (EARLIER_CALLS_FILE, CALLS_FILE):
        text = _read(worker / name)
        at = text.find(start)
        while at >= 0:
            end = text.find(b"\n", at + 1)
            recorded = _as_exit(text[at + 1 : end if end >= 0 else len(text)])
            if recorded is not None:
                return recorded
            at = text.find(start, at + 1)
    return None


def _current_call(worker: Path) -> str | None:
    """The call that a living worker has in flight; `None` if it has none, or will not show it."""
    process = read_process(worker)
    if process is None or not process.alive:
        return None
    try:
        file = os.open(f"/proc/{process.pid}/fd/{_SLOT_OF_A_WORKER}", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        call = Slot(file).current()
    except (OSError, ValueError):
        return None
    finally:
        os.close(file)
    return None if call is None else call.id


def _as_exit(text: bytes) -> Exit | None:
    record = _json(text)
    try:
        return Exit(
            code=record["code"],
            signal=record["signal"],
            error=record["error"],
            ended_by=record["ended_by"],
            started=datetime.fromisoformat(record["started"]).timestamp(),
            duration_s=float(record["duration_s"]),
            usage=Usage(**record["usage"]),
            out=int(record["out"]),
            err=int(record["err"]),
            left_behind=int(record["left_behind"]),
            result=json.dumps(record["result"]) if "result" in record else None,
            result_file=bool(record.get("result_file", False)),
        )
    except (KeyError, TypeError, ValueError):
        return None


def _json(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _folders(parent: Path) -> Iterator[Path]:
    try:
        names = sorted(os.listdir(parent), reverse=True)
    except FileNotFoundError:
        return
    yield from (parent / name for name in names if (parent / name).is_dir())
