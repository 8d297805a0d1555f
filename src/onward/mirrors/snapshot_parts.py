"""Long lists of a snapshot ↔ pieces that several snapshots share, so that the next one only writes what has changed.

A list of finished tasks grows at its end, one of pending tasks shrinks at its beginning; so the first is cut into
pieces from its beginning and the second from its end, and most pieces stay what they were. A piece is a file named by
its SHA-256. What is short, compressed or encrypted has no pieces.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from onward.mirrors import snapshot_file
from onward.mirrors.pause_errors import SnapshotError

FOLDER = "parts"
PIECE = 500
"""entries of a piece"""
SHARED_FROM = 4 * PIECE
"""shorter lists stand in the snapshot itself"""

_FROM_THE_END = {"completed_tasks": False, "failed_tasks": False, "pending_tasks": True}
_NAME = re.compile(r"[0-9a-f]{64}")


def share(fields: dict[str, Any], folder: str) -> dict[str, Any]:
    """The fields with long lists replaced by the names of their pieces, which are written where they are new."""
    return fields | {
        name: _cut(fields[name], os.path.join(folder, FOLDER), from_the_end=from_the_end)
        for name, from_the_end in _FROM_THE_END.items()
        if len(fields[name]) >= SHARED_FROM
    }


def join(fields: dict[str, Any], folder: str) -> dict[str, Any]:
    """The whole lists again. Raises `SnapshotError` for a piece that is gone or was altered."""
    return fields | {
        name: _joined(fields[name], os.path.join(folder, FOLDER))
        for name in _FROM_THE_END
        if isinstance(fields.get(name), dict)
    }


def pieces_of(fields: dict[str, Any]) -> set[str]:
    """The names of the pieces that a snapshot file needs."""
    cut = [fields[name] for name in _FROM_THE_END if isinstance(fields.get(name), dict)]
    return {piece for one in cut for piece in one.get("pieces", ())}


def remove_others(folder: str, needed: Iterable[str]) -> int:
    """Remove the pieces that no snapshot needs. Returns how many."""
    place, keep = os.path.join(folder, FOLDER), set(needed)
    try:
        names = os.listdir(place)
    except FileNotFoundError:
        return 0
    gone = [name for name in names if _NAME.fullmatch(name) and name not in keep]
    return sum(snapshot_file.remove(os.path.join(place, name)) for name in gone)


def _cut(entries: list[str], place: str, *, from_the_end: bool) -> dict[str, Any]:
    loose = len(entries) % PIECE
    first = loose if from_the_end else 0
    last = len(entries) - (loose - first)
    pieces = [_kept(entries[at : at + PIECE], place) for at in range(first, last, PIECE)]
    return {"before": entries[:first], "pieces": pieces, "after": entries[last:]}


def _kept(entries: list[str], place: str) -> str:
    data = msgspec.json.encode(entries)
    name = sha256(data).hexdigest()
    path = os.path.join(place, name)
    if not os.path.exists(path):
        snapshot_file.write(path, data)
    return name


def _joined(cut: dict[str, Any], place: str) -> list[Any]:
    entries = list(cut.get("before", ()))
    for name in cut.get("pieces", ()):
        entries += _read(str(name), place)
    return entries + list(cut.get("after", ()))


def _read(name: str, place: str) -> list[Any]:
    data = snapshot_file.read(os.path.join(place, name)) if _NAME.fullmatch(name) else None
    if data is None or sha256(data).hexdigest() != name:
        raise SnapshotError(f"a piece of the snapshot is gone or was altered: {os.path.join(place, name)}")
    found: list[Any] = msgspec.json.decode(data)
    return found
