"""A command that a condition, a loop or a judge runs -> a request for the keeper, and what it printed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from msgspec import Struct

from onward import clock, files
from onward.model.conditions import Command
from onward.state.instance import Instance
from onward.tasks import endings
from onward.tasks.attempt_folder import Exit
from onward.tasks.environment import About, key_of, marker_of, script_of
from onward.tasks.failures import Failure
from onward.tasks.keeper_link import KILL_AFTER_S, ProgramRequest
from onward.tasks.out import out_folder
from onward.tasks.output_files import tail
from onward.tasks.prepare import argv_filled
from onward.tasks.scripts import argv_of_script
from onward.tasks.surroundings import Surroundings

RunCommand = Callable[[ProgramRequest], Awaitable[Exit]]
"""starts the program under the keeper (whose folder it makes) and waits for its end"""

TIME_LIMIT_S = 60.0
"""of a command whose node has no `timeout`"""

_NOT_FOUND = 127
_NOT_A_PROGRAM = 126
_MOST_SHOWN = 300


class Stopped(Exception):
    """A command was ended because the run is paused or cancelled: the question has no answer yet."""


class Ran(Struct, frozen=True, kw_only=True):
    """A command that ended: `folder` holds what it printed."""

    exit: Exit
    folder: str

    @property
    def ok(self) -> bool:
        """Whether it ended with exit code 0."""
        return self.exit.ok

    def printed(self) -> str:
        """The end of its error output, else of its output, for people."""
        return (tail(f"{self.folder}/err") if self.exit.err else "") or (
            tail(f"{self.folder}/out") if self.exit.out else ""
        )

    def all_printed(self) -> str:
        """The end of both of its outputs."""
        both = (tail(f"{self.folder}/{name}") for name in ("out", "err"))
        return "\n".join(text for text in both if text)

    def in_words(self) -> str:
        """`exit code 1: no such test`."""
        said = self.printed().strip().rpartition("\n")[2][:_MOST_SHOWN]
        how = endings.in_words(self.exit) if self.exit.code != 0 else "exit code 0"
        return f"{how}: {said}" if said else how


async def run_command(around: Surroundings, user: Instance, command: Command, purpose: str, run: RunCommand) -> Ran:
    """Run it in the folder and environment of `user`. Raises `TaskError` when it cannot be run, `Stopped`."""
    folder = folder_for(around, user, purpose)
    made: dict[str, bytes] = {}
    if command.script is None:
        argv = argv_filled(around, user, command.argv)
    else:
        argv, script_file = argv_of_script(command.shell, command.script, f"{folder}/script")
        if script_file is not None:
            made["script"] = script_file
    return await run_program(around, user, purpose, folder, argv, run, made=made, script=script_of(command))


async def run_program(
    around: Surroundings,
    user: Instance,
    purpose: str,
    folder: str,
    argv: tuple[str, ...],
    run: RunCommand,
    *,
    made: dict[str, bytes] | None = None,
    stdin: str | None = None,
    script: str | None = None,
    more_env: Mapping[str, str] | None = None,
) -> Ran:
    """Run a program on the side of `user`, in `folder`; `made` are files that it needs there."""
    node = user.node
    for name, data in (made or {}).items():
        files.make_folder(folder)
        files.write_atomic(f"{folder}/{name}", data, durable=False)
    marker = marker_of(around.context.folder, user.path, folder.rpartition("/")[2])
    env = around.environments.of(user, _about(around, user, folder, marker), script)
    request = ProgramRequest(
        id=marker,
        folder=Path(folder),
        argv=argv,
        env={**env, **more_env} if more_env else env,
        cwd=Path(around.directories.of(user)),
        marker=marker,
        stdin=None if stdin is None else Path(folder, stdin),
        timeout_s=TIME_LIMIT_S if node is None or node.timeout_s is None else node.timeout_s,
        kill_after_s=KILL_AFTER_S,
        masks=around.environments.masks(user),
    )
    exit = await run(request)
    _check(exit, purpose, request.timeout_s)
    return Ran(exit=exit, folder=folder)


def folder_for(around: Surroundings, user: Instance, purpose: str) -> str:
    """A folder of its own, whose name no node and no attempt has."""
    return f"{around.context.node_folder(user.path)}/~{purpose}-{clock.token_hex(8)}"


def _about(around: Surroundings, user: Instance, folder: str, marker: str) -> About:
    """A command sees the `$ONWARD_OUT` of the attempt that it is about."""
    context, attempt = around.context, user.attempt
    out = folder
    if attempt and user.node is not None:
        out = out_folder(user.node, context.attempt_folder(user.path, attempt))
    return About(
        path=user.path,
        attempt=max(1, attempt),
        key=key_of(context.run, user),
        marker=marker,
        out=out,
        feedback=os.devnull,
    )


def _check(exit: Exit, purpose: str, limit_s: float | None) -> None:
    if exit.ended_by in ("timeout", "idle"):
        raise Failure("time-limit", f"the command of `{purpose}` did not end within {endings.duration(limit_s)}")
    if exit.ended_by is not None:
        raise Stopped
    if exit.code is None and exit.signal is None:
        raise Failure("cannot-start", exit.error or f"the command of `{purpose}` cannot be started")


def check_was_found(ran: Ran) -> None:
    """Raise `TaskError` when the shell found no such program: that is no answer to a question."""
    if ran.exit.code in (_NOT_FOUND, _NOT_A_PROGRAM):
        raise Failure("cannot-start", f"the command cannot be run: {ran.in_words()}")
