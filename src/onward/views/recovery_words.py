"""What a resume would do → the screen of the wizard: plain words, no paths, no names of statuses, no inner terms.

The form is that of requirement 3: what it is about, since when it lies, what is done, then the choices.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from msgspec import Struct

from onward.model.nodes import Node
from onward.recovery.diagnose import Diagnosis
from onward.recovery.findings import Finding
from onward.recovery.levels import Level
from onward.recovery.verdicts import NodeVerdict, Verdict
from onward.state.run_state import RunState
from onward.views import words
from onward.views.recovery_names import feature_of, name_of, title_of, top_nodes, workflow_of
from onward.views.table import Line

TITLE = "Interrupted Workflow Found"
TITLE_FAILED = "Failed Workflow Found"
MOST_NAMED = 6
MOST_STEPS = 40

DONE, OPEN, FAILED, LATER = "[done]", "[>>]", "[failed]", "[ ]"


class Option(Struct, frozen=True, kw_only=True):
    """One choice: its letter, what it is called, what it does, the flags of `onward resume` that do the same."""

    letter: str
    id: str
    name: str
    effect: str
    flags: str
    recommended: bool = False


class Screen(Struct, frozen=True, kw_only=True):
    """Everything that is shown before the answer."""

    lines: list[Line]
    options: list[Option]


def screen(state: RunState, diagnosis: Diagnosis, now: float) -> Screen:
    """The whole screen. `state` is the one that the diagnosis has gone on with."""
    options = options_for(state, diagnosis)
    lines = [
        *_head(state, diagnosis, now),
        Line(""),
        Line("What's been completed:", "head"),
        *_steps(state, diagnosis),
        Line(""),
        Line(f"What happens when you {'try again' if _failed(diagnosis) else 'continue'}:", "head"),
        *_outlook(state, diagnosis),
        *_doubts(state, diagnosis),
    ]
    return Screen(lines=lines, options=options)


def option_lines(options: list[Option]) -> Iterator[Line]:
    """The choices as they are offered, again and again until one is taken."""
    yield Line("")
    yield Line("What would you like to do?", "head")
    yield Line("")
    for one in options:
        yield Line(f"  ({one.letter}) {one.name}" + (" (recommended)" if one.recommended else ""))
        yield Line(f"      → {one.effect}", "dim")
    yield Line("")
    yield Line("  Ctrl-C leaves everything as it is.", "dim")


def _failed(diagnosis: Diagnosis) -> bool:
    return diagnosis.standing.level is Level.FAILED


# --- head -------------------------------------------------------------------------------------------------------


def _head(state: RunState, diagnosis: Diagnosis, now: float) -> Iterator[Line]:
    title = TITLE_FAILED if _failed(diagnosis) else TITLE
    yield Line(title, "head")
    yield Line("─" * len(title))
    yield Line(f'Feature:  "{feature_of(state)}"')
    yield Line(f"Workflow: {workflow_of(state)}")
    yield Line(f"Started:  {_since(now - state.facts.started_at)}, stopped {_since(diagnosis.age.seconds)}")


def _since(seconds: float) -> str:
    days = int(seconds // 86_400)
    return "yesterday" if days == 1 else words.age(seconds)


# --- what is done -----------------------------------------------------------------------------------------------


class _Step(Struct):
    """A step of the workflow and what becomes of its tasks."""

    node: Node
    tasks: list[NodeVerdict]

    @property
    def done(self) -> int:
        return sum(task.verdict is Verdict.KEEP for task in self.tasks)


def _steps_of(state: RunState, diagnosis: Diagnosis) -> list[_Step]:
    steps = {node.name: _Step(node, []) for node in top_nodes(state)}
    for task in diagnosis.nodes:
        step = steps.get(task.path.partition("/")[0].partition("[")[0])
        if step is not None:
            step.tasks.append(task)
    return list(steps.values())


def _steps(state: RunState, diagnosis: Diagnosis) -> Iterator[Line]:
    steps = _steps_of(state, diagnosis)
    width = max(len(_mark(step, diagnosis)) for step in steps)
    for step in steps[:MOST_STEPS]:
        mark = _mark(step, diagnosis)
        count = _count(step, mark)
        yield Line(f"  {mark:{width}} {title_of(state, step.node)}" + (f" ({count})" if count else ""), _LOOKS[mark])
    if len(steps) > MOST_STEPS:
        yield Line(f"  … and {words.amount(len(steps) - MOST_STEPS, 'more step')}", "dim")


_LOOKS = {DONE: "succeeded", OPEN: "interrupted", FAILED: "failed", LATER: "dim"}


def _mark(step: _Step, diagnosis: Diagnosis) -> str:
    if step.done == len(step.tasks):
        return DONE
    if _failed(diagnosis) and any(task.verdict is Verdict.AGAIN and "failed" in task.reason for task in step.tasks):
        return FAILED
    begun = any(task.verdict is not Verdict.BEGIN for task in step.tasks)
    return OPEN if begun or step.node.name == diagnosis.standing.phase else LATER


def _count(step: _Step, mark: str) -> str:
    total = len(step.tasks)
    if mark == LATER:
        return ""
    if mark == DONE:
        return words.amount(total, "task") if total > 1 else ""
    return f"{step.done} of {total} done" if total > 1 else ""


# --- what would happen ------------------------------------------------------------------------------------------


def _outlook(state: RunState, diagnosis: Diagnosis) -> Iterator[Line]:
    kept = [task for task in diagnosis.nodes if task.verdict is Verdict.KEEP]
    yield Line(f"  Kept as it is:  {words.amount(len(kept), 'finished task') if kept else 'nothing is finished yet'}")
    for verdict, label in _TOLD.items():
        found = [task for task in diagnosis.nodes if task.verdict is verdict]
        for task in found[:MOST_NAMED]:
            yield Line(f"  {label if task is found[0] else '':15} {name_of(state, task.path)} – {_because(task)}")
        if len(found) > MOST_NAMED:
            yield Line(f"  {'':15} and {len(found) - MOST_NAMED:,} more")
    later = sum(task.verdict is Verdict.BEGIN for task in diagnosis.nodes)
    if later:
        yield Line(f"  Then:           {words.amount(later, 'task')} not begun yet")


_TOLD = {Verdict.AGAIN: "Done again:", Verdict.CONTINUE: "Carried on:", Verdict.ASK: "You decide:"}


def _because(task: NodeVerdict) -> str:
    return words.one_line(task.reason, 120)


# --- what should be known first ---------------------------------------------------------------------------------


def _doubts(state: RunState, diagnosis: Diagnosis) -> Iterator[Line]:
    rebuilt = any(finding.kind == "rebuilt" for finding in diagnosis.findings)
    told = [one for one in diagnosis.findings if not (rebuilt and one.kind in _OF_THE_RECORD)]
    found = list(dict.fromkeys(text for one in told if (text := _plain(state, one)) is not None))
    total, intact = diagnosis.artifacts.total, diagnosis.artifacts.intact
    if total:
        found.insert(0, f"Files that finished tasks made: {intact} of {total} are as they were left.")
    if not found:
        return
    yield Line("")
    yield Line("Good to know:", "head")
    for text in found:
        first, *rest = words.block(text).split("\n")
        yield Line(f"  - {first}")
        yield from (Line(f"    {line}") for line in rest)


def _plain(state: RunState, finding: Finding) -> str | None:
    """A finding for somebody who knows nothing of the inside; None: not worth a line here."""
    sentence = _SENTENCES.get(finding.kind)
    if sentence is not None:
        return sentence
    name = name_of(state, finding.path) if finding.path and finding.kind in _OF_A_TASK else ""
    match finding.kind:
        case "configuration" | "age" | "clock" | "uncommitted" | "revision" | "driven" | "definition":
            return _sentence(finding.text)
        case "edited" | "added" | "moved" | "renamed":
            return f"“{name}” is {finding.text}." if finding.kind == "added" else f"“{name}” was {finding.text}."
        case "artifact-missing" | "artifact-changed":
            return f"“{name}”: {finding.text}" + (_KEPT if finding.kind == "artifact-changed" else "") + "."
        case "hand-off-missing":
            return f"The summary of “{name}” is gone as a file; what it said is still known."
        case _:
            return None


_OF_A_TASK = ("edited", "added", "moved", "renamed", "artifact-missing", "artifact-changed", "hand-off-missing")
_KEPT = "; continuing keeps the change"
_LOST = (
    "Part of what was written down about this work cannot be read any more. "
    "Continuing goes on without it; what it told of may be done again."
)
_OF_THE_RECORD = ("damage", "gap", "unreadable-head")
_SENTENCES = {
    "rebuilt": "The beginning of what was written down about this work is lost. It was put together again from what "
    "is left. Check the list above before you go on.",
    "damage": _LOST,
    "gap": _LOST,
    "unreadable-head": _LOST,
    "state": "The saved progress was damaged or incomplete, and was put together again from the log of what happened. "
    "Check the list above before you go on.",
    "newer-version": "This work was begun by a newer version of onward; continuing with this one may misread it.",
}  # fmt: skip


def _sentence(text: str) -> str:
    named = text.startswith("`")
    text = text.replace("`", "")
    return (text if named else text[:1].upper() + text[1:]) + ("" if text.endswith((".", "!", "?")) else ".")


# --- the choices ------------------------------------------------------------------------------------------------


def options_for(state: RunState, diagnosis: Diagnosis) -> list[Option]:
    """A, B and C as the requirement has them; D where something failed; E where files were changed."""
    go_on = " ".join(["--yes", *_needed(diagnosis)])
    fresh = diagnosis.fresh_is_better
    options = [
        Option(
            letter="A",
            id="continue",
            name="Try again" if _failed(diagnosis) else "Continue where you left off",
            effect=first_move(state, diagnosis),
            flags=go_on,
            recommended=not fresh,
        ),
        Option(
            letter="B",
            id="fresh",
            name="Start fresh",
            effect="Put the previous work in the archive and begin anew",
            flags="--fresh",
            recommended=fresh,
        ),
        Option(
            letter="C",
            id="view",
            name="View what was made so far",
            effect="See the files and steps that are there before you decide",
            flags="--view",
        ),
    ]
    skipped = failed_tasks(diagnosis)
    if _failed(diagnosis) and skipped:
        effect = f"Leave out {_names(state, skipped)} and go on with what follows"
        flags = _with(go_on, "--skip", skipped)
        options.append(Option(letter="D", id="skip", name="Skip what failed", effect=effect, flags=flags))
    changed = list(diagnosis.artifacts.different)
    if changed:
        effect = f"Do {_names(state, changed)} again, which overwrites the change, and what used its result"
        flags = _with(go_on, "--rerun", changed)
        options.append(
            Option(letter="E", id="remake", name="Make the changed files again", effect=effect, flags=flags)
        )
    return options


def _needed(diagnosis: Diagnosis) -> Iterator[str]:
    """Flags without which a resume would wait for a choice, and which continuing implies."""
    for id in ("accept-damage", "original"):
        if any(choice.id == id for one in diagnosis.waits for choice in one.choices):
            yield f"--{id}"


def _names(state: RunState, paths: list[str]) -> str:
    named = ", ".join(f"“{name_of(state, path)}”" for path in paths[:MOST_NAMED])
    return named + (f" and {len(paths) - MOST_NAMED:,} more" if len(paths) > MOST_NAMED else "")


def _with(flags: str, flag: str, paths: list[str]) -> str:
    return " ".join([flags, *(f"{flag} {shlex.quote(path)}" for path in paths)])


def failed_tasks(diagnosis: Diagnosis) -> list[str]:
    """The tasks that failed and would be tried again."""
    return [t.path for t in diagnosis.nodes if t.verdict is Verdict.AGAIN and t.reason.startswith("it failed")]


def first_move(state: RunState, diagnosis: Diagnosis) -> str:
    """What continuing begins with, in one sentence."""
    place, level = diagnosis.standing, diagnosis.standing.level
    phase = state.index.get(place.phase)
    title = f"“{title_of(state, phase)}”" if phase is not None else "the work"
    step = next((one for one in _steps_of(state, diagnosis) if one.node.name == place.phase), None)
    some = f" ({step.done} of {len(step.tasks)} already done)" if step is not None and step.done else ""
    match level:
        case Level.FAILED:
            return f"Do {_names(state, failed_tasks(diagnosis)) or title} once more; everything finished is kept"
        case Level.PARALLEL:
            return f"Continue with {title}{some}"
        case Level.MERGE:
            return f"Finish combining the results of {title}"
        case Level.CHECKPOINT:
            return "Show the open question for your answer: " + _question(state, place.path)
        case Level.NEXT:
            return f"Move to the next step{_next_step(state, diagnosis)}"
        case Level.RERUN:
            return _interrupted(state, diagnosis, title, some)


def _question(state: RunState, path: str) -> str:
    gate = state.gates.get(path)
    return f"“{words.one_line(gate.question, 100)}”" if gate is not None else name_of(state, path)


def _next_step(state: RunState, diagnosis: Diagnosis) -> str:
    for step in _steps_of(state, diagnosis):
        if step.done < len(step.tasks):
            return f": “{title_of(state, step.node)}”"
    return ""


def _interrupted(state: RunState, diagnosis: Diagnosis, title: str, some: str) -> str:
    task = next((one for one in diagnosis.nodes if one.path == diagnosis.standing.path), None)
    if task is None:
        return f"Begin {title}{some}"
    name = f"“{name_of(state, task.path)}”"
    match task.verdict:
        case Verdict.AGAIN:
            return f"Do {name} again from its beginning"
        case Verdict.ASK:
            return f"Ask you whether {name} is to be done again, because it may have happened already"
        case _:
            return f"Carry on with {name}"
