"""Attempts that an earlier driver began → how they ended: read from the folder, waited for, or lost.

What still runs is held by its keeper, which records its end in the attempt's folder; a descriptor of the process
tells at once when it is gone, and a look at the lock settles it. What nobody holds and no record tells of is lost:
its strays are found by their marker and ended before it may start again.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from msgspec import Struct

from onward import files
from onward.engine.embedded.workers import FOLDER as WORKERS_FOLDER
from onward.store.folder import RunFolder
from onward.tasks.attempt_folder import (
    Exit,
    TaskProcess,
    Trace,
    attempt_is_held,
    find_call,
    read_exit,
    read_process,
)
from onward.tasks.ending import end_process_tree
from onward.tasks.keeper_link import KILL_AFTER_S
from onward.tasks.processes import marked

LOOK_AGAIN_S = 0.1

Ended = Callable[[str, str, Exit | None], None]


class _Watched(Struct):
    path: str
    attempt: int
    marker: str
    is_call: bool
    pidfd: int | None = None
    handle: asyncio.TimerHandle | None = None


class Leftovers:
    """What is waited for. `ended(path, marker, exit)` is told of each; exit None: lost."""

    def __init__(self, folder: RunFolder, run: str, ended: Ended) -> None:
        self._folder = folder
        self._run = run
        self._ended = ended
        self._watched: dict[str, _Watched] = {}

    @property
    def busy(self) -> bool:
        """Whether anything is still waited for."""
        return bool(self._watched)

    @property
    def paths(self) -> list[str]:
        """The nodes whose attempts are waited for."""
        return list(self._watched)

    def look(self, path: str, attempt: int, marker: str, is_call: bool) -> str:
        """Find out about one attempt; returns in plain words what was found. Its end is told soon, never at once."""
        watched = _Watched(path, attempt, marker, is_call)
        held, exit = self._state_of(watched)
        loop = asyncio.get_running_loop()
        folder = self._attempt_folder(watched)
        if folder.is_dir():
            files.remove_dead_temporaries(folder)
        if exit is not None:
            loop.call_soon(self._ended, path, marker, exit)
            return "ended while nobody drove the run; its result is used"
        if held:
            self._watched[path] = watched
            self._watch(watched)
            return "still runs; waiting for it"
        strays = self._sweep(marker)
        loop.call_soon(self._ended, path, marker, None)
        return "was interrupted" + (f"; {strays} processes that it left were ended" if strays else "")

    def stop(self, path: str) -> None:
        """End a re-attached attempt; its end is then found as ever."""
        watched = self._watched.get(path)
        if watched is None:
            return
        process = self._process(watched)
        if process is not None and process.process is not None:
            loop = asyncio.get_running_loop()
            ending = partial(end_process_tree, process.process, [watched.marker], kill_after_s=KILL_AFTER_S)
            loop.run_in_executor(None, ending)

    def close(self) -> None:
        """Watch no longer; what runs goes on under its keeper."""
        for watched in self._watched.values():
            self._unwatch(watched)
        self._watched.clear()

    # --- one attempt --------------------------------------------------------------------------------------------

    def _state_of(self, watched: _Watched) -> tuple[bool, Exit | None]:
        """Whether it is under way, else how it ended (None: no record)."""
        if watched.is_call:
            trace = find_call(self._folder.root / WORKERS_FOLDER, watched.marker)
            return trace.trace is Trace.HELD, trace.exit
        folder = self._attempt_folder(watched)
        # The lock first: a record that is not there when the lock is free never will be.
        held = attempt_is_held(folder)
        exit = read_exit(folder)
        return held and exit is None, exit

    def _attempt_folder(self, watched: _Watched) -> Path:
        return Path(self._folder.attempt_path(watched.path, watched.attempt))

    def _process(self, watched: _Watched) -> TaskProcess | None:
        if not watched.is_call:
            return read_process(self._attempt_folder(watched))
        trace = find_call(self._folder.root / WORKERS_FOLDER, watched.marker)
        return read_process(trace.worker) if trace.worker is not None else None

    def _watch(self, watched: _Watched) -> None:
        """Look again when the process is gone, and every now and then."""
        process = self._process(watched) if watched.pidfd is None and not watched.is_call else None
        if process is not None and process.alive:
            try:
                watched.pidfd = os.pidfd_open(process.pid)
            except OSError:
                watched.pidfd = None
            if watched.pidfd is not None:
                asyncio.get_running_loop().add_reader(watched.pidfd, self._look_again, watched)
                return
        watched.handle = asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._look_again, watched)

    def _look_again(self, watched: _Watched) -> None:
        self._unwatch(watched)
        held, exit = self._state_of(watched)
        if held:
            watched.handle = asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._look_again, watched)
            return
        del self._watched[watched.path]
        if exit is None:
            self._sweep(watched.marker)
        self._ended(watched.path, watched.marker, exit)

    @staticmethod
    def _sweep(marker: str) -> int:
        """End every process of an attempt that nobody holds: two agents on one session is the worst outcome."""
        strays = len(marked(marker))
        if strays:
            end_process_tree(None, [marker], kill_after_s=KILL_AFTER_S)
        return strays

    def _unwatch(self, watched: _Watched) -> None:
        if watched.pidfd is not None:
            asyncio.get_running_loop().remove_reader(watched.pidfd)
            os.close(watched.pidfd)
            watched.pidfd = None
        if watched.handle is not None:
            watched.handle.cancel()
            watched.handle = None
