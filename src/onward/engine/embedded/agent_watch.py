"""Agents while they run: their session into the journal as soon as it is known, their version, their strays.

An agent that waits out a limit by itself is stopped: the run waits instead, so that it may be killed meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from onward.model.events import AttemptSession
from onward.tasks.agents.agent import Agent, SessionId
from onward.tasks.agents.dialects import DIALECTS
from onward.tasks.agents.outcome import GOES_ROUND, WAITS_OUT_A_LIMIT
from onward.tasks.agents.places import session_teller
from onward.tasks.agents.reading import Dialect, StreamReader, read_stream
from onward.tasks.agents.versions import ask_version, place_of
from onward.tasks.ending import end_process_tree
from onward.tasks.failures import Failure
from onward.tasks.keeper_link import KILL_AFTER_S
from onward.tasks.prepare import Prepared

FIRST_LOOK_S = 0.05
LAST_LOOK_S = 2.0
LONG_WAIT_S = 60.0
"""an agent that says it will wait at least so long is stopped"""


class AgentWatch:
    """What is watched for one driver. `happened` takes events, `stop` ends an attempt, for a reason."""

    def __init__(self, happened: Callable[[AttemptSession], None], stop: Callable[[str, str], None]) -> None:
        self._happened = happened
        self._stop = stop
        self._watched: dict[str, _Watched] = {}
        self._versions: dict[tuple[str, ...], asyncio.Future[str | None]] = {}

    def watch(self, prepared: Prepared) -> None:
        """Follow the output of an attempt that runs, if it is one of an agent that tells of itself meanwhile."""
        agent, event = prepared.agent, prepared.event
        self._ask_version(prepared)
        dialect = _dialect_of(agent) if agent is not None else None
        if agent is None or dialect is None:
            return
        known = event.session is not None or agent.session is SessionId.NONE
        watched = _Watched(event.path, event.attempt, StreamReader(dialect, f"{prepared.folder}/out"), known)
        self._watched[event.path] = watched
        self._look_later(watched)

    @staticmethod
    def session_said(prepared: Prepared) -> str | None:
        """The id that an attempt told before everything that looked after it was killed."""
        dialect = _dialect_of(prepared.agent) if prepared.agent is not None else None
        if dialect is None or prepared.event.session is not None:
            return prepared.event.session
        return read_stream(dialect, f"{prepared.folder}/out").session

    def forget(self, path: str) -> None:
        """It has ended."""
        watched = self._watched.pop(path, None)
        if watched is not None and watched.timer is not None:
            watched.timer.cancel()

    def close(self) -> None:
        """Watch nothing any longer."""
        for path in list(self._watched):
            self.forget(path)

    def _look_later(self, watched: _Watched) -> None:
        watched.timer = asyncio.get_running_loop().call_later(watched.pause_s, self._look, watched)
        watched.pause_s = min(LAST_LOOK_S, watched.pause_s * 1.5)

    def _look(self, watched: _Watched) -> None:
        reading = watched.reader.advance()
        if not watched.known and reading.session is not None:
            watched.known = True
            self._happened(AttemptSession(path=watched.path, attempt=watched.attempt, session=reading.session))
        if reading.waits and (reading.waits_s or 0.0) >= LONG_WAIT_S:
            self._end(watched.path, WAITS_OUT_A_LIMIT)
        elif reading.goes_round:
            self._end(watched.path, GOES_ROUND)
        else:
            self._look_later(watched)

    def _end(self, path: str, reason: str) -> None:
        self.forget(path)
        self._stop(path, reason)

    # --- before the start ---------------------------------------------------------------------------------------

    async def clear_the_way(self, prepared: Prepared, markers: Sequence[str]) -> None:
        """End what is left of earlier attempts, and see that the program is there. Raises `TaskError`."""
        loop = asyncio.get_running_loop()
        if markers:
            sweep = partial(end_process_tree, None, markers, kill_after_s=KILL_AFTER_S)
            if await loop.run_in_executor(None, sweep):
                message = "a process of an earlier attempt cannot be ended, and two agents must not share one session"
                raise Failure("still-there", message, help="end it by hand, then `onward resume`")
        agent = prepared.agent
        if agent is None or not agent.program:
            return
        if "/" not in agent.program[0] and place_of(agent, prepared.env.get("PATH")) is None:
            message = f"the agent program `{agent.program[0]}` is not on the PATH"
            raise Failure("no-agent", message, help="install it, or choose another with --adapter; see `onward doctor`")

    # --- versions -----------------------------------------------------------------------------------------------

    def _ask_version(self, prepared: Prepared) -> None:
        """Once for each program, beside its first attempt: some take seconds to tell."""
        agent = prepared.agent
        if agent is None or not agent.version or not prepared.env or agent.program in self._versions:
            return
        asking = partial(ask_version, agent, prepared.env, prepared.cwd)
        self._versions[agent.program] = asyncio.get_running_loop().run_in_executor(None, asking)

    def is_asked(self, agent: Agent) -> asyncio.Future[str | None] | None:
        """The answer that is waited for, if one is."""
        asked = self._versions.get(agent.program)
        return asked if asked is not None and not asked.done() else None

    def version_of(self, agent: Agent) -> str | None:
        """What is known of the version of its program."""
        asked = self._versions.get(agent.program)
        return asked.result() if asked is not None and asked.done() and not asked.cancelled() else None


def _dialect_of(agent: Agent) -> Dialect | None:
    if agent.places is not None:
        return session_teller(agent.places)
    return DIALECTS.get(agent.dialect)


class _Watched:
    """One attempt whose output grows."""

    __slots__ = ("attempt", "known", "path", "pause_s", "reader", "timer")

    def __init__(self, path: str, attempt: int, reader: StreamReader, known: bool) -> None:
        self.path = path
        self.attempt = attempt
        self.reader = reader
        self.known = known
        self.pause_s = FIRST_LOOK_S
        self.timer: asyncio.TimerHandle | None = None
