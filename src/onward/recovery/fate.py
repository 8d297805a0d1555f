"""An attempt whose end is not in the journal → what became of it: its keeper and its folder know."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from enum import StrEnum

from onward.model.nodes import Kind
from onward.state.run_state import RunState
from onward.store.folder import RunFolder


class Fate(StrEnum):
    """What became of an attempt while nothing drove the run."""

    LIVES = "lives"
    """its keeper goes on with it; a resume waits for it"""
    ENDED = "ended"
    """its end is recorded in its folder; a resume takes the result"""
    LOST = "lost"
    """it is gone"""


FateOf = Callable[[str, int], Fate]


def fate_of(folder: RunFolder, state: RunState, path: str, attempt: int, kept_at: str = "") -> Fate:
    """While it runs its keeper holds the lock of its folder, then its end is there; a call is known to its worker.

    `kept_at` is the path of the node as long as what a renamed one did is still kept under its former name.
    """
    place = folder.attempt_path(kept_at or path, attempt)
    if _is_locked(place):
        return Fate.LIVES
    if os.path.exists(f"{place}/exit.json"):
        return Fate.ENDED
    instance = state.get(path)
    if instance is not None and instance.node is not None and instance.node.kind is Kind.CALL:
        return _fate_of_call(folder, kept_at or instance.called(attempt), attempt)
    return Fate.LOST


def _fate_of_call(folder: RunFolder, path: str, attempt: int) -> Fate:
    from onward.tasks.attempt_folder import Trace, find_call
    from onward.tasks.environment import marker_of

    trace = find_call(folder.root / "workers", marker_of(folder.root, path, attempt)).trace
    return {Trace.HELD: Fate.LIVES, Trace.ENDED: Fate.ENDED}.get(trace, Fate.LOST)


def _is_locked(folder: str) -> bool:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
