"""A driver that goes on without a terminal: a child process in a session of its own, whose words go to `driver.log`.

The parent waits only until the run has begun (or cannot), prints its id, and returns.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from onward.cli.common import Common
from onward.cli.plain import PlainProgress
from onward.engine.embedded.launch import RunResult
from onward.engine.observer import Observer
from onward.errors import OnwardError, Problems
from onward.state.run_state import RunState
from onward.views.words import block

LOG = "driver.log"
EXIT_BUG = 70

Work = Callable[[Observer], RunResult]


class Begun(NamedTuple):
    """A driver that was started: its process, and what it said until the run had begun or could not."""

    pid: int
    told: list[dict[str, Any]]

    @property
    def run(self) -> str | None:
        """The id of the run, once it has begun."""
        return self.told[-1].get("run") if self.told else None


def drive_detached(work: Work, common: Common, at: str) -> int:
    """Do the work in a child; print the run's id when it has begun. Returns the parent's exit code."""
    return _tell(begin(work, common, at).told, common, at)


def begin(work: Work, common: Common, at: str) -> Begun:
    """Do the work in a child; returns when the run has begun, or cannot."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if not child:
        os.close(reading)
        _be_the_driver(work, common, at, writing)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        return Begun(child, [json.loads(line) for line in pipe])


def _tell(told: list[dict[str, Any]], common: Common, at: str) -> int:
    for one in told:
        if "message" in one:
            PlainProgress(common, at).message(one["level"], one["message"])
    last: dict[str, Any] = told[-1] if told else {"error": "the driver ended before the run began", "code": EXIT_BUG}
    if "error" in last:
        click.echo(block(last["error"]), err=True)
        return int(last["code"])
    if "run" not in last:
        return int(last.get("code", 0))
    if common.json:
        from onward.cli.target import print_json

        print_json({"schema": 1, "run": last["run"]})
    else:
        click.echo(last["run"])
    common.note(f"it goes on by itself; see it with: onward status {last['run']}{at}")
    return 0


# ---------------------------------------------------------------- the child


class _Detached(PlainProgress):
    """Tells the parent that the run has begun, and everything after that to the log."""

    def __init__(self, common: Common, at: str, pipe: int) -> None:
        super().__init__(common, at)
        self.pipe = pipe

    def started(self, state: RunState, folder: Path) -> None:
        _log_to(folder / LOG)
        super().started(state, folder)
        self.say({"run": folder.name})
        self.close()

    def message(self, level: str, text: str) -> None:
        if self.pipe >= 0:
            self.say({"level": level, "message": text})
        else:
            super().message(level, text)

    def say(self, what: dict[str, Any]) -> None:
        if self.pipe >= 0:
            os.write(self.pipe, json.dumps(what).encode() + b"\n")

    def close(self) -> None:
        if self.pipe >= 0:
            os.close(self.pipe)
            self.pipe = -1


def _be_the_driver(work: Work, common: Common, at: str, pipe: int) -> None:
    """Never returns: the child must not go on as if it were the parent."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # what the parent does about them is not the child's affair
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    observer = _Detached(common, at, pipe)
    try:
        result = work(observer)
        observer.say({"code": result.exit_code})
        code = result.exit_code
    except Problems as error:
        code = _fail(observer, str(error), error.exit_code)
    except OnwardError as error:
        code = _fail(observer, f"error[{error.code}]: {error}", error.exit_code)
    except Exception as error:  # noqa: BLE001 - the child's only way to tell of a bug
        from onward.cli.bug import write_report

        code = _fail(observer, write_report(error, sys.argv[1:]), EXIT_BUG)
    finally:
        observer.close()
    sys.stderr.flush()
    os._exit(code)


def _fail(observer: _Detached, text: str, code: int) -> int:
    if observer.pipe >= 0:
        observer.say({"error": text, "code": code})
    else:
        click.echo(text, err=True)
    return code


def _log_to(path: Path) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(log, 2)
    os.close(log)
