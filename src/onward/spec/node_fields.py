"""The table of nodes (`format.md` 3.4, 3.7): the seven kinds, what each kind adds, and the modifiers."""

from __future__ import annotations

from onward.model.nodes import Kind
from onward.spec.conditions import ARGV, SCRIPT
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
    JsonSchema,
    Members,
    Name,
    Names,
    Path,
    Pattern,
    Steps,
    Text,
    Whole,
)
from onward.spec.names import Rule
from onward.spec.records import (
    ARTIFACT,
    BUDGET,
    ENSURE,
    FAILURE,
    FIXED_ARGV,
    FIXED_LINE,
    HAND_OFF,
    LOOP,
    PERMISSIONS,
    PROMPT_FILE,
    RETRY,
)

KINDS = tuple(kind.value for kind in Kind)
LEAVES = tuple(kind.value for kind in Kind if kind.leaf)
WORKERS = ("prompt", "run", "call")
CONTAINERS = ("task", "parallel", "include")

FILLED = Text(braces=Braces.FILLED)
_FILLED_LINE = Text(braces=Braces.FILLED, blank=False, line=True)
_QUESTION = Text(braces=Braces.FILLED, blank=False)
_WORD = Text(words="a word", braces=Braces.REFUSED, blank=False, line=True, longest=100)

KIND_FIELDS: tuple[Field, ...] = (
    Field(
        key="prompt",
        form=Either(scalar=_QUESTION, mapping=PROMPT_FILE),
        only=("prompt",),
        says="Gives this prompt to a coding agent. Result: `text`, the agent's last message.",
        example="Summarize the changes in {{fetch.text}}.",
    ),
    Field(
        key="run",
        form=Either(scalar=SCRIPT, sequence=ARGV),
        only=("run",),
        says="Runs a shell script (text) or a program with its arguments (list). Result: `text`, what it prints. "
        "A script takes no {{reference}}: variables are in its environment.",
        example="make test",
    ),
    Field(
        key="call",
        form=Pattern(
            regex=r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$",
            words="`package.module:function`",
        ),
        only=("call",),
        says="Calls a Python function in a process of its own. Result: `json`, what it returns.",
        example="reports:build",
    ),
    Field(
        key="approve",
        form=_QUESTION,
        only=("approve",),
        feature="approve",
        says="Asks a person and waits for the decision. Result: `choice`, `note`, `by`, `at` and each field.",
        example="Publish the report?",
    ),
    Field(
        key="task",
        form=Steps(),
        only=("task",),
        says="Steps that run one after the other; directly below the top this is a phase.",
        example="[{build: {run: make}}]",
    ),
    Field(
        key="parallel",
        form=Members(),
        only=("parallel",),
        says="Tasks that run side by side. Result: `results`, by name.",
        example="{lint: {run: make lint}, test: {run: make test}}",
    ),
    Field(
        key="include",
        form=File(as_="include"),
        only=("include",),
        feature="include",
        says="Runs another workflow file, relative to this one. Result: that file's `outputs`.",
        example="release.yaml",
    ),
)

EXTRA_FIELDS: tuple[Field, ...] = (
    Field(
        key="adapter",
        form=FIXED_LINE,
        only=("prompt",),
        default="--adapter, then ONWARD_ADAPTER, then claude",
        says="Which agent program gets the prompt: claude, codex, gemini, qwen, opencode, copilot, cursor, amp, goose, "
        "aider, echo, or one of `adapters`.",
        example="codex",
    ),
    Field(key="model", form=_FILLED_LINE, only=("prompt",), says="Model that the agent should use.", example="opus"),
    Field(
        key="session",
        form=Choice(options=("fresh", "keep")),
        only=("prompt",),
        default="fresh",
        says="Whether a retry or resume continues the agent's conversation.",
    ),
    Field(
        key="permission",
        form=Choice(options=PERMISSIONS),
        only=("prompt",),
        default="edit where the agent has that, else the most careful it has",
        says="What the agent may do without asking: read, edit (files), full (anything), own (as its settings say).",
    ),
    Field(
        key="shell",
        form=Either(scalar=Choice(options=("bash", "sh")), sequence=FIXED_ARGV),
        only=("run",),
        default="bash",
        says="Shell for the script: `bash -euo pipefail -c`, `sh -eu -c`, or a list to which the script is appended.",
        example="sh",
    ),
    Field(key="stdin", form=FILLED, only=("run",), says="Text for the standard input.", example='"{{fetch.text}}"'),
    Field(
        key="with",
        form=Names(keys=Rule.ARGUMENT, form=Data(), ignores_x=False),
        only=("call",),
        says="Keyword arguments of the function; references keep their type.",
        example='{rows: "{{load.json}}"}',
    ),
    Field(
        key="with",
        form=Names(keys=Rule.VARIABLE, form=Data(), ignores_x=False),
        only=("include",),
        says="Values for the variables of the included file.",
        example='{target: "{{target}}"}',
    ),
    Field(
        key="show",
        form=Each(form=Path(glob=True)),
        only=("approve",),
        says="Files to show with the question.",
        example="[REPORT.md]",
    ),
    Field(
        key="choices",
        form=Each(form=_WORD, least=1, distinct=True),
        only=("approve",),
        default="[approve, reject]",
        says="What can be chosen. `reject` fails the task, anything else succeeds.",
        example="[approve, later, reject]",
    ),
    Field(
        key="fields",
        form=Names(
            keys=Rule.WORD,
            form=Either(scalar=Choice(options=("text",)), sequence=Each(form=_WORD, least=1, distinct=True)),
        ),
        only=("approve",),
        says="What else to ask for: free text, or one of a list of words.",
        example="{remark: text, size: [small, large]}",
    ),
    Field(
        key="on-timeout",
        form=_WORD,
        only=("approve",),
        default="pause",
        says="What happens when `timeout` is over: `pause`, `reject`, or one of the choices.",
        example="reject",
    ),
    Field(
        key="limit",
        form=Whole(most=10_000),
        only=("parallel",),
        says="Most tasks of this group at once.",
        example="2",
    ),
    Field(
        key="fail-fast",
        form=Flag(),
        only=("parallel",),
        default="false",
        says="Whether the first failed member stops the others.",
    ),
    Field(
        key="merge",
        form=Steps(),
        only=("parallel",),
        looped=True,
        shared=False,
        says="Steps that run when all members or iterations are done, and see their results.",
        example="[{combine: {run: cat parts/*}}]",
    ),
    Field(
        key="hand-off",
        form=HAND_OFF,
        only=("task",),
        feature="hand-off",
        says="What this phase passes on to later ones, in words and values.",
    ),
)

MODIFIERS: tuple[Field, ...] = (
    Field(
        key="title",
        form=FILLED,
        shared=False,
        says="Words for people. Never used to identify the task.",
        example="Fetch the changes",
    ),
    Field(
        key="skip-if",
        form=Conditions(),
        says="When this holds as the task is reached, the task is skipped.",
        example="{file-exists: report.md}",
    ),
    Field(
        key="ensure",
        form=ENSURE,
        says="What must hold around the task, `before` and `after`; else it fails.",
        example="{after: [{file-exists: report.md}]}",
    ),
    Field(
        key="validators",
        form=Conditions(judge=True),
        only=WORKERS,
        feature="validators",
        says="Checks of the result. What a failed one prints is the feedback for the next try.",
        example="[{file-contains: {path: report.md, text: Verdict}}]",
    ),
    Field(
        key="retry",
        form=RETRY,
        only=WORKERS,
        says="How often and when the task is tried again.",
        example="{attempts: 3, delay: 10s}",
    ),
    Field(
        key="schema",
        form=JsonSchema(),
        only=WORKERS,
        feature="schema",
        says="JSON Schema that the result as JSON must fit.",
        example="{type: object, required: [count]}",
    ),
    Field(
        key="timeout",
        form=Duration(),
        says="Longest time: of each try of a task, of the whole of a group, until a decision is made.",
        example="20m",
    ),
    Field(
        key="idle",
        form=Duration(),
        only=("prompt", "run"),
        default="30m for a prompt",
        says="Longest time without any output.",
        example="10m",
    ),
    Field(
        key="directory",
        form=Path(),
        says="Folder to work in, relative to that of the surrounding node. Children inherit it.",
        example="frontend",
    ),
    Field(
        key="env",
        form=Names(keys=Rule.ENV, form=FILLED, env=True),
        says="Environment variables for the task. Children inherit them.",
        example='{REMARK: "{{sign-off.remark}}"}',
    ),
    Field(
        key="secrets",
        form=Each(form=Name(rule=Rule.ENV), distinct=True),
        feature="secrets",
        says="Names of the secrets that the task may see, as environment variables. Children inherit them. "
        "What it prints and returns is masked.",
        example="[GH_TOKEN]",
    ),
    Field(
        key="outputs",
        form=Names(keys=Rule.WORD, form=Choice(options=("text", "lines", "json"))),
        only=WORKERS,
        says="Named results: of `run` the files `$ONWARD_OUT/<name>`, else fields of the JSON result.",
        example="{title: text, files: lines}",
    ),
    Field(
        key="outputs",
        form=Names(keys=Rule.WORD, form=Data()),
        only=CONTAINERS,
        says="Named results of the group.",
        example='{report: "{{write.text}}"}',
    ),
    Field(
        key="artifacts",
        form=Each(form=ARTIFACT),
        says="Files that must exist when the task ends; they are recorded with size and checksum.",
        example="[report.md]",
    ),
    Field(
        key="on-resume",
        form=Choice(
            options=("retry", "ask", "check", "always"),
            features=(("ask", "on-resume"), ("check", "on-resume"), ("always", "on-resume")),
        ),
        only=WORKERS,
        default="retry",
        says="What a resume does when the task was interrupted: run it again, ask, look at `ensure.after` first, "
        "or run it again even when it had succeeded.",
    ),
    Field(
        key="on-failure",
        form=FAILURE,
        default="stop",
        says="What happens when the task has failed: the group stops, goes on, a person is asked, or steps are done.",
        example="continue",
    ),
    Field(
        key="finally",
        form=Steps(),
        only=CONTAINERS,
        looped=True,
        says="Steps that run when the group has ended in any way.",
        example="[{clean: {run: make clean}}]",
    ),
    Field(
        key="loop",
        form=LOOP,
        shared=False,
        feature="loop",
        says="Repeats the node: for each item, until something holds, or while it holds.",
        example="{for-each: [a, b], as: item}",
    ),
    Field(
        key="was",
        form=Name(rule=Rule.TASK),
        shared=False,
        says="Former name, so that a renamed task keeps what it has done.",
        example="old-name",
    ),
    Field(
        key="needs",
        form=Each(form=Name(rule=Rule.TASK), distinct=True),
        inside="parallel",
        shared=False,
        says="Other members of this `parallel` that must have succeeded first.",
        example="[build]",
    ),
    Field(
        key="queue",
        form=FIXED_LINE,
        says="Which workers may do it, on the Temporal engine. Children inherit it.",
        example="gpu",
    ),
    Field(
        key="worktree",
        form=Flag(),
        inside="together",
        shared=False,
        default="false",
        says="Whether the node works in a git worktree and on a branch of its own.",
    ),
    Field(
        key="budget",
        form=BUDGET,
        only=(*CONTAINERS, "prompt"),
        says="When this is used up, the run pauses.",
        example="{usd: 5}",
    ),
)

NODE_FIELDS = (*KIND_FIELDS, *EXTRA_FIELDS, *MODIFIERS)
