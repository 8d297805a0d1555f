"""Who tells a person how a run goes: a live tree on a terminal, a plain line for each change elsewhere.

Everything goes to stderr. Both keep warnings, and end with the same summary.
"""

from __future__ import annotations

import sys
from typing import Protocol, Self

from onward.cli.common import Common
from onward.cli.plain import PlainProgress
from onward.engine.observer import Observer


class Progress(Observer, Protocol):
    """An observer that can be left whatever happens, so that the terminal is as it was."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


def progress_for(common: Common, at: str = "") -> Progress:
    """The way to tell that fits where stderr leads. `at`: as in `onward.cli.target.at`."""
    if common.colors(sys.stderr) and not common.quiet:
        from onward.cli.live import LiveProgress

        return LiveProgress(common, at)
    return PlainProgress(common, at)
