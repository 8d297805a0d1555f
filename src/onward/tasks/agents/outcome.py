"""What an agent said and how its process ended → what that means for the attempt.

In the order of trust: that we ended it; that it went on in the right session; the event that ends its stream *together
with* its exit code; what it said about limits, and only then the words of its errors. An exit code alone says nothing:
several of these programs end with 0 when they were interrupted, or when the model's answer broke off.
"""

from __future__ import annotations

from msgspec import Struct

from onward.model.status import Outcome
from onward.tasks.agents.agent import Agent
from onward.tasks.agents.limits import Trouble, trouble_in
from onward.tasks.agents.reading import Reading
from onward.tasks.attempt_folder import Exit
from onward.tasks.endings import Ending, in_words

WAITS_OUT_A_LIMIT = "it waits out a limit by itself"
"""why an attempt is stopped whose agent would sleep for long: the run waits instead, and can be killed meanwhile"""
GOES_ROUND = "it would never have ended"
"""why an attempt is stopped whose agent repeats the same failure without end"""

_HELP = {
    Trouble.AUTH: "log in with the program itself, or give it a key",
    Trouble.QUOTA: "the account has nothing left to spend",
}
_MOST_SHOWN = 600


class Verdict(Struct, frozen=True, kw_only=True):
    """`limited`: a limit, whose end may be named in `about`. `session_lost`: the program does not know the session."""

    ending: Ending
    limited: bool = False
    session_lost: bool = False
    about: tuple[str, ...] = ()


class Case(Struct, frozen=True, kw_only=True):
    """An attempt that ended. `session` is what was asked for, `continued` whether it had begun before.

    `stopped` is why we ended it; `errors` are the last lines of its error output.
    """

    agent: Agent
    exit: Exit
    ending: Ending
    session: str | None = None
    continued: bool = False
    stopped: str | None = None
    errors: tuple[str, ...] = ()


def decide_outcome(case: Case, reading: Reading) -> Verdict:
    """The meaning of everything that is known."""
    ending = case.ending
    if not ending.started:
        return Verdict(ending=ending)
    if _session_is_lost(case, reading):
        text = "the agent does not know the conversation any more; it gets the whole prompt again"
        return Verdict(ending=Ending(Outcome.INTERRUPTED, text), session_lost=True)
    strange = _strange_session(case, reading)
    if strange is not None:
        return Verdict(ending=Ending(Outcome.ERROR, strange))
    if ending.outcome is Outcome.INTERRUPTED and case.stopped == GOES_ROUND:
        return Verdict(ending=Ending(Outcome.ERROR, f"the agent was stopped: {reading.failed or GOES_ROUND}"))
    if ending.outcome is Outcome.INTERRUPTED:
        return _limited(case, reading) if case.stopped == WAITS_OUT_A_LIMIT else Verdict(ending=ending)
    if reading.done:
        return Verdict(ending=_said_done(case, reading))
    return _not_done(case, reading)


def _session_is_lost(case: Case, reading: Reading) -> bool:
    """A program that does not find a session may say so under the id of another one."""
    if not case.continued or reading.done or reading.text is not None:
        return False
    return trouble_in((*reading.problems, *reading.noise, *case.errors)) is Trouble.NO_SESSION


def _strange_session(case: Case, reading: Reading) -> str | None:
    asked_for = case.session
    if asked_for is None or reading.session is None:
        return None
    strange = reading.session if reading.session != asked_for else reading.other_session
    if strange is None:
        return None
    return f"the agent went on in another conversation ({strange}) than asked for ({asked_for})"


def _said_done(case: Case, reading: Reading) -> Ending:
    ending = case.ending
    if ending.outcome is Outcome.TIMEOUT:
        return ending
    if ending.outcome is not Outcome.OK:
        return Ending(Outcome.ERROR, f"the agent said that it had finished, and ended with {in_words(case.exit)}")
    if reading.text is None:
        return Ending(Outcome.ERROR, "the agent ended without a reply")
    return ending


def _not_done(case: Case, reading: Reading) -> Verdict:
    told = (reading.failed, *reading.problems) if reading.failed else (*reading.problems, *reading.noise, *case.errors)
    texts = tuple(text for text in told if text)
    if case.ending.outcome is Outcome.TIMEOUT:
        waits = reading.waits or reading.limit is not None or trouble_in(case.errors[-1:]) is Trouble.LIMIT
        return _limited(case, reading) if waits else Verdict(ending=case.ending)
    trouble = trouble_in(texts[:1]) or trouble_in(texts)
    if reading.limit is not None or trouble is Trouble.LIMIT or case.exit.code in case.agent.limited_exits:
        return _limited(case, reading)
    return Verdict(ending=_failed(case, reading, trouble))


def _limited(case: Case, reading: Reading) -> Verdict:
    about = (*([reading.failed] if reading.failed else []), *reversed(reading.problems), *reversed(reading.noise))
    ending = Ending(Outcome.LIMITED, "the agent has reached a limit")
    return Verdict(ending=ending, limited=True, about=(*about, *reversed(case.errors)))


def _failed(case: Case, reading: Reading, trouble: Trouble | None) -> Ending:
    said = reading.failed or (reading.problems[-1] if reading.problems else None)
    if case.ending.outcome is Outcome.OK:
        how = "the agent failed" if reading.failed else "the agent ended without saying that it had finished"
    else:
        how = case.ending.error or in_words(case.exit)
        said = said or (case.errors[-1] if case.errors and case.agent.places is None else None)
    text = f"{how}: {said[:_MOST_SHOWN]}" if said else how
    if trouble in _HELP:
        return Ending(Outcome.ERROR, f"{text} ({_HELP[trouble]})", final=True)
    return Ending(Outcome.ERROR, text)
