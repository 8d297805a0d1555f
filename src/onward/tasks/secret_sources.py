"""Where a secret comes from (an environment variable, a file, a command) → its value, or why there is none.

No message here holds any part of a value, nor of what a command says.
"""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Mapping

from onward.model.nodes import Secret
from onward.tasks.failures import Failure
from onward.tasks.insertion import MOST_BYTES_IN_PLACE

COMMAND_LIMIT_S = 60.0


def read_secret(source: Secret, *, home: str, environment: Mapping[str, str]) -> str:
    """The value. Raises `Failure`."""
    if source.env is not None:
        value = _from_environment(source, source.env, environment)
    elif source.file is not None:
        value = _as_text(source, _from_file(source, os.path.join(home, os.path.expanduser(source.file))))
    else:
        value = _as_text(source, _from_command(source, home, environment))
    return _checked(source, value)


def _from_environment(source: Secret, variable: str, environment: Mapping[str, str]) -> str:
    if variable not in environment:
        raise Failure(
            "secret-missing",
            f"the secret `{source.name}` is not there: the environment variable {variable} is not set",
            help=f"set {variable} where onward is started, for instance with `export {variable}=…`",
        )
    return environment[variable]


def _from_file(source: Secret, path: str) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise _unreadable(source, path, error.strerror) from None
    try:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise _unreadable(source, path, "it is a folder")
        parts, size = [], 0
        while size <= MOST_BYTES_IN_PLACE and (part := os.read(file, MOST_BYTES_IN_PLACE + 1)):
            parts.append(part)
            size += len(part)
    except OSError as error:
        raise _unreadable(source, path, error.strerror) from None
    finally:
        os.close(file)
    return b"".join(parts)


def _unreadable(source: Secret, path: str, why: str | None) -> Failure:
    return Failure(
        "secret-missing",
        f"the secret `{source.name}` is not there: the file {path} cannot be read: {why}",
        help=f"write the secret into {path}, or name another file under `secrets:`",
    )


def _from_command(source: Secret, home: str, environment: Mapping[str, str]) -> bytes:
    """What the program prints. It has no terminal and a time limit; what it says besides is not kept."""
    try:
        process = subprocess.Popen(
            source.command,
            cwd=home,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its arguments cannot be used"
        raise _no_answer(source, f"cannot be started: {why}") from None
    try:
        printed, _ = process.communicate(timeout=COMMAND_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise _no_answer(source, f"did not end within {COMMAND_LIMIT_S:g} s") from None
    finally:
        _end(process)
    if process.returncode:
        raise _no_answer(source, _ending(process.returncode))
    return printed


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _ending(code: int) -> str:
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _no_answer(source: Secret, what: str) -> Failure:
    program = source.command[0] if source.command else ""
    return Failure(
        "secret-missing",
        f"the secret `{source.name}` is not there: the command `{program}` that prints it {what}",
        help=f"run the command of `{source.name}` by hand to see what it says; here it has no terminal",
    )


def _as_text(source: Secret, data: bytes) -> str:
    """Without the line ends behind it, as a shell's `$(…)` takes it."""
    try:
        return data.decode().rstrip("\r\n")
    except UnicodeDecodeError:
        raise _no_text(source) from None


def _checked(source: Secret, value: str) -> str:
    """A secret has to be something that an environment takes."""
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise _no_text(source) from None
    if "\0" in value:
        raise _no_text(source)
    if not value.strip():
        raise Failure(
            "secret-empty",
            f"the secret `{source.name}` is empty: {_origin(source)} holds nothing",
            help=f"give `{source.name}` a value, or take it out of `secrets:`",
        )
    if size > MOST_BYTES_IN_PLACE:
        raise Failure(
            "too-big",
            f"the secret `{source.name}` has more than the {MOST_BYTES_IN_PLACE:,} bytes that an environment takes",
            help="let the task read it from a file itself",
        )
    return value


def _no_text(source: Secret) -> Failure:
    return Failure(
        "not-text",
        f"the secret `{source.name}` is no text: {_origin(source)} holds bytes that no environment variable can hold",
        help="keep it in Base64, and let the task decode it",
    )


def _origin(source: Secret) -> str:
    if source.env is not None:
        return f"the environment variable {source.env}"
    if source.file is not None:
        return f"the file {source.file}"
    return f"what `{source.command[0]}` prints"
