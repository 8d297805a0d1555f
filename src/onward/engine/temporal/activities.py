"""The activities: each writes the events that came with it, does its work with the shared hands, and says what came."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from msgspec import Struct
from temporalio import activity
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.exceptions import ApplicationError

from onward import clock, files
from onward.engine.temporal import messages as ms
from onward.engine.temporal.ground import Ground, Stale, folder_of
from onward.engine.temporal.labour import Labour
from onward.errors import OnwardError
from onward.model import events as ev
from onward.model.actions import AskCondition, FinishNode, OpenGate, ReadItems, Validate
from onward.model.status import Status, Where
from onward.state.cache import encode_state
from onward.state.instance import Instance
from onward.store.folder import RunFolder
from onward.tasks.context import context_of
from onward.tasks.secrets import Secrets, needed_secrets

BEGUN_FILE = "begun.json"
"""in the folder of an attempt: on which host it was begun, and its start as it should be in the journal"""

Entries = list[ms.Entry]


class Begun(Struct, frozen=True, kw_only=True):
    """Who began an attempt."""

    host: str
    boot: str
    start: ev.AttemptStart


class Site:
    """A run at which this worker works."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.labour: Labour | None = None

    def hands(self) -> Labour:
        """What does the work; it begins with the first task."""
        if self.labour is None:
            ground = self.ground
            secrets = Secrets.of(ground.plan, os.environ)
            secrets.read(needed_secrets(ground.plan, ground.state))
            context = context_of(
                ground.plan,
                run=ground.folder.run_id,
                folder=ground.folder.root,
                values=ground.folder.values,
                environment=os.environ,
                adapter=ground.state.facts.adapter,
                secrets=secrets,
            )
            self.labour = Labour(ground.state, context, ground.folder)
        return self.labour

    @property
    def idle(self) -> bool:
        """Whether nothing runs here."""
        return self.labour is None or self.labour.idle

    def close(self) -> None:
        """Leave everything to keepers."""
        labour, self.labour = self.labour, None
        if labour is not None:
            labour.close()
        self.ground.close()


class Activities:
    """What one worker offers. `store`: where its runs are, if not where the starter of the run says."""

    def __init__(self, client: Client, store: str | None) -> None:
        self._client = client
        self._store = store
        self._host = os.uname().nodename
        self._boot = clock.boot_id()
        self._sites: dict[str, Site] = {}

    @property
    def all(self) -> list[Callable[..., Any]]:
        """What a worker registers."""
        return [self.load, self.record, self.task, self.look_after, self.errand]

    def close(self) -> None:
        """Stop looking after what runs; it goes on."""
        for site in self._sites.values():
            site.close()
        self._sites.clear()

    # --- the activities -----------------------------------------------------------------------------------------

    @activity.defn(name=ms.LOAD)
    async def load(self, about: dict[str, Any], part: int) -> bytes:
        """A part of plan and state, without the results of tasks: the workflow does not look at them."""
        asked = ms.from_plain(about, ms.About)
        with _Told():
            async with self._alive(asked), self._at(asked, fresh=part == 0) as site:
                data = await asyncio.to_thread(_whole, site.ground)
        parts = max(1, -(-len(data) // ms.PART_BYTES))
        digest = hashlib.sha256(data).hexdigest()
        piece = data[part * ms.PART_BYTES : (part + 1) * ms.PART_BYTES]
        return msgspec.msgpack.encode(ms.Loaded(data=piece, parts=parts, digest=digest))

    @activity.defn(name=ms.RECORD)
    async def record(self, about: dict[str, Any], entries: bytes) -> int:
        """Write events; returns the last that is in the journal."""
        asked = ms.from_plain(about, ms.About)
        with _Told():
            async with self._alive(asked), self._at(asked) as site:
                site.ground.write(ms.unpack(entries, Entries), asked.epoch)
                return site.ground.position.seq

    @activity.defn(name=ms.TASK)
    async def task(self, about: dict[str, Any], entries: bytes) -> bytes:
        """One attempt at a task."""
        asked = ms.from_plain(about, ms.About)
        with _Told():
            async with self._alive(asked), self._at(asked) as site:
                begun, hands = self._begin(site, asked, ms.unpack(entries, Entries)), site.hands()
            future = hands.start(begun)
            told = await self._until(future, asked, lambda: hands.stop(asked.path, "stopped"))
            return ms.pack(self._done(site, told, begun.event))

    @activity.defn(name=ms.LOOK_AFTER)
    async def look_after(self, about: dict[str, Any], entries: bytes) -> bytes:
        """What became of an attempt whose worker was lost."""
        asked = ms.from_plain(about, ms.About)
        with _Told():
            async with self._at(asked) as site:
                site.ground.write(ms.unpack(entries, Entries), asked.epoch)
                known = _read_begun(site.ground.folder, asked)
                if known is None:
                    self._note_begun(site.ground, ev.AttemptStart(path=asked.path, attempt=asked.attempt), host="")
                elsewhere = known is not None and known.host not in ("", self._host)
                if known is not None and elsewhere and not _has_ended(site.ground.folder, asked):
                    return ms.pack(ms.Done(host=known.host, journaled=site.ground.position.seq))
                hands = site.hands()
                hands.words.said.clear()
                future = hands.find(site.ground.state.ensure(asked.path))
                word = hands.words.said[-1] if hands.words.said else ""
            if asked.stop is not None:
                hands.stop(asked.path, asked.stop)
            told = await self._until(future, asked, lambda: hands.stop(asked.path, "stopped"))
            done = self._done(site, told, known.start if known is not None else None)
            return ms.pack(msgspec.structs.replace(done, word=word))

    @activity.defn(name=ms.ERRAND)
    async def errand(self, about: dict[str, Any], what: dict[str, Any], entries: bytes) -> bytes:
        """A question, a list of items, a gate to open, results to gather."""
        asked, errand = ms.from_plain(about, ms.About), ms.from_plain(what, ms.Errand)
        with _Told():
            async with self._at(asked) as site:
                site.ground.write(ms.unpack(entries, Entries), asked.epoch)
                if errand.kind == "snapshot":
                    return ms.pack(_snapshot(site.ground, errand.purpose, asked.epoch))
                hands = site.hands()
                future = _perform(hands, site.ground, errand)
            asker = errand.asker or errand.path
            told = await self._until(future, asked, lambda: hands.stop_errand(asker))
            site.ground.folder.values.flush()
            kept = [_kept(site.ground.folder, event) for event in told]
            return ms.pack(ms.Answered(entries=kept, stopped=not told, journaled=site.ground.position.seq))

    # --- a run --------------------------------------------------------------------------------------------------

    def _at(self, asked: ms.About, *, fresh: bool = False) -> _Entered:
        return _Entered(self, asked, fresh=fresh)

    def site(self, asked: ms.About, *, fresh: bool = False) -> Site:
        """The run, with a state that holds what its journal held at some moment."""
        place = os.path.join(self._store or asked.store, asked.run)
        known = self._sites.get(place)
        if known is not None and known.ground.fits and not (fresh and known.idle):
            return known
        if known is not None:
            del self._sites[place]
            known.close()
        self._forget_idle()
        site = Site(Ground(folder_of(self._store or asked.store, asked.run)))
        self._sites[place] = site
        return site

    def _forget_idle(self) -> None:
        for place, site in list(self._sites.items()):
            ended = site.ground.state.facts.end is not None
            if ended and site.idle:
                site.close()
                del self._sites[place]

    def _begin(self, site: Site, asked: ms.About, entries: Entries) -> Any:
        """Write the start of the attempt as it is known only now."""
        ground = site.ground
        if _read_begun(ground.folder, asked) is not None:
            raise ApplicationError("this attempt was given up meanwhile", type=ms.LEFT, non_retryable=True)
        mine = [entry for entry in entries if entry.event.seq == asked.seq]
        ground.write([entry for entry in entries if entry.event.seq < asked.seq], asked.epoch)
        begun = site.hands().ready(ground.before(asked.path, asked.attempt), asked.attempt)
        self._note_begun(ground, begun.event, self._host)
        if mine:
            stamp = mine[0].event
            full = msgspec.structs.replace(begun.event, seq=stamp.seq, at=stamp.at, epoch=stamp.epoch)
            ground.write([ms.entry(full)], asked.epoch)
        return begun

    def _note_begun(self, ground: Ground, start: ev.AttemptStart, host: str) -> None:
        """Without a host: it was given up, and a worker that was slow must not begin it any more."""
        folder = ground.folder.attempt_folder(start.path, start.attempt)
        note = Begun(host=host, boot=self._boot, start=start)
        files.write_atomic(folder / BEGUN_FILE, msgspec.json.encode(note), durable=False)

    def _done(self, site: Site, told: list[ev.Event], start: ev.AttemptStart | None) -> ms.Done:
        site.ground.folder.values.flush()
        end = told[-1]
        assert isinstance(end, ev.AttemptEnd)
        session = next((event.session for event in told if isinstance(event, ev.AttemptSession)), None)
        if session is not None and end.session is None:
            end = msgspec.structs.replace(end, session=session)
        return ms.Done(end=end, start=start, journaled=site.ground.position.seq, host=self._host)

    # --- waiting ------------------------------------------------------------------------------------------------

    async def _until(
        self, future: asyncio.Future[list[ev.Event]], asked: ms.About, stop: Callable[[], None]
    ) -> list[ev.Event]:
        """Until it has ended, with heartbeats. When the workflow cancels it, it is stopped, and still waited for."""
        async with self._alive(asked):
            while True:
                try:
                    return await asyncio.shield(future)
                except asyncio.CancelledError:
                    if future.cancelled():
                        raise
                    if not await self._is_to_be_stopped():
                        raise ApplicationError("the worker stops", type=ms.LEFT, non_retryable=True) from None
                    stop()

    @asynccontextmanager
    async def _alive(self, asked: ms.About) -> AsyncIterator[None]:
        """Heartbeats go out meanwhile."""
        beats = asyncio.ensure_future(self._beat(asked))
        try:
            yield
        finally:
            beats.cancel()

    async def _beat(self, asked: ms.About) -> None:
        while True:
            await asyncio.sleep(asked.beat_s)
            activity.heartbeat({"host": self._host, "path": asked.path})

    async def _is_to_be_stopped(self) -> bool:
        """A worker that stops, or was slow to answer, leaves its tasks alone: another activity finds them."""
        details = activity.cancellation_details()
        if details is None or details.worker_shutdown:
            return False
        if details.cancel_requested:
            return True
        return await self._is_gone()

    async def _is_gone(self) -> bool:
        """Whether the workflow was ended by somebody."""
        info = activity.info()
        handle = self._client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        described = await handle.describe()
        return described.status is not WorkflowExecutionStatus.RUNNING


class _Entered:
    """A run whose journal nobody else writes meanwhile."""

    def __init__(self, activities: Activities, asked: ms.About, *, fresh: bool) -> None:
        self._activities = activities
        self._asked = asked
        self._fresh = fresh
        self._writing: Any = None

    async def __aenter__(self) -> Site:
        site = self._activities.site(self._asked, fresh=self._fresh)
        self._writing = site.ground.writing()
        await self._writing.__aenter__()
        if not site.ground.fits:
            await self._writing.__aexit__(None, None, None)
            site = self._activities.site(self._asked)
            self._writing = site.ground.writing()
            await self._writing.__aenter__()
        return site

    async def __aexit__(self, *what: Any) -> None:
        await self._writing.__aexit__(*what)


class _Told:
    """Errors of ours become failures that say what to do; a stale driver is not tried again."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, OnwardError):
            stale = isinstance(error, Stale)
            raise ApplicationError(
                str(error), type=ms.STALE if stale else ms.TROUBLE, non_retryable=stale
            ) from error


def _snapshot(ground: Ground, cause: str, epoch: int) -> ms.Answered:
    taken = ground.snapshot(cause, epoch)
    return ms.Answered(entries=[ms.entry(taken)] if taken is not None else [], journaled=ground.position.seq)


def _perform(hands: Labour, ground: Ground, errand: ms.Errand) -> asyncio.Future[list[ev.Event]]:
    path = errand.path
    match errand.kind:
        case "artifacts":
            return hands.have_artifacts(path, ground.state.ensure(errand.asker or path))
        case "condition":
            action = AskCondition(path, Where(errand.where), errand.conditions, errand.asker)
            return hands.answer(path, action)
        case "validate":
            return hands.answer(path, Validate(path, errand.attempt))
        case "items":
            return hands.answer(path, ReadItems(path))
        case "gate":
            return hands.answer(path, OpenGate(path, errand.purpose))
        case _:
            return hands.answer(path, FinishNode(path, Status(errand.status), errand.reason, True))


def _kept(folder: RunFolder, event: ev.Event) -> ms.Entry:
    """A large list of items goes through the store; the workflow needs only its keys."""
    if not isinstance(event, ev.LoopItems):
        return ms.entry(event)
    data = msgspec.json.encode(event)
    if len(data) < ms.LARGE_EVENT_BYTES:
        return ms.entry(event)
    digest = folder.values.put(data)
    folder.values.flush()
    keys = tuple(ev.LoopItem(key=item.key) for item in event.items)
    return ms.entry(msgspec.structs.replace(event, items=keys), digest)


def _read_begun(folder: RunFolder, asked: ms.About) -> Begun | None:
    try:
        with open(f"{folder.attempt_path(asked.path, asked.attempt)}/{BEGUN_FILE}", "rb") as file:
            return msgspec.json.decode(file.read(), type=Begun)
    except (OSError, msgspec.DecodeError):
        return None


def _has_ended(folder: RunFolder, asked: ms.About) -> bool:
    return os.path.exists(f"{folder.attempt_path(asked.path, asked.attempt)}/exit.json")


def _whole(ground: Ground) -> bytes:
    state = msgspec.json.decode(encode_state(ground.state))
    for row, instance in zip(state["instances"], ground.state.instances.values(), strict=True):
        if instance.works or not instance.is_leaf:
            row[_OUTPUTS], row[_ARTIFACTS] = {}, []
        if row[_ITEMS]:
            row[_ITEMS] = [[key, None] for key, _ in row[_ITEMS]]
    plan = msgspec.json.encode(ground.plan)
    whole = ms.Whole(plan=msgspec.Raw(plan), state=msgspec.Raw(msgspec.json.encode(state)))
    return ms.pack(whole)


_NAMES = Instance.__struct_fields__
_OUTPUTS, _ARTIFACTS, _ITEMS = (_NAMES.index(name) for name in ("outputs", "artifacts", "items"))
