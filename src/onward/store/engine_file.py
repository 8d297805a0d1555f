"""Which engine drives a run, where that is not a process of its own: the file `engine.json` in the run's folder.

A run without it is driven by whoever holds its lock. Commands find the server by it. No key or password is in it.
"""

from __future__ import annotations

import os
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct

from onward import clock, files
from onward.errors import RunBusy, StoreError
from onward.store.lock import Driver

NAME = "engine.json"
TEMPORAL = "temporal"


class Stand(StrEnum):
    """Whether the engine goes on with the run by itself."""

    DRIVING = "driving"
    PAUSED = "paused"
    ENDED = "ended"


class EngineFile(Struct, frozen=True, kw_only=True):
    """Where the run is driven: the server, its namespace and the queue of its workers."""

    engine: str
    address: str
    namespace: str
    queue: str
    tls: bool = False
    since: datetime
    stand: Stand = Stand.DRIVING

    @property
    def driving(self) -> bool:
        """Whether the run goes on without anybody's help."""
        return self.stand is Stand.DRIVING


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


def engine_of(run: Path) -> str:
    """The name of the engine that drives the run, or last did."""
    known = read_engine(run)
    return "embedded" if known is None else known.engine


def as_driver(run: Path) -> Driver | None:
    """Who drives the run, if it is no process: the server stands for the host."""
    known = read_engine(run)
    if known is None or not known.driving:
        return None
    return Driver(host=known.address, boot="", pid=0, started=0, since=known.since)


def refuse_if_driven(run: Path) -> None:
    """Raise `RunBusy` for what a process would do to a run that is an engine's elsewhere until it has ended."""
    known = read_engine(run)
    if known is not None and known.stand is not Stand.ENDED:
        raise RunBusy(
            f"run `{run.name}` is driven by Temporal ({known.namespace} at {known.address})",
            help=f"ask it to stop with `onward pause {run.name}`; "
            f"`onward resume {run.name} --engine embedded` takes a paused run away from it",
        )


def write_engine(run: Path, engine: EngineFile) -> None:
    """Say that this engine drives the run."""
    files.write_atomic(run / NAME, msgspec.json.encode(engine))


def note_stand(run: Path, stand: Stand) -> None:
    """The engine goes on with the run, or rests."""
    known = read_engine(run)
    if known is not None and known.stand is not stand:
        write_engine(run, msgspec.structs.replace(known, stand=stand, since=clock.now()))


def forget_engine(run: Path) -> None:
    """From now on a process drives the run."""
    if os.path.lexists(run / NAME):
        files.remove(run / NAME)
