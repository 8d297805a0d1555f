"""The folder of a run in the shared store → its state in a worker, kept up to the last event of the journal.

Several workers write one journal: a lock is held while a batch is added, and what others have written meanwhile is
read first. Events come with their numbers, so what is there already is left out.
"""

from __future__ import annotations

import asyncio
import copy
import fcntl
import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from onward import files
from onward.engine.embedded.opening import base_of
from onward.engine.temporal import messages as ms
from onward.engine.temporal.mirrors import Mirrors
from onward.errors import JournalError, StateError, StoreError
from onward.journal import reader, repair
from onward.journal.lines import START
from onward.journal.writer import Journal
from onward.model import events as ev
from onward.model.nodes import Plan
from onward.state.fold import fold, settle, wake
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.store.engine_file import Stand, note_stand
from onward.store.folder import RunFolder

LOCK_NAME = "journal.lock"
LOOK_S = 0.002

_SET_BACK = (ev.WorkflowResume, ev.TakeOver, ev.Override)
_STANDS = {
    ev.WorkflowResume: Stand.DRIVING,
    ev.CancelRequest: Stand.DRIVING,
    ev.WorkflowPause: Stand.PAUSED,
    ev.WorkflowEnd: Stand.ENDED,
}


class Stale(StateError):
    """Another driver has taken the run over: what an earlier one still wants to write does not count."""

    code = "stale"


class Ground:
    """One run, as one worker sees it. `fits` is False when the state has to be read anew."""

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self.plan = plan_of(folder)
        self.state = RunState(self.plan)
        self.position = START
        self.fits = True
        self._mirrors = Mirrors(folder, self.state)
        self._before: dict[str, Instance | None] = {}
        self._journal: Journal | None = None
        self._busy = asyncio.Lock()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[None]:
        """Nobody else writes the journal meanwhile, and the state holds all that is in it."""
        async with self._busy:
            descriptor = os.open(self.folder.root / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, files.FILE_MODE)
            try:
                await _lock(descriptor)
                self.catch_up()
                yield
            finally:
                os.close(descriptor)

    def catch_up(self) -> None:
        """Take in what others have written. A half-written line of a worker that was killed is cut off."""
        reading = reader.read(self.folder.journal, after=self.position)
        for events in reading.pieces():
            for event in events:
                self._take(event)
        if reading.torn_tail is not None:
            repair.mend_tail(reading)
        moved = reading.position != self.position
        self.position = reading.position
        if not self.state.live:
            settle(self.state)
        if moved:
            self._mirrors.somebody_wrote()
            self._close_journal()

    def before(self, path: str, attempt: int) -> Instance:
        """The leaf as it was when this attempt was about to begin."""
        leaf = self.state.ensure(path)
        if leaf.attempt < attempt:
            return leaf
        return self._before.get(path) or leaf

    def write(self, entries: Iterable[ms.Entry], epoch: int) -> None:
        """Add the events that the journal does not have yet. Raises `Stale`, `JournalError`."""
        if self.position.epoch > epoch:
            raise Stale(f"run `{self.folder.run_id}` is driven by somebody else since event {self.position.seq}")
        fresh = [self._whole(entry) for entry in entries if entry.event.seq > self.position.seq]
        if not fresh:
            return
        if fresh[0].seq != self.position.seq + 1:
            raise JournalError(f"event {self.position.seq + 1} of run `{self.folder.run_id}` is missing")
        journal = self._opened(epoch)
        for event in fresh:
            self._take(journal.add(msgspec.structs.replace(event, seq=0)))
        journal.flush()
        self.position = journal.position
        self._note_engine(fresh)
        self._mirrors.changed(fresh, journal)

    def snapshot(self, cause: str, epoch: int) -> ev.SnapshotTaken | None:
        """A snapshot of what is in the journal."""
        return self._mirrors.snapshot(cause, self._opened(epoch))

    def close(self) -> None:
        """Let go of the files."""
        self._close_journal()

    def _opened(self, epoch: int) -> Journal:
        if self._journal is None:
            self._journal = Journal.open(
                self.folder.journal, self.position, epoch=epoch, before_flush=self.folder.values.flush
            )
        return self._journal

    def _close_journal(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def _whole(self, entry: ms.Entry) -> ev.Event:
        if entry.whole is None:
            return entry.event
        whole = msgspec.json.decode(self.folder.values.get(entry.whole), type=ev.AnyEvent)
        event: ev.Event = msgspec.structs.replace(
            whole, seq=entry.event.seq, at=entry.event.at, epoch=entry.event.epoch
        )
        return event

    def _take(self, event: ev.Event) -> None:
        state = self.state
        if isinstance(event, ev.AttemptStart):
            known = state.get(event.path)
            self._before[event.path] = copy.copy(known) if known is not None else None
        elif isinstance(event, ev.NodeEnd):
            self._before.pop(event.path, None)
        if isinstance(event, _SET_BACK) and state.live:
            self.fits = False
        if state.live:
            wake(state, event.at.timestamp())
        fold(state, event)

    def _note_engine(self, events: list[ev.Event]) -> None:
        for event in events:
            stand = _STANDS.get(type(event))
            if stand is not None:
                note_stand(self.folder.root, stand)


def plan_of(folder: RunFolder) -> Plan:
    """The definition that the run goes by now."""
    data = folder.read_latest_plan()
    if data is None:
        raise StateError(f"the stored plan {folder.plan} is gone", help="start a new run with `onward run FILE`")
    plan = msgspec.json.decode(data, type=Plan)
    return msgspec.structs.replace(plan, file=os.fspath(base_of(folder) / plan.file))


async def _lock(descriptor: int) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            await asyncio.sleep(LOOK_S)
        else:
            return


def folder_of(store: str, run: str) -> RunFolder:
    """The folder of a run. Raises `StoreError` when this worker does not see it."""
    folder = RunFolder(Path(store, "runs", run))
    if not folder.root.is_dir():
        raise StoreError(
            f"there is no run `{run}` in {store}",
            help="workers must see the store of the runs that they serve: `onward worker --store DIR`",
        )
    return folder

