"""What a resume tells before it goes on: what is kept, what is done again, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onward.model.events import Change
from onward.model.status import Status
from onward.state.advance import stops
from onward.state.instance import Instance, Stage
from onward.state.run_state import RunState

MOST_NAMES = 8

_CHANGES = {
    "edited": "edited since it finished; kept (`--rerun-changed` does it again)",
    "added": "new in the workflow; it runs now",
    "added-earlier": "new, and stands before finished work; it runs now",
    "removed": "no longer in the workflow; its record stays, unused",
    "moved": "moved; kept by its name",
    "renamed": "renamed; kept under its former name",
}


def tell_what_is_kept(
    state: RunState, changes: Sequence[Change], variables: dict[str, str], tell: Callable[[str, str], None]
) -> None:
    """One sentence for each kind of node: kept, failed, interrupted; then what differs from the record."""
    kept = [i for i in state.instances.values() if i.is_leaf and i.ended and not _runs_again(i)]
    failed = [i for i in state.instances.values() if i.is_leaf and _runs_again(i)]
    if kept:
        tell("note", f"kept: {len(kept)} finished {'task' if len(kept) == 1 else 'tasks'}")
    if failed:
        tell("note", f"again, because failed or cancelled: {_names(failed)}")
    for change in changes:
        instance = state.get(change.path)
        if change.change != "edited" or (instance is not None and instance.ended):
            tell("note", f"`{change.path}`: {_CHANGES.get(change.change, change.change)}")
    for name, value in variables.items():
        if name in state.facts.variables and state.facts.variables[name] != value and kept:
            tell("warning", f"`{name}` has a new value; finished tasks used the old one")


def _runs_again(instance: Instance) -> bool:
    if instance.stage is not Stage.ENDED:
        return False
    return instance.status is Status.CANCELLED or (instance.status is Status.FAILED and stops(instance))


def _names(instances: Sequence[Instance]) -> str:
    shown = ", ".join(f"`{instance.path}`" for instance in instances[:MOST_NAMES])
    rest = len(instances) - MOST_NAMES
    return shown + (f" and {rest} more" if rest > 0 else "")
