"""Facts of a run → words for people: statuses, durations, ages, and text that cannot harm a terminal.

What a task, an agent or a workflow file says is shown, never obeyed: control characters and escape sequences become
visible or go away, so that no name can move the cursor, no output can set a window's title.
"""

from __future__ import annotations

import datetime as dt
import re

from onward import clock
from onward.model.status import RunStatus, Status
from onward.model.values import Template, Text

STATUS_WORDS: dict[str, str] = {
    Status.PENDING: "not started",
    Status.RUNNING: "running",
    Status.WAITING: "waiting",
    Status.SUCCEEDED: "done",
    Status.FAILED: "failed",
    Status.SKIPPED: "skipped",
    Status.CANCELLED: "cancelled",
    RunStatus.INTERRUPTED: "interrupted",
    RunStatus.PAUSED: "paused",
}

MARKS: dict[str, str] = {
    Status.PENDING: "·",
    Status.RUNNING: "▸",
    Status.WAITING: "?",
    Status.SUCCEEDED: "✓",
    Status.FAILED: "✗",
    Status.SKIPPED: "-",
    Status.CANCELLED: "/",
    RunStatus.INTERRUPTED: "!",
    RunStatus.PAUSED: "=",
}
PLAIN_MARKS: dict[str, str] = MARKS | {
    Status.PENDING: ".",
    Status.RUNNING: ">",
    Status.SUCCEEDED: "+",
    Status.FAILED: "x",
}
"""for terminals that have ASCII alone"""

RUN_WORDS: dict[str, str] = {
    RunStatus.RUNNING: "running",
    RunStatus.WAITING: "waiting",
    RunStatus.PAUSED: "paused",
    RunStatus.INTERRUPTED: "interrupted: it has not ended, and nothing drives it",
    RunStatus.SUCCEEDED: "succeeded",
    RunStatus.FAILED: "failed",
    RunStatus.CANCELLED: "cancelled",
}


# ---------------------------------------------------------------- time


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `3m 05s`, `2h 14m`, `3d 4h`."""
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes:02d}m"
    days, hours = divmod(hours, 24)
    return f"{days}d {hours}h"


_UNITS = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))


def age(seconds: float) -> str:
    """`just now`, `12 seconds ago`, `2 hours ago`; a time that has not come is `2 hours in the future`."""
    for unit, size in _UNITS:
        count = int(abs(seconds) // size)
        if count:
            return f"{amount(count, unit)} {'ago' if seconds > 0 else 'in the future'}"
    return "just now"


def moment(at: dt.datetime) -> str:
    """`2026-02-02 10:00:00 -08:00` on the clock of this machine."""
    local = clock.local(at)
    offset = local.strftime("%z")
    return f"{local:%Y-%m-%d %H:%M:%S} {offset[:3]}:{offset[3:5]}"


def at_time(seconds: float) -> dt.datetime:
    """The moment of seconds since the epoch."""
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


# ---------------------------------------------------------------- numbers


def amount(count: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


_SIZES = (("kB", 10**3), ("MB", 10**6), ("GB", 10**9))


def size(count: int) -> str:
    """`812 bytes`, `1.2 kB`, `34 MB`."""
    if count < 1000:
        return amount(count, "byte")
    unit, factor = next((entry for entry in _SIZES if count < 999.5 * entry[1]), _SIZES[-1])
    value = count / factor
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"


# ---------------------------------------------------------------- what became of it


def status_word(status: str) -> str:
    """How a node stands, in a word or two."""
    return STATUS_WORDS.get(status, status)


def how_it_ended(code: int | None, signal: str | None) -> str:
    """`exit code 3`, `killed by SIGKILL`; empty when there is nothing to tell."""
    if signal:
        return f"killed by {signal}"
    return f"exit code {code}" if code else ""


def why(reason: str, code: int | None = None, signal: str | None = None) -> str:
    """Why a node ended as it did, on one line; exit code and signal are added where the reason lacks them."""
    ended, said = how_it_ended(code, signal), one_line(reason)
    number = signal or (str(code) if code else "")
    if not ended or (said and re.search(rf"\b{number}\b", said)):
        return said
    return f"{said} ({ended})" if said else ended


# ---------------------------------------------------------------- text of others

_SEQUENCE = re.compile(
    "\x1b(?:"
    r"\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor, modes
    "|[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?"  # OSC, DCS, SOS, PM, APC: titles, links, keys
    r"|[ -/]+[0-~]"  # character sets
    "|[0-OQ-WYZ\\\\`-~]"  # single shifts, resets
    ")"
)
_COLOUR = re.compile("\x1b\\[[0-9;:]*m")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
RESET = "\x1b[0m"


def one_line(text: str, limit: int | None = None) -> str:
    """A name, title or reason on one line: white space is one space, what is not to be seen is written out."""
    line = " ".join(_made_visible(text).split())
    return shortened(line, limit) if limit is not None else line


def block(text: str) -> str:
    """A text of several lines (a question, a message): line breaks and tabs stay."""
    return "\n".join(_made_visible(line) for line in _lines_of(text))


def output(text: str, *, colour: bool) -> str:
    """Output of a task: escape sequences go away, but for colours where they are wanted; the rest is made visible.

    What a carriage return would have put over the line before it gets a line of its own.
    """
    return "\n".join(_output_line(line, colour) for line in _lines_of(text))


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, the cut marked with an ellipsis."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def _lines_of(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _output_line(line: str, colour: bool) -> str:
    if "\x1b" not in line:
        return _made_visible(line)
    if not colour:
        return _made_visible(_SEQUENCE.sub("", line))
    kept, parts, end = False, [], 0
    for found in _SEQUENCE.finditer(line):
        parts.append(_made_visible(line[end : found.start()]))
        end = found.end()
        if _COLOUR.fullmatch(found[0]):
            parts.append(found[0])
            kept = True
    parts.append(_made_visible(line[end:]))
    return "".join(parts) + (RESET if kept else "")


def _made_visible(text: str) -> str:
    if text.isprintable():  # by far the most common, and quick to tell
        return text
    return _UNSEEN.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def plain(text: Text | None) -> str:
    """A title or question whose references cannot be resolved here: as it is written in the file."""
    if isinstance(text, Template):
        return "".join(part if isinstance(part, str) else f"{{{{{part.source}}}}}" for part in text.parts)
    return text or ""
