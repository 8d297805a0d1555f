"""Files under `watch` → what a run keeps of them at its start, and what has changed when it is resumed (5.2).

Paths and globs are relative to the folder that tasks work in. The hash of every file lies in the first event, its
content among the values of the run, so that a change can be told field by field and the file be looked at as it was.
"""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from onward import files
from onward.errors import StoreError
from onward.recovery.fields import FieldChange, Unreadable, changed_fields
from onward.store.folder import RunFolder
from onward.store.names import file_of

FRESH_START = "fresh-start"
KEPT_BYTES = 1 << 20
"""content above this size is known by its hash alone"""


class Drift(StrEnum):
    """What became of a watched file."""

    CHANGED = "changed"
    REWRITTEN = "rewritten"
    """other bytes, and no field of it has another value"""
    ADDED = "added"
    REMOVED = "removed"
    UNREADABLE = "unreadable"
    """it is there and cannot be read, as a file or in its form"""


class Watched(Struct, frozen=True, kw_only=True):
    """The files as they are: digest by path (None: not there), and the content of those that can be kept."""

    digests: dict[str, str | None]
    contents: dict[str, bytes]

    @property
    def first(self) -> str | None:
        """The digest of the first file that is there."""
        return next((digest for digest in self.digests.values() if digest is not None), None)


class WatchedChange(Struct, frozen=True, kw_only=True):
    """A watched file that is not what it was. `fields` is None where the file has none, or they cannot be told."""

    path: str
    drift: Drift
    policy: str
    fields: list[FieldChange] | None = None
    detail: str = ""

    @property
    def wants_fresh_start(self) -> bool:
        """Whether the workflow says that what was made with the old content is worth nothing."""
        return self.policy == FRESH_START and self.drift is not Drift.REWRITTEN


def look(directory: str | os.PathLike[str], patterns: Iterable[str]) -> Watched:
    """Every watched file as it is now."""
    digests: dict[str, str | None] = {}
    contents: dict[str, bytes] = {}
    for pattern in patterns:
        for name in _names(directory, pattern):
            if name not in digests:
                digests[name], content = _read(os.path.join(directory, name))
                if content is not None:
                    contents[name] = content
    return Watched(digests=digests, contents=contents)


def keep(watched: Watched, folder: RunFolder) -> None:
    """The contents become values of the run; on the disk after the next flush of them."""
    for content in watched.contents.values():
        folder.values.put(content)


def changes(
    recorded: Mapping[str, str | None], today: Watched, patterns: Mapping[str, str], folder: RunFolder
) -> list[WatchedChange]:
    """What differs from the record, in its order; files that a glob finds now and did not find then come last."""
    return [
        _change(name, recorded, today, patterns, folder)
        for name in dict.fromkeys([*recorded, *today.digests])
        if recorded.get(name) != today.digests.get(name)
    ]


def lay_out(recorded: Mapping[str, str | None], folder: RunFolder) -> list[Path]:
    """The watched files as they were at the start, written below `watch/` in the run's folder for a look at them."""
    written = []
    for name, digest in recorded.items():
        if digest is not None and folder.values.holds(digest):
            path = folder.root / "watch" / file_of(name)
            files.make_folder(path.parent)
            files.write_atomic(path, folder.values.get(digest), durable=False)
            written.append(path)
    return written


# --- one file -----------------------------------------------------------------------------------------------------


def _names(directory: str | os.PathLike[str], pattern: str) -> Iterator[str]:
    """What is literally there comes first: `[id].json` is a name before it is a pattern."""
    if not glob.has_magic(pattern) or os.path.lexists(os.path.join(directory, pattern)):
        yield pattern
        return
    for name in sorted(glob.glob(pattern, root_dir=directory, recursive=True), key=os.fsencode):
        if os.path.isfile(os.path.join(directory, name)) and name.isprintable():
            yield name


def _read(path: str) -> tuple[str | None, bytes | None]:
    """Digest and content; what cannot be read has the digest of nothing else and no content."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size > KEPT_BYTES:
                return hashlib.file_digest(file, "sha256").hexdigest(), None
            content = file.read()
            return hashlib.sha256(content).hexdigest(), content
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as error:
        return f"unreadable: {error.strerror}", None


def _change(
    name: str,
    recorded: Mapping[str, str | None],
    today: Watched,
    patterns: Mapping[str, str],
    folder: RunFolder,
) -> WatchedChange:
    before, after, policy = recorded.get(name), today.digests.get(name), _policy(name, patterns)
    if before is None or after is None:
        return WatchedChange(path=name, drift=Drift.ADDED if before is None else Drift.REMOVED, policy=policy)
    if name not in today.contents and after.startswith("unreadable"):
        return WatchedChange(path=name, drift=Drift.UNREADABLE, policy=policy, detail=after)
    old = _content(before, folder)
    if old is None or name not in today.contents:
        return WatchedChange(path=name, drift=Drift.CHANGED, policy=policy)
    try:
        fields = changed_fields(name, old, today.contents[name])
    except Unreadable as error:
        return WatchedChange(path=name, drift=Drift.UNREADABLE, policy=policy, detail=str(error))
    drift = Drift.REWRITTEN if fields == [] else Drift.CHANGED
    return WatchedChange(path=name, drift=drift, policy=policy, fields=fields)


def _content(digest: str, folder: RunFolder) -> bytes | None:
    try:
        return folder.values.get(digest)
    except StoreError:
        return None


def _policy(name: str, patterns: Mapping[str, str]) -> str:
    """That of the first entry that covers the file."""
    from fnmatch import fnmatchcase

    return next((p for pattern, p in patterns.items() if name == pattern or fnmatchcase(name, pattern)), "warn")
