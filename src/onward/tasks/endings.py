"""The record of a process's end -> what that means for the attempt, in words for people."""

from __future__ import annotations

import signal

from msgspec import Struct

from onward.model.nodes import Node
from onward.model.status import Outcome
from onward.tasks.attempt_folder import Exit
from onward.tasks.time_limits import time_limits

_STOPPED = "stop"
_SHELLS_ADD = 128


class Ending(Struct, frozen=True):
    """`final`: another try cannot help. `started`: there was a process."""

    outcome: Outcome
    error: str | None = None
    final: bool = False
    started: bool = True


OK = Ending(Outcome.OK)


def of(exit: Exit, node: Node, stopped: str | None = None) -> Ending:
    """The meaning of a record. What was stopped and still ended well has ended well."""
    if exit.ok:
        return OK
    if stopped is not None or (exit.ended_by is not None and exit.ended_by not in ("timeout", "idle")):
        return Ending(Outcome.INTERRUPTED, stopped or "stopped")
    if exit.ended_by == "timeout":
        return Ending(Outcome.TIMEOUT, f"timed out after {duration(time_limits(node).timeout_s)}")
    if exit.ended_by == "idle":
        return Ending(Outcome.TIMEOUT, f"printed nothing for {duration(time_limits(node).idle_s)}")
    if exit.code is None and exit.signal is None:
        return Ending(Outcome.ERROR, exit.error or "it could not be started", final=True, started=False)
    return Ending(Outcome.ERROR, exit.error or in_words(exit))


def in_words(exit: Exit) -> str:
    """`exit code 3`, `killed by SIGKILL (137)`."""
    if exit.signal is not None:
        number = _number(exit.signal)
        return f"killed by {exit.signal}" + (f" ({_SHELLS_ADD + number})" if number else "")
    if exit.code is None:
        return exit.error or "it could not be started"
    name = _name(exit.code - _SHELLS_ADD)
    return f"exit code {exit.code}" + (f" (as after {name})" if name else "")


def duration(seconds: float | None) -> str:
    """`90 s`, `2 m`, `3 h`."""
    if seconds is None:
        return "its time"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def _number(name: str) -> int | None:
    found = signal.Signals.__members__.get(name)
    return None if found is None else int(found)


def _name(number: int) -> str | None:
    """A shell answers with 128 + n for a command that a signal ended."""
    if number not in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGABRT, signal.SIGPIPE):
        return None
    return signal.Signals(number).name
