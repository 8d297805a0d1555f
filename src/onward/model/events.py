"""What can happen to a run: one class per event (`format.md` 8.2, `settled.md` 69).

An event is one past-tense fact. The journal writes it as one line; `state.fold` is the only reader of meaning.
`seq` counts from 1, `at` is UTC, `epoch` grows by one whenever a driver takes over, `batch` numbers the lines that
were flushed together. Events are stamped by the journal when they are added, and never changed afterwards.

No `from __future__ import annotations` here: evaluating the text of so many fields would slow every start.
"""

import datetime as dt
from typing import Any

from msgspec import Struct, field

from onward.model.status import Outcome, Status, Where
from onward.model.values import Artifact, Value

UNSTAMPED = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def _snake(name: str) -> str:
    return "".join("_" + c.lower() if c.isupper() else c for c in name).lstrip("_")


class Event(Struct, frozen=True, kw_only=True, tag_field="type", tag=_snake, omit_defaults=True):
    """The fields that every event has."""

    seq: int = 0
    at: dt.datetime = UNSTAMPED
    epoch: int = 0
    batch: int = 0


class Owner(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A driver: `started` is the start time of the process in clock ticks since boot."""

    host: str
    boot: str
    pid: int
    started: int
    user: str = ""


class Change(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A difference between today's definition and the record: edited, added, removed, moved, renamed.

    `former` is the static path that the record of a renamed node has until then.
    """

    path: str
    change: str
    former: str = ""


class WorkflowStart(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A run began. `workflow_file` as given on the command line, `file` relative to the store's parent."""

    run: str
    version: int = 1
    workflow_file: str = ""
    file: str = ""
    name: str = ""
    title: str = ""
    definition_sha256: str = ""
    directory: str = ""
    variables: dict[str, str] = {}
    datetime: str = ""
    config_sha256: str | None = None
    watch: dict[str, str | None] = {}
    revision: str | None = None
    """the git commit that the workflow's folder stood at"""
    adapter: str | None = None
    limit: int | None = None
    store: str = ""
    owner: Owner | None = None
    imported: dict[str, Any] | None = None
    """what was taken over from a state file, snapshot or `.sparq` folder"""


class WorkflowResume(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A run goes on. Failed nodes get a fresh attempt budget."""

    reason: str = ""
    by: str = ""
    resumed_count: int = 0
    definition_sha256: str = ""
    changes: tuple[Change, ...] = ()
    variables: dict[str, str] = {}
    budget: dict[str, dict[str, float]] = {}
    """path -> what of its budget is raised (`usd`, `tokens`), and to how much"""
    artifacts: dict[str, int] = {}
    owner: Owner | None = None


class TakeOver(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Another driver drives from here on."""

    by: str = ""
    previous: Owner | None = None
    owner: Owner | None = None


class PauseRequest(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody asked the run to stop; no new attempt starts."""

    reason: str = ""
    by: str = ""
    cause: str = "person"
    """person, shutdown, limit, budget, disk, memory, window"""
    grace_s: float = 0


class WorkflowPause(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Everything is quiet. `active` are the leaves that were interrupted."""

    active: tuple[str, ...] = ()
    snapshot: str | None = None
    until: dt.datetime | None = None


class CancelRequest(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody asked the run to end: nothing new starts but `finally`."""

    reason: str = ""
    by: str = ""


class WorkflowEnd(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The run ended."""

    status: Status
    reason: str = ""
    duration_s: float = 0
    outputs: dict[str, Value] = {}


class NodeStart(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A container, loop or iteration began. A leaf begins with its first attempt."""

    path: str
    kind: str = ""
    definition_sha256: str = ""
    phase: str | None = None


class NodeEnd(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A node ended, after its handlers and `finally`. The values of a leaf lie in its `AttemptEnd`."""

    path: str
    status: Status
    reason: str = ""
    outputs: dict[str, Value] = {}
    artifacts: tuple[Artifact, ...] = ()
    inputs_sha256: str | None = None
    metrics: dict[str, float] = {}
    edited: bool = False


class AttemptStart(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A try at a task begins; on disk before the process exists. `inputs_sha256`: `format.md` 5.1."""

    path: str
    attempt: int
    key: str = ""
    definition_sha256: str = ""
    inputs_sha256: str | None = None
    adapter: str | None = None
    adapter_version: str | None = None
    model: str | None = None
    session: str | None = None
    session_directory: str | None = None
    continued: bool = False
    """the session had begun before this attempt"""


class AttemptSession(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The session id was learnt from the agent's stream."""

    path: str
    attempt: int
    session: str


class AttemptEnd(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A try ended. `outputs` has `text` or `json` and the declared outputs; `error` says what went wrong.

    `final` tells that another try cannot help (a reference without a value, a missing program). `session_usage` are the
    counters of an agent's session, which a continued one counts on from; `session_lost`: the agent does not know it.
    """

    path: str
    attempt: int
    outcome: Outcome
    exit: int | None = None
    signal: str | None = None
    error: str | None = None
    final: bool = False
    reset_at: dt.datetime | None = None
    duration_s: float = 0
    usage: dict[str, float] = {}
    session: str | None = None
    session_usage: dict[str, float] = {}
    session_lost: bool = False
    adapter_version: str | None = None
    stdout: dict[str, Any] | None = None
    outputs: dict[str, Value] = {}
    metrics: dict[str, float] = {}
    feedback_sha256: str | None = None


class CheckResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one validator went; `detail` says what it printed or saw."""

    index: int
    passed: bool
    detail: str = ""


class Validation(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The validators of an attempt were asked."""

    path: str
    attempt: int
    checks: tuple[CheckResult, ...] = ()
    feedback_sha256: str | None = None


class RetryWait(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The next attempt (`attempt`) starts at `until`."""

    path: str
    attempt: int
    until: dt.datetime


class ConditionAsked(Event, frozen=True, kw_only=True, omit_defaults=True, tag="condition"):
    """A condition was asked. `error` true: it could not be worked out, and the node fails."""

    path: str
    where: Where
    result: bool
    detail: str = ""
    error: bool = False


class LoopItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One item of a `for-each` loop."""

    key: str
    value: Value | None = None


class LoopItems(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The items of a loop were read; this list holds even if the source changes."""

    path: str
    items: tuple[LoopItem, ...] = ()
    source: str = ""
    refreshed: bool = False


class LoopDelay(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The next iteration (`index`, from 1) starts at `until`."""

    path: str
    index: int
    until: dt.datetime


class GateOpen(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A question waits for a person. `purpose`: approve, on-failure, on-resume."""

    path: str
    question: str = ""
    purpose: str = "approve"
    show: tuple[Artifact, ...] = ()
    choices: tuple[str, ...] = ()
    fields: dict[str, tuple[str, ...] | None] = {}
    expires_at: dt.datetime | None = None


class GateDecision(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Somebody (or the time limit) decided."""

    path: str
    choice: str
    note: str = ""
    fields: dict[str, str] = {}
    by: str = ""


class PhaseStart(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A top-level container began."""

    phase: str
    title: str = ""


class PhaseComplete(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A top-level container ended."""

    phase: str
    status: Status = Status.SUCCEEDED
    hand_off: str | None = None
    artifacts: tuple[str, ...] = ()
    scenario: str = ""
    feature: str = ""


class SnapshotTaken(Event, frozen=True, kw_only=True, omit_defaults=True, tag="snapshot"):
    """A snapshot was written; `of` is the sequence number it reflects."""

    file: str
    of: int
    sha256: str


class Override(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A person set a node's record aside or in place: `action` is rerun, skip, done or refresh."""

    path: str
    action: str
    by: str = ""
    reason: str = ""


class Note(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Something that a person should be able to look up later: repairs, dropped items, re-attached tasks."""

    text: str
    level: str = "note"
    path: str | None = None
    data: dict[str, Any] = field(default_factory=dict)


AnyEvent = (
    WorkflowStart
    | WorkflowResume
    | TakeOver
    | PauseRequest
    | WorkflowPause
    | CancelRequest
    | WorkflowEnd
    | NodeStart
    | NodeEnd
    | AttemptStart
    | AttemptSession
    | AttemptEnd
    | Validation
    | RetryWait
    | ConditionAsked
    | LoopItems
    | LoopDelay
    | GateOpen
    | GateDecision
    | PhaseStart
    | PhaseComplete
    | SnapshotTaken
    | Override
    | Note
)
