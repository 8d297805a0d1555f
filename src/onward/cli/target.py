"""Words of a command line → the store, the run and the node that are meant; and commands that find them again."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click

from onward.cli.common import Common
from onward.cli.settings import settings_here, settings_of
from onward.errors import UsageError
from onward.store.folder import RunFolder
from onward.store.locate import VARIABLE, store_for_file, store_here
from onward.store.runs import Store


def store_of(common: Common) -> Store:
    """The store that a command without a workflow file means."""
    return store_here(common.store or _named_here())


def store_of_file(file: Path, common: Common) -> Store:
    """The store for runs of a workflow file."""
    return store_for_file(file, common.store or os.environ.get(VARIABLE) or settings_of(file).store)


def at(store: Store) -> str:
    """What a printed command needs after the run id so that it finds this store: ` --store DIR`, or nothing."""
    found = store_here(_named_here())
    same = os.path.realpath(found.root) == os.path.realpath(store.root)
    return "" if same else f" --store {shlex.quote(os.fspath(store.root))}"


def _named_here() -> str | None:
    return os.environ.get(VARIABLE) or settings_here().store


def run_and_path(store: Store, words: tuple[str, ...]) -> tuple[RunFolder, str | None]:
    """`[RUN] [PATH]`: one word alone is a run if one matches, else a path of the newest run."""
    if len(words) > 2:
        raise UsageError(f"one run and one path at most, not {len(words)} words")
    if len(words) == 2:
        return store.find(words[0]), words[1]
    if not words:
        return store.find(), None
    if matches(store, words[0]):
        return store.find(words[0]), None
    newest = store.find()
    if has_node(newest, words[0]):
        return newest, words[0]
    return store.find(words[0]), None  # which says that there is no such run


def matches(store: Store, prefix: str) -> bool:
    """Whether a run of the store has that id, or one that begins so."""
    return any(run.run_id.startswith(prefix) for run in store.runs())


def has_node(folder: RunFolder, path: str) -> bool:
    """Whether the run knows a node of that path."""
    from onward.views.source import Source

    state = Source(folder).state
    return state.get(path) is not None or path in state.index


def unknown_node(folder: RunFolder, path: str, known: Any) -> UsageError:
    """The error for a path that is not in the run."""
    from difflib import get_close_matches

    near = get_close_matches(path, list(known), n=1)
    return UsageError(
        f"run `{folder.run_id}` has no node `{path}`",
        help=f"did you mean `{near[0]}`?" if near else f"`onward status {folder.run_id}` lists its nodes",
    )


def print_json(data: Any, *, compact: bool = False) -> None:
    """Data for programs: UTF-8 on stdout, whatever the locale."""
    import msgspec

    text = msgspec.json.encode(data)
    if not compact:
        text = msgspec.json.format(text, indent=2)
    stream = getattr(sys.stdout, "buffer", None)
    if stream is None:
        click.echo(text.decode())
    else:
        sys.stdout.flush()
        stream.write(text + b"\n")
        stream.flush()
