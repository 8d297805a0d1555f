"""What is worth saying of a run before it goes on: its form, and the findings of its age and of watched files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from onward.model.nodes import Plan
from onward.recovery import watching
from onward.recovery.age import Age, Freshness, age_of
from onward.recovery.seen import Seen
from onward.recovery.watching import WatchedChange

NOTE, WARNING, CHOICE = "note", "warning", "choice"


class Choice(Struct, frozen=True, kw_only=True):
    """An answer to a finding: what it does, and the flags of `onward resume` that give it."""

    id: str
    text: str
    flags: str


class Finding(Struct, frozen=True, kw_only=True):
    """`severity`: `note`, `warning`, or `choice` (a resume waits for one of the choices)."""

    kind: str
    severity: str
    text: str
    path: str | None = None
    choices: tuple[Choice, ...] = ()


def of_age(age: Age) -> Iterator[Finding]:
    """What the age of a run is worth saying."""
    if age.ahead_s:
        text = f"its last event lies {age.ahead_s:.0f} s in the future: the clock went back; it is taken as fresh"
        yield Finding(kind="clock", severity=NOTE, text=text)
    elif age.freshness is not Freshness.FRESH:
        days = int(age.seconds // 86_400)
        since = f"{days} {'day' if days == 1 else 'days'}"
        if age.freshness is Freshness.AGED:
            yield Finding(kind="age", severity=WARNING, text=f"it was left {since} ago; things may have changed since")
        else:
            fresh = Choice(id="fresh", text="archive it and start fresh", flags="--fresh")
            text = f"it was left {since} ago; a fresh start is recommended"
            yield Finding(kind="age", severity=WARNING, text=text, choices=(fresh,))


def of_watched(changed: Sequence[WatchedChange]) -> Iterator[Finding]:
    """Each watched file that is not what it was, with its fields."""
    for one in changed:
        if one.drift is watching.Drift.REWRITTEN:
            text = f"`{one.path}` was rewritten; no value in it changed"
            yield Finding(kind="configuration", severity=NOTE, path=one.path, text=text)
            continue
        choices: tuple[Choice, ...] = ()
        if one.wants_fresh_start:
            choices = (Choice(id="fresh", text="archive it and start fresh", flags="--fresh"),)
        text = _watched_words(one) + ("; the workflow asks for a fresh start then" if choices else "")
        yield Finding(kind="configuration", severity=WARNING, path=one.path, text=text, choices=choices)


MOST_FIELDS = 8


def _watched_words(one: WatchedChange) -> str:
    match one.drift:
        case watching.Drift.ADDED:
            return f"`{one.path}` was not there at the start"
        case watching.Drift.REMOVED:
            return f"`{one.path}` is gone since the start"
        case watching.Drift.UNREADABLE:
            return f"`{one.path}` has changed since the start and cannot be compared: {one.detail}"
    if not one.fields:
        return f"`{one.path}` has changed since the start"
    shown = ", ".join(_field(change.name, change.before, change.after) for change in one.fields[:MOST_FIELDS])
    rest = len(one.fields) - MOST_FIELDS
    return f"`{one.path}` has changed since the start: {shown}" + (f" and {rest} more" if rest > 0 else "")


def _field(name: str, before: str | None, after: str | None) -> str:
    if before == after:
        return f"{name} (not shown)"
    if before is None:
        return f"{name} is new ({after})"
    return f"{name} is gone (was {before})" if after is None else f"{name}: {before} → {after}"


def directory_of(plan: Plan) -> Path:
    """The folder in which the tasks of a run work."""
    return Path(os.path.normpath(Path(plan.file).parent / plan.directory))


def watched_changes(seen: Seen) -> list[WatchedChange]:
    """Watched files that differ from what was recorded at the start."""
    recorded, patterns = seen.state.facts.watch, seen.plan.watch
    if not recorded and not patterns:
        return []
    today = watching.look(directory_of(seen.plan), dict.fromkeys([*recorded, *patterns]))
    known = {name: digest for name, digest in today.digests.items() if recorded or digest is not None}
    return watching.changes(recorded, watching.Watched(digests=known, contents=today.contents), patterns, seen.folder)


def tell_surroundings(seen: Seen, now: float, tell: Callable[[str, str], None]) -> None:
    """What a resume says of the time that has passed and of watched files, before it goes on."""
    found = [*of_age(age_of(seen.state.facts.last_at, now)), *of_watched(watched_changes(seen))]
    for finding in found:
        help = "".join(f" (`onward resume {seen.folder.run_id} {choice.flags}`)" for choice in finding.choices)
        tell(finding.severity, finding.text + help)
