"""The language in one table: every key of nodes and of a workflow file, its form, its words, who has it.

Validator, JSON Schema and reference are made from it and from the tables it is put together from: `node_fields`,
`records`, `conditions`.
"""

from __future__ import annotations

from functools import cache

from onward.spec.forms import (
    Braces,
    Choice,
    Data,
    Duration,
    Field,
    Names,
    Path,
    Record,
    Steps,
    Text,
    Whole,
)
from onward.spec.names import Rule
from onward.spec.node_fields import FILLED, KINDS, LEAVES, NODE_FIELDS
from onward.spec.records import (
    ADAPTER,
    BUDGET,
    CHECKPOINT,
    FAILURE,
    FAILURE_WORD,
    MIRROR,
    SECRET,
    VARIABLE,
)

FORMAT_VERSION = "1"
SCHEMA_KEY = "$schema"
"""accepted at the top and ignored: editors read it"""


@cache
def fields_of(kind: str) -> dict[str, Field]:
    """The fields of a node of this kind, those of looped nodes and of members included."""
    fields = [field for field in NODE_FIELDS if not field.only or kind in field.only or field.looped]
    return {field.key: field for field in fields}


@cache
def any_fields() -> dict[str, Field]:
    """The fields of all kinds, for a node whose kind is not clear."""
    return {field.key: field for field in reversed(NODE_FIELDS)}


@cache
def kinds_with(key: str) -> tuple[str, ...]:
    """The kinds that have a field of this key."""
    found = {kind for field in NODE_FIELDS if field.key == key for kind in field.only or KINDS}
    return tuple(kind for kind in KINDS if kind in found)


def _shared_fields(kind: str) -> tuple[Field, ...]:
    fields = [field for key, field in fields_of(kind).items() if key not in KINDS and field.shared and not field.looped]
    return tuple(
        Field(key=field.key, form=FAILURE_WORD, default=field.default, says=field.says, example=field.example)
        if field.key == "on-failure"
        else field
        for field in fields
    )


DEFAULTS = Record(
    title="`defaults`",
    example="defaults: {run: {timeout: 10m}}",
    fields=tuple(
        Field(
            key=kind,
            form=Record(title=f"`defaults.{kind}`", fields=_shared_fields(kind)),
            says=f"Fields for every `{kind}` that does not set them itself.",
        )
        for kind in LEAVES
    ),
)

WORKFLOW = Record(
    title="a workflow",
    fields=(
        Field(
            key="task",
            form=Steps(),
            required=True,
            says='The steps of the workflow. Each dash means "then"; two names under one dash run together.',
            example="[{build: {run: make}}]",
        ),
        Field(
            key="directory",
            form=Path(braces=Braces.REFUSED),
            default="the folder of this file",
            says="Folder the tasks work in, relative to this file.",
            example='".."',
        ),
        Field(
            key="checkpoint",
            form=CHECKPOINT,
            says="Keeps a state file, so that `onward run FILE --resume` goes on where it stopped.",
            example="{state-file: .onward/state.json}",
        ),
        Field(
            key="name",
            form=Text(braces=Braces.REFUSED, blank=False, line=True, longest=100),
            default="the file's name without its ending",
            says="Name of the workflow.",
            example="release",
        ),
        Field(key="title", form=FILLED, says="What people see; may use variables.", example="Release of {{version}}"),
        Field(key="description", form=Text(), says="What the workflow is for."),
        Field(
            key="onward",
            form=Choice(options=(FORMAT_VERSION,)),
            default=FORMAT_VERSION,
            says="Version of this format.",
        ),
        Field(
            key="variables",
            form=Names(keys=Rule.VARIABLE, form=VARIABLE),
            says="Values that the start may give: name and default, or name and details. Always text.",
            example="{target: tests, pr_number: {required: true}}",
        ),
        Field(
            key="secrets",
            form=Names(keys=Rule.ENV, form=SECRET),
            feature="secrets",
            says="Secrets and where they come from. A task sees those that its own `secrets` names.",
            example="{GH_TOKEN: {env: GH_TOKEN}}",
        ),
        Field(
            key="env",
            form=Names(keys=Rule.ENV, form=FILLED, env=True),
            says="Environment variables for every task.",
            example="{LC_ALL: C}",
        ),
        Field(
            key="defaults",
            form=DEFAULTS,
            says="Fields for every task of a kind.",
            example="{run: {timeout: 10m}}",
        ),
        Field(
            key="adapters",
            form=Names(keys=Rule.WORD, form=ADAPTER),
            says="Agent programs of your own, by name.",
            example="{my-agent: {command: [my-agent, --print]}}",
        ),
        Field(key="limit", form=Whole(most=10_000), default="8", says="Most tasks at once in the whole run."),
        Field(
            key="timeout",
            form=Duration(),
            default="none",
            says="Longest active time of the run.",
            example="2h",
        ),
        Field(
            key="grace",
            form=Duration(zero=True),
            default="25s",
            says="How long running tasks may go on when a pause is asked for.",
            example="25s",
        ),
        Field(
            key="outputs",
            form=Names(keys=Rule.WORD, form=Data()),
            says="Named results of the workflow.",
            example='{report: "{{write.text}}"}',
        ),
        Field(key="on-failure", form=FAILURE, default="stop", says="What happens when the workflow has failed."),
        Field(
            key="finally",
            form=Steps(),
            says="Steps that run when the workflow has ended in any way.",
            example="[{clean: {run: make clean}}]",
        ),
        Field(
            key="watch",
            form=Names(
                keys=None,
                key_words="path or glob",
                form=Choice(options=("warn", "fresh-start")),
                ignores_x=False,
            ),
            feature="watch",
            says="Files (paths or globs) whose change since the start is told on resume.",
            example="{config.json: warn}",
        ),
        Field(
            key="mirror",
            form=MIRROR,
            says="Files of other systems that are kept up to date.",
            example="{snapshots: snapshots}",
        ),
        Field(
            key="budget",
            form=BUDGET,
                says="When this is used up, the run pauses.",
            example="{usd: 5}",
        ),
    ),
)
