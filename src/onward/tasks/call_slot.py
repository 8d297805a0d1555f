"""What a worker is doing now ↔ a page of memory that its keeper sees too.

A call publishes itself with a few stores and no system call. When the worker dies in the middle, its keeper reads here
whose end to record; when a deadline passes or output comes, whose it is.

The second half is the keeper's: when it will next look at the deadline, and how often it has taken output, by which a
silent call knows that it was silent.
"""

from __future__ import annotations

import mmap
import os
import struct
import sys

BYTES = 16384

_ACTIVE = 0
_CALL = struct.Struct("<QddddHH")  # number, deadline, started, began, kill_after_s, length of id, length of folder
_CALL_AT = 8
_TEXT_AT = _CALL_AT + _CALL.size
_MOST_TEXT = 8192 - _TEXT_AT
_LOOK = struct.Struct("<d")
_LOOK_AT = 8192
_TAKEN = struct.Struct("<Q")
_TAKEN_AT = 8200

NEVER = float("inf")
NO_FILE = -1

_AS_BYTES = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


class Call:
    """A call as its worker published it. `began` and `deadline` are on the monotonic clock, `started` is wall time."""

    __slots__ = ("began", "deadline", "folder", "id", "kill_after_s", "number", "started")

    def __init__(
        self, number: int, id: str, folder: str, deadline: float, started: float, began: float, kill_after_s: float
    ) -> None:
        self.number = number
        self.id = id
        self.folder = folder
        self.deadline = deadline
        self.started = started
        self.began = began
        self.kill_after_s = kill_after_s


class Slot:
    """The page, from either side; without a file, one in which nothing ever happens."""

    __slots__ = ("_page",)

    def __init__(self, file: int) -> None:
        self._page = mmap.mmap(file, BYTES)

    @staticmethod
    def make() -> int:
        """An anonymous file for a slot; nobody inherits it."""
        file = os.memfd_create("call", os.MFD_CLOEXEC)
        os.truncate(file, BYTES)
        Slot(file).keeper_looks_at(NEVER)
        return file

    def publish(
        self, number: int, id: str, folder: str, deadline: float, started: float, began: float, kill_after_s: float
    ) -> None:
        """Says that the call has begun. The flag goes up last: what it stands for is then complete."""
        name, place = id.encode(*_AS_BYTES), folder.encode(*_AS_BYTES)
        text = name + place
        if len(text) > _MOST_TEXT:
            raise ValueError(f"the folder of call {id} has too long a path")
        page = self._page
        page[_ACTIVE] = 0
        _CALL.pack_into(page, _CALL_AT, number, deadline, started, began, kill_after_s, len(name), len(place))
        page[_TEXT_AT : _TEXT_AT + len(text)] = text
        page[_ACTIVE] = 1

    def clear(self) -> None:
        """Says that the call has ended and is recorded."""
        self._page[_ACTIVE] = 0

    def current(self) -> Call | None:
        """The call in flight."""
        page = self._page
        if not page[_ACTIVE]:
            return None
        number, deadline, started, began, kill_after_s, id_length, folder_length = _CALL.unpack_from(page, _CALL_AT)
        text = page[_TEXT_AT : _TEXT_AT + id_length + folder_length]
        return Call(
            number, os.fsdecode(text[:id_length]), os.fsdecode(text[id_length:]),
            deadline, started, began, kill_after_s,
        )  # fmt: skip

    @property
    def last_number(self) -> int:
        """The number of the latest call, in flight or not."""
        return int(_CALL.unpack_from(self._page, _CALL_AT)[0])

    def keeper_looks_at(self, moment: float) -> None:
        _LOOK.pack_into(self._page, _LOOK_AT, moment)

    @property
    def next_look(self) -> float:
        """When the keeper will look at the deadline of whatever is in flight then, without being asked."""
        return float(_LOOK.unpack_from(self._page, _LOOK_AT)[0])

    def count_taking(self) -> None:
        """Called by the keeper *before* it takes output, so that the worker never misses any."""
        _TAKEN.pack_into(self._page, _TAKEN_AT, self.takings + 1)

    @property
    def takings(self) -> int:
        return int(_TAKEN.unpack_from(self._page, _TAKEN_AT)[0])
