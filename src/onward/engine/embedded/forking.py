"""A run and a node → a new run that keeps everything before that node; the old one stays as it is.

What is kept is told again as events, in a journal of its own, with its values, hand-offs and logs; so the old run can
be removed. Tasks that run in the old run just now belong to it alone.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from onward import clock, files
from onward.engine.embedded.opening import base_of, look_at, stored_plan
from onward.errors import StoreError
from onward.model import events as ev
from onward.model.nodes import Plan
from onward.recovery.abandoned import Abandoned, abandoned_by
from onward.recovery.choices import Choices, overrides_for
from onward.recovery.retelling import retell_node
from onward.recovery.seen import Seen
from onward.state.instance import Role
from onward.store.folder import RunFolder
from onward.store.lock import this_process
from onward.store.runs import NewRun, Store


class Forked(Struct, kw_only=True):
    """The new run, which nobody drives yet; `abandoned` is what the old run had done from the node on."""

    folder: RunFolder
    kept: int
    abandoned: Abandoned


def fork(folder: RunFolder, path: str, *, run_id: str | None = None, variables: dict[str, str] | None = None) -> Forked:
    """Make it. Raises `UsageError` for a path that the workflow does not have, or an id that is taken."""
    seen = look_at(folder, original=True)
    overrides = overrides_for(seen.state, Choices(rerun_from=(path,)), this_process().user)
    abandoned = abandoned_by(seen.state, overrides)
    store = Store(folder.root.parent.parent)
    new = _made(store, seen, path, run_id, variables or {})
    try:
        kept = _fill(new, seen, overrides, folder.run_id, path)
    finally:
        new.journal.close()
        new.lock.release()
    return Forked(folder=new.folder, kept=kept, abandoned=abandoned)


def _made(store: Store, seen: Seen, path: str, run_id: str | None, variables: dict[str, str]) -> NewRun:
    facts, plan = seen.state.facts, stored_plan(seen.folder)
    new_id = run_id or clock.run_id(plan.name, clock.now())
    start = ev.WorkflowStart(
        run=new_id,
        workflow_file=facts.workflow_file,
        file=facts.file,
        name=facts.name,
        title=facts.title,
        definition_sha256=plan.digest,
        directory=facts.directory,
        variables=facts.variables | variables,
        watch=facts.watch,
        revision=facts.revision,
        datetime=facts.datetime,
        adapter=facts.adapter,
        limit=facts.limit,
        owner=this_process(),
        imported={"kind": "fork", "run": seen.folder.run_id, "from": path, "seq": facts.seq},
    )
    stored = replace(plan, file=_relative(plan, seen.folder))
    return store.create_run(
        new_id, definition=_definition(seen.folder, plan), plan=msgspec.json.encode(stored), start=start
    )


def _relative(plan: Plan, folder: RunFolder) -> str:
    file, base = Path(plan.file), base_of(folder)
    return os.fspath(file.relative_to(base)) if file.is_relative_to(base) else plan.file


def _definition(folder: RunFolder, plan: Plan) -> dict[str, bytes]:
    found = ((file.path, folder.read_definition(file.path)) for file in plan.files)
    return {name: data for name, data in found if data is not None}


def _fill(new: NewRun, seen: Seen, overrides: list[ev.Override], old: str, path: str) -> int:
    """Values first, then what refers to them."""
    _copy_values(seen.folder, new.folder)
    kept = 0
    told: list[ev.Event] = []
    for instance in list(seen.state.instances.values()):
        if not instance.path or instance.role is Role.SECTION or (instance.is_leaf and not instance.ended):
            continue
        told += retell_node(instance)
    again = tuple(event.path for event in overrides)
    for instance in seen.state.instances.values():
        if instance.is_leaf and instance.ended and not _is_again(instance.path, again):
            kept += 1
            _copy_folder(seen.folder, new.folder, instance.path, instance.attempt)
    _copy_tree(seen.folder.hand_offs, new.folder.hand_offs)
    note = ev.Note(text=f"forked from run {old} before `{path}`: {kept} finished tasks are kept", at=clock.now())
    for event in (*told, *(replace(one, reason="after the fork") for one in overrides), note):
        new.journal.add(event)
    new.journal.flush()
    return kept


def _is_again(path: str, again: tuple[str, ...]) -> bool:
    return any(path == one or path.startswith((f"{one}/", f"{one}[")) for one in again)


def _copy_values(old: RunFolder, new: RunFolder) -> None:
    place = Path(old.values.path(""))
    for file in sorted(place.iterdir()) if place.is_dir() else ():
        if file.is_file() and not file.name.startswith("."):
            new.values.put(file.read_bytes())


def _copy_folder(old: RunFolder, new: RunFolder, path: str, attempt: int) -> None:
    if attempt:
        _copy_tree(Path(old.attempt_path(path, attempt)), Path(new.attempt_path(path, attempt)))


def _copy_tree(source: Path, target: Path) -> None:
    """Logs of what is kept: links where the file system has them, for they are never written again."""
    if not source.is_dir():
        return
    files.make_folder(target.parent)
    try:
        shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True, symlinks=True)
    except (OSError, shutil.Error) as error:
        raise StoreError(f"what {source} holds cannot be copied: {error}") from error


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


