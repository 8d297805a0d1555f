"""How an attempt ended → `exit.json` of its folder, or a line of a worker's `calls.jsonl`.

A record must outlive its driver, not the machine: it is not flushed (a flush would cost every task as much as its
journal entry), and one that is empty or broken counts as absent. `exit.json` is renamed into place; a line of the log
begins with the line break, so that it stands alone whatever was torn before it. Nothing here imports `json`, which
would double the start of a keeper.
"""

from __future__ import annotations

import os
from _json import encode_basestring_ascii

from onward.tasks.light_clock import iso

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    # code, signal, error, ended_by, started (wall), duration_s, usage, bytes of out and err, processes left behind;
    # usage: seconds in user mode, seconds in the kernel, most memory in KiB. `Exit` has the words for them.
    Record = tuple[
        int | None, str | None, str | None, str | None, float, float, tuple[float, float, int], int, int, int
    ]

FILE = "exit.json"
PROCESS_FILE = "process"
CALLS_FILE = "calls.jsonl"
EARLIER_CALLS_FILE = "calls.earlier.jsonl"
RESULT_FILE = "result.json"
LOG_BYTES = 1 << 20

quoted = encode_basestring_ascii  # text as JSON


def as_json(record: Record, first: str = "", last: str = "") -> str:
    """JSON of a record; `first` and `last` are further fields, as JSON and with their commas."""
    code, signal, error, ended_by, started, duration_s, usage, out, err, left_behind = record
    user_s, system_s, max_rss_kb = usage
    return (
        f'{{{first}"code": {"null" if code is None else code}, "signal": {_text(signal)}, '
        f'"error": {_text(error)}, "ended_by": {_text(ended_by)}, '
        f'"started": "{iso(started)}", "ended": "{iso(started + duration_s)}", "duration_s": {duration_s:.6f}, '
        f'"usage": {{"user_s": {user_s:.6f}, "system_s": {system_s:.6f}, "max_rss_kb": {max_rss_kb}}}, '
        f'"out": {out}, "err": {err}, "left_behind": {left_behind}{last}}}'
    )


def call_as_json(id: str, record: Record, result: str | None = None, result_file: bool = False) -> str:
    """A line of a worker's log. `result`: what the call returned, as JSON, unless it is in a file of its own."""
    if result is not None:
        last = f', "result": {result}'
    else:
        last = ', "result_file": true' if result_file else ""
    return as_json(record, f'"id": {quoted(id)}, ', last)


def _text(value: str | None) -> str:
    return "null" if value is None else quoted(value)


def write(folder: str, name: str, text: str) -> None:
    """Lays the file into the folder in one step. Raises `OSError`, and then leaves no part of it."""
    path = f"{folder}/{name}"
    temporary = f"{path}.tmp"
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        write_all(file, text.encode())
        os.rename(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise
    finally:
        os.close(file)


def write_all(file: int, data: bytes) -> None:
    """Writes every byte, however many calls the system makes of it."""
    written = os.write(file, data)
    while written < len(data):
        written += os.write(file, data[written:])


class CallLog:
    """The ends of a worker's calls. Only the latest matter (earlier ones are in the journal): it stays small."""

    __slots__ = ("_file", "_folder", "_size")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file = self._open()
        self._size = os.fstat(self._file).st_size

    def append(self, record: str) -> None:
        """Raises `OSError`; the call's end is then not recorded."""
        if self._size > LOG_BYTES:
            self._turn_over()
        line = b"\n" + record.encode()
        write_all(self._file, line)
        self._size += len(line)

    def close(self) -> None:
        os.close(self._file)

    def _turn_over(self) -> None:
        os.rename(f"{self._folder}/{CALLS_FILE}", f"{self._folder}/{EARLIER_CALLS_FILE}")
        os.close(self._file)
        self._file = self._open()
        self._size = 0

    def _open(self) -> int:
        path = f"{self._folder}/{CALLS_FILE}"
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
