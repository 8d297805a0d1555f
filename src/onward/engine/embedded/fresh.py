"""A run that is given up → the archive, whole and readable, and what a new run of the same workflow begins with.

`<store>/archive/<time>/<run>/` has everything that the run's folder had, and the state file of requirement 1 beside
it. Nothing is deleted. What still runs of the old run is ended first: two copies side by side would be worse.
"""

from __future__ import annotations

import os
from pathlib import Path

from onward import clock, files
from onward.engine.definition import load_plan
from onward.engine.embedded.launch import StartOptions
from onward.errors import StoreError
from onward.mirrors.state_file import path_of
from onward.model.nodes import Plan
from onward.recovery.fate import Fate, fate_of
from onward.recovery.findings import directory_of
from onward.recovery.seen import Seen
from onward.store.folder import RunFolder
from onward.tasks.ending import end_process_tree
from onward.tasks.environment import marker_of
from onward.tasks.keeper_link import KILL_AFTER_S

FOLDER_NAME = "archive"
SUCCESSOR = "superseded_by"


def start_of(seen: Seen, variables: dict[str, str], adapter: str | None, limit: int | None) -> StartOptions:
    """The new start: the same file and variables as the old run had. Raises `Problems` for a broken file."""
    facts, plan = seen.state.facts, seen.plan
    load_plan(Path(plan.file), given=facts.variables | variables)
    return StartOptions(
        file=Path(plan.file),
        variables=facts.variables | variables,
        store=os.fspath(seen.folder.root.parent.parent),
        adapter=adapter or facts.adapter,
        limit=limit or facts.limit,
    )


def archive(seen: Seen) -> Path:
    """Move the run to the archive; returns its new folder. Raises `RunBusy` when it is driven, `StoreError`."""
    folder = seen.folder
    held = folder.lock()
    try:
        _end_what_runs(seen)
        target = _free_place(folder)
        files.make_folder(target.parent, durable=True)
        _keep_state_file(seen.plan, target.parent)
        _move(folder, target)
        held.moved(target)
        files.flush_folder(target.parent)
        files.flush_folder(folder.root.parent)
    finally:
        held.release()
    return target


def name_successor(archived: Path, run_id: str) -> None:
    """Leave word in the archived run of the one that took its place."""
    files.write_atomic(archived / SUCCESSOR, f"{run_id}\n".encode(), durable=False)


def _free_place(folder: RunFolder) -> Path:
    moment = f"{clock.now():%Y%m%d-%H%M%S}"
    base = folder.root.parent.parent / FOLDER_NAME
    number = 1
    while (place := base / (moment if number == 1 else f"{moment}-{number}")).exists():
        number += 1
    return place / folder.run_id


def _move(folder: RunFolder, target: Path) -> None:
    try:
        files.move(folder.root, target)
    except OSError as error:
        raise files.trouble(error, "archive the run", folder.root, StoreError) from error


def _keep_state_file(plan: Plan, place: Path) -> None:
    """A copy: the new run writes its own under the same name."""
    path = path_of(plan, os.fspath(directory_of(plan)))
    if path is None:
        return
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise files.trouble(error, "read the state file", path, StoreError) from error
    files.write_atomic(place / os.path.basename(path), data)


def _end_what_runs(seen: Seen) -> None:
    for instance in seen.state.running_leaves():
        if fate_of(seen.folder, seen.state, instance.path, instance.attempt) is Fate.LIVES:
            marker = marker_of(seen.folder.root, instance.path, instance.attempt)
            end_process_tree(None, [marker], kill_after_s=KILL_AFTER_S)
