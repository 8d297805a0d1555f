"""What was said about one attempt -> what the next one is told (`format.md` 3.7, `retry`)."""

from __future__ import annotations

import os

from onward import files
from onward.model.status import Outcome
from onward.state.instance import Instance
from onward.tasks.context import RunContext
from onward.tasks.insertion import fenced

FILE = "feedback"
GIVEN_FILE = "feedback-given"
MOST_BYTES = 8 * 1024

_INTERRUPTED = "You were interrupted before you had finished. Go on from where you stopped; the task is still the same."
_NOT_ACCEPTED = "What you did is not accepted yet."


def write_feedback(folder: str, text: str) -> str:
    """Lay the feedback into the folder of the attempt that it is about; what was laid there, cut to its end."""
    text = last_of(text)
    files.make_folder(folder)
    files.write_atomic(f"{folder}/{FILE}", text.encode(), durable=False)
    return text


def last_of(text: str) -> str:
    """The last 8 KiB, from the beginning of a line where there is one."""
    data = text.encode("utf-8", "replace")
    if len(data) <= MOST_BYTES:
        return data.decode()
    kept = data[-MOST_BYTES:].decode("utf-8", "ignore")
    return kept.partition("\n")[2] or kept


def feedback_before(context: RunContext, leaf: Instance, attempt: int) -> str | None:
    """What was said about the attempt before; where that was interrupted, what it had itself been told."""
    folder = context.attempt_folder(leaf.path, attempt - 1)
    text = _read(f"{folder}/{FILE}")
    if text is None and was_cut_off(leaf):
        text = _read(f"{folder}/{GIVEN_FILE}")
    return text


def was_cut_off(leaf: Instance) -> bool:
    """Whether the attempt before was broken off through no fault of its own."""
    return leaf.outcome in (Outcome.INTERRUPTED, Outcome.LIMITED)


def in_prompt(prompt: str, feedback: str) -> str:
    """The whole prompt again, with the feedback in a fence: it is quoted, and no part of the task."""
    said = f"The last attempt at this was not accepted. What was said about it:\n\n{fenced(feedback)}\n"
    return f"{prompt.rstrip()}\n\n{said}"


def in_session(feedback: str | None, *, interrupted: bool) -> str:
    """What a conversation that goes on is told."""
    if interrupted:
        return _INTERRUPTED
    if feedback is None:
        return f"{_NOT_ACCEPTED} Go on with the task."
    return f"{_NOT_ACCEPTED} What was said about it:\n\n{fenced(feedback)}\n\nMend that.\n"


def _read(path: str) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # there is none, or nobody can tell any more
        return None
    try:
        return os.read(descriptor, MOST_BYTES).decode("utf-8", "replace")
    finally:
        os.close(descriptor)
