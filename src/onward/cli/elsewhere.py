"""Requests to a run that Temporal drives: its folder says where the server is; flags and settings may say otherwise."""

from __future__ import annotations

from onward.cli.settings import settings_here
from onward.cli.temporal_options import connection_for
from onward.store.engine_file import EngineFile, read_engine
from onward.store.folder import RunFolder


class Elsewhere:
    """A run that Temporal drives."""

    def __init__(self, folder: RunFolder, known: EngineFile) -> None:
        self._run = folder.run_id
        self._connection = connection_for({}, settings_here().temporal or {}, known)

    def pause(self, reason: str, by: str, grace_s: float, *, now: bool) -> None:
        """Ask for a pause; the server keeps the request until a worker takes it."""
        from onward.engine.temporal.client import ask_once
        from onward.engine.temporal.messages import Request

        requests = [Request(kind="pause", reason=reason, by=by, grace_s=grace_s, now=now)]
        if now:
            requests *= 2  # asked again, the grace is over
        ask_once(self._connection, self._run, requests)

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


def elsewhere(folder: RunFolder) -> Elsewhere | None:
    """Where the run is driven, if that is not by a process of its own."""
    known = read_engine(folder.root)
    return Elsewhere(folder, known) if known is not None else None
