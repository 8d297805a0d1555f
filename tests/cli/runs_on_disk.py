"""Runs on disk made from events, for the commands that read them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from onward.model import events as ev
from onward.model.nodes import Plan
from onward.model.status import Outcome, Status
from onward.store.folder import RunFolder
from onward.store.lock import Lock
from onward.store.runs import Store

Events = Iterable[ev.Event]


@dataclass
class Shop:
    """A store in a folder, and the program called there."""

    folder: Path
    locks: list[Lock] = field(default_factory=list)

    @property
    def store(self) -> Store:
        return Store(self.folder / ".onward")

    def make(self, plan: Plan, events: Events, run: str = "w-1", *, driven: bool = False, **start: Any) -> RunFolder:
        """A run with these events. `driven`: this process holds its lock."""
        first = {"name": plan.name, "workflow_file": "w.yaml", "file": "w.yaml", "directory": "."}
        begin = ev.WorkflowStart(run=run, datetime="2026-02-02T10:00:00-08:00", **(first | start))
        stored = msgspec.structs.replace(plan, file="w.yaml")
        new = self.store.create_run(run, definition={}, plan=msgspec.json.encode(stored), start=begin)
        for event in events:
            new.journal.add(msgspec.structs.replace(event))  # the journal stamps what it gets
        new.journal.flush()
        new.journal.close()
        if driven:
            self.locks.append(new.lock)
        else:
            new.lock.release()
        return new.folder

    def call(self, *words: str, code: int | None = 0, env: dict[str, str] | None = None) -> str:
        """What the program prints on stdout."""
        ended = self.run(*words, env=env)
        assert code is None or ended.returncode == code, (ended.returncode, ended.stdout, ended.stderr)
        assert b"Traceback" not in ended.stderr
        return ended.stdout.decode()

    def run(self, *words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
        """Call the program with a closed stdin."""
        return subprocess.run(
            [sys.executable, "-m", "onward", *words],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "PYTHONPATH": "", **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def data(self, *words: str, code: int | None = 0) -> Any:
        """What the program prints as JSON."""
        return msgspec.json.decode(self.call(*words, "--json", code=code))


def attempt(path: str, number: int = 1, outcome: Outcome | None = Outcome.OK, **more: Any) -> list[ev.Event]:
    """One try at a task; without an outcome it has not ended."""
    start = ev.AttemptStart(path=path, attempt=number)
    return [start] if outcome is None else [start, ev.AttemptEnd(path=path, attempt=number, outcome=outcome, **more)]


def done(path: str) -> list[ev.Event]:
    """A task that ended well at once."""
    return [*attempt(path), ev.NodeEnd(path=path, status=Status.SUCCEEDED)]


def failed(path: str, **more: Any) -> list[ev.Event]:
    """A task that failed."""
    reason = more.get("error", "")
    return [*attempt(path, 1, Outcome.ERROR, **more), ev.NodeEnd(path=path, status=Status.FAILED, reason=reason)]


def output(folder: RunFolder, path: str, out: bytes = b"", err: bytes = b"", attempt: int = 1) -> None:
    """What an attempt wrote."""
    place = folder.attempt_folder(path, attempt)
    if out:
        (place / "out").write_bytes(out)
    if err:
        (place / "err").write_bytes(err)
