"""The tables of the mappings inside nodes and at the top: `retry`, `loop`, `on-failure`, adapters, secrets …"""

from __future__ import annotations

from onward.spec.conditions import COMMAND
from onward.spec.forms import (
    Braces,
    Choice,
    Conditions,
    Data,
    Duration,
    Each,
    Either,
    Field,
    File,
    Flag,
    Names,
    Number,
    Path,
    Pattern,
    Record,
    Reference,
    Regex,
    Steps,
    Text,
    Whole,
)

FIXED_LINE = Text(braces=Braces.REFUSED, blank=False, line=True)
FIXED_ARGV = Each(form=Text(braces=Braces.REFUSED), least=1)
AGENTS = ("claude", "codex", "gemini", "qwen", "opencode", "copilot", "cursor", "amp", "goose", "aider", "echo")
"""adapters that need no declaration"""
PERMISSIONS = ("own", "read", "edit", "full")
"""what an agent may do without asking; `own`: what its own settings say"""

_REPLY = Pattern(regex=r"^(text|jsonl?:.+)$", words="text, json:<path> or jsonl:<path>")
_PLACE = Pattern(regex=r"^jsonl?:.+$", words="json:<path> or jsonl:<path>")

_VALUES = Names(keys=None, key_words="key", form=Data(), ignores_x=False)

PROMPT_FILE = Record(
    title="`prompt`",
    fields=(
        Field(
            key="file",
            form=File(as_="prompt"),
            required=True,
            says="A text file with the prompt, relative to this workflow file. References in it are filled in.",
            example="prompts/review.md",
        ),
    ),
)

RETRY = Record(
    title="`retry`",
    example="retry: {attempts: 3}",
    fields=(
        Field(
            key="attempts",
            form=Whole(most=10_000),
            default="1",
            says="How many tries in all, the first one included.",
            example="3",
        ),
        Field(key="delay", form=Duration(zero=True), default="0s", says="Pause before the second try.", example="10s"),
        Field(
            key="backoff",
            form=Number(least=1),
            default="1",
            says="Each further pause is this many times the one before.",
            example="2",
        ),
        Field(key="max-delay", form=Duration(zero=True), default="5m", says="Longest pause.", example="2m"),
        Field(
            key="on",
            form=Each(form=Choice(options=("error", "timeout", "invalid")), least=1, distinct=True),
            default="[error, timeout, invalid]",
            says="Which endings are tried again: the work failed, it ran too long, its result did not fit.",
            example="[error, timeout]",
        ),
    ),
)

ENSURE = Record(
    title="`ensure`",
    example="ensure: {after: [{file-exists: report.md}]}",
    fields=(
        Field(key="before", form=Conditions(), says="Must hold before the work begins, else the task fails."),
        Field(key="after", form=Conditions(), says="Must hold after the work, else the task fails."),
    ),
)

_FAILURE_WORDS = Choice(options=("stop", "continue", "ask"), features=(("ask", "ask"),))
FAILURE_WORD = _FAILURE_WORDS
FAILURE = Either(
    scalar=_FAILURE_WORDS,
    mapping=Record(
        title="`on-failure`",
        example="on-failure: {task: [{clean: {run: make clean}}], then: stop}",
        fields=(
            Field(
                key="task",
                form=Steps(),
                required=True,
                says="Steps to do when the task has failed.",
                example="[{clean: {run: make clean}}]",
            ),
            Field(key="then", form=_FAILURE_WORDS, default="stop", says="What follows after these steps."),
        ),
    ),
)

ARTIFACT = Either(
    scalar=Path(glob=True),
    mapping=Record(
        title="an artifact",
        fields=(
            Field(key="path", form=Path(glob=True), required=True, says="Path or glob.", example="report.md"),
            Field(key="optional", form=Flag(), default="false", says="Whether the file may be missing."),
        ),
    ),
)

HAND_OFF = Record(
    title="`hand-off`",
    example="hand-off: {summary: What this phase found}",
    fields=(
        Field(
            key="summary",
            form=Text(braces=Braces.FILLED, blank=False),
            required=True,
            says="What this phase passes on, in a sentence.",
            example="Requirements gathered",
        ),
        Field(key="data", form=_VALUES, says="Values for later tasks."),
    ),
)

BUDGET = Record(
    title="`budget`",
    example="budget: {usd: 5}",
    fields=(
        Field(key="usd", form=Number(), says="Most US dollars that agents may cost.", example="5"),
        Field(key="tokens", form=Whole(most=10**12), says="Most tokens that agents may use.", example="2000000"),
    ),
)

_EACH_HEADER = Record(
    title="`for-each`",
    one_of=("glob", "command"),
    fields=(
        Field(key="glob", form=Path(glob=True), says="Files that match, sorted by bytes.", example='"*.csv"'),
        Field(
            key="in",
            form=Path(),
            only=("glob",),
            default="the directory of the task",
            says="Folder in which `glob` looks; the items are names relative to it.",
            example="data",
        ),
        Field(key="command", form=COMMAND, says="Each line that the command prints (empty ones left out)."),
    ),
)

LOOP = Record(
    title="`loop`",
    one_of=("for-each", "until", "while"),
    example="loop: {for-each: [a, b], as: item}",
    fields=(
        Field(
            key="for-each",
            form=Either(scalar=Reference(), sequence=Each(form=Data()), mapping=_EACH_HEADER),
            says="One iteration for each item of a list, of a reference to a list, of the files that match a glob, "
            "or of the lines that a command prints.",
            example="[a, b]",
        ),
        Field(key="until", form=Conditions(), says="Repeat until this holds; tested after each iteration."),
        Field(key="while", form=Conditions(), says="Repeat while this holds; tested before each iteration."),
        Field(
            key="max",
            form=Whole(),
            default="1000 for `for-each`; required for `until` and `while`",
            says="Most iterations. `for-each`: more items are an error before the first one starts.",
            example="10",
        ),
        Field(
            key="on-max",
            form=Choice(options=("fail", "continue")),
            only=("until", "while"),
            default="fail",
            says="What happens when `max` iterations were not enough.",
        ),
        Field(
            key="as",
            form=Pattern(regex=r"^[a-z][a-z0-9_]*$", words="a name of small letters, digits and `_`"),
            only=("for-each",),
            default="item",
            says="Name of the variable that holds the item.",
            example="file",
        ),
        Field(
            key="key",
            form=Text(braces=Braces.FILLED, blank=False, line=True),
            only=("for-each",),
            default="the item if it is text, else its number",
            says="What identifies an iteration when the run is resumed.",
            example='"{{item.id}}"',
        ),
        Field(key="limit", form=Whole(most=10_000), only=("for-each",), default="1", says="Iterations at once."),
        Field(key="delay", form=Duration(zero=True), default="0s", says="Pause between iterations.", example="30s"),
        Field(
            key="on-empty",
            form=Choice(options=("ok", "fail")),
            only=("for-each",),
            default="ok",
            says="Whether a list without items is a success or a failure.",
        ),
        Field(
            key="refresh",
            form=Flag(),
            only=("for-each",),
            default="false",
            says="Read the items anew on resume, instead of the list recorded at the start.",
        ),
        Field(
            key="fail-fast",
            form=Flag(),
            only=("for-each",),
            default="true with limit 1, else false",
            says="Whether the first failed iteration stops the others.",
        ),
    ),
)

VARIABLE = Either(
    scalar=Text(braces=Braces.KEPT),
    mapping=Record(
        title="a variable",
        fields=(
            Field(key="default", form=Text(), says="Value when none is given."),
            Field(key="required", form=Flag(), default="false", says="Whether the start must give a value."),
            Field(
                key="matches",
                form=Regex(braces=Braces.KEPT),
                says="Regular expression that must be found in the value.",
                example="'^[0-9]+$'",
            ),
            Field(key="description", form=Text(), says="What the variable is for."),
        ),
    ),
)

SECRET = Record(
    title="a secret",
    one_of=("env", "file", "command"),
    example="GH_TOKEN: {env: GH_TOKEN}",
    fields=(
        Field(
            key="env",
            form=Pattern(regex=r"^[A-Za-z_][A-Za-z0-9_]*$", words="the name of an environment variable"),
            says="Environment variable of the caller that holds the secret. No task sees it under that name.",
            example="GH_TOKEN",
        ),
        Field(
            key="file",
            form=Path(braces=Braces.REFUSED),
            says="File that holds it, relative to this file's folder; `~/` is the home folder.",
            example="/run/secrets/token",
        ),
        Field(
            key="command",
            form=FIXED_ARGV,
            says="Program that prints it, in the workflow file's folder; once for each driver, for 60 s at most.",
            example="[pass, show, token]",
        ),
    ),
)

ADAPTER = Record(
    title="an adapter",
    example="my-agent: {command: [my-agent, --print]}",
    fields=(
        Field(
            key="command",
            form=FIXED_ARGV,
            required=True,
            says="The program, its arguments. Placeholders: {session}, {model}, {prompt_file}, {directory}, {title}.",
            example="[my-agent, --print]",
        ),
        Field(
            key="like",
            form=Choice(options=AGENTS),
            says="A built-in adapter to follow in everything; `command` then stands in place of its program.",
            example="codex",
        ),
        Field(
            key="permission",
            form=Choice(options=PERMISSIONS),
            says="What prompts that say nothing let the agent do; only beside `like`.",
            example="read",
        ),
        Field(
            key="prompt",
            form=Choice(options=("stdin", "argument", "file")),
            default="stdin",
            says="How the prompt reaches the program.",
        ),
        Field(
            key="reply",
            form=_REPLY,
            default="text",
            says="Where the answer stands: all of stdout, a path in its JSON, or in its last JSON line that has it.",
            example="json:result",
        ),
        Field(key="session", form=_PLACE, says="Where the program tells its session id.", example="json:session_id"),
        Field(
            key="continue",
            form=FIXED_ARGV,
            says="The whole command, in place of `command`, that continues a session.",
            example='[my-agent, --print, --resume, "{session}"]',
        ),
        Field(key="model", form=FIXED_ARGV, says="Arguments that choose a model.", example='[--model, "{model}"]'),
        Field(key="usage", form=_PLACE, says="Where the used tokens stand.", example="json:usage"),
        Field(key="cost", form=_PLACE, says="Where the cost in US dollars stands.", example="json:total_cost_usd"),
        Field(key="limit", form=_PLACE, says="Where the end of a usage limit stands.", example="json:reset"),
    ),
)

CHECKPOINT = Record(
    title="`checkpoint`",
    example="checkpoint: {state-file: .onward/state.json}",
    fields=(
        Field(
            key="state-file",
            form=Path(braces=Braces.REFUSED),
            required=True,
            says="State file that is written after every step, relative to `directory`.",
            example=".onward/state.json",
        ),
        Field(
            key="cleanup-policy",
            form=Choice(options=("on-success", "on-completion", "never")),
            default="on-success",
            says="When the state file is deleted: after a success, after success or failure, or never.",
            example="on-success",
        ),
    ),
)

MIRROR = Record(
    title="`mirror`",
    example="mirror: {snapshots: snapshots}",
    fields=(
        Field(
            key="snapshots",
            form=Path(braces=Braces.REFUSED),
            says="Folder in which a snapshot file of the run is kept up to date.",
            example="snapshots",
        ),
        Field(
            key="sparq",
            form=Path(braces=Braces.REFUSED),
            feature="mirror-sparq",
            says="A `.sparq` folder whose state files are kept up to date.",
            example=".sparq",
        ),
    ),
)
