"""Command line → exit code: finds the command, runs it, and turns every error into words for a person.

To add a command: a line in `COMMANDS`, and `cli/<name>.py` with a click command named `command` that returns
an exit code or nothing. Its file is imported only when that command is called, so that `--help` stays quick.
"""

import errno
import os
import sys
from typing import TYPE_CHECKING

import click

from onward import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: dict[str, tuple[str, str]] = {
    # name: (module, what it does in one line); in the order in which help lists them
    "run": ("onward.cli.run", "Start a run of a workflow file"),
    "resume": ("onward.cli.resume", "Go on with a run from where it stopped"),
    "pause": ("onward.cli.pause", "Ask a run to stop at a safe point, and wait until it has"),
    "cancel": ("onward.cli.cancel", "End a run; its `finally` steps still run"),
    "approve": ("onward.cli.approve", "Answer an open question"),
    "reject": ("onward.cli.reject", "Answer an open question with no"),
    "status": ("onward.cli.status", "What is done, running, waiting and left; what to do next"),
    "runs": ("onward.cli.runs", "The runs of the store, newest first"),
    "logs": ("onward.cli.logs", "What tasks wrote"),
    "show": ("onward.cli.show", "The record of a node: attempts, results, artifacts, why it ran or was kept"),
    "report": ("onward.cli.report", "One HTML page of a run: graph, timeline, tasks, output, decisions"),
    "snapshot": ("onward.cli.snapshot", "Snapshots of a run: take, look, go back to one, carry a run to another host"),
    "rewind": ("onward.cli.rewind", "Go back in a run: a node and what follows it to be done again"),
    "fork": ("onward.cli.fork", "A new run that keeps everything before a node"),
    "verify": ("onward.cli.verify", "Whether a run on disk is what was recorded"),
    "clean": ("onward.cli.clean", "Remove runs that have ended"),
    "check": ("onward.cli.check", "All errors and warnings of workflow files; nothing is run"),
    "explain": ("onward.cli.explain", "How each value is found, and what a resume would do"),
    "graph": ("onward.cli.graph", "Draw a workflow file, or a run as it stands"),
    "init": ("onward.cli.init", "Write a starter workflow"),
    "doctor": ("onward.cli.doctor", "Whether this machine and its store are fit for runs"),
    "probe": ("onward.cli.probe", "Whether the drivers here advance, and the store can be used: for Kubernetes"),
    "schema": ("onward.cli.schema", "The JSON Schema of workflow files, for editors"),
    "worker": ("onward.cli.worker", "Do the work of runs that Temporal drives"),
    "completion": ("onward.cli.completion", "The script that completes commands in a shell"),
}

EXIT_USAGE = 2
EXIT_STATE = 4
EXIT_BUG = 70
EXIT_INTERRUPTED = 130
EXIT_NOBODY_READS = 141

_WRITE_FAILURES = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG}

COMPLETION = "_ONWARD_COMPLETE"


class LazyGroup(click.Group):
    """Lists commands from `COMMANDS` and imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            raise click.UsageError(_no_such_command(name), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if COMMANDS:
            with formatter.section("Commands"):
                formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name, help=words) for name, (_, words) in COMMANDS.items()]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [item for item in found if item.value.startswith(incomplete)] + options


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onward", message="%(prog)s %(version)s")
def cli() -> None:
    """Start long work from a YAML file, and never lose what it has done."""


def main(args: list[str] | None = None) -> int:
    """Run one command line (by default this process's); its exit code."""
    code = _main(args)
    if args is None and "temporalio.bridge" in sys.modules:
        _leave(code)
    return code


def _main(args: list[str] | None) -> int:
    """The only place that makes exit codes of errors."""
    if args is None and os.getpid() == 1:
        from onward.tasks.first_process import be_first_process

        be_first_process()
    words = sys.argv[1:] if args is None else args
    _never_fail_to_print()
    try:
        code = _complete() if COMPLETION in os.environ else _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()  # a failure is to be told now: at exit, Python would tell it with a traceback
    except Exception as error:
        return _explain(error, words)
    except KeyboardInterrupt:
        return _say("\nonward: interrupted", EXIT_INTERRUPTED)
    return code


def _leave(code: int) -> None:
    """At once: threads of Temporal's library that still end may crash an interpreter that takes itself apart."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            continue  # nobody reads it any more
    os._exit(code)


def _run(words: list[str]) -> int:
    try:
        with cli.make_context("onward", list(words)) as ctx:
            code = cli.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    return code if isinstance(code, int) else 0


def _complete() -> int:
    """Answer the shell, which asks through the environment what could come next."""
    from click.shell_completion import shell_complete

    return shell_complete(cli, {}, "onward", COMPLETION, os.environ[COMPLETION])


def _explain(error: Exception, words: list[str]) -> int:
    from onward.errors import OnwardError, Problems

    match error:
        case Problems():
            return _say(_harmless(str(error)), error.exit_code)
        case OnwardError():
            return _say(_harmless(f"error[{error.code}]: {error}"), error.exit_code)
        case click.ClickException():
            error.show()
            return EXIT_USAGE
        case click.Abort():
            return _say("onward: interrupted", EXIT_INTERRUPTED)
        case BrokenPipeError():
            return _stop_printing(EXIT_NOBODY_READS)
        case OSError() if error.errno in _WRITE_FAILURES:
            where = f" {error.filename}" if error.filename else ""
            return _say(f"onward: cannot write{where}: {error.strerror}", _stop_printing(EXIT_STATE))
        case _:
            from onward.cli.bug import write_report

            return _say(write_report(error, words), EXIT_BUG)


def _harmless(text: str) -> str:
    """Messages quote files and names of others, which must not act on the terminal."""
    from onward.views.words import block

    return block(text)


def _say(text: str, code: int) -> int:
    try:
        click.echo(text, err=True)
    except OSError:
        return code  # nobody hears it; the exit code still tells
    return code


def _stop_printing(code: int) -> int:
    """Let what is still in the buffer go nowhere, so that the end of Python has nothing to complain about."""
    if sys.stdout is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return code


def _never_fail_to_print() -> None:
    """Show what the terminal's encoding lacks (or a file name that is no text) escaped instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _no_such_command(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, COMMANDS, n=1)
    return f"no command `{name}`" + (f"; did you mean `{near[0]}`?" if near else "")
