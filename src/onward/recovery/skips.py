"""Nodes that a person wants left out → the events that say so, for the node and all that is below it and not done."""

from __future__ import annotations

from collections.abc import Iterable

from onward.errors import UsageError
from onward.model.events import Override
from onward.recovery.targets import check_place
from onward.state.run_state import RunState


def skips_for(state: RunState, paths: Iterable[str], by: str) -> list[Override]:
    """One override for each. Raises `UsageError` for a path that the workflow does not have, or that is done."""
    events = []
    for path in dict.fromkeys(paths):
        check_place(state, path)
        instance = state.get(path)
        if instance is not None and instance.ended and instance.status.passed:
            raise UsageError(f"`{path}` is done already", help="only what is not done can be left out")
        events.append(Override(path=path, action="skip", by=by, reason="--skip"))
    return events
