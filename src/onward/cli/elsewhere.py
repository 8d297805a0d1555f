"""Requests to a run that Temporal drives: its folder says where the server is; flags and settings may say otherwise."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from onward import clock
from onward.cli.settings import settings_here
from onward.cli.temporal_options import connection_for
from onward.errors import UsageError
from onward.store.engine_file import EngineFile, Stand, read_engine
from onward.store.folder import RunFolder

if TYPE_CHECKING:
    from onward.mirrors.snapshot_history import Kept

SNAPSHOT_WITHIN_S = 30.0
LOOK_S = 0.05


class Elsewhere:
    """A run that Temporal drives."""

    def __init__(self, folder: RunFolder, known: EngineFile) -> None:
        self._run = folder.run_id
        self.has_ended = known.stand is Stand.ENDED
        self._connection = connection_for({}, settings_here().temporal or {}, known)

    def pause(self, reason: str, by: str, grace_s: float, *, now: bool) -> None:
        """Ask for a pause; the server keeps the request until a worker takes it."""
        from onward.engine.temporal.client import ask_once
        from onward.engine.temporal.messages import Request

        request = Request(kind="pause", reason=reason, by=by, grace_s=grace_s, now=now)
        ask_once(self._connection, self._run, [request])

    def cancel(self, reason: str, by: str) -> None:
        """Ask for the end of the run; Temporal shows it as cancelled, too."""
        from onward.engine.temporal.client import ask_once
        from onward.engine.temporal.messages import Request

        ask_once(self._connection, self._run, [Request(kind="cancel", reason=reason, by=by)], end=True)

    def decide(self, path: str, choice: str, by: str, note: str, fields: dict[str, str]) -> None:
        """Answer a gate, also while no worker lives."""
        from onward.engine.temporal.client import ask_once
        from onward.engine.temporal.messages import Request

        request = Request(kind="decide", path=path, choice=choice, by=by, note=note, fields=fields)
        ask_once(self._connection, self._run, [request])


    def snapshot(self, folder: RunFolder, *, plain: bool) -> Kept:
        """Ask for a snapshot, and wait until a worker has taken it."""
        from onward.engine.temporal.client import ask_once
        from onward.engine.temporal.messages import Request
        from onward.mirrors.snapshot_history import SnapshotHistory

        if not plain:
            raise UsageError("workers take plain snapshots only", help="pack it afterwards: onward snapshot export")
        history = SnapshotHistory(folder.snapshots)
        before = {kept.number for kept in history.all()}
        ask_once(self._connection, self._run, [Request(kind="snapshot")])
        until = clock.monotonic() + SNAPSHOT_WITHIN_S
        while clock.monotonic() < until:
            fresh = [kept for kept in history.all() if kept.number not in before]
            if fresh:
                return fresh[-1]
            time.sleep(LOOK_S)
        raise UsageError("no worker has taken the snapshot", help="start one: onward worker")


def elsewhere(folder: RunFolder) -> Elsewhere | None:
    """Where the run is driven, if that is not by a process of its own."""
    known = read_engine(folder.root)
    return Elsewhere(folder, known) if known is not None else None
