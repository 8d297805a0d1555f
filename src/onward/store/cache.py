"""The state cache `state.json`: how far the fold had come, so that a resume reads only the rest of the journal.

It can be deleted at any time. One that is damaged, or does not belong to this journal, is not used, and that is said.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import msgspec

from onward import files
from onward.errors import StoreError
from onward.journal.lines import Position
from onward.journal.reader import is_anchored

FORMAT = 1


class Cache(msgspec.Struct, frozen=True, kw_only=True):
    """The state (as its owner encoded it) after the events up to `position`."""

    position: Position
    state: bytes


class LoadedCache(msgspec.Struct, frozen=True, kw_only=True):
    """The cache, or None; `problem` says what is wrong with a cache that is there and cannot be used."""

    cache: Cache | None = None
    problem: str | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    position: Position
    sha256: str
    state: msgspec.Raw


_decode = msgspec.json.Decoder(_File).decode


def write_cache(path: Path, position: Position, state: bytes, *, durable: bool = True) -> None:
    """Replace the cache. `state` is JSON."""
    digest = _digest(position, state)
    file = _File(format=FORMAT, position=position, sha256=digest, state=msgspec.Raw(state))
    files.write_atomic(path, msgspec.json.encode(file), durable=durable)


def load_cache(path: Path, journal: Path) -> LoadedCache:
    """The cache, if there is one and it belongs to this journal."""
    loaded = read_cache(path)
    if loaded.cache is not None and not is_anchored(journal, loaded.cache.position):
        return LoadedCache(problem=f"{path.name} does not belong to this journal")
    return loaded


def read_cache(path: Path) -> LoadedCache:
    """The cache, if there is one and it is whole, whatever became of the journal."""
    try:
        file = _decode(path.read_bytes())
    except FileNotFoundError:
        return LoadedCache()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return LoadedCache(problem=f"{path.name} cannot be read ({error})")
    except OSError as error:
        raise files.trouble(error, "read", path, StoreError) from error
    state = bytes(file.state)
    if file.format != FORMAT:
        return LoadedCache(problem=f"{path.name} has the format {file.format} of another version")
    if _digest(file.position, state) != file.sha256:
        return LoadedCache(problem=f"{path.name} was altered")
    return LoadedCache(cache=Cache(position=file.position, state=state))


def _digest(position: Position, state: bytes) -> str:
    return sha256(msgspec.json.encode(position) + state).hexdigest()
