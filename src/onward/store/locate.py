"""Which store a command means: the one that `--store` or `ONWARD_STORE` names, else `.onward`, found like `.git`.

For a command with a workflow file the search starts in the file's folder, else in the caller's.
"""

from __future__ import annotations

import os
from pathlib import Path

from onward.errors import StoreError, UsageError
from onward.store.runs import FOLDER_NAME, Store

VARIABLE = "ONWARD_STORE"


def store_for_file(workflow: Path, given: str | None = None) -> Store:
    """The store for runs of a workflow file: named, found, or a new one beside the file (beside what a link leads to).

    Nothing is made before the first run is.
    """
    named = _named(given)
    if named is not None:
        return Store(named)
    folder = workflow.resolve().parent
    return find_store(folder) or Store(folder / FOLDER_NAME)


def store_here(given: str | None = None, folder: Path | None = None) -> Store:
    """The store for commands without a workflow file: named, found upwards, else an empty one here."""
    named = _named(given)
    if named is not None:
        return Store(named)
    start = _here() if folder is None else folder.resolve()
    return find_store(start) or Store(start / FOLDER_NAME)


def find_store(folder: Path) -> Store | None:
    """The nearest `.onward` in a folder or above it. Raises `StoreError` for one that somebody else owns."""
    for place in (folder, *folder.parents):
        root = place / FOLDER_NAME
        if root.is_dir():
            _check_owner(root)
            return Store(root)
    return None


def _named(given: str | None) -> Path | None:
    name = given or os.environ.get(VARIABLE)
    return Path(name).absolute() if name else None


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        help = "change to another folder, or name the store with --store"
        raise UsageError("the present folder was removed", help=help) from error


def _check_owner(root: Path) -> None:
    # A plan in a store says what to run: one that lies around in a shared folder may be anybody's.
    user = os.geteuid()
    if user not in (0, root.stat().st_uid):
        raise StoreError(
            f"{root} belongs to another user",
            help=f"name it with --store {root} (or {VARIABLE}) if you trust it, or another folder if not",
        )
