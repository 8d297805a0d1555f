"""Which engine drives a run, where that is not a process of its own: the file `engine.json` in the run's folder.

A run without it is driven by whoever holds its lock. Of one that has it `driving` says whether it goes on by itself
(it has not ended, and is not paused); commands find the server by it. No key or password is in it.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from onward import clock, files
from onward.errors import StoreError

NAME = "engine.json"
TEMPORAL = "temporal"


class EngineFile(Struct, frozen=True, kw_only=True):
    """Where the run is driven: the server, its namespace and the queue of its workers."""

    engine: str
    address: str
    namespace: str
    queue: str
    tls: bool = False
    since: datetime
    driving: bool = True


def read_engine(run: Path) -> EngineFile | None:
    """What the file says; None when the run is driven by a process."""
    try:
        data = (run / NAME).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise files.trouble(error, "read", run / NAME, StoreError) from error
    try:
        return msgspec.json.decode(data, type=EngineFile)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def write_engine(run: Path, engine: EngineFile) -> None:
    """Say that this engine drives the run."""
    files.write_atomic(run / NAME, msgspec.json.encode(engine))


def note_driving(run: Path, *, driving: bool) -> None:
    """The engine goes on with the run, or rests."""
    known = read_engine(run)
    if known is not None and known.driving != driving:
        write_engine(run, msgspec.structs.replace(known, driving=driving, since=clock.now()))


def forget_engine(run: Path) -> None:
    """From now on a process drives the run."""
    if os.path.lexists(run / NAME):
        files.remove(run / NAME)
