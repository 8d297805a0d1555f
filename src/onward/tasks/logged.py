"""The log of an attempt that ended long ago -> its text, as far as log and record agree."""

from __future__ import annotations

from onward.model.values import Value
from onward.tasks.attempt_folder import read_exit
from onward.tasks.failures import Failure
from onward.tasks.output_files import read_text_bytes


def logged_text(folder: str) -> Value | None:
    """None when the log is gone, is not whole, or is no text."""
    exit = read_exit(folder)
    if exit is None or not exit.ok:
        return None
    try:
        data = read_text_bytes(f"{folder}/out", exit.out, "the log")
    except Failure:
        return None
    return Value(type="text", bytes=len(data), value=data.decode())
