"""A shell and a script -> an argv. A long script is read from a file, since no argument may be so long."""

from __future__ import annotations

import re

from onward.tasks.failures import Failure
from onward.tasks.insertion import MOST_BYTES_IN_PLACE

_TAKES_CODE = re.compile(r"-(?P<others>[A-Za-z]*)[ce]")


def argv_of_script(shell: tuple[str, ...], script: str, file: str) -> tuple[tuple[str, ...], bytes | None]:
    """The argv, and the bytes to write to `file` first if the script has to be read from there."""
    if len(script) <= MOST_BYTES_IN_PLACE // 4 or len(script.encode()) <= MOST_BYTES_IN_PLACE:
        return (*shell, script), None
    return (*_reading_a_file(shell), file), script.encode()


def _reading_a_file(shell: tuple[str, ...]) -> tuple[str, ...]:
    """`bash -eu -c` -> `bash -eu`: without the option that makes the next argument code."""
    found = _TAKES_CODE.fullmatch(shell[-1]) if shell else None
    if found is None:
        raise Failure(
            "too-big",
            f"the script has more than {MOST_BYTES_IN_PLACE:,} bytes, and `shell` does not end with an option such as "
            "`-c` that could be left out to read it from a file",
            help="put the script into a file of the project and run that",
        )
    others = found["others"]
    return (*shell[:-1], f"-{others}") if others else shell[:-1]
