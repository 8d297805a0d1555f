"""Nodes that are set back → the files they had made, and the tasks that will run a second time."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from onward.model.events import Override
from onward.state.run_state import RunState


class Abandoned(Struct, frozen=True, kw_only=True):
    """`artifacts` are left where they are; `repeated` have run already, and so have their effects."""

    artifacts: list[str]
    repeated: list[str]


def abandoned_by(state: RunState, overrides: Iterable[Override]) -> Abandoned:
    """Look before the overrides are folded."""
    paths = tuple(event.path for event in overrides if event.action == "rerun")
    below = tuple(prefix for path in paths for prefix in (f"{path}/", f"{path}["))
    touched = [one for one in state.instances.values() if one.path in paths or one.path.startswith(below or ("\0",))]
    return Abandoned(
        artifacts=sorted({artifact.path for one in touched for artifact in one.artifacts}),
        repeated=[one.path for one in touched if one.works and one.attempt],
    )
