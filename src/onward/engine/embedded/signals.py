"""Requests from outside to the driver: Unix signals, and files dropped into the run's inbox.

SIGINT once asks to pause, twice ends the grace, three times leaves at once. SIGTERM and SIGHUP ask for a pause by
shutdown. The inbox is watched with a directory notification of the kernel, so that an idle driver needs no time;
where there is none (some network file systems), one `stat` a second finds what came.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onward.engine.embedded.driver import Driver, SnapshotAsked
from onward.engine.embedded.requests import Decision, check_decision
from onward.errors import OnwardError, UsageError
from onward.mirrors.snapshot_seal import read_key
from onward.store.folder import RunFolder
from onward.store.inbox import Signal
from onward.store.room import shortage, unclear

SHUTDOWN_KILL_S = 5.0
POLL_S = 1.0
INTERRUPTED = 130

SNAPSHOT_EVERY = "ONWARD_SNAPSHOT_EVERY"
"""an environment variable: a snapshot whenever so much time (`10m`) has passed and something has happened"""

_DN_CREATE = getattr(fcntl, "DN_CREATE", 4)
_DN_MULTISHOT = getattr(fcntl, "DN_MULTISHOT", 0x80000000)


class LeftAtOnce(OnwardError):
    """The person pressed Ctrl-C three times: the driver leaves, tasks are left to their keeper."""

    code = "left"
    exit_code = INTERRUPTED


class Signals:
    """Listens while a driver drives. Use as a context manager inside the running loop."""

    def __init__(
        self, driver: Driver, folder: RunFolder, directory: Path, grace_s: float, tell: Callable[[str, str], None]
    ) -> None:
        self._driver = driver
        self._folder = folder
        self._directory = directory
        self._grace_s = grace_s
        self._tell = tell
        self._interrupts = 0
        self._watched: int | None = None
        self._poll: asyncio.TimerHandle | None = None
        self._taken: set[str] = set()
        self._snapshot_every_s = _snapshot_every(tell)

    def __enter__(self) -> Signals:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        loop.add_signal_handler(signal.SIGTERM, self._shutdown, "SIGTERM")
        loop.add_signal_handler(signal.SIGHUP, self._shutdown, "SIGHUP")
        loop.add_signal_handler(signal.SIGIO, self.look)
        for words in unclear(os.environ):
            self._tell("warning", words)
        self._watch()
        self.look()
        self._poll_later()
        return self

    def __exit__(self, *_: object) -> None:
        loop = asyncio.get_running_loop()
        if self._poll is not None:
            self._poll.cancel()
        if self._watched is not None:
            os.close(self._watched)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGIO):
            loop.remove_signal_handler(number)

    # --- Unix signals -----------------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._tell("note", "pausing: running tasks may end by themselves; Ctrl-C again stops them now")
            self._driver.ask_to_pause("Ctrl-C", "", "person", self._grace_s)
        elif self._interrupts == 2:
            self._tell("note", "stopping running tasks; Ctrl-C again leaves at once")
            self._driver.end_grace()
        else:
            self._driver.fail(LeftAtOnce("left at once; tasks that still run are waited for by the next resume"))

    def _shutdown(self, name: str) -> None:
        # The platform that sends TERM kills soon: the five seconds to the KILL of tasks lie inside the grace.
        grace = max(0.0, self._grace_s - SHUTDOWN_KILL_S)
        self._driver.ask_to_pause(name, "", "shutdown", grace)

    # --- inbox ------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        folder = self._folder.root / "inbox"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._watched = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.fcntl(self._watched, fcntl.F_NOTIFY, _DN_CREATE | (_DN_MULTISHOT & 0xFFFFFFFF))
        except (OSError, OverflowError, AttributeError):
            return  # the poll finds it, a little later

    def _poll_later(self) -> None:
        self._poll = asyncio.get_running_loop().call_later(POLL_S, self._poll_now)

    def _poll_now(self) -> None:
        self.look()
        self._show_life()
        if self._snapshot_every_s is not None:
            self._driver.snapshot_if_due(self._snapshot_every_s)
        self._pause_where_room_is_short()
        self._poll_later()

    def _pause_where_room_is_short(self) -> None:
        found = shortage(self._folder.root, os.environ) if self._driver.state.pausing is None else None
        if found is not None:
            self._tell("warning", f"pausing: {found.reason}")
            self._driver.ask_to_pause(found.reason, "", found.cause, self._grace_s)

    def _show_life(self) -> None:
        """The record of the driver is as old as its last sign of life: a driver that hangs can be told from outside."""
        try:
            os.utime(self._folder.root / "driver")
        except OSError:
            return  # a run that is being removed, or a disk that fails: the journal will tell

    def look(self) -> None:
        """Take the signals that wait in the inbox."""
        inbox = self._folder.inbox
        if not inbox.changed():
            return
        try:
            for request in inbox.take():
                # It stays there until its event is on the disk: a look in between finds it again.
                if request.name not in self._taken:
                    self._taken.add(request.name)
                    self._obey(request)
                    self._driver.schedule_done(lambda request=request: self._done(request))  # type: ignore[misc]
        except OnwardError as error:
            self._driver.fail(error)

    def _done(self, request: Signal) -> None:
        self._folder.inbox.done(request)
        self._taken.discard(request.name)

    def _decide(self, what: dict[str, Any], by: str) -> None:
        decision = Decision(
            path=str(what.get("path", "")),
            choice=str(what.get("choice", "")),
            by=by,
            note=str(what.get("note", "")),
            fields={str(name): str(value) for name, value in dict(what.get("fields") or {}).items()},
        )
        try:
            check_decision(self._driver.state, self._directory, decision)
        except UsageError as error:
            self._tell("warning", f"an answer was left out: {error}")
        else:
            self._driver.happened(decision.event())

    def _snapshot(self, what: dict[str, Any]) -> None:
        """The key stays where it is: the signal only names its file."""
        try:
            key = read_key(str(what["key_file"])) if what.get("key_file") else None
        except OnwardError as error:
            self._tell("warning", f"a snapshot was not taken: {error}")
        else:
            self._driver.ask_for_snapshot(SnapshotAsked(compress=bool(what.get("compress")), key=key))

    def _obey(self, request: Signal) -> None:
        what: dict[str, Any] = request.payload
        reason, by = str(what.get("reason", "")), str(what.get("by", ""))
        match request.kind:
            case "pause":
                grace = 0.0 if what.get("now") else float(what.get("grace_s", self._grace_s))
                self._driver.ask_to_pause(reason, by, "person", grace)
            case "cancel":
                self._driver.ask_to_cancel(reason or "cancelled", by)
                if what.get("now"):
                    self._driver.end_grace()
            case "decide":
                self._decide(what, by)
            case "snapshot":
                self._snapshot(what)
            case _:
                self._tell("warning", f"a signal of the kind `{request.kind}` is not known and was left out")


def _snapshot_every(tell: Callable[[str, str], None]) -> float | None:
    text = os.environ.get(SNAPSHOT_EVERY, "")
    if not text:
        return None
    from onward.spec.scalars import duration_s

    try:
        seconds = duration_s(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        tell("warning", f"{SNAPSHOT_EVERY} is not a length of time such as 10m: {text!r}; it is left out")
        return None
    return seconds
