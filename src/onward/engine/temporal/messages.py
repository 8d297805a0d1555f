"""What the workflow and its activities say to each other → bytes and plain data, and back.

What a person should see in Temporal's own pages travels as plain JSON data; events, plans and states as bytes, which
are compressed where that pays.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

from onward.model.conditions import Condition
from onward.model.events import AnyEvent, AttemptEnd, AttemptStart, Event

T = TypeVar("T")

WORKFLOW = "onward"
TASK, LOOK_AFTER, ERRAND, RECORD, LOAD = "task", "look-after", "errand", "record", "load"
REQUEST, STATUS, ANSWER = "request", "status", "answer"
FIND_STATUS, FIND_WORKFLOW = "OnwardStatus", "OnwardWorkflow"
"""search attributes, which somebody has to create on the server"""
LEFT, STALE, TROUBLE = "worker-left", "stale", "trouble"
"""kinds of failures: the worker stops, somebody else drives the run, something cannot be read or written"""

COMPRESSED_FROM_BYTES = 1024
PART_BYTES = 1_000_000
"""Temporal refuses what is larger than 2 MB"""
LARGE_EVENT_BYTES = 128 * 1024
_MARK = b"z"


class Given(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a workflow is started with. `first` are events to record before anything moves."""

    run: str
    store: str
    queue: str
    first: list[AnyEvent] = []
    fresh_epoch: bool = False
    heartbeat_s: float = 10.0
    reattach_s: float = 60.0
    soft_events: int = 4_000
    hard_events: int = 12_000
    search: bool = False
    """whether Temporal knows our search attributes"""
    same_host: bool = False
    host: str | None = None
    """where the tasks of this run have to be done, once that is known (`same_host`)"""

    @property
    def beat_s(self) -> float:
        """How often an activity says that it lives."""
        return min(0.5, self.heartbeat_s / 4)


class Entry(Struct, frozen=True, omit_defaults=True):
    """An event on its way to the journal; of a large one the whole lies in the store of values under `whole`."""

    event: AnyEvent
    whole: str | None = None


class About(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which run an activity is for, and what it is to do there."""

    run: str
    store: str
    epoch: int
    path: str = ""
    attempt: int = 0
    seq: int = 0
    """of the start of this attempt"""
    stop: str | None = None
    """look after it to end it"""
    beat_s: float = 0.5


class Errand(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An action that is no attempt: `kind` is condition, artifacts, validate, items, gate, finish or snapshot."""

    kind: str
    path: str
    asker: str = ""
    where: str = ""
    conditions: tuple[Condition, ...] = ()
    attempt: int = 0
    purpose: str = ""
    status: str = ""
    reason: str = ""


class Done(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an attempt ended. `journaled`: the last event in the journal. `host`: who knows, if `end` is not here."""

    end: AttemptEnd | None = None
    start: AttemptStart | None = None
    journaled: int = 0
    host: str | None = None
    word: str = ""


class Answered(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an errand brought. `stopped`: nothing, ask again when work may go on."""

    entries: list[Entry] = []
    journaled: int = 0
    stopped: bool = False


class Loaded(Struct, frozen=True, kw_only=True):
    """A part of plan and state, which are `parts` long; `digest` is that of the whole."""

    data: bytes
    parts: int
    digest: str


class Whole(Struct, frozen=True, kw_only=True):
    """Plan and state as the journal has them."""

    plan: msgspec.Raw
    state: msgspec.Raw


class Request(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody wants of a run: `kind` is pause, cancel, decide, snapshot or resume."""

    kind: str
    reason: str = ""
    by: str = ""
    cause: str = "person"
    grace_s: float = 0.0
    now: bool = False
    path: str = ""
    choice: str = ""
    note: str = ""
    fields: dict[str, str] = {}
    first: list[AnyEvent] = field(default_factory=list)


def entry(event: Event, whole: str | None = None) -> Entry:
    """An event of any kind as an entry."""
    return Entry(event, whole)  # type: ignore[arg-type]


def pack(message: Any) -> bytes:
    """The message as bytes."""
    data = msgspec.json.encode(message)
    return data if len(data) < COMPRESSED_FROM_BYTES else _MARK + zlib.compress(data, 1)


def unpack(data: bytes, kind: type[T]) -> T:
    """The message that `pack` wrote."""
    return msgspec.json.decode(zlib.decompress(data[1:]) if data[:1] == _MARK else data, type=kind)


def plain(message: Struct) -> dict[str, Any]:
    """The message as data that Temporal's own pages show."""
    data: dict[str, Any] = msgspec.to_builtins(message)
    return data


def from_plain(data: Any, kind: type[T]) -> T:
    """The message that `plain` wrote."""
    return msgspec.convert(data, type=kind)


def workflow_id(run: str) -> str:
    """How Temporal knows a run."""
    return f"onward-{run}"


def host_queue(queue: str, host: str) -> str:
    """The queue that only workers of that host serve."""
    return f"{queue}@{host}"
