"""The output of an agent program, line by line → what it has said so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field

MOST_LINE_BYTES = 64 << 20
_MOST_TEXTS = 20
_MOST_CHARACTERS = 4000
_AT_ONCE = 4 << 20

_decode = msgspec.json.Decoder().decode


class Told(Struct, frozen=True, kw_only=True):
    """A limit that the program named in a field of its own: until a moment, for so many seconds, or nobody knows."""

    at: float | None = None
    in_s: float | None = None


class Reading(Struct, kw_only=True):
    """What is known so far.

    `done`: it said that it had ended well. `failed`: it said that it had failed, and why. `text` is its last message.
    `problems` are errors that need not be the end, `noise` lines that are no events. `waits`: the last thing that it
    said is that it tries again later; `waits_s` for how long, where it said so. `goes_round`: it will never end so.
    """

    session: str | None = None
    other_session: str | None = None
    text: str | None = None
    done: bool = False
    failed: str | None = None
    usage: dict[str, float] = field(default_factory=dict)
    limit: Told | None = None
    waits: bool = False
    waits_s: float | None = None
    problems: list[str] = field(default_factory=list)
    noise: list[str] = field(default_factory=list)
    goes_round: bool = False

    def names_session(self, session: object) -> None:
        """Its session; a second, different one is remembered beside the first."""
        if not isinstance(session, str) or not session:
            return
        if self.session is None:
            self.session = session
        elif session != self.session:
            self.other_session = session

    def has_problem(self, text: object) -> None:
        """Something went wrong that need not be the end."""
        _add(self.problems, text)

    def ends_well(self) -> None:
        """It says that it has done what it was told."""
        self.done, self.failed = True, None

    def ends_badly(self, text: object) -> None:
        """It says that it has failed."""
        self.done = False
        self.failed = text if isinstance(text, str) and text.strip() else "it failed without saying why"
        _add(self.problems, self.failed)

    def tries_again(self, seconds: float | None = None) -> None:
        """It waits, and tries again by itself."""
        self.waits, self.waits_s = True, seconds

    def counts(self, name: str, number: object) -> None:
        """A counter has this value."""
        if isinstance(number, int | float) and not isinstance(number, bool):
            self.usage[name] = float(number)

    def adds(self, name: str, number: object) -> None:
        """A counter grows by this."""
        if isinstance(number, int | float) and not isinstance(number, bool):
            self.usage[name] = self.usage.get(name, 0.0) + float(number)


def _add(texts: list[str], text: object) -> None:
    if isinstance(text, str) and text.strip():
        texts.append(text.strip()[:_MOST_CHARACTERS])
        del texts[:-_MOST_TEXTS]


Dialect = Callable[[Reading, dict[str, Any]], None]


class StreamReader:
    """Reads a file that grows, as far as its last whole line."""

    def __init__(self, dialect: Dialect, path: str) -> None:
        self.reading = Reading()
        self._dialect = dialect
        self._path = path
        self._at = 0

    def advance(self, most: int = _AT_ONCE) -> Reading:
        """Take in the whole lines that came since; about `most` bytes of them."""
        try:
            file = open(self._path, "rb")  # noqa: SIM115 - closed below
        except FileNotFoundError:  # nothing was said yet
            return self.reading
        with file:
            file.seek(self._at)
            end = self._at + most
            while self._at < end:
                line = file.readline()
                if not line.endswith(b"\n"):
                    break
                self._at += len(line)
                take_line(self._dialect, self.reading, line)
        return self.reading


def read_stream(dialect: Dialect, path: str) -> Reading:
    """Everything that a program which has ended said; its last line may lack its end."""
    reading = Reading()
    try:
        with open(path, "rb") as file:
            for line in file:
                take_line(dialect, reading, line)
    except FileNotFoundError:  # it said nothing
        pass
    return reading


def take_line(dialect: Dialect, reading: Reading, line: bytes) -> None:
    """One line: an event, or one of the warnings that all of these programs print between them."""
    event = _event(line)
    if event is None:
        _add(reading.noise, line[:_MOST_CHARACTERS].decode("utf-8", "replace"))
        return
    reading.waits, reading.waits_s = False, None
    dialect(reading, event)


def _event(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{") or len(line) > MOST_LINE_BYTES:
        return None
    try:
        event = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return event if isinstance(event, dict) else None
