"""A command, its environment and its descriptors → a process of its own, or the reason why there is none."""

from __future__ import annotations

import errno
import os
import resource

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Sequence

_OF_THE_C_LIBRARY = (32, 33)
_DESCRIPTOR_LIMITS = resource.getrlimit(resource.RLIMIT_NOFILE)


class CannotStart(Exception):
    """The program of a task cannot be started; the message is for the person who wrote the task."""


def spawn(argv: Sequence[str], env: dict[str, str], cwd: str, descriptors: Sequence[int]) -> int:
    """Starts a program in a session of its own, with default signals, and these descriptors as its 0, 1, 2…

    Raises `CannotStart`.
    """
    try:
        os.chdir(cwd)
    except OSError as error:
        raise CannotStart(f"its working folder {cwd} cannot be entered: {error.strerror}") from None
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, _DESCRIPTOR_LIMITS)
        return os.posix_spawn(
            _program(argv, env),
            tuple(argv),
            env,
            file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate(descriptors)],
            setsid=True,
            setsigmask=(),
            setsigdef=_IGNORED_SIGNALS,
        )
    except (OSError, ValueError) as error:
        raise CannotStart(_why_not(argv, error)) from None
    finally:
        allow_many_descriptors()
        os.chdir("/")


def _ignored_signals() -> list[int]:
    """What Python ignores, and what whoever started the driver (`nohup`, a script with `&`) made it ignore."""
    with open("/proc/self/status", "rb") as file:
        mask = next(int(line.split()[1], 16) for line in file if line.startswith(b"SigIgn"))
    return [number for number in range(1, 65) if mask >> (number - 1) & 1 and number not in _OF_THE_C_LIBRARY]


_IGNORED_SIGNALS = _ignored_signals()


def allow_many_descriptors() -> None:
    """The keeper needs several for every task; its tasks keep the limit that the driver had."""
    hard = _DESCRIPTOR_LIMITS[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _program(argv: Sequence[str], env: dict[str, str]) -> str:
    """The file to execute, looked for in the PATH of the task, which need not be ours."""
    if not argv or not argv[0]:
        raise CannotStart("there is no program to start: its command is empty")
    if "/" in argv[0]:
        return argv[0]
    for folder in env.get("PATH", os.defpath).split(":"):
        path = f"{folder or '.'}/{argv[0]}"
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise CannotStart(f"the program `{argv[0]}` is not found in PATH")


def _why_not(argv: Sequence[str], error: OSError | ValueError) -> str:
    if isinstance(error, ValueError):
        return f"`{argv[0]}` cannot be started with these arguments and this environment: {error}"
    if error.errno == errno.E2BIG:
        return f"`{argv[0]}` cannot be started: its arguments and environment are larger than the system allows"
    if error.errno == errno.ENOENT and os.path.exists(argv[0]):
        return f"`{argv[0]}` cannot be started: the interpreter that its first line names does not exist"
    return f"`{argv[0]}` cannot be started: {error.strerror}"


def open_input(path: str | None) -> int:
    try:
        return os.open(path or os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise CannotStart(f"its standard input {path} cannot be read: {error.strerror}") from None
