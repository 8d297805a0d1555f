"""Who watches a run: told of events after they are on disk, never before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from onward.model.events import Event
from onward.state.run_state import RunState


class Observer(Protocol):
    """What an engine tells. Every method returns at once; none of them may change the state."""

    def started(self, state: RunState, folder: Path) -> None:
        """A driver begins or goes on; the state holds everything up to now."""

    def changed(self, state: RunState, events: Sequence[Event]) -> None:
        """These events are on disk."""

    def message(self, level: str, text: str) -> None:
        """Something to tell the person at once: `note` or `warning`."""

    def ended(self, state: RunState) -> None:
        """This driver stops: the run has ended, is paused, or waits for somebody."""


class Silent:
    """Watches nothing."""

    def started(self, state: RunState, folder: Path) -> None:
        """Nothing."""

    def changed(self, state: RunState, events: Sequence[Event]) -> None:
        """Nothing."""

    def message(self, level: str, text: str) -> None:
        """Nothing."""

    def ended(self, state: RunState) -> None:
        """Nothing."""
