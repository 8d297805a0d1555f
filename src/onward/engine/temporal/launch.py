"""Start a run that Temporal drives, or go on with one; then follow it through its folder, as long as somebody looks."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import nullcontext
from pathlib import Path

import msgspec
from msgspec import Struct
from temporalio.client import Client

from onward import clock
from onward.engine.embedded.launch import ResumeOptions, RunResult, StartOptions, first_events
from onward.engine.embedded.opening import ChoiceNeeded, adopt_definition, look_at
from onward.engine.observer import Observer
from onward.engine.temporal import client as commands
from onward.engine.temporal import messages as ms
from onward.engine.temporal.connection import Connection, connect
from onward.errors import OnwardError, UsageError
from onward.model import events as ev
from onward.model.nodes import Plan
from onward.model.status import RunStatus, Status
from onward.recovery.seen import Seen
from onward.state.run_state import RunState
from onward.store.engine_file import TEMPORAL, EngineFile, forget_engine, read_engine, write_engine
from onward.store.folder import RunFolder
from onward.store.locate import store_for_file
from onward.store.lock import this_process
from onward.store.runs import Store
from onward.views.source import Source

LOOK_S = 0.05
ASK_EVERY_S = 1.0


class Timing(Struct, frozen=True, kw_only=True):
    """How long a silent worker is waited for, and one that was lost; when a workflow is handed on."""

    heartbeat_s: float = 10.0
    reattach_s: float = 60.0
    soft_events: int = 4_000
    hard_events: int = 12_000
    same_host: bool = False
    search: bool = False


class Left(OnwardError):
    """Whoever looked on has left; the run goes on."""

    code = "left"
    exit_code = 130


# --- start ----------------------------------------------------------------------------------------------------


def start_run(
    options: StartOptions, connection: Connection, timing: Timing, observer: Observer, *, follow: bool = True
) -> RunResult:
    """Make the run in the store, start its workflow, and follow it."""
    return asyncio.run(_start_run(options, connection, timing, observer, follow=follow))


async def _start_run(
    options: StartOptions, connection: Connection, timing: Timing, observer: Observer, *, follow: bool
) -> RunResult:
    client = await connect(connection)
    if options.run_id is not None and await commands.is_open(client, options.run_id):
        raise commands.taken(options.run_id, connection)
    folder, plan = _make_run(options, observer)
    write_engine(folder.root, engine_of(connection))
    given = given_for(folder, connection, timing)
    await commands.begin(client, given, plan=plan)
    return await _look_on(client, folder, observer, follow=follow)


def _make_run(options: StartOptions, observer: Observer) -> tuple[RunFolder, Plan]:
    from onward.engine.definition import load_plan
    from onward.plan.inputs import resolve_variables

    loaded = load_plan(options.file, shown=os.fspath(options.file), given=options.variables)
    for warning in loaded.warnings:
        observer.message("warning", str(warning))
    plan, store = loaded.plan, store_for_file(options.file, options.store)
    from_file: dict[str, str] = {}
    if options.vars_file is not None:
        from onward.spec.variables_file import read_variables

        from_file = read_variables(options.vars_file)
    start = _start_event(options, plan, store, resolve_variables(plan, options.variables, from_file))
    stored = msgspec.json.encode(msgspec.structs.replace(plan, file=store.relative(Path(plan.file))))
    new = store.create_run(start.run, definition=loaded.files, plan=stored, start=start)
    new.journal.close()
    new.lock.release()
    return new.folder, plan


def _start_event(options: StartOptions, plan: Plan, store: Store, variables: dict[str, str]) -> ev.WorkflowStart:
    now = clock.now()
    directory = Path(os.path.normpath(Path(plan.file).parent / plan.directory))
    return ev.WorkflowStart(
        run=options.run_id or clock.run_id(plan.name, now),
        workflow_file=os.fspath(options.file),
        file=store.relative(Path(plan.file)),
        name=plan.name,
        title=plan.title if isinstance(plan.title, str) else "",
        definition_sha256=plan.digest,
        directory=store.relative(directory),
        variables=variables,
        datetime=clock.local(now).isoformat(timespec="seconds"),
        adapter=options.adapter or os.environ.get("ONWARD_ADAPTER") or None,
        limit=options.limit,
        owner=this_process(),
    )


def engine_of(connection: Connection) -> EngineFile:
    """What the folder of a run says about who drives it."""
    return EngineFile(
        engine=TEMPORAL,
        address=connection.address,
        namespace=connection.namespace,
        queue=connection.queue,
        tls=connection.encrypted,
        since=clock.now(),
    )


def given_for(folder: RunFolder, connection: Connection, timing: Timing) -> ms.Given:
    """What the workflow is started with."""
    return ms.Given(
        run=folder.run_id,
        store=os.fspath(folder.root.parent.parent.absolute()),
        queue=connection.queue,
        **msgspec.structs.asdict(timing),
    )


# --- follow ---------------------------------------------------------------------------------------------------


class Following:
    """Looks on until the run has ended, is paused, or waits for somebody, after the event `since`."""

    def __init__(self, client: Client, folder: RunFolder, observer: Observer, since: int) -> None:
        self._since = since
        self._client = client
        self._folder = folder
        self._observer = observer
        self._source = Source(folder, use_cache=False)
        self._interrupts = 0
        self._left: Left | None = None
        self._asked_at = 0.0
        self._errands: set[asyncio.Task[None]] = set()

    @property
    def _state(self) -> RunState:
        return self._source.state

    async def result(self) -> RunResult:
        """How the run stands when there is nothing more to see. Raises `Left`."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, "the run goes on under Temporal")
        self._observer.started(self._state, self._folder.root)
        status = await self._follow()
        self._observer.ended(self._state)
        return RunResult(run_id=self._folder.run_id, status=status, reason=self._state.facts.end_reason)

    async def _follow(self) -> RunStatus:
        while True:
            fresh = self._source.refresh()
            if fresh:
                self._observer.changed(self._state, fresh)
            over = self._over() or await self._waits()
            if over is not None:
                return over
            if self._left is not None:
                raise self._left
            await asyncio.sleep(LOOK_S)

    def _over(self) -> RunStatus | None:
        state = self._state
        if state.facts.seq <= self._since:
            return None
        if state.facts.end is not None:
            return RunStatus(state.facts.end.value)
        if state.pausing is not None and state.pausing.complete:
            return RunStatus.PAUSED
        return None

    async def _waits(self) -> RunStatus | None:
        """The folder does not say whether something is about to move: the workflow does."""
        state = self._state
        if not state.gates or state.running or clock.monotonic() < self._asked_at + ASK_EVERY_S:
            return None
        self._asked_at = clock.monotonic()
        found = await commands.stand(self._client, self._folder.run_id)
        if found is None or found["status"] != RunStatus.WAITING or found["wakes_at"] is not None:
            return None
        return RunStatus.WAITING if found["seq"] == state.facts.seq else None

    def _interrupt(self) -> None:
        self._interrupts += 1
        if self._interrupts == 1:
            self._observer.message("note", "pausing: running tasks may end by themselves; Ctrl-C again stops them now")
            self._ask(ms.Request(kind="pause", reason="Ctrl-C", grace_s=self._source.plan.grace_s))
        elif self._interrupts == 2:
            self._observer.message("note", "stopping running tasks; Ctrl-C again leaves at once")
            self._ask(ms.Request(kind="pause", reason="Ctrl-C", now=True))
        else:
            self._leave("left at once; the run pauses by itself")

    def _leave(self, why: str) -> None:
        self._left = Left(why, help=f"see it with: onward status {self._folder.run_id}")

    def _ask(self, request: ms.Request) -> None:
        task = asyncio.get_running_loop().create_task(self._ask_or_tell(request))
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    async def _ask_or_tell(self, request: ms.Request) -> None:
        try:
            await commands.ask(self._client, self._folder.run_id, request)
        except UsageError as error:
            self._observer.message("warning", str(error))


# --- resume ---------------------------------------------------------------------------------------------------


def resume_run(
    options: ResumeOptions, connection: Connection, timing: Timing, observer: Observer, *, follow: bool = True
) -> RunResult:
    """Go on with a run: one that is paused or failed there, that Temporal lost, or that a process drove until now."""
    return asyncio.run(_resume_run(options, connection, timing, observer, follow=follow))


async def _resume_run(
    options: ResumeOptions, connection: Connection, timing: Timing, observer: Observer, *, follow: bool
) -> RunResult:
    client, folder = await connect(connection), options.run
    is_open, known = await commands.is_open(client, folder.run_id), read_engine(folder.root)
    if is_open and known is not None and known.driving:
        observer.message("note", "Temporal goes on with it already")
        return await _look_on(client, folder, observer, follow=follow)
    with folder.lock() if known is None else nullcontext():
        seen = _seen(options)
        done = _nothing_to_do(options, seen, observer)
        if done is not None:
            return done
        first = first_events(options, seen, observer)
        adopt_definition(seen)
        write_engine(folder.root, engine_of(connection))
    if is_open:
        await commands.ask(client, folder.run_id, commands.resumption(first))
    else:
        given = msgspec.structs.replace(given_for(folder, connection, timing), first=first, fresh_epoch=True)
        await commands.begin(client, given, plan=seen.plan)
    return await _look_on(client, folder, observer, follow=follow, since=seen.state.facts.seq)


async def _look_on(
    client: Client, folder: RunFolder, observer: Observer, *, follow: bool, since: int = 0
) -> RunResult:
    if not follow:
        return RunResult(run_id=folder.run_id, status=RunStatus.RUNNING)
    return await Following(client, folder, observer, since).result()


def _seen(options: ResumeOptions) -> Seen:
    seen = look_at(options.run, original=options.original)
    seen.take_names()
    if seen.problem is not None:
        raise seen.problem
    if any(finding.needs_choice for finding in seen.damage) and not options.accept_damage:
        raise ChoiceNeeded(
            f"the journal of run `{options.run.run_id}` is damaged",
            help=f"`onward verify {options.run.run_id}` says where; `--accept-damage` goes on all the same",
        )
    return seen


def _nothing_to_do(options: ResumeOptions, seen: Seen, observer: Observer) -> RunResult | None:
    end, run = seen.state.facts.end, options.run.run_id
    if options.rerun or end is None or end is Status.FAILED:
        return None
    if end is Status.CANCELLED:
        raise UsageError(
            f"run `{run}` was cancelled", help=f"do part of it again with `onward resume {run} --rerun PATH`"
        )
    observer.message("note", f"run `{run}` has succeeded: nothing to do")
    return RunResult(run_id=run, status=RunStatus.SUCCEEDED)


def take_back(folder: RunFolder, connection: Connection) -> None:
    """A process drives the run from now on. Raises `UsageError` while Temporal goes on with it."""
    known = read_engine(folder.root)
    if known is not None and known.driving:
        raise UsageError(
            f"Temporal goes on with run `{folder.run_id}`", help=f"pause it first: onward pause {folder.run_id}"
        )
    asyncio.run(_end_workflow(folder, connection))
    forget_engine(folder.root)


async def _end_workflow(folder: RunFolder, connection: Connection) -> None:
    client = await connect(connection)
    if await commands.is_open(client, folder.run_id):
        await commands.handle_of(client, folder.run_id).terminate("the run is driven by the embedded engine now")
