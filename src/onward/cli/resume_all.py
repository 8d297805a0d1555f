"""`onward resume --all`: a driver for each run that should go on by itself, side by side; waits for all of them.

What ends this process softly (Ctrl-C, TERM, HUP) is handed to the drivers, which pause their runs; so a platform's stop
reaches every run, and `--all` takes them up again at the next start.
"""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import Any

import click
from msgspec import Struct

from onward import clock
from onward.cli.common import Common
from onward.cli.detached import Begun, begin
from onward.cli.plain import PlainProgress
from onward.cli.target import at, print_json, store_of
from onward.engine.embedded.launch import ResumeOptions, RunResult, resume_run
from onward.engine.observer import Observer
from onward.errors import OnwardError, UsageError
from onward.store.folder import RunFolder
from onward.views.listing import run_row
from onward.views.taking_up import Left, to_take_up
from onward.views.words import block, one_line

FROM_GOOD_TO_BAD = (0, 3, 130, 1, 2, 4)
EXIT_STATE = 4
EXIT_BUG = 70
EXIT_NOT_ENDED = 3


class Ended(Struct, kw_only=True):
    """How a run stands when its driver has stopped (`driven`: it has not, with `--detach`)."""

    run: str
    status: str
    exit_code: int
    error: str | None = None


def refuse_with_all(run: str | None, given: tuple[str, ...], **flags: bool) -> None:
    """What is about one run cannot be said of all."""
    meant = [*([run] if run is not None else []), *(["--var"] if given else [])]
    meant += [f"--{name.replace('_', '-')}" for name, is_set in flags.items() if is_set]
    if meant:
        raise UsageError(f"--all and {meant[0]} do not go together", help="resume that run by itself")


def resume_all(common: Common, *, adapter: str | None, limit: int | None, detach: bool, reason: str = "") -> int:
    """Take up every run that should go on; the exit code is the worst."""
    store = store_of(common)
    found = to_take_up(store, clock.now().timestamp())
    for left in found.left:
        common.note(one_line(f"{left.run} is left ({left.status}): {left.why}"))
    drivers = _Drivers(common, at(store))
    with drivers:
        for folder in found.runs:
            why = reason or "--all"
            drivers.start(folder, ResumeOptions(run=folder, yes=True, reason=why, adapter=adapter, limit=limit))
        if not detach:
            drivers.wait()
    if not found.runs:
        common.note(f"no run to take up in {store.root}")
    _tell(common, drivers.ended, found.left)
    codes = [one.exit_code for one in drivers.ended] + [EXIT_STATE for left in found.left if left.error]
    return worst(codes)


def worst(codes: list[int]) -> int:
    """The exit code that asks most of whoever reads it; what is unknown here is a bug, and so the worst."""
    unknown = [code for code in codes if code not in FROM_GOOD_TO_BAD]
    return unknown[0] if unknown else max(codes, key=FROM_GOOD_TO_BAD.index, default=0)


class _Drivers:
    """The processes that drive; as a context manager it hands on what this process is told."""

    def __init__(self, common: Common, at: str) -> None:
        self._common = common
        self._at = at
        self._alive: dict[int, RunFolder] = {}
        self._handlers: dict[int, object] = {}
        self._heard: list[int] = []
        self._pid = os.getpid()
        self.ended: list[Ended] = []

    def __enter__(self) -> _Drivers:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._handlers[number] = signal.signal(number, self._hand_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _hand_on(self, number: int, _: FrameType | None) -> None:
        if os.getpid() == self._pid:  # and not a child that was forked a moment ago
            self._heard.append(number)
            for pid in self._alive:
                os.kill(pid, number)  # it is not reaped yet, so the number is still its own

    def start(self, folder: RunFolder, options: ResumeOptions) -> None:
        """Let a process drive the run; returns when that has begun, or could not."""
        if self._heard:
            return

        def work(observer: Observer) -> RunResult:
            return resume_run(options, observer)

        begun = begin(work, self._common, self._at)
        self._say(folder, begun)
        if begun.run is not None:
            for number in self._heard:  # while it began
                os.kill(begun.pid, number)
            self._alive[begun.pid] = folder
            self.ended.append(Ended(run=folder.run_id, status="running", exit_code=0))
            return
        code = os.waitstatus_to_exitcode(os.waitpid(begun.pid, 0)[1])
        if code < 0 and self._code_of_killed(-code) == EXIT_NOT_ENDED:
            self.ended.append(Ended(run=folder.run_id, status=_status(folder), exit_code=EXIT_NOT_ENDED))
        else:
            self.ended.append(_not_begun(folder, begun))

    def _code_of_killed(self, number: int) -> int:
        """A signal that was handed on before the driver could listen has ended it: its run is interrupted."""
        return EXIT_NOT_ENDED if number in self._heard else EXIT_BUG

    def _say(self, folder: RunFolder, begun: Begun) -> None:
        said = PlainProgress(self._common, self._at)
        for one in begun.told:
            if "message" in one:
                said.message(one["level"], f"{folder.run_id}: {one['message']}")
            elif "error" in one:
                click.echo(block(f"{folder.run_id}: {one['error']}"), err=True)
            elif "run" in one:
                self._common.note(f"{folder.run_id} goes on")

    def wait(self) -> None:
        """Until no driver is left."""
        while self._alive:
            ready = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            assert ready is not None
            folder = self._alive.pop(ready.si_pid, None)
            code = os.waitstatus_to_exitcode(os.waitpid(ready.si_pid, 0)[1])
            if folder is None:
                continue
            one = next(one for one in self.ended if one.run == folder.run_id)
            one.status, one.exit_code = _status(folder), code if code >= 0 else self._code_of_killed(-code)
            self._common.note(f"{folder.run_id}: {one.status}")


def _not_begun(folder: RunFolder, begun: Begun) -> Ended:
    last: dict[str, Any] = begun.told[-1] if begun.told else {}
    error = last.get("error") if last else "its driver ended before the run began"
    return Ended(run=folder.run_id, status=_status(folder), exit_code=int(last.get("code", EXIT_BUG)), error=error)


def _status(folder: RunFolder) -> str:
    try:
        return run_row(folder).status
    except OnwardError as error:
        return f"unreadable: {error.message}"


def _tell(common: Common, ended: list[Ended], left: list[Left]) -> None:
    if common.json:
        print_json({"schema": 1, "runs": ended, "left": left})
    else:
        for one in ended:
            click.echo(one.run)
