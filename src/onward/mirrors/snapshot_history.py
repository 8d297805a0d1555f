"""The numbered snapshots of one run, in its folder: `snapshots/s1.snapshot.json`, `s2…`, newest last.

Some may be compressed or encrypted; the name stays the same, the beginning of the file tells. Those with long lists
share pieces of them (`onward.mirrors.snapshot_parts`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from msgspec import Struct

from onward import clock
from onward.mirrors import snapshot_file, snapshot_parts, snapshot_seal
from onward.mirrors.pause_errors import SnapshotError, SnapshotNotFound
from onward.mirrors.snapshot_file import SUFFIX, WorkflowSnapshot

_NAME = re.compile(r"s(\d{1,9})" + re.escape(SUFFIX))
_HEAD_BYTES = 64


class Kept(Struct, frozen=True, kw_only=True):
    """A snapshot file; `at` is when it was written, in seconds since the epoch."""

    number: int
    path: str
    bytes: int
    at: float
    compressed: bool = False
    encrypted: bool = False

    @property
    def id(self) -> str:
        """`s3`."""
        return f"s{self.number}"


class SnapshotHistory:
    """The folder `snapshots` of one run."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)

    def add(self, snapshot: WorkflowSnapshot, *, compress: bool = False, key: bytes | None = None) -> tuple[Kept, str]:
        """Keep a snapshot under the next number; on the disk when this returns. Also the SHA-256 of the file."""
        fields = snapshot.to_dict()
        if not compress and key is None:
            fields = snapshot_parts.share(fields, self.folder)
        data = snapshot_file.encode_fields(fields, snapshot.workflow_id)
        data = snapshot_seal.seal(data, compress=compress, key=key)
        number = max((kept.number for kept in self.all()), default=0) + 1
        path = os.path.join(self.folder, f"s{number}{SUFFIX}")
        snapshot_file.write(path, data)
        return self._kept(number, path), sha256(data).hexdigest()

    def all(self) -> list[Kept]:
        """The files, oldest first."""
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise SnapshotError(f"cannot list {self.folder}: {error.strerror}") from error
        numbered = sorted((int(found[1]), name) for name in names if (found := _NAME.fullmatch(name)))
        return [self._kept(number, os.path.join(self.folder, name)) for number, name in numbered]

    def find(self, id: str | None) -> Kept:
        """The snapshot `s3` (or `3`); without, the newest. Raises `SnapshotNotFound`."""
        every = self.all()
        wanted = [kept for kept in every if id is None or id in (kept.id, str(kept.number))]
        if not wanted:
            listed = ", ".join(kept.id for kept in every) or "none"
            what = "no snapshot" if id is None else f"no snapshot `{id}`"
            raise SnapshotNotFound(
                f"there is {what} in {self.folder}",
                help=f"there are: {listed}" if every else "`onward snapshot create` makes one",
            )
        return wanted[-1]

    def read(self, kept: Kept, key: bytes | None = None) -> WorkflowSnapshot:
        """The snapshot in a file. Raises `SnapshotError`, `SnapshotSealed`."""
        data = snapshot_file.read(kept.path)
        if data is None:
            raise SnapshotNotFound(f"the snapshot {kept.path} is gone")
        fields = snapshot_file.decode_fields(snapshot_seal.unseal(data, key=key, where=kept.path), kept.path)
        return snapshot_file.from_fields(snapshot_parts.join(fields, self.folder), kept.path)

    def remove(self, kept: Kept) -> bool:
        """Remove a snapshot, and what only it needed; False when it was gone."""
        removed = snapshot_file.remove(kept.path)
        if os.path.isdir(os.path.join(self.folder, snapshot_parts.FOLDER)):
            needed = self._needed()
            if needed is not None:
                snapshot_parts.remove_others(self.folder, needed)
        return removed

    def to_prune(self, *, keep: int | None = None, older_than_s: float | None = None) -> list[Kept]:
        """What goes when the newest `keep` stay and of the others those that are older. The newest one always stays."""
        every = self.all()
        candidates = every[: max(0, len(every) - max(1, keep if keep is not None else 1))]
        if older_than_s is None:
            return candidates if keep is not None else []
        limit = clock.now().timestamp() - older_than_s
        return [kept for kept in candidates if kept.at < limit]

    def _needed(self) -> set[str] | None:
        """The pieces that snapshots need; None where one cannot be read, which then may need any."""
        needed: set[str] = set()
        for kept in self.all():
            if kept.compressed or kept.encrypted:
                continue
            try:
                needed |= snapshot_parts.pieces_of(snapshot_file.decode_fields(_bytes_of(kept), kept.path))
            except SnapshotError:
                return None
        return needed

    def _kept(self, number: int, path: str) -> Kept:
        try:
            with open(path, "rb") as file:
                head, found = file.read(_HEAD_BYTES), os.fstat(file.fileno())
        except OSError as error:
            raise SnapshotError(f"cannot read {path}: {error.strerror}") from error
        return Kept(
            number=number,
            path=path,
            bytes=found.st_size,
            at=found.st_mtime,
            compressed=snapshot_seal.is_compressed(head),
            encrypted=snapshot_seal.is_encrypted(head),
        )


def _bytes_of(kept: Kept) -> bytes:
    return snapshot_file.read(kept.path) or b""


def keep_of(environment: Mapping[str, Any], usual: int) -> int:
    """How many snapshots a run keeps by itself: `ONWARD_SNAPSHOT_KEEP`, else as usual."""
    text = str(environment.get("ONWARD_SNAPSHOT_KEEP", ""))
    return max(1, int(text)) if text.isdecimal() else usual
