"""A store → its runs that can go on and that nobody drives, newest first, in the words of the wizard."""

from __future__ import annotations

from msgspec import Struct

from onward.errors import OnwardError
from onward.model.status import RunStatus
from onward.store.runs import Store
from onward.views.recovery_names import feature_of
from onward.views.source import Source
from onward.views.status import run_status

_SAID = {
    RunStatus.INTERRUPTED: "interrupted",
    RunStatus.FAILED: "failed",
    RunStatus.WAITING: "waits for your answer",
}


class Waiting(Struct, frozen=True, kw_only=True):
    """A run to choose from."""

    run: str
    feature: str
    how: str
    last_at: float


def waiting_runs(store: Store, most: int) -> list[Waiting]:
    """Interrupted and failed runs; one that cannot be read is left to `onward verify`."""
    found: list[Waiting] = []
    for folder in store.runs():
        try:
            source = Source(folder)
        except OnwardError:
            continue
        status = run_status(source.state, driven=source.driven)
        if status in _SAID:
            state = source.state
            said = _SAID[status]
            found.append(
                Waiting(run=folder.run_id, feature=feature_of(state), how=said, last_at=state.facts.last_at)
            )
        if len(found) == most:
            break
    return found
