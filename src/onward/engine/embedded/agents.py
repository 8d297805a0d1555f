"""What the driver's hands do more for prompts than for other tasks; for all others each of these does nothing.

What is known of agents is not even read for a run without a prompt.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from onward.model.events import AttemptEnd, AttemptSession
from onward.tasks.prepare import Prepared

if TYPE_CHECKING:
    from onward.engine.embedded.agent_watch import AgentWatch


class Agents:
    """`happened` takes events, `stop` ends an attempt, for a reason."""

    def __init__(self, happened: Callable[[AttemptSession], None], stop: Callable[[str, str], None]) -> None:
        self._happened = happened
        self._stop = stop
        self._watch: AgentWatch | None = None

    def _watching(self) -> AgentWatch:
        if self._watch is None:
            from onward.engine.embedded.agent_watch import AgentWatch

            self._watch = AgentWatch(self._happened, self._stop)
        return self._watch

    async def clear_the_way(self, prepared: Prepared, markers: list[str]) -> None:
        """Before an attempt starts. Raises `TaskError` when it must not."""
        await self._watching().clear_the_way(prepared, markers)

    def begun(self, prepared: Prepared) -> None:
        """An attempt runs, perhaps since an earlier driver: hear what it says meanwhile."""
        if prepared.agent is not None:
            self._watching().watch(prepared)

    def forget(self, path: str) -> None:
        """It has ended."""
        if self._watch is not None:
            self._watch.forget(path)

    def close(self) -> None:
        """Hear nothing any longer."""
        if self._watch is not None:
            self._watch.close()

    def session_said(self, prepared: Prepared) -> str | None:
        """The session that an attempt told before everything that looked after it was killed."""
        return None if prepared.agent is None else self._watching().session_said(prepared)

    def version_to_come(self, prepared: Prepared) -> asyncio.Future[str | None] | None:
        """What has to be waited for before the end of an attempt is recorded."""
        return None if prepared.agent is None else self._watching().is_asked(prepared.agent)

    def with_version(self, prepared: Prepared, end: AttemptEnd) -> AttemptEnd:
        """The end of an attempt, with the version of its program where that is known."""
        version = None if prepared.agent is None else self._watching().version_of(prepared.agent)
        return end if version is None else msgspec.structs.replace(end, adapter_version=version)
