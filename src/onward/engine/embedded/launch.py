"""The two ways in: start a run of a workflow file, or go on with a run. Each drives it and says how it stands then."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from onward import clock
from onward.engine.embedded.account import tell_what_is_kept
from onward.engine.embedded.driver import Driver
from onward.engine.embedded.mirroring import Mirroring
from onward.engine.embedded.opening import Opened, adopt_definition, open_run
from onward.engine.embedded.signals import Signals
from onward.engine.embedded.work import Work
from onward.engine.observer import Observer
from onward.errors import StoreError, UsageError, WorkflowCheckpointError
from onward.journal.writer import Journal
from onward.mirrors.state_file import StateFile, path_of
from onward.model import events as ev
from onward.model.nodes import Plan
from onward.model.status import RunStatus, Status
from onward.recovery.choices import Choices, overrides_for
from onward.recovery.raising import raised
from onward.recovery.seen import Seen
from onward.state.fold import fold
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.store.locate import store_for_file
from onward.store.lock import Lock, this_process
from onward.store.runs import Store
from onward.tasks.context import RunContext, context_of
from onward.tasks.keeper_link import KeeperLink
from onward.tasks.secrets import Secrets, needed_secrets
from onward.tasks.worktrees import Worktrees, has_own

if TYPE_CHECKING:
    from onward.mirrors.state_import import Imported
    from onward.recovery.sparq import SparqImported

EXIT_CODES = {
    RunStatus.SUCCEEDED: 0,
    RunStatus.FAILED: 1,
    RunStatus.PAUSED: 3,
    RunStatus.WAITING: 3,
    RunStatus.CANCELLED: 130,
}


class StartOptions(Struct, frozen=True, kw_only=True):
    """What `onward run` was asked for."""

    file: Path
    variables: dict[str, str] = field(default_factory=dict)
    vars_file: Path | None = None
    store: str | None = None
    run_id: str | None = None
    adapter: str | None = None
    limit: int | None = None
    resume: bool = False
    rerun: tuple[str, ...] = ()
    source: Path | None = None
    """a `.sparq` folder or a state file to take over"""


class ResumeOptions(Struct, frozen=True, kw_only=True):
    """What `onward resume` was asked for."""

    run: RunFolder
    variables: dict[str, str] = field(default_factory=dict)
    reason: str = ""
    yes: bool = False
    take_over: bool = False
    accept_damage: bool = False
    original: bool = False
    budget: dict[str, float] = field(default_factory=dict)
    """`[PATH:]usd` or `[PATH:]tokens` -> how much may be used from now on in all"""
    rerun: tuple[str, ...] = ()
    rerun_from: tuple[str, ...] = ()
    rerun_changed: bool = False
    rerun_stale: bool = False
    skip: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    refresh: tuple[str, ...] = ()
    adapter: str | None = None
    limit: int | None = None

    @property
    def choices(self) -> Choices:
        """What is set aside or in place."""
        return Choices(
            rerun=self.rerun,
            rerun_from=self.rerun_from,
            rerun_changed=self.rerun_changed,
            rerun_stale=self.rerun_stale,
            skip=self.skip,
            done=self.done,
            refresh=self.refresh,
            variables=self.variables,
        )


class RunResult(Struct, frozen=True, kw_only=True):
    """How a run stands when its driver has stopped."""

    run_id: str
    status: RunStatus
    reason: str = ""

    @property
    def exit_code(self) -> int:
        """0 succeeded, 1 failed, 3 paused or waiting, 130 cancelled."""
        return EXIT_CODES[self.status]


class _Session(Struct):
    """One driver at work on one run."""

    folder: RunFolder
    lock: Lock
    plan: Plan
    state: RunState
    journal: Journal
    link: KeeperLink
    observer: Observer
    context: RunContext
    first: Sequence[ev.Event]
    state_file: StateFile | None = None
    fresh: bool = True


# --- start ----------------------------------------------------------------------------------------------------


def start_run(options: StartOptions, observer: Observer) -> RunResult:
    """Start a run and drive it. Raises `Problems`, `UsageError`, `StateError`; before that nothing was run."""
    from onward.engine.definition import load_plan

    gc.disable()  # what is read now stays; `_drive` has it looked after again
    link = KeeperLink.launch()
    try:
        loaded = load_plan(options.file, shown=os.fspath(options.file), given=options.variables)
        for warning in loaded.warnings:
            observer.message("warning", str(warning))
        store = store_for_file(options.file, options.store)
        imported: Imported | SparqImported | None = None
        if options.resume:
            found = _from_state_file(options, loaded.plan, observer)
            if isinstance(found, RunFolder):
                resume = ResumeOptions(run=found, variables=options.variables, yes=True, reason="--resume")
                return _resume(resume, observer, link)
            imported = found
        elif options.source is not None:
            imported = _from_source(options.source, loaded.plan, observer)
        return _start(options, store, loaded.plan, loaded.files, imported, observer, link)
    finally:
        gc.enable()
        link.close()


def _start(
    options: StartOptions,
    store: Store,
    plan: Plan,
    files: dict[str, bytes],
    imported: Imported | SparqImported | None,
    observer: Observer,
    link: KeeperLink,
) -> RunResult:
    from onward.recovery import watching
    from onward.recovery.revision import revision_of

    now = clock.now()
    variables = _variables(options, plan, imported)
    run_id = options.run_id or clock.run_id(plan.name, now)
    context_home = Path(plan.file).parent
    directory = Path(os.path.normpath(context_home / plan.directory))
    watched = watching.look(directory, plan.watch)
    secrets = _secrets(plan, observer)
    start = ev.WorkflowStart(
        run=run_id,
        workflow_file=os.fspath(options.file),
        file=store.relative(Path(plan.file)),
        name=plan.name,
        title=plan.title if isinstance(plan.title, str) else "",
        definition_sha256=plan.digest,
        directory=store.relative(directory),
        variables=variables,
        config_sha256=watched.first,
        watch=watched.digests,
        revision=revision_of(context_home),
        datetime=imported.datetime if imported else clock.local(now).isoformat(timespec="seconds"),
        adapter=options.adapter or os.environ.get("ONWARD_ADAPTER") or None,
        limit=options.limit,
        owner=this_process(),
        imported=imported.facts if imported else None,
    )
    new = store.create_run(run_id, definition=files, plan=_stored(plan, store), start=start)
    watching.keep(watched, new.folder)
    state = RunState(plan)
    fold(state, start)
    context = _context(new.folder, plan, start.adapter, secrets)
    state_file = _state_file(new.folder, plan, state, context, imported.started_at if imported else None)
    session = _Session(
        folder=new.folder,
        lock=new.lock,
        plan=plan,
        state=state,
        journal=new.journal,
        link=link,
        observer=observer,
        context=context,
        first=imported.overrides if imported else (),
        state_file=state_file,
    )
    return _drive(session)


def _variables(options: StartOptions, plan: Plan, imported: Imported | SparqImported | None) -> dict[str, str]:
    from onward.plan.inputs import resolve_variables

    from_file: dict[str, str] = {}
    if options.vars_file is not None:
        from onward.spec.variables_file import read_variables

        from_file = read_variables(options.vars_file)
    if imported is not None:
        from_file = imported.variables | from_file
    return resolve_variables(plan, options.variables, from_file)


def _stored(plan: Plan, store: Store) -> bytes:
    """The plan as the run keeps it: places relative to the store, so that a project can be moved."""
    return msgspec.json.encode(msgspec.structs.replace(plan, file=store.relative(Path(plan.file))))


def _from_source(source: Path, plan: Plan, observer: Observer) -> Imported | SparqImported:
    from onward.recovery.sources import import_from

    imported = import_from(source, plan)
    for warning in imported.warnings:
        observer.message("warning", warning)
    return imported


def _from_state_file(options: StartOptions, plan: Plan, observer: Observer) -> RunFolder | Imported | None:
    """What `--resume` goes on with: the run whose journal the state file names, what the file itself tells, or nothing.

    Requirement 1 gives the warnings.
    """
    from onward.mirrors import state_import
    from onward.recovery.stale_checkpoint import stale_warning

    directory = os.path.normpath(Path(plan.file).parent / plan.directory)
    path = path_of(plan, directory)
    if path is None:
        observer.message("warning", state_import.NOT_CONFIGURED)
        return None
    try:
        kept = state_import.load(path)
    except WorkflowCheckpointError as error:
        return _run_of_broken_file(options, path, error, observer)
    if kept is None:
        observer.message("warning", state_import.not_found(path))
        return None
    stale = stale_warning(kept, path)
    if stale is not None:
        observer.message("warning", stale)
    journal = state_import.journal_of(kept, path)
    if journal is not None and not options.rerun:
        return RunFolder(Path(journal).parent)
    imported = state_import.take_over(kept, plan, path, folder=Path.cwd(), directory=directory, rerun=options.rerun)
    for warning in imported.warnings:
        observer.message("warning", warning)
    return imported


def _run_of_broken_file(
    options: StartOptions, path: str, error: WorkflowCheckpointError, observer: Observer
) -> RunFolder:
    """A broken state file is no loss while the journal of the last run of this workflow is there (`settled.md` 64)."""
    from onward.engine.embedded.opening import stored_plan

    here = options.file.resolve()
    for folder in store_for_file(options.file, options.store).runs():
        if Path(stored_plan(folder).file) == here and stored_plan(folder).checkpoint is not None:
            text = f"the state file {path} cannot be read ({error.message}); the journal of {folder.run_id} is used"
            observer.message("warning", text)
            return folder
    raise error


# --- resume ---------------------------------------------------------------------------------------------------


def resume_run(options: ResumeOptions, observer: Observer) -> RunResult:
    """Go on with a run. Raises `RunBusy`, `ChoiceNeeded`, `Problems`, `StateError`; before that nothing was run."""
    gc.disable()  # what is read now stays; `_drive` has it looked after again
    link = KeeperLink.launch()
    try:
        return _resume(options, observer, link)
    finally:
        gc.enable()
        link.close()


def _resume(options: ResumeOptions, observer: Observer, link: KeeperLink) -> RunResult:
    opened = open_run(
        options.run,
        observer.message,
        take_over=options.take_over,
        accept_damage=options.accept_damage,
        original=options.original,
    )
    try:
        opened.take_names()
        done = _nothing_to_do(options, opened, observer)
        if done is not None:
            _bring_mirror_to_its_end(opened)
            opened.journal.close()
            opened.lock.release()
            return done
        secrets = _secrets(opened.plan, observer, opened.state)
        first = first_events(options, opened, observer)
        adopt_definition(opened)
        if options.original:
            _lay_out_watched(opened, observer)
        context = _context(opened.folder, opened.plan, options.adapter or opened.state.facts.adapter, secrets)
        session = _Session(
            folder=opened.folder,
            lock=opened.lock,
            plan=opened.plan,
            state=opened.state,
            journal=opened.journal,
            link=link,
            observer=observer,
            context=context,
            first=first,
            state_file=_state_file(opened.folder, opened.plan, opened.state, context, None),
            fresh=False,
        )
    except BaseException:
        opened.journal.close()
        opened.lock.release()
        raise
    return _drive(session)


def _lay_out_watched(opened: Opened, observer: Observer) -> None:
    """The watched files as they were at the start, for whoever wants them; nothing is replaced."""
    from onward.recovery.watching import lay_out

    for path in lay_out(opened.state.facts.watch, opened.folder):
        observer.message("note", f"as it was at the start: {path}")


def _nothing_to_do(options: ResumeOptions, opened: Opened, observer: Observer) -> RunResult | None:
    end = opened.state.facts.end
    if options.choices or end is None or end is Status.FAILED:
        return None
    run_id = opened.folder.run_id
    if end is Status.CANCELLED:
        raise UsageError(
            f"run `{run_id}` was cancelled", help=f"do part of it again with `onward resume {run_id} --rerun PATH`"
        )
    observer.message("note", f"run `{run_id}` has succeeded: nothing to do")
    return RunResult(run_id=run_id, status=RunStatus.SUCCEEDED)


def _bring_mirror_to_its_end(opened: Opened) -> None:
    """A driver that was killed after the end of the run may have left its state file, or half of one, behind."""
    state = opened.state
    context = _context(opened.folder, opened.plan, None)
    state_file = _state_file(opened.folder, opened.plan, state, context, None)
    if state_file is not None and state.facts.end is not None:
        state_file.begin(fresh=False)
        state_file.changed(state, [ev.WorkflowEnd(status=state.facts.end)])


def first_events(options: ResumeOptions, opened: Seen, observer: Observer) -> list[ev.Event]:
    """What this driver records before anything moves: repairs, that it goes on, what is set aside."""
    from onward.recovery.always import always_again
    from onward.recovery.artifacts import check_artifacts
    from onward.recovery.findings import tell_surroundings
    from onward.recovery.results import lost_results

    state = opened.state
    tell_surroundings(opened, clock.now().timestamp(), observer.message)
    directory = Path(opened.plan.file).parent / opened.plan.directory
    chosen = overrides_for(state, options.choices, this_process().user)
    chosen += always_again(state, frozenset(event.path for event in chosen))
    chosen += lost_results(state, opened.folder.values, frozenset(event.path for event in chosen))
    again = frozenset(event.path for event in chosen)
    for event in chosen:
        if event.action == "rerun" and not event.reason.startswith("--"):
            observer.message("note", f"`{event.path}` is done again: {event.reason}")
    overrides: list[ev.Event] = list(chosen)
    overrides += check_artifacts(
        state,
        directory,
        opened.folder.run_id,
        observer.message,
        keep_different=options.yes,
        again=again,
    )
    tell_what_is_kept(state, opened.changes, options.variables, observer.message)
    events: list[ev.Event] = list(opened.notes)
    if opened.previous is not None:
        owner = this_process()
        events.append(ev.TakeOver(by=owner.user, previous=_owner(opened.previous), owner=owner))
    events.append(
        ev.WorkflowResume(
            reason=options.reason,
            by=this_process().user,
            resumed_count=state.facts.resumed_count + 1 + (opened.previous is not None),
            definition_sha256=opened.plan.digest,
            changes=tuple(opened.changes),
            variables=options.variables,
            budget=raised(state, options.budget),
            owner=this_process(),
        )
    )
    return events + overrides


def _owner(owner: ev.Owner) -> ev.Owner:
    return ev.Owner(host=owner.host, boot=owner.boot, pid=owner.pid, started=owner.started, user=owner.user)


# --- drive ----------------------------------------------------------------------------------------------------


def _secrets(plan: Plan, observer: Observer, state: RunState | None = None) -> Secrets:
    """Those that are needed are read before anything is run: one that is missing would cost hours of work later."""
    secrets = Secrets.of(plan, os.environ)
    for warning in secrets.read(needed_secrets(plan, state)):
        observer.message("warning", warning)
    return secrets


def _context(folder: RunFolder, plan: Plan, adapter: str | None, secrets: Secrets | None = None) -> RunContext:
    return context_of(
        plan,
        run=folder.run_id,
        folder=folder.root,
        values=folder.values,
        environment=os.environ,
        adapter=adapter,
        secrets=secrets,
    )


def _state_file(
    folder: RunFolder, plan: Plan, state: RunState, context: RunContext, started_at: str | None
) -> StateFile | None:
    path = path_of(plan, context.directory)
    if path is None or plan.checkpoint is None:
        return None
    return StateFile(state, path, policy=plan.checkpoint.cleanup_policy, journal=folder.journal, started_at=started_at)


def _drive(session: _Session) -> RunResult:
    """Record the first events, then drive until the run ends, pauses or waits; leave everything in good order."""
    state, observer = session.state, session.observer
    work = Work(state, session.context, session.folder, session.link, observer)
    mirroring = Mirroring(session.folder, session.state_file, observer)
    driver = Driver(state, session.journal, work, mirroring, observer)
    try:
        for event in session.first:
            driver.record(event)
        driver.journal.flush()
        mirroring.begin(fresh=session.fresh)
        observer.started(state, session.folder.root)
        # The plan and what was read stay: a collector that looks through them again and again costs a tenth.
        if session.fresh:
            gc.collect()  # what reading YAML has left; a resume has read none, mostly, and is in a hurry
        gc.freeze()
        gc.enable()
        asyncio.run(_until_over(driver, session))
        _tidy_worktrees(session)
        driver.close()
        observer.ended(state)
    except BaseException:
        session.journal.close()
        with suppress(StoreError):  # what led here is the error to tell
            session.lock.release()
        raise
    session.journal.close()
    session.lock.release()
    return RunResult(run_id=session.folder.run_id, status=state.status, reason=state.facts.end_reason)


def _tidy_worktrees(session: _Session) -> None:
    own = [one.path for one in session.state.instances.values() if has_own(one)]
    if own and session.state.facts.end is Status.SUCCEEDED:
        context = session.context
        for words in Worktrees(context.run, context.folder, context.directory).tidy(own):
            session.observer.message("note", words)


async def _until_over(driver: Driver, session: _Session) -> None:
    directory = Path(session.context.directory)
    with Signals(driver, session.folder, directory, session.plan.grace_s, session.observer.message):
        await driver.drive()
