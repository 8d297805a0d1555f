"""The state file of requirement 1, version 1.0: a checked mapping to and from a file of JSON.

Every way in which such a file can be bad ends in a `WorkflowCheckpointError` that names the file, what is wrong in
it and what to do. A file that is not there is None, not an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from onward import files
from onward.errors import StoreError, WorkflowCheckpointError

VERSION = "1.0"
SIZE_LIMIT = 64 * 1024 * 1024

FIELDS = (
    "version",
    "workflow_file",
    "started_at",
    "resumed_count",
    "datetime_preserved",
    "completed_tasks",
    "failed_tasks",
    "current_step_index",
    "variables",
)

_START_AFRESH = "mend the file, or remove it to start from the beginning"


def read(path: files.AnyPath) -> dict[str, Any] | None:
    """The checked fields of a state file; None where there is no file. Raises `WorkflowCheckpointError`."""
    data = _bytes_of(path)
    return None if data is None else decode(data, os.fspath(path))


def write(path: files.AnyPath, state: Mapping[str, Any], *, name_later: bool = False) -> None:
    """Check and write: the file holds what it held before or all of `state`. Missing folders are made.

    `name_later`: what is written is on the disk when this returns, but a loss of power may bring back the file that
    it replaced. A symbolic link in that place is replaced by the file; what it pointed to is left alone.
    """
    where = os.fspath(path)
    check(state, where)
    data = encode(state, where)
    try:
        _make_parent(where)
        files.write_atomic(where, data, name_later=name_later)
    except StoreError as error:
        raise WorkflowCheckpointError(f"the state file was not written: {error.message}", help=error.help) from error


def remove(path: files.AnyPath) -> bool:
    """Remove the state file; False when there was none."""
    try:
        return files.remove(path)
    except StoreError as error:
        raise WorkflowCheckpointError(f"the state file was not removed: {error.message}", help=error.help) from error


def decode(data: bytes, where: str) -> dict[str, Any]:
    """The checked fields in `data`; `where` names the file in messages."""
    state: dict[str, Any] = _parse(data, where)
    check(state, where)
    return state


def encode(state: Mapping[str, Any], where: str = "the state") -> bytes:
    """JSON as agent-yaml writes it: indented by two, with a last newline."""
    try:
        return msgspec.json.format(msgspec.json.encode(dict(state)), indent=2) + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise WorkflowCheckpointError(
            f"{where}: this state cannot be written as JSON: {error}", help="use text, numbers, lists and mappings only"
        ) from error


def check(state: Mapping[str, Any], where: str) -> None:
    """Raise `WorkflowCheckpointError` that names every field which is missing or of a wrong type."""
    if not isinstance(state, Mapping):
        raise _bad(where, f"it holds {_kind(state)}, not a mapping of fields")
    _check_version(state, where)
    missing = [name for name in FIELDS if name not in state]
    if missing:
        raise _bad(where, f"missing field{'s' if len(missing) > 1 else ''}: {', '.join(missing)}")
    wrong = [
        f"`{name}` must be {wanted}, not {_kind(state[name])}"
        for name, (wanted, fits) in _SHAPES.items()
        if name in state and not fits(state[name])
    ]
    if wrong:
        raise _bad(where, "; ".join(wrong))


# ---------------------------------------------------------------- reading


def _bytes_of(path: files.AnyPath) -> bytes | None:
    where = os.fspath(path)
    if not where:
        raise WorkflowCheckpointError("the state file has no name", help="name a file, such as .onward/state.json")
    try:
        descriptor = os.open(where, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO must not hold us up
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(where, error) from error
    try:
        return _read_plain(descriptor, where)
    except OSError as error:
        raise _unreadable(where, error) from error
    finally:
        os.close(descriptor)


def _read_plain(descriptor: int, where: str) -> bytes:
    found = os.fstat(descriptor)
    if stat.S_ISDIR(found.st_mode):
        raise _bad(where, "it is a folder", "name a file, or remove the folder")
    if not stat.S_ISREG(found.st_mode):
        raise _bad(where, "it is not a plain file", "name a plain file")
    if found.st_size > SIZE_LIMIT:
        raise _bad(where, f"it is {found.st_size} bytes long, more than any state file", "is it the right file?")
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _parse(data: bytes, where: str) -> Any:
    if not data.strip(b" \t\r\n\0"):
        raise _bad(where, "it is empty" if not data.strip() else "it holds zero bytes only")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _bad(where, f"it is not UTF-8 text (byte {error.start})") from error
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise _bad(where, f"it is not valid JSON: {error}") from error
    except RecursionError as error:
        raise _bad(where, "it is not valid JSON: nested too deeply") from error


def _check_version(state: Mapping[str, Any], where: str) -> None:
    version = state.get("version", VERSION)
    if version == VERSION:
        return
    if _is_newer(version):
        raise _bad(where, f"it has version {version}; this onward reads {VERSION}", "use the program that wrote it")
    raise _bad(where, f"it has version {version!r}; this onward reads {VERSION!r}")


def _is_newer(version: object) -> bool:
    try:
        return tuple(int(part) for part in str(version).split(".")) > (1, 0)
    except ValueError:
        return False


# ---------------------------------------------------------------- shapes


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(name, str) for name in value)


_TEXT = ("text", _is_text)
_COUNT = ("a whole number, 0 or more", _is_count)
_NAMES = ("a list of task names", _is_names)
_MAPPING = ("a mapping", _is_mapping)

_SHAPES: dict[str, tuple[str, Callable[[object], bool]]] = {
    "workflow_file": _TEXT,
    "started_at": _TEXT,
    "resumed_count": _COUNT,
    "datetime_preserved": _TEXT,
    "completed_tasks": _NAMES,
    "failed_tasks": _NAMES,
    "current_step_index": _COUNT,
    "variables": _MAPPING,
    "onward": _MAPPING,
}

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (str, "text"),
    (int, "a number"),
    (float, "a number"),
    (Mapping, "a mapping"),
    (list, "a list"),
    (tuple, "a list"),
)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, (list, tuple)) and not _is_names(value):
        return "a list with something else in it"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return next((word for kind, word in _KINDS if isinstance(value, kind)), type(value).__name__)


# ---------------------------------------------------------------- errors and folders


def _bad(where: str, what: str, help: str = _START_AFRESH) -> WorkflowCheckpointError:
    return WorkflowCheckpointError(f"the state file {_named(where)} cannot be used: {what}", help=help)


def _unreadable(where: str, error: OSError | ValueError) -> WorkflowCheckpointError:
    reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    return WorkflowCheckpointError(
        f"the state file {_named(where)} cannot be read: {reason}",
        help="make it readable, or name another `state-file`",
    )


def _named(where: str) -> str:
    return where if where.isprintable() else repr(where)


def _make_parent(where: str) -> None:
    folder = os.path.dirname(where)
    if folder and not os.path.isdir(folder):
        files.make_folder(folder)
