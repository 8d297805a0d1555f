"""Results to and from the journal: small ones lie in the event, others under `values/`, named by their SHA-256.

A value that an event refers to must be on the disk before the event: `flush` comes first, and the journal calls it
(`before_flush`). A name that exists is complete, and what is read is checked against its name.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from onward import files
from onward.errors import StoreError, TaskError
from onward.model.values import Value

INLINE_BYTES = 4096
_INLINE_BRACKETS = 100

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Values:
    """The values of one run."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        self._waiting: dict[str, bytes] = {}
        self._known: set[str] = set()
        self._names_flushed = True

    def put(self, data: bytes) -> str:
        """Keep the bytes; returns their SHA-256. On the disk after `flush`."""
        digest = sha256(data).hexdigest()
        if digest not in self._known and digest not in self._waiting and not self._is_there(digest, len(data)):
            self._waiting[digest] = data
        return digest

    def flush(self) -> None:
        """Everything that was put is on the disk when this returns."""
        if not self._waiting and self._names_flushed:
            return
        if files.make_folder(self._folder):
            files.flush_folder(os.path.dirname(self._folder))
        for digest, data in self._waiting.items():
            files.write_atomic(self.path(digest), data, name_later=True)
        files.flush_folder(self._folder)
        self._known.update(self._waiting)
        self._waiting.clear()
        self._names_flushed = True

    def get(self, digest: str) -> bytes:
        """The bytes of that SHA-256. Raises `StoreError` when they are gone or were altered."""
        if digest in self._waiting:
            return self._waiting[digest]
        data = self._read(digest)
        if sha256(data).hexdigest() != digest:
            raise StoreError(
                f"the stored result {self.path(digest)} was altered: its content does not match its name",
                help="`onward resume --rerun PATH` makes the task that it came from again",
            )
        return data

    def holds(self, digest: str) -> bool:
        """Whether the bytes of that SHA-256 are there, unaltered."""
        try:
            self.get(digest)
        except StoreError:
            return False
        return True

    def path(self, digest: str) -> str:
        """Where the bytes lie, or would lie."""
        return os.path.join(self._folder, digest)

    def to_value(self, kind: str, data: Any) -> Value:
        """A result as an event holds it. `kind`: `text` (a str), `lines` (a list of str) or `json`.

        Raises `TaskError` for what JSON cannot hold.
        """
        try:
            written = data.encode() if kind == "text" else _encode(data)
        except (TypeError, ValueError, RecursionError) as error:
            raise TaskError(f"the result cannot be kept: {error}", help="make it text or plain JSON") from error
        if len(written) <= INLINE_BYTES and (kind == "text" or _is_shallow(written)):
            return Value(type=kind, bytes=len(written), value=data if kind == "text" else _decode(written))
        return Value(type=kind, bytes=len(written), sha256=self.put(written))

    def load(self, value: Value) -> Any:
        """The result that the event holds or names."""
        if value.sha256 is None:
            return value.value
        data = self.get(value.sha256)
        return data.decode() if value.type == "text" else _decode(data)

    def _is_there(self, digest: str, size: int) -> bool:
        try:
            there = os.stat(self.path(digest)).st_size == size
        except OSError:  # not there, or not to be seen: writing it will tell
            return False
        if there:
            # An earlier driver may have been killed between giving the name and flushing the folder.
            self._names_flushed = False
            self._known.add(digest)
        return there

    def _read(self, digest: str) -> bytes:
        try:
            with open(self.path(digest), "rb") as file:
                return file.read()
        except OSError as error:
            failure = files.trouble(error, "read the stored result", self.path(digest), StoreError)
            failure.help = "`onward resume --rerun PATH` makes the task that it came from again"
            raise failure from error


def _is_shallow(written: bytes) -> bool:
    # JSON that is nested too deep for one stack may not be for another: it must not make a line unreadable.
    return written.count(b"[") + written.count(b"{") <= _INLINE_BRACKETS
