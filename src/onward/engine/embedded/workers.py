"""Calls of Python functions → warm worker processes, one call at a time each; idle workers are used again.

A worker is used again only for calls that are given the same secrets: what one call was given stays in its memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from onward import clock, files
from onward.store.folder import RunFolder
from onward.tasks.attempt_folder import lock_attempt
from onward.tasks.context import RunContext
from onward.tasks.keeper_link import (
    CallEnded,
    CallRequest,
    KeeperLink,
    WorkerEnded,
    WorkerLink,
    WorkerRequest,
)

FOLDER = "workers"


class Workers:
    """The workers of one driver."""

    def __init__(
        self, link: KeeperLink, folder: RunFolder, context: RunContext, ended: Callable[[CallEnded], None]
    ) -> None:
        self._link = link
        self._folder = folder.root / FOLDER
        self._context = context
        self._ended = ended
        self._idle: dict[tuple[str, ...], list[WorkerLink]] = {}
        self._busy: dict[str, tuple[WorkerLink, CallRequest]] = {}
        self._open: dict[str, WorkerLink] = {}

    def call(self, request: CallRequest) -> None:
        """Send a call to an idle worker, or to a new one. Its end is told in any case."""
        idle = self._idle.get(request.secrets, [])
        while idle:
            worker = idle.pop()
            worker.call(request)
            if not worker.lost:
                self._busy[worker.id] = (worker, request)
                return
        worker = self._new(request)
        self._busy[worker.id] = (worker, request)
        worker.call(request)

    def stop(self, call: str) -> bool:
        """End the worker that has this call; False when none has it."""
        for worker, request in self._busy.values():
            if request.id == call:
                self._link.stop(worker.id, reason="stop")
                return True
        return False

    def ended(self, message: WorkerEnded) -> None:
        """The keeper says that a worker has ended, and which call it died in."""
        worker = self._open.pop(message.id, None)
        if worker is None:
            return
        asyncio.get_running_loop().remove_reader(worker.fileno())
        _, request = self._busy.pop(message.id, (worker, None))
        for idle in self._idle.values():
            if worker in idle:
                idle.remove(worker)
        worker.close()
        if request is None:
            return
        if message.call is not None and message.call.id == request.id:
            self._ended(message.call)
        elif message.exit.ended_by is not None or message.exit.error is not None:
            # Stopped, or never started: the call did not begin.
            self._ended(CallEnded(id=request.id, exit=message.exit, retired=True))
        else:
            self.call(request)  # it died before it took the call

    def close(self) -> None:
        """The workers finish what they have, record it, and end."""
        loop = asyncio.get_running_loop()
        for worker in self._open.values():
            loop.remove_reader(worker.fileno())
            worker.close()
        self._open.clear()
        self._idle.clear()
        self._busy.clear()

    def _new(self, call: CallRequest) -> WorkerLink:
        folder = Path(self._folder, clock.token_hex(12))
        files.make_folder(folder)
        request = WorkerRequest(
            id=f"{self._context.run}:worker#{folder.name}",
            folder=folder,
            path=Path(self._context.home),
            env=self._context.environment,
            masks=call.masks,
        )
        worker = self._link.worker(request, lock_attempt(folder))
        self._open[worker.id] = worker
        asyncio.get_running_loop().add_reader(worker.fileno(), self._hear, worker)
        return worker

    def _hear(self, worker: WorkerLink) -> None:
        ended = worker.receive()
        if worker.lost:
            # The keeper tells how it ended, and of which call.
            asyncio.get_running_loop().remove_reader(worker.fileno())
            return
        if ended is None:
            return
        _, request = self._busy.pop(worker.id)
        if ended.retired:
            self._open.pop(worker.id, None)
            asyncio.get_running_loop().remove_reader(worker.fileno())
            worker.close()
        else:
            self._idle.setdefault(request.secrets, []).append(worker)
        self._ended(ended)
