"""The hands that the engines share, for several activities at once: each waits for what becomes of its node."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from onward.engine.embedded.work import Begun, Work
from onward.errors import TaskError
from onward.model import events as ev
from onward.model.actions import Action
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.tasks.context import RunContext
from onward.tasks.keeper_link import KeeperLink


class Words:
    """An observer that keeps the last thing that was said of a node."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def started(self, state: RunState, folder: Path) -> None:
        """Nothing."""

    def changed(self, state: RunState, events: Sequence[ev.Event]) -> None:
        """Nothing."""

    def message(self, level: str, text: str) -> None:
        """Keep notes: they say what was found."""
        if level == "note":
            self.said.append(text)

    def ended(self, state: RunState) -> None:
        """Nothing."""


class Labour(Work):
    """Everything that one worker does for one run."""

    def __init__(self, state: RunState, context: RunContext, folder: RunFolder) -> None:
        self.words = Words()
        super().__init__(state, context, folder, KeeperLink.launch(), self.words)
        self._waiting: dict[str, asyncio.Future[list[ev.Event]]] = {}
        self._told: dict[str, list[ev.Event]] = {}
        self.connect(asyncio.get_running_loop(), self._heard, self._broke)

    @property
    def idle(self) -> bool:
        """Whether nobody waits for anything."""
        return not self._waiting and not self.busy

    def close(self) -> None:
        """Leave what runs to the keeper."""
        self._broke(TaskError("this worker looks after it no longer"))
        self.disconnect()
        if not self._keepers_lost:
            self._link.close()

    # --- attempts -----------------------------------------------------------------------------------------------

    def ready(self, leaf: Instance, attempt: int) -> Begun:
        """What an attempt needs, worked out from the leaf as it was before."""
        known = self._state.instances.get(leaf.path)
        self._state.instances[leaf.path] = leaf
        try:
            return self.prepare(leaf.path, attempt)
        finally:
            if known is not None:
                self._state.instances[leaf.path] = known

    def start(self, begun: Begun) -> asyncio.Future[list[ev.Event]]:
        """Begin an attempt whose start is in the journal; its end is the last of what the future brings."""
        future = self._wait(begun.event.path)
        self.begin(begun)
        return future

    def find(self, leaf: Instance) -> asyncio.Future[list[ev.Event]]:
        """Wait for an attempt that began earlier; at once where nothing is left of it."""
        running = leaf.path in self._running
        future = self._wait(leaf.path)
        if not running:
            self.attach([leaf])
        return future

    # --- errands ------------------------------------------------------------------------------------------------

    def answer(self, path: str, action: Action) -> asyncio.Future[list[ev.Event]]:
        """Perform an action; an empty list: its command was stopped."""
        future = self._wait(path)
        self.perform(action)
        return future

    def have_artifacts(self, path: str, asker: Instance) -> asyncio.Future[list[ev.Event]]:
        """Whether the artifacts of a container can be collected."""
        future = self._wait(path)
        self._answer(path, partial(self._have_artifacts, asker))
        return future

    def stop_errand(self, path: str) -> None:
        """End the commands of a question about this node."""
        start = f"{self._context.run}:{path}#~"
        for marker in list(self._commands):
            if marker.startswith(start):
                self._link.stop(marker, reason="stop")

    # --- what is heard ------------------------------------------------------------------------------------------

    def _wait(self, path: str) -> asyncio.Future[list[ev.Event]]:
        future: asyncio.Future[list[ev.Event]] = asyncio.get_running_loop().create_future()
        self._waiting[path] = future
        self._told[path] = []
        return future

    def _heard(self, *events: ev.Event) -> None:
        for path in {_path_of(event): None for event in events}:
            told = self._told.get(path)
            if told is not None:
                told += [event for event in events if _path_of(event) == path]
                if not isinstance(told[-1], ev.AttemptSession):
                    self._tell(path)

    def _tell(self, path: str) -> None:
        future, told = self._waiting.pop(path, None), self._told.pop(path, [])
        if future is not None and not future.done():
            future.set_result(told)

    def _state_again(self, path: str) -> None:
        for waiting in list(self._waiting):
            if waiting == path or (self._state.ensure(waiting).parent is self._state.instances.get(path)):
                self._tell(waiting)

    def _broke(self, error: BaseException) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        self._waiting.clear()
        self._told.clear()


def _path_of(event: ev.Event) -> str:
    path: str = getattr(event, "path", None) or getattr(event, "phase", "") or ""
    return path
