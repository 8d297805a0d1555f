"""`--var K=V` and `--vars-file F` → names and texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from onward.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])


def variable_options(function: F) -> F:
    """Give a command `--var` (as `given`) and `--vars-file`."""
    for option in (
        click.option("--vars-file", type=click.Path(path_type=Path), metavar="F", help="Variables in YAML or JSON."),
        click.option("--var", "given", multiple=True, metavar="K=V", help="A variable (may be given again)."),
    ):
        function = option(function)
    return function


def given_variables(given: tuple[str, ...]) -> dict[str, str]:
    """The variables of the command line; the last one of a name counts."""
    found: dict[str, str] = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"--var {word}: there is no `=` in it", help=f"write --var {word}=VALUE")
        found[name] = value
    return found


def given_amounts(given: tuple[str, ...]) -> dict[str, float]:
    """The amounts of `--budget`; the last one of a name counts."""
    found: dict[str, float] = {}
    for word in given:
        name, equals, text = word.rpartition("=")
        try:
            amount = float(text)
        except ValueError:
            amount = -1.0
        if not equals or not 0 <= amount < 1e15:
            raise UsageError(f"--budget {word}: no amount", help="write --budget usd=10 or --budget PATH:tokens=500000")
        found[name] = amount
    return found
