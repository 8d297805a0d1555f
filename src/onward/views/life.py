"""A store → whether the drivers of this host advance, and whether runs can be driven in it. Holds no lock for long.

A driver touches its record (the file `driver` of its run) about once a second from the loop that does all its work, so
the age of that file tells a driver that hangs from one that only waits.
"""

from __future__ import annotations

import fcntl
import os

from msgspec import Struct

from onward import clock
from onward.store.runs import Store


class Life(Struct, frozen=True, kw_only=True):
    """The answer of a probe; `reasons` says why not."""

    yes: bool
    reasons: tuple[str, ...] = ()


def is_live(store: Store, within_s: float) -> Life:
    """Whether every driver of this host has given a sign of life within so many seconds. No driver is no fault."""
    host, now = os.uname().nodename, clock.now().timestamp()
    reasons = []
    for folder in store.runs():
        driver = folder.driver()
        if driver is None or driver.host != host:
            continue
        try:
            age = now - os.stat(folder.root / "driver").st_mtime
        except FileNotFoundError:
            continue  # it has ended this moment
        if age > within_s:
            named = f"the driver of run {folder.run_id} (process {driver.pid})"
            reasons.append(f"{named} gave no sign of life for {age:.0f} s")
    return Life(yes=not reasons, reasons=tuple(reasons))


def is_ready(store: Store) -> Life:
    """Whether the store is there, can be written, and has locks. A store that is not there yet can be made."""
    folder = store.runs_folder
    while not folder.exists():
        if folder.parent == folder:
            return Life(yes=False, reasons=(f"{store.root} cannot be made",))
        folder = folder.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        return Life(yes=False, reasons=(f"{folder} cannot be written by this user",))
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
    except BlockingIOError:
        return Life(yes=True)  # somebody holds it, so there are locks
    except OSError as error:
        return Life(yes=False, reasons=(f"{folder} cannot be locked: {error.strerror}",))
    return Life(yes=True)
