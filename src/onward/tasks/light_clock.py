"""The clock of the keeper and its workers, which start often and cannot afford what `onward.clock` imports.

Wall times are seconds since 1970 and are written as `onward.clock.to_iso` writes them.
"""

from __future__ import annotations

from time import gmtime, monotonic  # noqa: TID251 - see above: importing onward.clock doubles the start
from time import time as wall  # noqa: TID251 - the same

__all__ = ["iso", "monotonic", "wall"]

_latest = (0, "1970-01-01T00:00:00")


def iso(seconds: float) -> str:
    """`2026-01-31T09:30:00.000000Z`."""
    global _latest
    whole, micro = divmod(round(seconds * 1_000_000), 1_000_000)
    if whole != _latest[0]:  # most times that are written lie in the same second as the one before
        year, month, day, hour, minute, second = gmtime(whole)[:6]
        _latest = whole, f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
    return f"{_latest[1]}.{micro:06}Z"
