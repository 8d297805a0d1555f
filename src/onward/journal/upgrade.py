"""Lines of older versions to today's form, one function per version.

The first line of a journal states its `version`; a later line that states one (a run that a newer program went on
with) holds for itself and what follows. A stored line is never rewritten: it is upgraded each time it is read.

To change the form of an event: raise `VERSION`, add the function from the version before to `UPGRADES`, record a
journal of the released version in `tests/journal/recorded/`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

VERSION = 1

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: dict[int, Upgrade] = {}
"""version -> the function that turns a line of it (as decoded) into one of the next version"""


def upgrade(line: dict[str, Any], version: int) -> dict[str, Any]:
    """The line as today's program would have written it."""
    for older in range(version, VERSION):
        line = UPGRADES[older](line)
    return line
