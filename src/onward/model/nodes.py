"""The plan: the workflow definition resolved into nodes. What a resume stores and reads back without YAML.

No `from __future__ import annotations` here: evaluating the text of so many fields would slow every start.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct

from onward.model.conditions import Command, Condition
from onward.model.status import OnResume, Outcome, Then
from onward.model.values import Data, Text


class Kind(StrEnum):
    """The seven kinds."""

    PROMPT = "prompt"
    RUN = "run"
    CALL = "call"
    APPROVE = "approve"
    TASK = "task"
    PARALLEL = "parallel"
    INCLUDE = "include"

    leaf: bool
    """whether a node of this kind does work itself"""

    def __init__(self, value: str) -> None:
        self.leaf = value in ("prompt", "run", "call", "approve")


class Prompt(Struct, frozen=True, kw_only=True, tag="prompt", tag_field="kind", omit_defaults=True):
    """A prompt to an agent program. `adapter` None: `--adapter`, then `ONWARD_ADAPTER`, then `claude`."""

    text: Text
    adapter: str | None = None
    model: Text | None = None
    keep_session: bool = False
    permission: str | None = None


class Run(Struct, frozen=True, kw_only=True, tag="run", tag_field="kind", omit_defaults=True):
    """A shell script (`script`, run by `shell` + (script,)), or a program (`argv`) without a shell."""

    script: str | None = None
    argv: tuple[Text, ...] = ()
    shell: tuple[str, ...] = ()
    stdin: Text | None = None


class Call(Struct, frozen=True, kw_only=True, tag="call", tag_field="kind", omit_defaults=True):
    """A Python function `package.module:function` with keyword arguments."""

    target: str
    arguments: Data = Data(value={})


class Approve(Struct, frozen=True, kw_only=True, tag="approve", tag_field="kind", omit_defaults=True):
    """A question to a person. `fields`: name -> allowed texts, or None for free text."""

    question: Text
    show: tuple[Text, ...] = ()
    choices: tuple[str, ...] = ("approve", "reject")
    fields: dict[str, tuple[str, ...] | None] = {}
    on_timeout: str = "pause"


Work = Prompt | Run | Call | Approve


class Retry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The attempt budget of a leaf; times in seconds."""

    attempts: int = 1
    delay_s: float = 0
    backoff: float = 1
    max_delay_s: float = 300
    on: tuple[Outcome, ...] = (Outcome.ERROR, Outcome.TIMEOUT, Outcome.INVALID)

    def delay_before(self, attempt: int) -> float:
        """Seconds to wait before attempt number `attempt` (2 is the first retry)."""
        if not self.delay_s:
            return 0.0
        return float(min(self.max_delay_s, self.delay_s * self.backoff ** (attempt - 2)))


class Glob(Struct, frozen=True, kw_only=True):
    """Files of a folder, sorted by bytes, named relative to the folder."""

    pattern: Text
    folder: Text = "."


class Loop(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`loop` (`format.md` 3.5); exactly one of items, glob, command, until, while_ is set."""

    items: Data | None = None
    glob: Glob | None = None
    command: Command | None = None
    until: tuple[Condition, ...] = ()
    while_: tuple[Condition, ...] = ()
    max: int = 1000
    item: str = "item"
    key: Text | None = None
    limit: int = 1
    delay_s: float = 0
    on_empty_fail: bool = False
    on_max_fail: bool = True
    refresh: bool = False
    fail_fast: bool | None = None

    @property
    def counted(self) -> bool:
        """Whether this is a `while`/`until` loop, whose iterations are numbered."""
        return bool(self.until or self.while_)


class LeafOutput(Struct, frozen=True, kw_only=True):
    """A declared output of a leaf: `form` is `text`, `lines` or `json`."""

    name: str
    form: str


class ContainerOutput(Struct, frozen=True, kw_only=True):
    """A declared output of a container or workflow."""

    name: str
    value: Data


class ArtifactRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A path or glob that must exist when the node ends."""

    path: Text
    optional: bool = False


class HandOff(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a phase passes on."""

    summary: Text = ""
    data: Data | None = None


class Budget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Reached = the run pauses."""

    usd: float | None = None
    tokens: int | None = None


class Node(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One node of the plan.

    `path` is the static path (`format.md` 3.3, without iteration keys). `line` is where it stands in `file`
    (empty: the main file). `digest` is the definition hash (`format.md` 5.1). `wants_json` tells that some
    reference uses its text as JSON; `referenced` that some reference uses any of its values.
    A sequence has `steps` (a step of several nodes is an unnamed group); a `parallel` has `members`.
    `hash_fields` of children are not part of `digest`: children hash themselves.
    """

    name: str
    path: str
    kind: Kind
    digest: str = ""
    line: int = 0
    file: str = ""
    title: Text | None = None
    work: Work | None = None
    steps: "tuple[tuple[Node, ...], ...]" = ()
    members: "tuple[Node, ...]" = ()
    merge: "tuple[tuple[Node, ...], ...]" = ()
    on_failure_steps: "tuple[tuple[Node, ...], ...]" = ()
    finally_steps: "tuple[tuple[Node, ...], ...]" = ()
    on_failure: Then = Then.STOP
    needs: tuple[str, ...] = ()
    limit: int | None = None
    fail_fast: bool = False
    loop: Loop | None = None
    skip_if: tuple[Condition, ...] = ()
    before: tuple[Condition, ...] = ()
    after: tuple[Condition, ...] = ()
    validators: tuple[Condition, ...] = ()
    retry: Retry = Retry()
    schema: Any = None
    timeout_s: float | None = None
    idle_s: float | None = None
    directory: Text | None = None
    env: dict[str, Text] = {}
    secrets: tuple[str, ...] = ()
    outputs: tuple[LeafOutput, ...] = ()
    values: tuple[ContainerOutput, ...] = ()
    artifacts: tuple[ArtifactRule, ...] = ()
    hand_off: HandOff | None = None
    on_resume: OnResume = OnResume.RETRY
    was: str | None = None
    queue: str | None = None
    worktree: bool = False
    budget: Budget | None = None
    with_: dict[str, Data] = {}
    included: "Included | None" = None
    wants_json: bool = False
    referenced: bool = False

    def children(self) -> "Iterator[Node]":
        """Every node directly below, sections included, in the order of the file."""
        for step in self.steps:
            yield from step
        yield from self.members
        for section in (self.merge, self.on_failure_steps, self.finally_steps):
            for step in section:
                yield from step

    def walk(self) -> "Iterator[Node]":
        """This node and every node below it, in the order of the file."""
        yield self
        for child in self.children():
            yield from child.walk()


class Variable(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A declared variable."""

    name: str
    default: str | None = None
    required: bool = False
    matches: str | None = None
    description: str = ""


class Included(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an `include` node brings of its own: the file, its name, its variables, its directory."""

    file: str
    name: str
    variables: tuple[Variable, ...] = ()
    directory: str = "."
    env: dict[str, Text] = {}


class Secret(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a secret comes from: exactly one of the three."""

    name: str
    env: str | None = None
    file: str | None = None
    command: tuple[str, ...] = ()


class Adapter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How an agent program is called (`format.md` 3.4, `settled.md` 9).

    `prompt` is `stdin`, `argument` or `file`; `reply` is `text`, `json:<path>` or `jsonl:<path>`;
    `session`, `usage`, `cost`, `limit` are such places too. `resume` is the argv that continues a session.
    Placeholders in argv: `{session}`, `{model}`, `{prompt_file}`, `{directory}`, `{title}`. With `like`, everything but
    `command` (in place of the program), `model` and `permission` is that of a built-in one.
    """

    name: str
    command: tuple[str, ...]
    prompt: str = "stdin"
    reply: str = "text"
    session: str | None = None
    resume: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    usage: str | None = None
    cost: str | None = None
    limit: str | None = None
    like: str | None = None
    permission: str | None = None


class Checkpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`checkpoint` of requirement 1; `state_file` is relative to `directory`."""

    state_file: str
    cleanup_policy: str = "on-success"


class DefinitionFile(Struct, frozen=True, kw_only=True):
    """A file of the definition: its path relative to the workflow file's folder, and its SHA-256."""

    path: str
    sha256: str


class Plan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A workflow resolved into nodes, independent of the values of its variables.

    `file` is the workflow file as an absolute real path, `directory` the folder tasks work in, relative to the
    file's folder. `root` is a `task` node of empty name and path that holds the top-level steps, `env`,
    `on-failure`, `finally`, `outputs`, `timeout` and `budget`. `digest` covers all definition files.
    """

    name: str
    file: str
    root: Node
    digest: str
    files: tuple[DefinitionFile, ...] = ()
    format: int = 1
    title: Text | None = None
    description: str = ""
    directory: str = "."
    checkpoint: Checkpoint | None = None
    variables: tuple[Variable, ...] = ()
    secrets: tuple[Secret, ...] = ()
    adapters: tuple[Adapter, ...] = ()
    limit: int = 8
    grace_s: float = 25.0
    watch: dict[str, str] = {}
    mirror_snapshots: str | None = None
    mirror_sparq: str | None = None
    undeclared: tuple[str, ...] = ()
    """names of variables that are used without being declared (agent-yaml): must be given at the start"""
