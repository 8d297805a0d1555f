"""The record of a node → the spans of time that a timeline draws for it: attempts, questions, a group as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from onward.model.nodes import Kind
from onward.model.status import Outcome, RunStatus, Status
from onward.views import words
from onward.views.report.gather import Entry, Gathered, seconds


class Look(StrEnum):
    """How a bar is drawn."""

    GROUP = "group"
    OK = "ok"
    FAILED = "bad"
    RETRIED = "again"
    """failed, and another attempt followed"""
    INTERRUPTED = "cut"
    RUNNING = "run"
    WAITING = "wait"


class Bar(Struct, frozen=True, kw_only=True):
    """From `start` to `end`, seconds since the epoch; `text` says what it is."""

    start: float
    end: float
    look: Look
    text: str


def bars_of(gathered: Gathered, entry: Entry) -> list[Bar]:
    """The bars of one node, in order of time."""
    if not entry.leaf:
        return list(_group(gathered, entry))
    if entry.view.kind == Kind.APPROVE:
        return list(_gate(gathered, entry))
    return list(_attempts(gathered, entry))


def _group(gathered: Gathered, entry: Entry) -> Iterator[Bar]:
    start, end = seconds(entry.view.started_at), seconds(entry.view.ended_at)
    if start is not None:
        end = _until(gathered, entry) if end is None else end
        text = f"{entry.path}: {words.status_word(entry.view.status)}, {words.duration(end - start)}"
        yield Bar(start=start, end=end, look=Look.GROUP, text=text)


def _gate(gathered: Gathered, entry: Entry) -> Iterator[Bar]:
    start, end = seconds(entry.view.started_at), seconds(entry.view.ended_at)
    if start is None:
        asked = [one.at for one in entry.record.history if one.text.startswith("asked")] if entry.record else []
        start = seconds(asked[0]) if asked else None
    if start is not None:
        end = gathered.now if end is None else end
        yield Bar(start=start, end=end, look=Look.WAITING, text=f"{entry.path}: waited {words.duration(end - start)}")


def _attempts(gathered: Gathered, entry: Entry) -> Iterator[Bar]:
    tries = entry.record.attempts if entry.record is not None else []
    for one in tries:
        start = seconds(one.started_at) or 0.0
        end = seconds(one.ended_at)
        if end is None:
            look, end, ended = _open(gathered, entry)
        else:
            # What ended while nobody drove was only recorded by the resume: how long it took says when it ended.
            end = min(end, start + one.duration_s) if one.duration_s else _before_absence(gathered, start, end)
            again = one is not tries[-1] or entry.view.status == Status.WAITING
            look, ended = _look(one.outcome, again), one.outcome or ""
        number = f", attempt {one.attempt}" if len(tries) > 1 else ""
        text = f"{entry.path}{number}: {ended}, {words.duration(end - start)}"
        yield Bar(start=start, end=max(start, end), look=look, text=text)


def _before_absence(gathered: Gathered, start: float, end: float) -> float:
    return next((away.start for away in gathered.absences if start <= away.start < end), end)


def _open(gathered: Gathered, entry: Entry) -> tuple[Look, float, str]:
    if entry.view.status == Status.RUNNING:
        return Look.RUNNING, gathered.now, "running"
    return Look.INTERRUPTED, gathered.last, "interrupted"


def _until(gathered: Gathered, entry: Entry) -> float:
    open_now = entry.view.status in (Status.RUNNING, Status.WAITING) and gathered.status.driver is not None
    return gathered.now if open_now else gathered.last


def _look(outcome: str | None, again: bool) -> Look:
    if outcome == Outcome.OK:
        return Look.OK
    if outcome in (Outcome.INTERRUPTED, RunStatus.INTERRUPTED):
        return Look.INTERRUPTED
    if outcome == Outcome.LIMITED:
        return Look.WAITING
    return Look.RETRIED if again else Look.FAILED
