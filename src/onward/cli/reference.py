"""The commands → the reference of the command line in Markdown.

`python -m onward.cli.reference > docs/reference/cli.md` writes it anew; a test compares the two.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Iterator

import click

from onward.cli.common import _OPTIONS as COMMON_OPTIONS
from onward.cli.main import COMMANDS, cli

EXIT_CODES: dict[int, str] = {
    0: "It is done; of a run: it succeeded.",
    1: "The workflow failed; of other commands: the answer is no, or it is not so yet.",
    2: "The command cannot be used like this, or the workflow file cannot be used; nothing was started.",
    3: "The run is paused or waits for somebody; `onward resume` goes on.",
    4: "onward could not write or read its own files.",
    70: "A bug in onward; the message says where the report lies.",
    130: "The run was cancelled, or the command was left with Ctrl-C.",
    141: "Whoever read the output went away.",
}


def reference() -> str:
    """The whole page."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_page())).rstrip("\n") + "\n"


def _page() -> Iterator[str]:
    yield "# The command line"
    yield ""
    yield "This page is made from the commands themselves (`python -m onward.cli.reference`)."
    yield "Data goes to stdout, words to stderr. `onward COMMAND --help` shows the same on a terminal."
    yield ""
    yield "| Command | |"
    yield "|---|---|"
    for name, (_, says) in COMMANDS.items():
        yield f"| [`onward {name}`](#onward-{name}) | {_cell(says)} |"
    yield from _exit_codes()
    yield from _common()
    for name in COMMANDS:
        yield from _command(_found(cli, name), f"onward {name}")


def _exit_codes() -> Iterator[str]:
    yield from ("", "## Exit codes", "")
    yield "Where a command gives them a narrower meaning, its own section says so."
    yield from ("", "| Code | Meaning |", "|---|---|")
    for code, says in EXIT_CODES.items():
        yield f"| {code} | {says} |"


def _common() -> Iterator[str]:
    yield from ("", "## Options of every command", "")
    yield "`--json` only where a command prints data; its section says so, and [json.md](json.md) has the fields."
    yield ""
    options = [_option_of(decorate) for decorate in COMMON_OPTIONS]
    yield from _option_table(options, click.Context(click.Command("onward")))


def _option_of(decorate: object) -> click.Option:
    """The option that a decorator of click gives a command."""

    def command() -> None: ...

    assert callable(decorate)
    [option] = decorate(command).__click_params__
    assert isinstance(option, click.Option)
    return option


def _command(command: click.Command, name: str) -> Iterator[str]:
    ctx = click.Context(command, info_name=name, max_content_width=200)
    yield from ("", f"{'##' if name.count(' ') == 1 else '###'} {name}", "")
    yield from ("```", f"{name} {' '.join(command.collect_usage_pieces(ctx))}", "```")
    yield ""
    yield from _help(command)
    yield from _options(command, ctx)
    if isinstance(command, click.Group):
        for each in command.list_commands(ctx):
            yield from _command(_found(command, each, ctx), f"{name} {each}")


def _found(group: click.Group, name: str, ctx: click.Context | None = None) -> click.Command:
    command = group.get_command(ctx or click.Context(group), name)
    assert command is not None, name
    return command


def _help(command: click.Command) -> Iterator[str]:
    """The help text, each paragraph on one line; what click is told not to rewrap stays as it is."""
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        if paragraph.startswith("\b"):
            yield from ("```", *paragraph.split("\n")[1:], "```", "")
        else:
            yield from (_escaped(" ".join(paragraph.split("\n"))), "")


def _options(command: click.Command, ctx: click.Context) -> Iterator[str]:
    common = {_option_of(decorate).name for decorate in COMMON_OPTIONS}
    shown = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    own = [one for one in shown if one.name not in common]
    if own:
        yield from _option_table(own, ctx)
    if any(one.name == "json" for one in shown):
        yield from ([""] if own else []) + ["Prints data for programs with `--json`."]


def _option_table(options: list[click.Option], ctx: click.Context) -> Iterator[str]:
    yield "| Option | Meaning |"
    yield "|---|---|"
    for option in options:
        yield f"| {_flags(option, ctx)} | {_cell(_meaning(option))} |"


def _flags(option: click.Option, ctx: click.Context) -> str:
    flags = sorted((*option.opts, *option.secondary_opts), key=lambda flag: flag.startswith("--"))
    value = "" if option.is_flag or option.count else f" {_metavar(option, ctx)}"
    return _cell(", ".join(f"`{flag}{value if flag == flags[-1] else ''}`" for flag in flags))


def _metavar(option: click.Option, ctx: click.Context) -> str:
    if option.metavar is not None:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(str(choice) for choice in option.type.choices)
    return "N" if isinstance(option.type, click.IntRange) else option.make_metavar(ctx)


def _meaning(option: click.Option) -> str:
    words = [option.help or ""]
    if option.multiple and "given again" not in words[0]:
        words.append("May be given several times.")
    if option.required:
        words.append("Required.")
    if option.envvar is not None and str(option.envvar) not in (option.help or ""):
        words.append(f"Environment: `{option.envvar}`.")
    if option.show_default and isinstance(option.default, str | int | float) and not option.is_flag:
        words.append(f"Default: `{option.default}`.")
    return " ".join(words)


def _escaped(text: str) -> str:
    """Names in angle brackets are no HTML."""
    return re.sub(r"<([a-z])", r"\\<\1", text)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    os.environ.pop("COLUMNS", None)
    sys.stdout.write(reference())
