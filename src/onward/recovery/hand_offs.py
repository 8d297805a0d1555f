"""Phases that have ended → whether the documents that they handed on are still in the run's folder."""

from __future__ import annotations

from msgspec import Struct, field

from onward.state.run_state import RunState
from onward.store import names
from onward.store.folder import RunFolder


class HandOffs(Struct, kw_only=True):
    """How many there are, how many of them can be read; the phases of the others."""

    total: int = 0
    intact: int = 0
    missing: list[str] = field(default_factory=list)


def look_at_hand_offs(folder: RunFolder, state: RunState) -> HandOffs:
    """Every ended node that hands something on."""
    found = HandOffs()
    for instance in state.instances.values():
        node = instance.node
        if node is None or node.hand_off is None or not instance.ended or not instance.status.passed:
            continue
        if "hand-off" not in instance.outputs:
            continue
        found.total += 1
        if (folder.hand_offs / f"{names.folder_of(instance.path).replace('/', '.')}.json").is_file():
            found.intact += 1
        else:
            found.missing.append(instance.path)
    return found
