"""A run as it lies on the disk, and what a resume of it would record → everything that a person should know first.

Findings, the recovery that fits, a verdict on every task, its age, what is intact: as data. The wizard, `--plan`,
`status --json` and the flags of `resume` all go by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from onward.model.events import Change, Event
from onward.model.status import Status
from onward.recovery import artifacts
from onward.recovery.age import Age, Freshness, age_of
from onward.recovery.fate import Fate, FateOf, fate_of
from onward.recovery.findings import (
    CHOICE,
    NOTE,
    WARNING,
    Choice,
    Finding,
    directory_of,
    of_age,
    of_watched,
    watched_changes,
)
from onward.recovery.hand_offs import HandOffs, look_at_hand_offs
from onward.recovery.levels import Standing, standing
from onward.recovery.revision import revision_of
from onward.recovery.seen import Seen
from onward.recovery.verdicts import NodeVerdict, Verdict, found_in, go_on, verdicts
from onward.recovery.watching import WatchedChange
from onward.state.budgets import used_up
from onward.state.run_state import RunState


class Diagnosis(Struct, kw_only=True):
    """The whole. `fresh_is_better`: old, or a watched file says that what was made is worth nothing."""

    run: str
    standing: Standing
    findings: list[Finding]
    nodes: list[NodeVerdict]
    counts: dict[str, int]
    age: Age
    artifacts: artifacts.Report
    hand_offs: HandOffs
    watch: list[WatchedChange]
    changes: list[Change]
    revision: str | None = None
    uncommitted: int | None = None
    fresh_is_better: bool = False

    @property
    def waits(self) -> list[Finding]:
        """Findings that a resume without flags does not pass over."""
        return [finding for finding in self.findings if finding.severity == CHOICE]


def diagnose(seen: Seen, events: Sequence[Event], now: float, *, git: bool = True) -> Diagnosis:
    """`events` are those that the resume would record first. The state of `seen` goes on with them."""
    state, directory = seen.state, directory_of(seen.plan)
    report = artifacts.look(state, directory)
    hand_offs = look_at_hand_offs(seen.folder, state)
    stand, before, age = standing(state), found_in(state), age_of(state.facts.last_at, now)
    changed = watched_changes(seen)

    def fate(path: str, attempt: int) -> Fate:
        return fate_of(seen.folder, state, path, attempt, seen.kept_at(path))

    findings = list(_findings(seen, report, hand_offs, age, changed, fate))
    go_on(state, events)
    findings += _of_budgets(state)
    nodes = verdicts(state, before, events, fate, report.different)
    home = Path(seen.plan.file).parent
    diagnosis = Diagnosis(
        run=seen.folder.run_id,
        standing=stand,
        findings=findings,
        nodes=nodes,
        counts=dict(Counter(node.verdict.value for node in nodes)),
        age=age,
        artifacts=report,
        hand_offs=hand_offs,
        watch=changed,
        changes=seen.changes,
        revision=revision_of(home),
        uncommitted=_uncommitted(home) if git else None,
        fresh_is_better=age.freshness is Freshness.OLD or any(one.wants_fresh_start for one in changed),
    )
    diagnosis.findings += _of_checkout(state.facts.revision, diagnosis)
    return diagnosis


def _of_budgets(state: RunState) -> Iterator[Finding]:
    """A budget that is used up pauses the run again before anything begins."""
    for place, name, spent, most in used_up(state):
        key = f"{place.path}:{name}" if place.path else name
        text = f"the budget is used up ({spent:g} of {most:g} {name}): nothing begins before it is raised"
        more = Choice(id="budget", text="raise it", flags=f"--budget {key}={2 * most:g}")
        yield Finding(kind="budget", severity=WARNING, path=place.path or None, text=text, choices=(more,))


def _uncommitted(home: Path) -> int | None:
    from onward.tasks.git import uncommitted

    found = uncommitted(home)
    return None if found is None else len(found)


# --- findings ---------------------------------------------------------------------------------------------------


def _findings(
    seen: Seen,
    report: artifacts.Report,
    hand_offs: HandOffs,
    age: Age,
    changed: Sequence[WatchedChange],
    fate: FateOf,
) -> Iterator[Finding]:
    if seen.driver is not None:
        choice = Choice(id="take-over", text="stop that process and go on here", flags="--take-over")
        text = f"it is being worked on by {seen.driver.described}"
        yield Finding(kind="driven", severity=CHOICE, text=text, choices=(choice,))
    yield from _of_records(seen)
    yield from of_age(age)
    yield from of_watched(changed)
    yield from _of_definition(seen)
    yield from _of_files(report, hand_offs)
    yield from _of_attempts(seen.state, fate)


def _of_records(seen: Seen) -> Iterator[Finding]:
    accept = Choice(id="accept-damage", text="go on without what is lost", flags="--accept-damage")
    for finding in seen.damage:
        yield Finding(
            kind=finding.kind.value,
            severity=CHOICE if finding.needs_choice else NOTE,
            text=f"journal, {finding.where}: {finding.text}",
            choices=(accept,) if finding.needs_choice else (),
        )
    if seen.rebuilt is not None:
        yield Finding(kind="rebuilt", severity=WARNING, text=seen.rebuilt)
    if seen.cache_problem is not None:
        text = f"the saved state is not used: {seen.cache_problem}; it is rebuilt from the journal"
        yield Finding(kind="state", severity=WARNING, text=text)


def _of_definition(seen: Seen) -> Iterator[Finding]:
    from onward.recovery.choices import Choices, overrides_for

    if seen.problem is not None:
        original = Choice(id="original", text="with the workflow as it was at the start", flags="--original")
        text = f"the workflow file cannot be used as it is now:\n{seen.problem.message}"
        yield Finding(kind="definition", severity=CHOICE, text=text, choices=(original,))
    for change in seen.changes:
        instance = seen.state.get(change.path)
        if change.change != "edited":
            yield Finding(kind=change.change, severity=NOTE, path=change.path, text=_CHANGES[change.change])
        elif instance is not None and instance.ended and instance.status is not Status.FAILED:
            after = [event.path for event in overrides_for(seen.state, Choices(rerun=(change.path,)), "")][1:]
            used = f"; {', '.join(f'`{path}`' for path in after)} used its result" if after else ""
            again = Choice(id="rerun", text="do it again", flags=f"--rerun {change.path}")
            text = f"edited since it was done; kept as it was{used}"
            yield Finding(kind="edited", severity=NOTE, path=change.path, text=text, choices=(again,))


_CHANGES = {
    "added": "new in the workflow",
    "removed": "no longer in the workflow; its record stays, unused",
    "moved": "moved in the workflow; kept by its name",
    "renamed": "renamed; kept under its former name",
}


def _of_files(report: artifacts.Report, hand_offs: HandOffs) -> Iterator[Finding]:
    for path, names in report.missing.items():
        text = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} gone, so it is done again"
        yield Finding(kind="artifact-missing", severity=WARNING, path=path, text=text)
    for path, names in report.different.items():
        text = f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not what it made"
        keep = Choice(id="keep", text="keep it as it is now", flags="--yes")
        again = Choice(id="rerun", text="make it again", flags=f"--rerun {path}")
        yield Finding(kind="artifact-changed", severity=CHOICE, path=path, text=text, choices=(keep, again))
    for path in hand_offs.missing:
        text = "what it handed on is gone from the run's folder; its values are still known"
        yield Finding(kind="hand-off-missing", severity=WARNING, path=path, text=text)


_FATES = {
    Fate.LIVES: ("still-running", "still runs although nothing drives the run; a resume waits for it"),
    Fate.ENDED: ("ended-meanwhile", "ended while nothing drove the run; a resume takes its result"),
    Fate.LOST: ("interrupted", "was running when the run was interrupted; how far it got is not known"),
}


def _of_attempts(state: RunState, fate: FateOf) -> Iterator[Finding]:
    for instance in state.running_leaves():
        kind, text = _FATES[fate(instance.path, instance.attempt)]
        yield Finding(kind=kind, severity=NOTE, path=instance.path, text=text)


def _of_checkout(then: str | None, diagnosis: Diagnosis) -> Iterator[Finding]:
    now = diagnosis.revision
    if then is not None and now is not None and then != now:
        text = f"the checkout stands at another commit than at the start: {then[:10]} then, {now[:10]} now"
        yield Finding(kind="revision", severity=NOTE, text=text)
    if diagnosis.uncommitted:
        count = diagnosis.uncommitted
        are = "file of the checkout is" if count == 1 else "files of the checkout are"
        text = f"{count} {are} not committed"
        yield Finding(kind="uncommitted", severity=NOTE, text=text)


def count(diagnosis: Diagnosis, verdict: Verdict) -> int:
    """How many tasks have that verdict."""
    return diagnosis.counts.get(verdict.value, 0)
