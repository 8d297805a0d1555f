"""The room that a machine has left → whether runs should pause until there is more again.

Nothing is looked at unless one of the two variables of the environment sets a limit (`500M`, `2G`). Memory is that of
the machine, or what is left of the container's limit where that is less.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

DISK = "ONWARD_PAUSE_BELOW_DISK"
MEMORY = "ONWARD_PAUSE_BELOW_MEMORY"

_SIZE = re.compile(r"(\d{1,12})\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_CGROUP = Path("/sys/fs/cgroup")


class Shortage(NamedTuple):
    """Too little of something: `cause` is disk or memory."""

    cause: str
    reason: str


def shortage(folder: str | os.PathLike[str], environment: Mapping[str, str]) -> Shortage | None:
    """What there is too little of for the limits of the environment; None where there is enough, or no limit."""
    for cause, variable in (("disk", DISK), ("memory", MEMORY)):
        limit = limit_of(environment.get(variable, ""))
        free = (_free_disk(folder) if cause == "disk" else _free_memory()) if limit else None
        if limit and free is not None and free < limit:
            return Shortage(cause, f"{_shown(free)} of {cause} left, less than the {_shown(limit)} of {variable}")
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
