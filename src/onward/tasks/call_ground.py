"""What a call stands on in its worker: variables, modules, output; and what it uses up."""

from __future__ import annotations

import fcntl
import os
import resource
import sys
import time
from importlib import import_module, invalidate_caches

from onward.tasks.streams import waiting_bytes

TYPE_CHECKING = False  # importing `typing` would lengthen the start of a worker
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TextIO

# Code that stands between a worker and what a call runs: of no interest in its traceback.
FILES = (__file__, import_module.__code__.co_filename, "<frozen importlib._bootstrap>")

_AS_BYTES = (sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())


class Environment:
    """The variables of this process: each call finds those of the start, but for what its request names."""

    def __init__(self) -> None:
        self._now: dict[bytes, bytes] = vars(os.environ)["_data"]  # what os.environ keeps, which is quick to compare
        self._first: dict[bytes, bytes] = self._now.copy()
        self._left = self._first  # as the last call found them, and should have left them
        self._named: set[bytes] = set()

    def become(self, changed: dict[str, str], unset: Sequence[str]) -> None:
        zone = self._now.get(b"TZ")
        wanted: dict[bytes, bytes | None] = {name.encode(*_AS_BYTES): None for name in unset}
        for name_text, value_text in changed.items():
            wanted[name_text.encode(*_AS_BYTES)] = value_text.encode(*_AS_BYTES)
        unlike_the_start = self._named if self._now == self._left else self._now.keys() | self._first.keys()
        for name in unlike_the_start - wanted.keys():
            self._set(name, self._first.get(name))
        for name, value in wanted.items():
            self._set(name, value)
        self._named = set(wanted)
        self._left = self._now.copy()
        if self._now.get(b"TZ") != zone:
            time.tzset()

    def at_the_start(self) -> dict[bytes, bytes]:
        return self._first

    def _set(self, name: bytes, value: bytes | None) -> None:
        if self._now.get(name) == value:
            return
        if value is None:
            os.unsetenv(name)
            del self._now[name]
        else:
            os.putenv(name, value)
            self._now[name] = value


class Code:
    """The user's modules: found in the workflow's folder first, and noticed when they are edited."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._modules = 0
        self._versions: dict[str, tuple[int, int]] = {}

    def find(self, target: str) -> Callable[..., Any]:
        """What `package.module:function` names."""
        name, _, function = target.partition(":")
        if not name or not function:
            raise ValueError(f"`{target}` names no function: it takes the form `package.module:function`")
        if sys.path[:1] != [self._path]:
            sys.path.insert(0, self._path)
        if name not in sys.modules:
            invalidate_caches()  # an earlier task may have just written it
        found: Any = sys.modules.get(name) or import_module(name)
        self._note()
        for part in function.split("."):
            found = getattr(found, part)
        if not callable(found):
            raise TypeError(f"`{target}` is no function but of type {type(found).__name__}")
        return found  # type: ignore[no-any-return]

    def changed(self) -> bool:
        return any(_version(file) != version for file, version in self._versions.items())

    def _note(self) -> None:
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        for module in list(sys.modules.values()):
            file = getattr(module, "__dict__", {}).get("__file__")
            if isinstance(file, str) and file.startswith(f"{self._path}/") and file not in self._versions:
                self._versions[file] = _version(file)


class Output:
    """Descriptors 1 and 2, and the text streams over them, which a call finds as they were at the start."""

    def __init__(self) -> None:
        self._pipes = {number: fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in (1, 2)}
        self._identities = {number: _identity(number) for number in (1, 2)}
        self._out, self._err = _by_lines(1, sys.stdout), _by_lines(2, sys.stderr)
        sys.stdout, sys.stderr = self._out, self._err

    def flush(self) -> None:
        for stream in (self._out, self._err):
            _flush(stream)
        for stream, ours in ((sys.stdout, self._out), (sys.stderr, self._err)):
            if stream is not ours:
                _flush(stream)

    def restore(self) -> None:
        for number, identity in self._identities.items():
            if _identity(number) != identity:
                os.dup2(self._pipes[number], number)
        if self._out.closed:
            self._out = _by_lines(1, self._out)
        if self._err.closed:
            self._err = _by_lines(2, self._err)
        sys.stdout, sys.stderr = self._out, self._err

    def waits(self) -> bool:
        """Whether something is printed that the keeper has not taken yet."""
        out, err = self._pipes[1], self._pipes[2]
        return waiting_bytes(out) > 0 or waiting_bytes(err) > 0


class Usage:
    """What this process and its ended children use, call by call; the little between calls counts for the next."""

    __slots__ = ("_system_s", "_user_s")

    def __init__(self) -> None:
        self._user_s = self._system_s = 0.0
        self.since_the_last()

    def since_the_last(self) -> tuple[float, float, int]:
        """Seconds in user mode and in the kernel since the last time, and the most memory there ever was, in KiB."""
        own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
        user_s, system_s = own.ru_utime + children.ru_utime, own.ru_stime + children.ru_stime
        since = user_s - self._user_s, system_s - self._system_s, own.ru_maxrss
        self._user_s, self._system_s = user_s, system_s
        return since


def _version(file: str) -> tuple[int, int]:
    try:
        facts = os.stat(file)
    except OSError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


def _identity(descriptor: int) -> tuple[int, int] | None:
    try:
        facts = os.fstat(descriptor)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _flush(stream: TextIO) -> None:
    try:
        stream.flush()
    except (AttributeError, OSError, ValueError):
        return  # closed, or something of the call's own that is no stream


def _by_lines(descriptor: int, like: TextIO) -> TextIO:
    """So that logs are live and a crash loses none; closing it leaves the descriptor."""
    return open(descriptor, "w", buffering=1, encoding=like.encoding, errors=like.errors, closefd=False)
