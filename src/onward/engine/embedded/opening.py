"""An existing run → its state, ready to be driven: lock, definition, journal, findings. Nothing is driven here."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct, field

from onward import files
from onward.engine.embedded.rebuilding import (
    is_gone,
    lost_its_head,
    rebuilt_run,
    set_aside_broken_state,
    state_of,
    write_rebuilt,
)
from onward.errors import OnwardError, Problems, StateError
from onward.journal import reader, repair
from onward.journal.findings import Finding, FindingKind
from onward.journal.lines import START
from onward.journal.writer import Journal
from onward.model.events import Change
from onward.model.nodes import Plan
from onward.recovery.seen import Seen
from onward.state.cache import decode_state
from onward.state.fold import fold
from onward.state.run_state import RunState
from onward.store.cache import LoadedCache
from onward.store.folder import RunFolder
from onward.store.lock import Driver as DriverRecord
from onward.store.lock import Lock

Tell = Callable[[str, str], None]


class ChoiceNeeded(OnwardError):
    """Something was found that a person has to decide about; nothing was run. The help lists the commands."""

    code = "choice-needed"
    exit_code = 3


class Definition(Struct):
    """The plan to go on with, and how it differs from the one that the run went by."""

    plan: Plan
    changes: list[Change] = field(default_factory=list)
    files: dict[str, bytes] | None = None
    """today's files, when they differ from those that are stored"""


class Opened(Seen, kw_only=True):
    """A run whose lock this process holds."""

    lock: Lock
    journal: Journal


def open_run(
    folder: RunFolder, tell: Tell, *, take_over: bool = False, accept_damage: bool = False, original: bool = False
) -> Opened:
    """Take the lock and read the run. Raises `RunBusy`, `ChoiceNeeded`, `Problems` or `StateError`; then it is free."""
    previous: DriverRecord | None = None
    if take_over:
        lock, previous = folder.take_over()
    else:
        lock = folder.lock()
    try:
        folder.clean_up()
        definition = current_definition(folder, original=original)
        if is_gone(folder):
            _begin_lost_journal(folder, accept_damage=accept_damage)
        saved = folder.load_cache()
        state, reading = read_state(folder, definition.plan, tell, saved)
        _check_findings(folder, reading.findings, tell, accept_damage=accept_damage)
        if lost_its_head(reading):
            write_rebuilt(folder, stored_plan(folder), tell)
            state, reading = read_state(folder, definition.plan, tell)
        if saved.problem is not None:
            set_aside_broken_state(folder, tell)
        torn = repair.mend_tail(reading)
        position = reading.position
        journal = Journal.open(folder.journal, position, epoch=position.epoch + 1, before_flush=folder.values.flush)
    except BaseException:
        lock.release()
        raise
    notes = [torn] if torn is not None else []
    return Opened(
        folder=folder,
        lock=lock,
        plan=definition.plan,
        state=state,
        journal=journal,
        changes=definition.changes,
        notes=notes,
        previous=previous,
    )


def look_at(folder: RunFolder, *, original: bool = False) -> Seen:
    """Read the run as `open_run` does, without its lock and without a change on the disk.

    What keeps a resume from going on is in the result, but for what leaves nothing to look at: `StateError`.
    """
    told: list[str] = []
    problem = None
    try:
        definition = current_definition(folder, original=original)
    except Problems as error:
        definition, problem = Definition(stored_plan(folder)), error
    if is_gone(folder):
        return _seen_without_journal(folder, definition, problem)
    saved = folder.load_cache()
    state, reading = read_state(folder, definition.plan, lambda _, text: told.append(text), saved)
    rebuilt = None
    if lost_its_head(reading):
        found = rebuilt_run(folder, stored_plan(folder))
        state, rebuilt = state_of(definition.plan, found), found.text
    return Seen(
        folder=folder,
        plan=definition.plan,
        state=state,
        changes=definition.changes,
        damage=reading.findings,
        cache_problem=saved.problem,
        driver=folder.driver(),
        problem=problem,
        rebuilt=rebuilt,
    )


def _seen_without_journal(folder: RunFolder, definition: Definition, problem: Problems | None) -> Seen:
    found = rebuilt_run(folder, stored_plan(folder))
    lost = Finding(kind=FindingKind.UNREADABLE_HEAD, line=1, offset=0, end=0, text="the journal is gone")
    return Seen(
        folder=folder,
        plan=definition.plan,
        state=state_of(definition.plan, found),
        changes=definition.changes,
        damage=[lost],
        driver=folder.driver(),
        problem=problem,
        rebuilt=found.text,
    )


def _begin_lost_journal(folder: RunFolder, *, accept_damage: bool) -> None:
    """An empty journal in place of one that is gone: what follows puts together what is left."""
    if not accept_damage:
        raise ChoiceNeeded(
            f"the journal of run `{folder.run_id}` is gone",
            help=f"`onward resume {folder.run_id} --plan` shows what could be put together from what is left; "
            f"`onward resume {folder.run_id} --accept-damage` does it and goes on",
        )
    files.create(folder.journal, b"")


def read_state(
    folder: RunFolder, plan: Plan, tell: Tell, saved: LoadedCache | None = None
) -> tuple[RunState, reader.Reading]:
    """Fold the journal over `plan`, from the state cache where it can be used."""
    loaded = folder.load_cache() if saved is None else saved
    if loaded.problem is not None:
        tell("note", f"the state cache is not used: {loaded.problem}; the journal is read from its first line")
    state, after = None, START
    if loaded.cache is not None:
        state, after = decode_state(plan, loaded.cache.state), loaded.cache.position
    if state is None:
        state, after = RunState(plan), START
    reading = reader.read(folder.journal, after=after)
    for events in reading.pieces():
        for event in events:
            fold(state, event)
    return state, reading


def _check_findings(folder: RunFolder, findings: list[Finding], tell: Tell, *, accept_damage: bool) -> None:
    serious = [finding for finding in findings if finding.needs_choice]
    for finding in findings:
        if finding not in serious and finding.kind is not FindingKind.TORN_TAIL:
            tell("note", f"journal, {finding.where}: {finding.text}")
    if not serious:
        return
    listed = "\n".join(f"  journal, {finding.where}: {finding.text}" for finding in serious)
    if not accept_damage:
        raise ChoiceNeeded(
            f"the journal of run `{folder.run_id}` is damaged; everything after the damage was read:\n{listed}",
            help=f"`onward resume {folder.run_id} --plan` shows what would be kept; "
            f"`onward resume {folder.run_id} --accept-damage` goes on; "
            "what the damaged lines held may be done again",
        )
    tell("warning", f"going on although the journal is damaged:\n{listed}")


# --- definition -------------------------------------------------------------------------------------------------


def current_definition(folder: RunFolder, *, original: bool = False) -> Definition:
    """Today's definition for unfinished nodes; YAML is read only where a file differs from what is stored."""
    stored = stored_plan(folder)
    if original or _unchanged(stored):
        return Definition(stored, _renamed_back(folder, stored))
    from onward.engine.definition import load_plan

    try:
        loaded = load_plan(Path(stored.file), given=stored.undeclared)
    except OnwardError as error:
        error.help = (error.help + "\n" if error.help else "") + (
            f"nothing was run; mend the file, or go on with the definition that was stored at the start: "
            f"onward resume {folder.run_id} --original"
        )
        raise
    return Definition(loaded.plan, _changes(folder, stored, loaded.plan), loaded.files)


def _changes(folder: RunFolder, stored: Plan, plan: Plan) -> list[Change]:
    """What was edited. Where names change, the plan that the last driver went by says where the records are now."""
    from onward.plan.diff import compare

    since_start = compare(stored, plan)
    latest = _latest_plan(folder)
    if latest is None or not any(node.was for each in (latest, plan) for node in each.root.walk()):
        return since_start
    since = compare(latest, plan)
    known = {change.path for change in since if change.former}
    return [change for change in since_start if change.former and change.path not in known] + since


def _renamed_back(folder: RunFolder, stored: Plan) -> list[Change]:
    """The file is again that of the start: what an earlier resume has renamed gets its first name back."""
    latest = _latest_plan(folder)
    if latest is None:
        return []
    from onward.plan.diff import Edit, renames

    changes = []
    for path, first in renames(stored, latest).items():
        above, _, name = first.rpartition("/")
        now = path.rpartition("/")[2]
        if now != name:
            former = f"{above}/{now}" if above else now
            changes.append(Change(path=first, change=Edit.RENAMED.value, former=former))
    return changes


def _latest_plan(folder: RunFolder) -> Plan | None:
    """The plan that the last driver went by, if it was not that of the start."""
    if not os.path.exists(folder.latest_plan):
        return None
    try:
        return msgspec.json.decode(folder.read_latest_plan() or b"", type=Plan)
    except msgspec.DecodeError:
        return None


def stored_plan(folder: RunFolder) -> Plan:
    """The plan as it was stored. Raises `StateError` when it is gone or damaged."""
    data = folder.read_plan()
    if data is None:
        raise StateError(f"the stored plan {folder.plan} is gone", help="start a new run with `onward run FILE`")
    try:
        plan = msgspec.json.decode(data, type=Plan)
        return msgspec.structs.replace(plan, file=os.fspath(base_of(folder) / plan.file))
    except msgspec.DecodeError as error:
        raise StateError(
            f"the stored plan {folder.plan} cannot be read: {error}", help="start a new run with `onward run FILE`"
        ) from error


def adopt_definition(opened: Seen) -> None:
    """Readers find the plan that is gone by now, and what renamed nodes did under their former names."""
    folder, plan = opened.folder, opened.plan
    is_first = plan.digest == stored_plan(folder).digest
    file, base = Path(plan.file), base_of(folder)
    kept = msgspec.structs.replace(plan, file=os.fspath(file.relative_to(base) if file.is_relative_to(base) else file))
    folder.keep_latest_plan(None if is_first else msgspec.json.encode(kept))
    for former, path in opened.renamed:
        folder.keep_attempts(former, path)


def base_of(folder: RunFolder) -> Path:
    """The folder that places in a run are relative to: the one in which the store is."""
    return folder.root.parent.parent.parent


def _unchanged(plan: Plan) -> bool:
    base = Path(plan.file).parent
    for file in plan.files:
        try:
            data = (base / file.path).read_bytes()
        except OSError:
            return False
        if hashlib.sha256(data).hexdigest() != file.sha256:
            return False
    return True
