"""The options that every command takes → one `Common` value, passed to the command as `common`."""

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple, TextIO

import click


class Common(NamedTuple):
    """`store` is None where the store is to be searched for (upwards, as git does)."""

    store: str | None = None
    json: bool = False
    quiet: bool = False
    verbose: bool = False
    color: bool = True

    def colors(self, stream: TextIO) -> bool:
        """Whether this stream is a terminal that is to be drawn on; else plain lines are wanted."""
        return self.color and stream.isatty() and os.environ.get("TERM") != "dumb"

    def note(self, text: str) -> None:
        """Words for a person: on stderr, and not with `-q`."""
        if not self.quiet:
            click.echo(text, err=True)


def common_options(*, json: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the common options; `json` where it prints data.

        @click.command()
        @click.argument("run", required=False)
        @common_options(json=True)
        def command(common: Common, run: str | None) -> int: ...
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def command(**given: Any) -> Any:
            return function(common=_take_common(given), **given)

        for option in reversed(_OPTIONS if json else [o for o in _OPTIONS if o is not _JSON]):
            option(command)
        return command

    return decorate


def can_ask() -> bool:
    """Whether somebody can be asked: both ends are a terminal."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def _take_common(given: dict[str, Any]) -> Common:
    no_color = given.pop("no_color") or bool(os.environ.get("NO_COLOR"))
    return Common(
        store=given.pop("store"),
        json=given.pop("json", False),
        quiet=given.pop("quiet"),
        verbose=given.pop("verbose"),
        color=not no_color,
    )


_JSON = click.option("--json", is_flag=True, help="Print data for programs.")
_OPTIONS = [
    click.option(
        "--store",
        metavar="DIR",
        envvar="ONWARD_STORE",
        help="Where runs are kept, in place of the nearest .onward (or ONWARD_STORE).",
    ),
    _JSON,
    click.option("-q", "--quiet", is_flag=True, help="Say only what is asked for and what went wrong."),
    click.option("-v", "--verbose", is_flag=True, help="Say more."),
    click.option("--no-color", is_flag=True, help="No colours (or set NO_COLOR)."),
]
