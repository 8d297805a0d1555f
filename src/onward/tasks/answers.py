"""The answer to a question about the surroundings or the result of a node."""

from __future__ import annotations

from msgspec import Struct


class Answer(Struct, frozen=True):
    """`detail` says which condition decided, and what was seen. `error`: it could not be worked out.

    `printed` is what a command or judge said, for the next attempt to hear.
    """

    result: bool
    detail: str = ""
    error: bool = False
    printed: str = ""
