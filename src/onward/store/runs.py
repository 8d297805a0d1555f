"""The runs of a store: made, found, listed, removed.

A run is made under a name that nobody looks at and renamed when all of it is on the disk, its first event included:
a run that can be seen is whole.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from onward import files
from onward.errors import JournalError, RunNotFound, StoreError, UsageError
from onward.journal.writer import Journal
from onward.model.events import WorkflowStart
from onward.store import lock
from onward.store.folder import RunFolder

FOLDER_NAME = ".onward"
IGNORE = ".gitignore"

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_DRAFT = ".new-"
_GONE = ".gone-"


class NewRun(Struct, frozen=True, kw_only=True):
    """A run that was just made: this process drives it, and its journal is open behind the first event."""

    folder: RunFolder
    lock: lock.Lock
    journal: Journal


class Store:
    """A folder of runs: `.onward`, or the one that `--store` names."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    @property
    def runs_folder(self) -> Path:
        """The folder that has a folder per run."""
        return self.root / "runs"

    # ------------------------------------------------------------ places of the user

    def relative(self, path: Path) -> str:
        """A path as the journal keeps it: relative to the folder that the store is in, where it lies beneath that."""
        base = self.root.parent
        return os.fspath(path.relative_to(base)) if path.is_relative_to(base) else os.fspath(path)

    def absolute(self, text: str) -> Path:
        """The path that `relative` wrote, also after the whole folder has moved."""
        return self.root.parent / text

    # ------------------------------------------------------------ making

    def create_run(
        self,
        run_id: str,
        *,
        definition: Mapping[str, bytes],
        plan: bytes,
        start: WorkflowStart,
        now: Callable[[], datetime] | None = None,
    ) -> NewRun:
        """Make a run and drive it. `definition`: the files by their names relative to the workflow's folder.

        Raises `UsageError` for an id that is taken or malformed, `StoreError` when it cannot be written.
        """
        check_run_id(run_id)
        target = RunFolder(self.runs_folder / run_id)
        if os.path.lexists(target.root):
            raise _taken(run_id)
        self.make()
        self._remove_left_overs()
        draft = RunFolder(self.runs_folder / f"{_DRAFT}{run_id}-{os.getpid()}")
        files.make_folder(draft.root)
        held = None
        try:
            held = draft.lock()
            journal = _written(draft, definition, plan, start, now)
            _publish(draft, target)
        except (StoreError, JournalError, UsageError):
            _discard(draft, held)
            raise
        held.moved(target.root)
        journal.moved(target.journal, before_flush=target.values.flush)
        try:
            files.flush_folder(self.runs_folder)
        except StoreError:
            journal.close()
            held.release()
            raise
        return NewRun(folder=target, lock=held, journal=journal)

    def make(self) -> None:
        """The folders of the store, on the disk, and what keeps it out of commits. That file comes last: where it is,
        everything is."""
        new = files.make_folder(self.root, durable=True)
        files.make_folder(self.runs_folder)
        # A folder that somebody made for more than runs is not hidden from git as a whole.
        hidden = self.root if new or self.root.name == FOLDER_NAME else self.runs_folder
        if not any((folder / IGNORE).exists() for folder in (self.root, self.runs_folder)):
            files.flush_folder(self.root.parent)
            files.flush_folder(self.root)
            files.write_atomic(hidden / IGNORE, b"*\n")

    def _remove_left_overs(self) -> None:
        """Runs that were half-made or half-removed when their process ended, and temporary files."""
        for folder in (self.root, self.runs_folder):
            files.remove_dead_temporaries(folder)
        for name in self._names():
            folder = self.runs_folder / name
            if name.startswith(_GONE) or (name.startswith(_DRAFT) and _is_dead_draft(folder)):
                files.remove_tree(folder)

    # ------------------------------------------------------------ finding

    def runs(self) -> list[RunFolder]:
        """The runs, newest first."""
        found = [RunFolder(self.runs_folder / name) for name in self._names() if _ID.fullmatch(name)]
        return sorted(found, key=lambda run: (run.started_at(), run.run_id), reverse=True)

    def find(self, prefix: str | None = None) -> RunFolder:
        """The run of that id or unique prefix of one; without, the newest. Raises `RunNotFound`, `UsageError`."""
        if prefix is None:
            return self._newest()
        names = [name for name in self._names() if _ID.fullmatch(name)]
        matches = [prefix] if prefix in names else [name for name in names if name.startswith(prefix)]
        if len(matches) == 1:
            return RunFolder(self.runs_folder / matches[0])
        raise _ambiguous(prefix, matches) if matches else self._unknown(prefix, names)

    def _newest(self) -> RunFolder:
        runs = self.runs()
        if not runs:
            raise RunNotFound(f"there is no run in {self.root}", help="start one with `onward run FILE`")
        return runs[0]

    def _unknown(self, prefix: str, names: list[str]) -> RunNotFound:
        from difflib import get_close_matches

        close = get_close_matches(prefix, names, n=1, cutoff=0.4)
        help = f"did you mean `{close[0]}`?" if close else "`onward runs` lists them"
        return RunNotFound(f"there is no run `{prefix}` in {self.root}", help=help)

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.runs_folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise files.trouble(error, "list the runs in", self.runs_folder, StoreError) from error


def check_run_id(run_id: str) -> None:
    """Raise `UsageError` for what cannot be the id of a run."""
    if not _ID.fullmatch(run_id):
        raise UsageError(
            f"`{run_id}` cannot be the id of a run",
            help="a letter or digit first, then letters, digits, `.`, `_`, `-`; at most 128 characters",
        )


def _taken(run_id: str) -> UsageError:
    help = f"give another --id, or go on with `onward resume {run_id}`"
    return UsageError(f"there is a run `{run_id}` already", help=help)


def _ambiguous(prefix: str, matches: list[str]) -> UsageError:
    listed = "\n".join(f"  {name}" for name in sorted(matches))
    return UsageError(f"`{prefix}` could be any of {len(matches)} runs:\n{listed}", help="give more of the id")


def _written(
    draft: RunFolder,
    definition: Mapping[str, bytes],
    plan: bytes,
    start: WorkflowStart,
    now: Callable[[], datetime] | None,
) -> Journal:
    """Everything a run begins with, on the disk: files, then their folders, then the first event."""
    folders = {draft.root, draft.plan.parent}
    for name, data in definition.items():
        path = draft.definition(name)
        files.make_folder(path.parent)
        files.create(path, data)
        folders.update(folder for folder in path.parents if folder.is_relative_to(draft.root))
    files.make_folder(draft.plan.parent)
    files.create(draft.plan, plan)
    journal = Journal.create(draft.journal, now=now)
    try:
        stamped = journal.add(start)
        files.create(draft.start, msgspec.json.encode(stamped), durable=False)
        journal.flush()
        for folder in sorted(folders, reverse=True):
            files.flush_folder(folder)
    except (StoreError, JournalError):
        journal.close()
        raise
    return journal


def _publish(draft: RunFolder, target: RunFolder) -> None:
    try:
        files.move(draft.root, target.root)
    except OSError as error:
        if os.path.lexists(target.root):
            raise _taken(target.run_id) from error
        raise files.trouble(error, "make the run", target.root, StoreError) from error


def _discard(draft: RunFolder, held: lock.Lock | None) -> None:
    try:
        files.remove_tree(draft.root)
    except StoreError:
        return  # the error that led here is the one to tell; the next run that is made removes what is left
    finally:
        if held is not None:
            held.release()


def _is_dead_draft(folder: Path) -> bool:
    pid = int(folder.name.rpartition("-")[2])
    return (pid == os.getpid() or not files.process_lives(pid)) and lock.driver_alive(folder) is None
