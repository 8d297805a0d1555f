"""The only reader of time, randomness and ids, so that tests set them in one place.

Times are aware UTC datetimes with microseconds; on disk they are ISO 8601 with a `Z`.
"""

import os
import re
import time
import unicodedata
from datetime import UTC, datetime

RUN_ID_LIMIT = 128

_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9._-]+")


def now() -> datetime:
    """The present moment, in UTC."""
    return datetime.now(UTC)


def local(moment: datetime) -> datetime:
    """The same moment on the clock of this machine, with its offset."""
    return moment.astimezone()


def monotonic() -> float:
    """Seconds on a clock that never goes back; good for differences only."""
    return time.monotonic()


def token_hex(characters: int) -> str:
    """So many random hexadecimal characters."""
    return os.urandom((characters + 1) // 2).hex()[:characters]


def run_id(workflow: str, at: datetime) -> str:
    """`<workflow>-<YYYYMMDD>-<HHMMSS>-<4 hex>` in UTC; matches `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`."""
    end = f"-{at.astimezone(UTC):%Y%m%d-%H%M%S}-{token_hex(4)}"
    return _as_id(workflow)[: RUN_ID_LIMIT - len(end)].rstrip("._-") + end


def boot_id() -> str:
    """What names this boot of the machine: a process id means nothing after the next one."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:  # not Linux: there a process's start time is absolute and tells boots apart by itself
        return os.uname().nodename


def to_iso(moment: datetime) -> str:
    """`2026-01-31T09:30:00.000000Z`; refuses a datetime without an offset."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment.isoformat()} has no offset: only moments are written")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def from_iso(text: str) -> datetime:
    """The moment that `to_iso` (or any ISO 8601 with an offset) wrote, in UTC. Raises `ValueError`."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no offset")
    return moment.astimezone(UTC)


def _as_id(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return _NOT_IN_AN_ID.sub("-", plain).strip("._-") or "run"
