"""Signals to a run, one small file each: any process that sees the folder drops one, the driver takes them in order.

The driver removes a signal once the event that it became is on the disk (`done`), so a crash in between repeats a
signal and loses none.
"""

from __future__ import annotations

import os
import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from onward import clock, files
from onward.errors import StoreError

_NAME = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}\.json")
_SETTLED = timedelta(milliseconds=100)
"""longer than any file system takes to give a folder a new time of change"""


class Signal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request: `kind` (pause, resume, cancel, decide, skip, snapshot …) and what belongs to it. `name`: its file."""

    kind: str
    payload: dict[str, Any] = {}
    at: datetime
    name: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Signal).decode


class Inbox:
    """The folder `inbox` of one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: int | None = None

    def drop(self, kind: str, payload: dict[str, Any]) -> str:
        """Leave a signal for the driver; it is on the disk when this returns. Returns its name."""
        at = clock.now()
        name = f"{at:%Y%m%dT%H%M%S%f}-{clock.token_hex(8)}.json"
        if files.make_folder(self._folder):
            files.flush_folder(self._folder.parent)
        files.write_atomic(self._folder / name, _encode(Signal(kind=kind, payload=payload, at=at)))
        return name

    def changed(self) -> bool:
        """Whether signals may have come since the last `take`. One `stat`: ask as often as you like."""
        return self._changed_at() != self._seen

    def take(self) -> list[Signal]:
        """The signals that wait, oldest first. They stay until `done`.

        A file that is no signal is set aside under a name that ends in `.unreadable`.
        """
        self._seen = self._settled(self._changed_at())
        return [signal for name in self._names() if (signal := self._read(name)) is not None]

    def done(self, signal: Signal) -> None:
        """The event that the signal became is on the disk."""
        files.remove(self._folder / signal.name)

    def unreadable(self) -> list[str]:
        """The names of files that were no signals."""
        return [name for name in self._listed() if name.endswith(".unreadable")]

    def _changed_at(self) -> int:
        try:
            return os.stat(self._folder).st_mtime_ns
        except FileNotFoundError:
            return 0

    def _settled(self, changed_at: int) -> int | None:
        """None while another file could come and leave the folder's time as it is."""
        age = clock.now().timestamp() - changed_at / 1e9
        return changed_at if age > _SETTLED.total_seconds() else None

    def _names(self) -> list[str]:
        return sorted(name for name in self._listed() if _NAME.fullmatch(name))

    def _listed(self) -> list[str]:
        try:
            return os.listdir(self._folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise files.trouble(error, "read the inbox", self._folder, StoreError) from error

    def _read(self, name: str) -> Signal | None:
        path = self._folder / name
        try:
            return msgspec.structs.replace(_decode(path.read_bytes()), name=name)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError):
            files.move(path, path.with_suffix(".unreadable"))
            return None
        except OSError as error:
            raise files.trouble(error, "read the signal", path, StoreError) from error
