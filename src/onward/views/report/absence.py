"""The events of a run → the times in which nobody worked on it: paused, interrupted, waiting for an answer, ended."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from onward.model import events as ev
from onward.model.events import AnyEvent


class Why(StrEnum):
    """Why nobody worked on the run."""

    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    WAITING = "waiting for an answer"
    ENDED = "ended"


class Absence(Struct, frozen=True, kw_only=True):
    """From `start` to `end` (seconds since the epoch; None: until now)."""

    why: Why
    start: float
    end: float | None


def absences(events: Iterable[AnyEvent]) -> list[Absence]:
    """All of them, in order."""
    watch = _Watch()
    for event in events:
        watch.take(event)
    return watch.found + watch.rest()


class _Watch:
    def __init__(self) -> None:
        self.found: list[Absence] = []
        self._away: tuple[Why, float] | None = None
        self._last = 0.0
        self._running: set[tuple[str, int]] = set()
        self._gates: set[str] = set()
        self._answered = False

    def take(self, event: AnyEvent) -> None:
        at = event.at.timestamp()
        if isinstance(event, ev.GateDecision):
            self._decided(event, at)
            return
        match event:
            case ev.WorkflowResume() | ev.TakeOver():
                self._back(at)
            case ev.WorkflowPause():
                self._away = (Why.PAUSED, at)
            case ev.WorkflowEnd():
                self._away = (Why.ENDED, at)
            case ev.AttemptStart():
                self._running.add((event.path, event.attempt))
            case ev.AttemptEnd():
                self._running.discard((event.path, event.attempt))
            case ev.GateOpen():
                self._gates.add(event.path)
            case _:
                pass
        self._last, self._answered = at, False

    def rest(self) -> list[Absence]:
        """A pause that lasts. Whether another run is driven the journal cannot tell."""
        if self._away is None or self._away[0] is not Why.PAUSED:
            return []
        return [Absence(why=Why.PAUSED, start=self._away[1], end=None)]

    def _decided(self, event: ev.GateDecision, at: float) -> None:
        # An answer may come while nobody drives: then the absence goes on until the resume.
        self._gates.discard(event.path)
        self._answered = not self._running
        if not self._answered:
            self._last = at

    def _back(self, at: float) -> None:
        waits = not self._running and (self._answered or bool(self._gates))
        why, start = self._away or (Why.WAITING if waits else Why.INTERRUPTED, self._last)
        if start:
            self.found.append(Absence(why=why, start=start, end=at))
        self._away = None
