"""`onward.toml`, or `[tool.onward]` in `pyproject.toml` → what stands for flags that were not given.

The nearest such file in a folder or above it counts: from the workflow file's folder for commands that take one, else
from the caller's. Flags are stronger, then `ONWARD_STORE`, `ONWARD_ENGINE` and `ONWARD_ADAPTER`, then the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from onward.errors import UsageError

FILE = "onward.toml"
PYPROJECT = "pyproject.toml"
VARIABLE = "ONWARD_CONFIG"
ENGINES = ("embedded", "temporal")

_TABLE = "tool.onward"


class Settings(NamedTuple):
    """`store` is absolute; None: nothing is said about it. `file` is where they were found."""

    store: str | None = None
    adapter: str | None = None
    limit: int | None = None
    engine: str | None = None
    temporal: dict[str, Any] | None = None
    file: Path | None = None


class BadSettings(UsageError):
    """A file of settings cannot be used."""

    code = "settings"


def settings_here() -> Settings:
    """The settings for commands without a workflow file."""
    try:
        folder = Path.cwd()
    except FileNotFoundError:
        return Settings()  # who needs the folder will tell
    return settings_for(folder)


def settings_of(workflow: Path) -> Settings:
    """The settings for a workflow file."""
    return settings_for(workflow.resolve().parent)


def settings_for(folder: Path) -> Settings:
    """The settings that hold in a folder. Raises `BadSettings`."""
    named = os.environ.get(VARIABLE)
    if named:
        return _settings(Path(named).absolute())
    for place in (folder, *folder.parents):
        for name in (FILE, PYPROJECT):
            path = place / name
            if (name == FILE and path.is_file()) or (name == PYPROJECT and _mentions_us(path)):
                settings = _settings(path, searched=True)
                if settings.file is not None:
                    return settings
    return Settings()


def _mentions_us(path: Path) -> bool:
    """Most projects have such a file, and hardly one says anything about onward: reading it as TOML takes longer."""
    try:
        return b"[tool.onward" in path.read_bytes()
    except OSError:
        return False


def _settings(path: Path, *, searched: bool = False) -> Settings:
    text = _text(path)
    table = _table(path, text)
    if table is None:
        return Settings()
    if searched:
        _check_owner(path)
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in _READERS:
            raise _unknown(path, text, key)
        fault = _READERS[key](value)
        if fault is not None:
            raise BadSettings(f"{_place(path, text, key)}: `{key}` {fault}, not {value!r}")
        found[key] = value
    if "store" in found:
        found["store"] = os.path.normpath(path.parent / os.path.expanduser(found["store"]))
    return Settings(**found, file=path)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise BadSettings(f"cannot read the settings in {path}: {reason}") from error


def _table(path: Path, text: str) -> dict[str, Any] | None:
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{path} is not TOML: {error}") from error
    if path.name != PYPROJECT:
        return data
    table = data.get("tool", {}).get("onward")
    if table is not None and not isinstance(table, dict):
        raise BadSettings(f"{path}: `{_TABLE}` must be a table")
    return table


def _check_owner(path: Path) -> None:
    # It says in which store to look for runs, and a stored plan says what to run.
    if path.stat().st_uid not in (0, os.geteuid()) and os.geteuid() != 0:
        help = f"if you trust it, set {VARIABLE} to its path; if not, to {os.devnull}"
        raise BadSettings(f"{path} belongs to another user", help=help)


# ---------------------------------------------------------------- keys


def _text_fault(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be text"


def _limit_fault(value: Any) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return None if fits else "must be a whole number from 1"


def _engine_fault(value: Any) -> str | None:
    return None if value in ENGINES else f"must be {' or '.join(ENGINES)}"


_TEMPORAL: dict[str, type | tuple[type, ...]] = {
    "address": str, "namespace": str, "queue": str, "tls": bool, "tls_ca": str, "tls_cert": str, "tls_key": str,
    "tls_name": str, "heartbeat": (int, float), "reattach": (int, float), "history-soft": int, "history-hard": int,
    "same-host": bool, "search-attributes": bool,
}  # fmt: skip


def _temporal_fault(value: Any) -> str | None:
    """A key belongs into TEMPORAL_API_KEY: this file is shared."""
    fits = isinstance(value, dict) and all(isinstance(value[key], _TEMPORAL.get(key, ())) for key in value)
    return None if fits else f"must be a table of {', '.join(_TEMPORAL)}"


_READERS: dict[str, Callable[[Any], str | None]] = {
    "store": _text_fault,
    "adapter": _text_fault,
    "limit": _limit_fault,
    "engine": _engine_fault,
    "temporal": _temporal_fault,
}


def _unknown(path: Path, text: str, key: str) -> BadSettings:
    from difflib import get_close_matches

    near = get_close_matches(key, _READERS, n=1)
    help = f"did you mean `{near[0]}`?" if near else f"known are: {', '.join(_READERS)}"
    return BadSettings(f"{_place(path, text, key)}: there is no setting `{key}`", help=help)


def _place(path: Path, text: str, key: str) -> str:
    """`file:line`, as far as the line can be told without a reader that keeps lines."""
    start = text.find(f"[{_TABLE}]") if path.name == PYPROJECT else 0
    written = re.compile(rf"""^[ \t\[]*["']?{re.escape(key)}["']?[ \t]*[\].=]""", re.MULTILINE)
    found = written.search(text, max(0, start))
    return f"{path}:{text.count(chr(10), 0, found.start()) + 1}" if found else str(path)
