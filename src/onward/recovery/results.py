"""Stored results that are gone → the tasks that made them are done again, with a word (`format.md` 5.3)."""

from __future__ import annotations

import os

from onward.model.events import Override
from onward.state.run_state import RunState
from onward.store.values import Values


def lost_results(state: RunState, values: Values, again: frozenset[str]) -> list[Override]:
    """One override for each finished task whose stored result is not there any more; `again` are done again anyway."""
    found = []
    for instance in state.instances.values():
        if not instance.ended or not instance.status.passed or not instance.is_leaf or instance.path in again:
            continue
        stored = [one.sha256 for one in instance.outputs.values() if one.sha256 is not None]
        gone = [digest for digest in stored if not os.path.exists(values.path(digest))]
        if gone:
            what = "its stored result is gone" if len(gone) == 1 else "its stored results are gone"
            found.append(Override(path=instance.path, action="rerun", reason=what))
    return found
