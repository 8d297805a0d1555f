"""The room that a machine has left, and the hours kept for its maintenance → whether runs should pause until later.

Nothing is looked at unless a variable of the environment sets a limit (`500M`, `2G`) or hours (`02:00-04:00`, by the
clock of the machine; several divided by commas; `22:00-06:00` goes over midnight). Memory is that of the machine, or
what is left of the container's limit where that is less.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from onward import clock

DISK = "ONWARD_PAUSE_BELOW_DISK"
MEMORY = "ONWARD_PAUSE_BELOW_MEMORY"
DURING = "ONWARD_PAUSE_DURING"
CAUSES = ("disk", "memory", "window")
"""the causes of a pause that is over by itself once there is enough again"""

_HOURS = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-4]):([0-5]\d)")

_SIZE = re.compile(r"(\d{1,12})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_CGROUP = Path("/sys/fs/cgroup")


class Shortage(NamedTuple):
    """Too little of something: `cause` is disk, memory or window."""

    cause: str
    reason: str


def shortage(folder: str | os.PathLike[str], environment: Mapping[str, str]) -> Shortage | None:
    """What there is too little of for the limits of the environment; None where there is enough, or no limit."""
    for cause, variable in (("disk", DISK), ("memory", MEMORY)):
        limit = limit_of(environment.get(variable, ""))
        free = (_free_disk(folder) if cause == "disk" else _free_memory()) if limit else None
        if limit and free is not None and free < limit:
            return Shortage(cause, f"{_shown(free)} of {cause} left, less than the {_shown(limit)} of {variable}")
    return _maintenance(environment.get(DURING, "")) if environment.get(DURING) else None


def unclear(environment: Mapping[str, str]) -> list[str]:
    """Words for each of the variables that is set and says nothing."""
    found = [
        f"{variable}={environment[variable]} is no size and is not regarded; write 500M or 2G"
        for variable in (DISK, MEMORY)
        if environment.get(variable, "").strip() and limit_of(environment[variable]) is None
    ]
    if environment.get(DURING, "").strip() and hours_of(environment[DURING]) is None:
        found.append(f"{DURING}={environment[DURING]} is not regarded; write hours like 02:00-04:00")
    return found


def hours_of(text: str) -> list[tuple[int, int]] | None:
    """Minutes of the day from which and until which; None where any part is no pair of times."""
    hours = []
    for part in text.replace(" ", "").split(","):
        found = _HOURS.fullmatch(part)
        if found is None:
            return None
        begin, end = int(found[1]) * 60 + int(found[2]), int(found[3]) * 60 + int(found[4])
        if begin == end or end > 24 * 60:
            return None
        hours.append((begin, end))
    return hours


def _maintenance(text: str) -> Shortage | None:
    now = clock.local(clock.now())
    minute = now.hour * 60 + now.minute
    for begin, end in hours_of(text) or ():
        inside = begin <= minute < end if begin < end else minute >= begin or minute < end
        if inside:
            return Shortage("window", f"maintenance until {end // 60 % 24:02d}:{end % 60:02d} ({DURING})")
    return None


def limit_of(text: str) -> int | None:
    """Bytes of `500M` or `2G`; None for an empty text and for anything else."""
    found = _SIZE.fullmatch(text.strip())
    return int(found[1]) * 1024 ** _UNITS[found[2].upper()] if found is not None else None


def _free_disk(folder: str | os.PathLike[str]) -> int | None:
    try:
        found = os.statvfs(folder)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def _free_memory() -> int | None:
    left = [one for one in (_available(), _left_of_container()) if one is not None]
    return min(left, default=None)


def _available() -> int | None:
    for line in _read(Path("/proc/meminfo")).splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            return int(rest.split()[0]) * 1024
    return None


def _left_of_container() -> int | None:
    limit, used = _read(_CGROUP / "memory.max").strip(), _read(_CGROUP / "memory.current").strip()
    return max(0, int(limit) - int(used)) if limit.isdecimal() and used.isdecimal() else None


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def _shown(count: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if count < 10 * 1024:
            return f"{count} {unit}"
        count //= 1024
    return f"{count} GiB"
