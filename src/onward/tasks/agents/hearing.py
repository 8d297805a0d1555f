"""The files that an agent's attempt left → its reply, session, usage, and how the attempt ended."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from msgspec import Struct

from onward import clock
from onward.model.status import Outcome
from onward.tasks.agents.agent import Agent, UsageOf
from onward.tasks.agents.dialects import DIALECTS
from onward.tasks.agents.limits import reset_of, zone_of
from onward.tasks.agents.outcome import Case, decide_outcome
from onward.tasks.agents.places import read_places
from onward.tasks.agents.reading import Reading, Told, read_stream
from onward.tasks.agents.usage import used_by_attempt
from onward.tasks.attempt_folder import Exit
from onward.tasks.endings import Ending
from onward.tasks.failures import Failure, in_words
from onward.tasks.output_files import read_text_bytes, tail

_LAST_LINES = 20


class Asked(Struct, frozen=True, kw_only=True):
    """What the attempt was: its agent and folder, its session (`continued`: begun before), and the counters before."""

    agent: Agent
    folder: str
    session: str | None = None
    continued: bool = False
    counters: Mapping[str, float] = {}
    tz: str | None = None


class Heard(Struct, frozen=True, kw_only=True):
    """What is left of it. `session_usage` are the counters of the session, where it goes on counting."""

    ending: Ending
    text: str | None = None
    session: str | None = None
    session_lost: bool = False
    usage: dict[str, float] = {}
    session_usage: dict[str, float] = {}
    reset_at: dt.datetime | None = None


def hear(asked: Asked, exit: Exit, ending: Ending, stopped: str | None) -> Heard:
    """Everything about an attempt that ended."""
    try:
        reading = read(asked.agent, asked.folder, exit, ending)
    except Failure as error:
        failed = ending if ending.outcome is not Outcome.OK else Ending(Outcome.ERROR, in_words(error))
        return Heard(ending=failed, session=asked.session)
    case = Case(
        agent=asked.agent,
        exit=exit,
        ending=ending,
        session=asked.session,
        continued=asked.continued,
        stopped=stopped,
        errors=_last_lines(asked.folder, exit),
    )
    verdict = decide_outcome(case, reading)
    reset_at = None
    if verdict.limited:
        at = dt.datetime.fromtimestamp(exit.ended, dt.UTC)
        told = reading.limit or (Told(in_s=reading.waits_s) if reading.waits_s is not None else None)
        reset_at = reset_of(told, verdict.about, at, zone_of(asked.tz, clock.local(at)))
    counts_on = asked.agent.usage_of is UsageOf.SESSION
    return Heard(
        ending=verdict.ending,
        text=reading.text,
        session=None if verdict.session_lost else asked.session or reading.session,
        session_lost=verdict.session_lost,
        usage=used_by_attempt(reading.usage, asked.counters, asked.agent.usage_of),
        session_usage=dict(reading.usage) if counts_on else {},
        reset_at=reset_at,
    )


def read(agent: Agent, folder: str, exit: Exit, ending: Ending) -> Reading:
    """What the program said. Raises `Failure` where it cannot be read."""
    if agent.places is not None:
        reading = read_places(agent.places, f"{folder}/out", exit.out)
        reading.done = reading.done and ending.outcome is Outcome.OK  # such a program has no other way to say so
        return reading
    if agent.dialect in DIALECTS:
        return read_stream(DIALECTS[agent.dialect], f"{folder}/out") if exit.out else Reading()
    return _plain(agent, folder, exit, ending)


def _plain(agent: Agent, folder: str, exit: Exit, ending: Ending) -> Reading:
    """A program that prints nothing but its reply."""
    reading = Reading(text=read_text_bytes(f"{folder}/out", exit.out, "the reply").decode() if exit.out else "")
    said = [*(reading.text or "").splitlines()[-_LAST_LINES:], *_last_lines(folder, exit)]
    bad = next((line for line in said if any(re.search(words, line) for words in agent.failures)), None)
    if bad is not None:
        reading.ends_badly(bad)
    elif ending.outcome is Outcome.OK:
        reading.ends_well()
    return reading


def _last_lines(folder: str, exit: Exit) -> tuple[str, ...]:
    if not exit.err:
        return ()
    lines = tail(f"{folder}/err").splitlines()
    return tuple(line.strip() for line in lines[-_LAST_LINES:] if line.strip())
