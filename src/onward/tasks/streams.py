"""What a task writes to a pipe → a file of its attempt.

A `Sink` takes what a pipe holds; `FileSink` moves it unchanged inside the kernel, so that output of any size costs the
keeper no memory. A sink that masks secrets (`masked_output`) has the same three methods and reads what it takes.
"""

from __future__ import annotations

import fcntl
import os
import select
import sys
import termios

from onward.tasks.keeper_loop import HUNG_UP

TYPE_CHECKING = False  # importing `typing` would double the start of a keeper
if TYPE_CHECKING:
    from typing import Protocol

    from onward.tasks.keeper_loop import Loop

    class Owner(Protocol):
        """The task whose stream it is."""

        def output_comes(self) -> None:
            """Called before output is taken."""

        def output_is_stuck(self, error: OSError) -> None: ...

        def output_ends(self) -> None: ...

    class Sink(Protocol):
        """Where the bytes of a stream go."""

        size: int  # bytes taken so far

        def take(self, pipe: int, most: int) -> int:
            """Takes what is there, up to `most` bytes, without waiting; how much, 0 at the end of the pipe.

            Raises `BlockingIOError` when nothing is there, and another `OSError` when the bytes cannot be kept: they
            are then still in the pipe.
            """
            ...

        def finish(self) -> None:
            """Everything that belongs to the attempt has been taken: writes what was held back."""
            ...

        def close(self) -> None: ...


MOST_BYTES = 1 << 20
_NOT_WAITING = 2  # SPLICE_F_NONBLOCK: the task's end of the pipe stays an ordinary, waiting one


class FileSink:
    """Appends to a file that is made with the first byte: most tasks are silent on one stream or both.

    `make_folder`: the folder may not be there yet.
    """

    __slots__ = ("_file", "_folder", "_make_folder", "_name", "size")

    def __init__(self, folder: str, name: str, *, make_folder: bool = False) -> None:
        self.size = 0
        self._folder = folder
        self._name = name
        self._make_folder = make_folder
        self._file = -1

    def take(self, pipe: int, most: int) -> int:
        if self._file < 0:
            self._file = self._open()
        moved = os.splice(pipe, self._file, most, flags=_NOT_WAITING)
        self.size += moved
        return moved

    def finish(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> int:
        path = f"{self._folder}/{self._name}"
        if self._make_folder:
            os.makedirs(self._folder, 0o700, exist_ok=True)
        try:
            # Not O_APPEND, which splice refuses; nobody else writes here.
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:
            # Somebody removed the run. Its task must not block on a pipe that nobody reads.
            return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self.size = os.lseek(file, 0, os.SEEK_END)
        return file


def _hung_up(pipe: int) -> bool:
    """Whether nobody can write to it any more. What is in it then stays there, and is the last."""
    asked = select.poll()
    asked.register(pipe, 0)
    return bool(asked.poll(0))


def waiting_bytes(pipe: int) -> int:
    """How much is in a pipe, asked at either end."""
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"), sys.byteorder)


class Stream:
    """One output stream of a task: its pipe, and the sink that takes what comes out."""

    __slots__ = ("_loop", "_owner", "_pipe", "open", "sink")

    def __init__(self, loop: Loop, owner: Owner, pipe: int, sink: Sink) -> None:
        self.open = True
        self.sink = sink
        self._loop = loop
        self._owner = owner
        self._pipe = pipe
        loop.watch(pipe, self._ready)

    def drain(self) -> None:
        """Takes what the pipe holds at this moment, and no more: somebody else may never stop writing to it.

        Raises `OSError` when it cannot be kept.
        """
        if not self.open:
            return
        at_its_end = _hung_up(self._pipe)  # asked first: what is in the pipe then is all there will be
        left = waiting_bytes(self._pipe)
        if left:
            self._owner.output_comes()
        while left > 0:
            left -= self.sink.take(self._pipe, left)
        self.sink.finish()
        if at_its_end:
            self.close()

    def resume(self) -> None:
        """Tries again after `output_is_stuck`."""
        if self.open:
            self._loop.unwatch(self._pipe)
            self._loop.watch(self._pipe, self._ready)

    def close(self) -> None:
        if self.open:
            self.open = False
            self._loop.release(self._pipe)
            self.sink.close()
            self._owner.output_ends()

    def _ready(self, events: int) -> None:
        try:
            if events & HUNG_UP:
                self.drain()
            else:
                self._owner.output_comes()
                self.sink.take(self._pipe, MOST_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            # What cannot be kept stays in the pipe, and the task waits: better than losing its output.
            self._loop.unwatch(self._pipe)
            self._owner.output_is_stuck(error)
