"""What is wrong with one task, as an error with a slug of its own."""

from __future__ import annotations

from onward.errors import TaskError


class Failure(TaskError):
    """A task that cannot be started, or a result that cannot be used; `code` names the mistake."""

    def __init__(self, code: str, message: str, *, help: str | None = None) -> None:
        super().__init__(message, help=help)
        self.code = code


def in_words(error: TaskError) -> str:
    """The error in one line, as events and reports hold it."""
    return error.message if error.help is None else f"{error.message} ({error.help})"
