"""A snapshot of requirement 2: a checked value to and from JSON with exactly the requirement's fields.

`onward` is our one addition: where the run and its journal are (`format.md` 8.4). Times are moments with an offset;
`paused_at` and `resumed_at` are left out where there are none.
"""

from __future__ import annotations

import os
import re
import stat
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Struct, field

from onward import clock, files
from onward.errors import StoreError
from onward.mirrors.pause_errors import BadWorkflowId, SnapshotError

SUFFIX = ".snapshot.json"
SIZE_LIMIT = 256 * 1024 * 1024
ID_BYTES = 200

FIELDS = (
    "workflow_id",
    "timestamp",
    "stage",
    "completed_tasks",
    "pending_tasks",
    "failed_tasks",
    "current_task_id",
    "current_activity_id",
    "task_metrics",
    "workflow_metrics",
    "configuration",
    "paused_at",
    "resumed_at",
)

_OPTIONAL = ("paused_at", "resumed_at", "onward")
_NO_NAME = re.compile(r"[\x00-\x1f\x7f/\\]")


class WorkflowSnapshot(Struct, frozen=True, kw_only=True):
    """Everything that is needed to go on with a workflow; `timestamp` is when it was captured (UTC)."""

    workflow_id: str
    timestamp: datetime
    stage: str = ""
    completed_tasks: list[str] = field(default_factory=list)
    pending_tasks: list[str] = field(default_factory=list)
    failed_tasks: list[str] = field(default_factory=list)
    current_task_id: str = ""
    current_activity_id: str = ""
    task_metrics: dict[str, Any] = field(default_factory=dict)
    workflow_metrics: dict[str, Any] = field(default_factory=dict)
    configuration: dict[str, Any] = field(default_factory=dict)
    paused_at: datetime | None = None
    resumed_at: datetime | None = None
    onward: dict[str, Any] | None = None
    """only in snapshots of runs of `onward`: the run, its workflow file and the position in its journal"""

    def to_dict(self) -> dict[str, Any]:
        """As it stands in the file: plain values, times as ISO 8601 text."""
        try:
            found: dict[str, Any] = msgspec.to_builtins(self)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise _not_json(self.workflow_id, error) from error
        return {name: value for name, value in found.items() if value is not None or name not in _OPTIONAL}


def check_id(workflow_id: object) -> str:
    """The id, if it can name a file. Raises `BadWorkflowId` (a `ValueError`)."""
    if not isinstance(workflow_id, str):
        raise BadWorkflowId(f"the id of a workflow is text, not {type(workflow_id).__name__}")
    try:
        size = len(workflow_id.encode())
    except UnicodeEncodeError:
        size = 0
    if not size or size > ID_BYTES or workflow_id.startswith(".") or _NO_NAME.search(workflow_id):
        raise BadWorkflowId(
            f"{workflow_id[:60]!r} cannot be the id of a workflow: it names a file",
            help=f"1 to {ID_BYTES} bytes, no slash, no control character, no dot at the beginning",
        )
    return workflow_id


def encode(snapshot: WorkflowSnapshot) -> bytes:
    """JSON, indented by two, with a last newline. Raises `SnapshotError` for values that JSON does not have."""
    return encode_fields(snapshot.to_dict(), snapshot.workflow_id)


def encode_fields(fields: dict[str, Any], name: str) -> bytes:
    """The same for fields that were read from a file."""
    try:
        return msgspec.json.format(msgspec.json.encode(fields), indent=2) + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise _not_json(name, error) from error


def decode(data: bytes, where: str) -> WorkflowSnapshot:
    """The checked snapshot; `where` names it in messages. Raises `SnapshotError`."""
    return from_fields(decode_fields(data, where), where)


def decode_fields(data: bytes, where: str) -> dict[str, Any]:
    """The mapping that a snapshot file holds, fields of others included."""
    if not data.strip(b" \t\r\n\0"):
        raise _bad(where, "it is empty" if not data.strip() else "it holds zero bytes only")
    try:
        found = msgspec.json.decode(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise _bad(where, f"it is not UTF-8 text (byte {error.start})") from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise _bad(where, f"it is not valid JSON: {error}") from error
    if not isinstance(found, dict):
        raise _bad(where, "it does not hold a mapping of fields")
    return found


def from_fields(fields: dict[str, Any], where: str) -> WorkflowSnapshot:
    """The checked snapshot of a mapping. Fields that it does not know are left alone."""
    # Go writes `null` for a list or map that was never set.
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        snapshot = msgspec.convert(given, WorkflowSnapshot)
    except msgspec.ValidationError as error:
        raise _bad(where, str(error)) from error
    for name in ("timestamp", "paused_at", "resumed_at"):
        moment = getattr(snapshot, name)
        if moment is not None and moment.tzinfo is None:
            raise _bad(where, f"`{name}` has no offset from UTC")
    return snapshot


def read(path: files.AnyPath) -> bytes | None:
    """The bytes of a snapshot file; None where there is none."""
    where = os.fspath(path)
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not hold us up
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotError(f"cannot read {where}: {error.strerror}") from error
    with open(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise _bad(where, "it is not a plain file")
        if found.st_size > SIZE_LIMIT:
            raise _bad(where, f"it is {found.st_size} bytes long, more than any snapshot")
        try:
            return file.read()
        except OSError as error:
            raise SnapshotError(f"cannot read {where}: {error.strerror}") from error


def write(path: files.AnyPath, data: bytes) -> None:
    """The file holds what it held before or `data`, on the disk; missing folders are made."""
    try:
        files.make_folder(os.path.dirname(path) or ".")
        files.write_atomic(path, data)
    except StoreError as error:
        raise SnapshotError(f"the snapshot was not written: {error.message}", help=error.help) from error


def remove(path: files.AnyPath) -> bool:
    """Remove the file; False when there was none."""
    try:
        return files.remove(path)
    except StoreError as error:
        raise SnapshotError(f"the snapshot was not removed: {error.message}", help=error.help) from error


def moment(at: datetime | None) -> datetime:
    """Now, or the given moment in UTC. Raises `SnapshotError` where it has no offset."""
    if at is None:
        return clock.now()
    if at.tzinfo is None:
        raise SnapshotError(f"{at.isoformat()} has no offset from UTC", help="use `datetime.now(UTC)`")
    return at.astimezone(UTC)


def _not_json(name: str, error: Exception) -> SnapshotError:
    return SnapshotError(
        f"the snapshot of `{name}` cannot be written as JSON: {error}",
        help="use text, numbers, lists and mappings only",
    )


def _bad(where: str, what: str) -> SnapshotError:
    return SnapshotError(f"the snapshot {where} cannot be used: {what}", help="remove it, or use an older one")
