"""Actions that need nothing but a record → their events, by the clock of this machine."""

from __future__ import annotations

from collections.abc import Sequence

from onward import clock
from onward.engine import records
from onward.engine.records import finish_node
from onward.model import events as ev
from onward.model.actions import Action
from onward.state.run_state import RunState

__all__ = ["finish_node", "records_of"]


def records_of(state: RunState, action: Action) -> Sequence[ev.Event] | None:
    """The events of an action that needs no work; None for one that does."""
    return records.records_of(state, action, clock.now())
