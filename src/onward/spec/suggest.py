"""An unknown key → what its author may have meant: a neighbour by spelling, or the word other formats use."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache

from onward.spec.document import Scalar, Tree
from onward.spec.excerpts import quoted
from onward.spec.forms import both

# scope → rows of (key of ours, what to write, words that others use). `{}` stands for the value as written.
_ROWS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "node": (
        ("retry", "retry: {attempts: {}}", "retries max-retries retry-count retry-limit attempts max-attempts tries"),
        ("run", "run", "cmd command commands script scripts shell-command shell bash sh exec execute"),
        ("task", "task", "steps tasks jobs stages nodes sequence children"),
        ("parallel", "parallel", "group concurrent fan-out branches members"),
        ("include", "include", "uses import workflow extends subworkflow sub-workflow file"),
        ("call", "call", "python function func method"),
        ("prompt", "prompt", "message instructions instruction ask-agent user-prompt"),
        ("approve", "approve", "approval confirm gate manual question ask"),
        ("adapter", "adapter", "agent provider llm assistant engine"),
        ("with", "with", "args arguments parameters params inputs kwargs"),
        ("loop", "loop: {for-each: …}", "foreach for each for-each with-items matrix items repeat map"),
        ("loop", "loop: {until: …, max: 10}", "until repeat-until"),
        ("loop", "loop: {while: …, max: 10}", "while"),
        ("directory", "directory", "working-directory working-dir cwd workdir work-dir wd dir folder chdir"),
        ("env", "env", "environment envs env-vars environment-variables"),
        ("timeout", "timeout: {}m", "timeout-minutes timeout-mins"),
        ("timeout", "timeout: {}s", "timeout-seconds timeout-s timeout-secs"),
        ("timeout", "timeout", "time-limit max-time deadline"),
        ("on-failure", "on-failure: continue", "continue-on-error allow-failure ignore-errors ignore-error"),
        ("on-failure", "on-failure", "on-error catch onfailure rescue on-fail error-handler"),
        ("finally", "finally", "always cleanup clean-up after-all teardown"),
        ("validators", "validators", "checks check validate validator asserts assert validations verify"),
        ("outputs", "outputs", "output results result returns save-as register exports"),
        ("artifacts", "artifacts", "artifact files produces creates"),
        ("secrets", "secrets", "secret"),
        ("stdin", "stdin", "input standard-input"),
        ("hand-off", "hand-off", "handoff"),
        ("title", "title", "description desc display-name label"),
        ("limit", "limit", "concurrency max-parallel parallelism max-workers"),
        ("budget", "budget", "max-cost cost-limit max-tokens"),
    ),
    "a workflow": (
        ("task", "task", "steps tasks jobs stages workflow pipeline sequence phases"),
        ("variables", "variables", "vars var params parameters inputs args arguments"),
        ("env", "env", "environment envs"),
        ("checkpoint", "checkpoint: {state-file: …}", "state state-file checkpoints checkpointing"),
        ("limit", "limit", "concurrency max-parallel parallelism max-workers"),
        ("directory", "directory", "working-directory cwd workdir dir folder"),
        ("on-failure", "on-failure", "on-error catch rescue"),
        ("finally", "finally", "always cleanup clean-up after-all teardown"),
        ("outputs", "outputs", "output results returns"),
        ("adapters", "adapters", "agents providers"),
        ("defaults", "defaults: {prompt: {adapter: {}}}", "adapter agent provider"),
        ("defaults", "defaults: {prompt: {model: {}}}", "model llm"),
        ("defaults", "defaults: {run: {shell: {}}}", "shell"),
        ("defaults", "defaults: {run: {retry: {attempts: {}}}}", "retries max-retries"),
        ("defaults", "defaults: {run: {retry: …}}", "retry"),
        ("mirror", "mirror", "mirrors snapshots"),
        ("description", "description", "desc comment summary"),
    ),
    "`checkpoint`": (
        ("state-file", "state-file", "path file statefile state"),
        ("cleanup-policy", "cleanup-policy", "cleanup policy clean-up"),
    ),
    "`loop`": (
        ("for-each", "for-each", "items list in over values each"),
        ("max", "max", "max-iterations iterations times count maximum"),
        ("as", "as", "item var variable name"),
        ("limit", "limit", "concurrency parallel parallelism max-parallel"),
        ("delay", "delay", "wait interval pause sleep"),
    ),
    "`retry`": (
        ("attempts", "attempts", "max count times retries max-attempts limit tries"),
        ("delay", "delay", "wait interval pause sleep"),
        ("backoff", "backoff", "factor multiplier exponential"),
        ("max-delay", "max-delay", "max-interval max-wait cap"),
        ("on", "on", "when if for"),
    ),
    "a variable": (
        ("matches", "matches", "pattern regex validate format"),
        ("default", "default", "value"),
        ("description", "description", "title desc help"),
    ),
    "`budget`": (("usd", "usd", "cost dollars max-cost"), ("tokens", "tokens", "max-tokens")),
    "`ensure`": (("before", "before", "pre precondition preconditions"), ("after", "after", "post postconditions")),
    "a condition": (
        ("file-exists", "file-exists: {}", "exists file path"),
        ("file-missing", "file-missing: {}", "missing not-exists absent"),
        ("file-contains", "file-contains: {path: …, text: …}", "contains"),
        ("command", "command: {}", "run cmd shell script exec"),
        ("equals", "equals: [a, b]", "equal eq is =="),
        ("matches", "matches: [text, regex]", "match regex"),
        ("succeeded", "succeeded: {}", "success passed ok"),
        ("failed", "failed: {}", "failure error"),
        ("all", "all", "and"),
        ("any", "any", "or"),
        ("at-least", "at-least: [a, b]", "gte ge greater min minimum"),
        ("at-most", "at-most: [a, b]", "lte le less max maximum"),
    ),
}

_TOLD: dict[str, dict[str, str]] = {
    "node": {
        "when": "did you mean `skip-if`? It is the other way round: `skip-if: {not: …}`",
        "if": "did you mean `skip-if`? It is the other way round: `skip-if: {not: …}`",
        "condition": "did you mean `skip-if`? It is the other way round: `skip-if: {not: …}`",
        "only-if": "did you mean `skip-if`? It is the other way round: `skip-if: {not: …}`",
        "unless": "did you mean `skip-if`?",
        "name": "the key above is the name of the task; words for people are its `title`",
        "id": "the key above is the name of the task",
        "depends-on": "order is the list: put the task in a later step; members of a `parallel` take `needs: [names]`",
        "depends": "order is the list: put the task in a later step; members of a `parallel` take `needs: [names]`",
        "requires": "order is the list: put the task in a later step; members of a `parallel` take `needs: [names]`",
        "needs": "order is the list: put the task in a later step; only members of a `parallel` take `needs`",
        "variables": "variables are declared at the top of the file; for one task use `env`",
        "vars": "variables are declared at the top of the file; for one task use `env`",
        "type": "the kind is a key of its own: prompt, run, call, approve, task, parallel or include",
        "kind": "the kind is a key of its own: prompt, run, call, approve, task, parallel or include",
    },
    "a workflow": {
        "on": "a workflow does not start itself: let cron or your CI call `onward run`",
        "triggers": "a workflow does not start itself: let cron or your CI call `onward run`",
        "schedule": "a workflow does not start itself: let cron or your CI call `onward run`",
        "cron": "a workflow does not start itself: let cron or your CI call `onward run`",
        "version": "leave it out; the version of the format is `onward: 1`",
        "prompt": "it needs a name and a place: `task: [{work: {prompt: …}}]`",
        "run": "it needs a name and a place: `task: [{work: {run: …}}]`",
        "parallel": "it needs a name and a place: `task: [{work: {parallel: …}}]`",
    },
    "a variable": {"type": "variables are text; `matches` takes a regular expression"},
    "a condition": {
        "prompt": "a question to a judge stands in `validators` only",
        "not-equals": "did you mean `not: {equals: [a, b]}`?",
        "and": "did you mean `all`?",
    },
}


@cache
def _words(scope: str) -> dict[str, tuple[str, str]]:
    return {word: (ours, text) for ours, text, words in _ROWS.get(scope, ()) for word in words.split()}


def suggest(scope: str, key: str, value: Tree, known: Iterable[str]) -> str | None:
    """Help for an unknown key. `scope` is `node` or what messages call the mapping; `known` are its keys."""
    keys = list(known)
    help = meant(scope, key, value, keys)
    if help is None and 0 < len(keys) <= 6:
        return f"it has {both(keys)}"
    return help


def meant(scope: str, key: str, value: Tree, keys: list[str]) -> str | None:
    """Help for an unknown key where it is likely what its author meant."""
    plain = key.strip().lower().replace("_", "-").replace(" ", "-")
    if plain in keys and plain != key:
        return f"did you mean {quoted(plain)}?"
    told = _TOLD.get(scope, {}).get(plain)
    if told is not None:
        return told
    ours, text = _words(scope).get(plain, ("", ""))
    if ours in keys:
        return f"did you mean {quoted(_filled(text, value))}?"
    near = difflib.get_close_matches(plain, keys, n=1, cutoff=0.7)
    return f"did you mean {quoted(near[0])}?" if near else None


def kind_meant(key: str) -> str | None:
    """The kind of node that a word of another format stands for."""
    plain = key.strip().lower().replace("_", "-")
    return _words("node").get(plain, (None, ""))[0]


def _filled(text: str, value: Tree) -> str:
    if "{}" not in text:
        return text
    written = value.text if isinstance(value, Scalar) else ""
    fits = 0 < len(written) <= 30 and "\n" not in written
    return text.replace("{}", written if fits else "…")
