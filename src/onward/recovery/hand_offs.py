"""Phases that have ended → whether the documents that they handed on are still in the run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from onward.model.status import Status
from onward.state.instance import Instance, Role
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
        if not hands_on(instance):
            continue
        found.total += 1
        if place_of(folder, instance.path).is_file():
            found.intact += 1
        else:
            found.missing.append(instance.path)
    return found


def hands_on(instance: Instance) -> bool:
    """Whether an instance has ended well and handed something on."""
    node = instance.node
    if node is None or node.hand_off is None or instance.role in (Role.ITERATION, Role.SECTION):
        return False
    return instance.ended and instance.status is Status.SUCCEEDED


def place_of(folder: RunFolder, path: str) -> Path:
    """Where the document of a phase lies."""
    return folder.hand_offs / f"{names.folder_of(path).replace('/', '.')}.json"


def read_hand_off(folder: RunFolder, path: str) -> dict[str, Any]:
    """The document; empty where it is gone or cannot be read."""
    try:
        document = msgspec.json.decode(place_of(folder, path).read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return document if isinstance(document, dict) else {}
