"""`onward completion`: the script that lets a shell complete commands, options and file names."""

from __future__ import annotations

import os
import sys

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from onward.cli.common import Common, common_options
from onward.cli.main import COMPLETION, cli
from onward.errors import UsageError

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
PLACES = {
    "bash": "source <(onward completion bash)          in ~/.bashrc",
    "zsh": "source <(onward completion zsh)           in ~/.zshrc, after compinit",
    "fish": "onward completion fish > ~/.config/fish/completions/onward.fish",
}


@click.command("completion")
@click.argument("shell", required=False, metavar="SHELL", type=click.Choice(list(SHELLS)))
@common_options()
def command(common: Common, shell: str | None) -> int:
    """Print the completion script of a shell: bash, zsh or fish; without SHELL of the one in $SHELL.

    \b
    bash  source <(onward completion bash)   in ~/.bashrc
    zsh   source <(onward completion zsh)    in ~/.zshrc, after compinit
    fish  onward completion fish > ~/.config/fish/completions/onward.fish
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        raise UsageError("it is not known which shell is meant", help=f"name one of {', '.join(SHELLS)}")
    # Not the `source` of bash's own class, which starts a bash to ask for its version.
    click.echo(ShellComplete.source(SHELLS[name](cli, {}, "onward", COMPLETION)), nl=False)
    if sys.stdout.isatty():
        common.note(f"to have it always: {PLACES[name]}")
    return 0
