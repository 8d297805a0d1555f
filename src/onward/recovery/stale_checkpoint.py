"""A state file and the time of its last write → a warning when it is old (a wish of requirement 1)."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Mapping
from typing import Any

from onward import clock
from onward.recovery.age import DAY_S, Freshness, age_of


def stale_warning(state: Mapping[str, Any], path: str) -> str | None:
    """Words for a state file that was last written a day ago or more; None for a fresh one.

    The file says itself when it was written; of one that another program wrote, its time of change tells.
    """
    written = _written(state, path)
    age = age_of(written.timestamp(), clock.now().timestamp())
    if age.freshness is Freshness.FRESH:
        return None
    days = int(age.seconds // DAY_S)
    text = f"stale checkpoint: {path} was last written {days} day{'' if days == 1 else 's'} ago"
    text += f" ({clock.local(written).isoformat(sep=' ', timespec='minutes')})"
    if age.freshness is Freshness.OLD:
        return f"{text}; what is done may not fit any more: a run without --resume starts afresh"
    return text


def _written(state: Mapping[str, Any], path: str) -> dt.datetime:
    ours = state.get("onward")
    said = ours.get("updated_at") if isinstance(ours, dict) else None
    if isinstance(said, str):
        try:
            found = dt.datetime.fromisoformat(said)
        except ValueError:
            found = None
        if found is not None and found.tzinfo is not None:
            return found
    return dt.datetime.fromtimestamp(os.stat(path).st_mtime, dt.UTC)
