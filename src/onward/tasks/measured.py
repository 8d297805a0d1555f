"""A task that runs → what it has written to `$ONWARD_OUT/metrics` so far."""

from __future__ import annotations

import msgspec

from onward.state.instance import Instance
from onward.tasks.collect import METRICS
from onward.tasks.out import out_folder

LIMIT_BYTES = 1 << 20


def measured_so_far(instance: Instance, folder: str) -> dict[str, float]:
    """The numbers; what cannot be read yet, because the task is writing it, is left out."""
    if instance.node is None or not instance.attempt:
        return {}
    try:
        with open(f"{out_folder(instance.node, folder)}/{METRICS}", "rb") as file:
            found = msgspec.json.decode(file.read(LIMIT_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {n: v for n, v in found.items() if isinstance(v, int | float) and not isinstance(v, bool)}
