"""What a `.sparq` folder says → the screen of requirement 3 for it, in plain words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onward.mirrors.sparq_read import Part, SparqState
from onward.recovery.levels import Level
from onward.views import words
from onward.views.recovery_names import readable
from onward.views.recovery_words import DONE, OPEN, TITLE
from onward.views.table import Line

_MOVES = {
    Level.RERUN: "Re-generate “{phase}”",
    Level.PARALLEL: "Continue generating (some parts are already done)",
    Level.MERGE: "Finish combining results",
    Level.CHECKPOINT: "Show results for your review",
    Level.NEXT: "Move to next step",
    Level.FAILED: "Try “{phase}” again",
}


def sparq_lines(state: SparqState, level: Level, warnings: Sequence[str], now: float) -> Iterator[Line]:
    """Feature, workflow, since when, what is done, what continuing would do, what should be known."""
    yield Line(TITLE, "head")
    yield Line("─" * len(TITLE))
    yield Line(f'Feature:  "{words.one_line(state.feature or state.scenario or "unknown", 80)}"')
    yield Line(f"Workflow: {readable(state.scenario) if state.scenario else 'unknown'}")
    if state.at is not None:
        yield Line(f"Started:  {words.age(max(0.0, now - state.at))}")
    yield Line("")
    yield Line("What's been completed:", "head")
    for phase in state.completed:
        files = f" ({words.amount(len(phase.artifacts), 'file')})" if phase.artifacts else ""
        yield Line(f"  {DONE} {readable(phase.name)}{files}", "succeeded")
    opened = state.phase if all(phase.name != state.phase for phase in state.completed) else ""
    if opened:
        yield Line(f"  {OPEN:6} {readable(opened)}{_some(state)}", "interrupted")
    if not state.completed and not opened:
        yield Line("  nothing yet")
    yield Line("")
    yield Line(f"Continuing would: {_MOVES[level].format(phase=readable(opened or state.phase))}")
    verified, total = state.artifacts
    yield Line(f"{words.amount(len(state.completed), 'phase')} done, {verified} of {total} artifacts intact")
    for warning in warnings:
        yield Line(f"  - {words.one_line(warning.replace('`', ''), 300)}", "warning")


def sparq_files(state: SparqState) -> Iterator[Line]:
    """What was made so far: each file with the phase that made it."""
    yield Line("What was made so far:", "head")
    for phase in state.completed:
        for path in phase.artifacts:
            gone = " (gone)" if path in phase.missing else ""
            yield Line(f"  {words.one_line(path)}{gone}", "warning" if gone else "")
            yield Line(f"      made by “{readable(phase.name)}”", "dim")
    verified, total = state.artifacts
    yield Line(f"{words.amount(len(state.completed), 'phase')} done, {verified} of {total} artifacts on disk")


def _some(state: SparqState) -> str:
    done = sum(_is_done(part) for part in state.parts)
    return f" ({done} of {len(state.parts)} done)" if state.parts else ""


def _is_done(part: Part) -> bool:
    return part.status == "completed" and part.intact
