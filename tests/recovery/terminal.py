"""A command on a terminal of its own, as a person has it: what it shows, what is typed, how it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

WITHIN_S = 40.0
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07]*\x07|[()][0-9A-Za-z]|[=>78])")


class Terminal:
    """`onward` with these words, in `folder`, on a terminal of 110 columns without colours."""

    def __init__(self, folder: Path, *words: str, environment: dict[str, str]) -> None:
        self.text = self.raw = ""
        self._shown = 0
        self._ended: int | None = None
        self.pid, self._end = pty.fork()
        if self.pid == 0:  # the child becomes the command
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "onward", *words], environment | {"TERM": "dumb"})
        fcntl.ioctl(self._end, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 110, 0, 0))

    def wait_for(self, words: str) -> None:
        """Read until these words are on the screen (after what was waited for before)."""
        end = time.monotonic() + WITHIN_S
        while (at := self.text.find(words, self._shown)) < 0:
            assert time.monotonic() < end, f"waited in vain for {words!r}:\n{self.text}"
            assert self._read(0.5) or words in self.text, f"ended without {words!r}:\n{self.text}"
        self._shown = at + len(words)

    def type(self, words: str) -> None:
        """Type a line."""
        os.write(self._end, words.encode() + b"\n")

    def press(self, key: bytes) -> None:
        """Ctrl-C is b"\\x03", the end of input b"\\x04"."""
        os.write(self._end, key)

    def finish(self) -> int:
        """Read to the end; the exit code."""
        end = time.monotonic() + WITHIN_S
        while self._read(0.5):
            assert time.monotonic() < end, f"it does not end:\n{self.text}"
        return self._code()

    def close(self) -> None:
        """End it whatever happened."""
        if self._ended is None:
            os.kill(self.pid, signal.SIGKILL)
            self._code()
        os.close(self._end)

    def _code(self) -> int:
        if self._ended is None:
            self._ended = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._ended

    def _read(self, seconds: float) -> bool:
        """Take in what is there; False at the end."""
        if not select.select([self._end], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._end, 1 << 16)
        except OSError:  # Linux says so when the last process has closed its end
            return False
        self.raw += data.decode("utf-8", "replace")
        self.text += _ESCAPES.sub("", data.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(data)
