"""The flags of a resume that set records of tasks aside or in place, as one mapping."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

_OPTIONS = {
    "rerun": click.option(
        "--rerun", multiple=True, metavar="PATH", help="Do this and what used its result again."
    ),
    "rerun_from": click.option(
        "--rerun-from", multiple=True, metavar="PATH", help="Do this and all after it again."
    ),
    "rerun_changed": click.option("--rerun-changed", is_flag=True, help="Do again what was edited since it finished."),
    "rerun_stale": click.option("--rerun-stale", is_flag=True, help="Do again what used a result that is older now."),
    "skip": click.option("--skip", multiple=True, metavar="PATH", help="Leave this node out and go on with the rest."),
    "done": click.option(
        "--done", multiple=True, metavar="PATH", help="Take this node as done, by hand."
    ),
    "refresh": click.option("--refresh", multiple=True, metavar="PATH", help="Read the items of this loop once more."),
}


def choice_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The flags, given to the command as one mapping `choices` of the fields of `ResumeOptions`."""

    @wraps(function)
    def command(**given: Any) -> Any:
        return function(choices={name: given.pop(name) for name in _OPTIONS}, **given)

    for option in reversed(_OPTIONS.values()):
        option(command)
    return command
