"""Events that may not be in the journal yet → batches that activities carry there.

Every activity carries what is not known to be written up to the event that it is about, and writes it before it does
anything else; numbers make that harmless when another one was quicker. What nobody carries goes with an activity of
its own, at most one at a time.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

with workflow.unsafe.imports_passed_through():
    from onward.engine.temporal import messages as ms

MOST_CARRIED = 400
"""events in all that the activities of one turn may carry before they are written by themselves"""

FOR_EVER = timedelta(days=3650)
RETRY = RetryPolicy(initial_interval=timedelta(seconds=0.2), maximum_interval=timedelta(seconds=10))


class Outbox:
    """What one execution of a workflow has recorded. `written`: the last event that is known to be in the journal."""

    def __init__(self, given: ms.Given, epoch: int, written: int) -> None:
        self.written = written
        self._given = given
        self._epoch = epoch
        self._entries: list[ms.Entry] = []
        self._carried: dict[int, int] = {}
        self._ticket = 0
        self._writing: asyncio.Task[None] | None = None

    def add(self, entry: ms.Entry) -> None:
        """An event with its number."""
        self._entries.append(entry)

    @property
    def last(self) -> int:
        """The number of the last event."""
        return self._entries[-1].event.seq if self._entries else self.written

    @property
    def overdue(self) -> bool:
        """Whether there is something that nobody carries."""
        return self.last > max(self._carried.values(), default=self.written) and self._writing is None

    def pack(self, up_to: int) -> bytes:
        """What is not known to be written, up to that event."""
        return ms.pack([entry for entry in self._entries if entry.event.seq <= up_to])

    def carry(self, up_to: int) -> int:
        """Somebody carries everything up to that event; returns what `delivered` and `lost` want."""
        self._ticket += 1
        self._carried[self._ticket] = up_to
        return self._ticket

    def delivered(self, ticket: int | None, written: int) -> None:
        """Everything up to `written` is in the journal."""
        if ticket is not None:
            self._carried.pop(ticket, None)
        if written > self.written:
            self.written = written
            self._entries = [entry for entry in self._entries if entry.event.seq > written]

    def lost(self, ticket: int | None) -> None:
        """Nobody knows whether it came there."""
        if ticket is not None:
            self._carried.pop(ticket, None)

    async def keep_short(self, carriers: int) -> None:
        """Write first what so many carriers would otherwise take along, each of them all of it."""
        if carriers > 1 and carriers * len(self._entries) > MOST_CARRIED:
            await self.flush()

    def write_rest(self) -> None:
        """What nobody carries is written by an activity of its own."""
        if self.overdue:
            self._writing = asyncio.create_task(self._write_once())

    async def flush(self) -> None:
        """Everything is in the journal when this returns."""
        while self._entries:
            if self._writing is not None:
                await self._writing
            else:
                await self._write()

    async def _write_once(self) -> None:
        try:
            await self._write()
        finally:
            self._writing = None

    async def _write(self) -> None:
        up_to = self.last
        about = ms.About(
            run=self._given.run, store=self._given.store, epoch=self._epoch, beat_s=self._given.beat_s
        )
        ticket = self.carry(up_to)
        written = await workflow.execute_activity(
            ms.RECORD,
            args=[ms.plain(about), self.pack(up_to)],
            result_type=int,
            start_to_close_timeout=FOR_EVER,
            heartbeat_timeout=timedelta(seconds=self._given.heartbeat_s),
            retry_policy=RETRY,
            summary=f"events up to {up_to}",
        )
        self.delivered(ticket, written)
