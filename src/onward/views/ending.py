"""The state in which a driver left a run → the summary: how it stands, what failed and said what last, how to go on."""

from __future__ import annotations

from collections.abc import Iterator

from onward.model.status import RunStatus, Status
from onward.state.advance import stops
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.views import words
from onward.views.happenings import gate_lines
from onward.views.output import last_lines
from onward.views.progress import leaf_counts
from onward.views.status import next_command, run_reason
from onward.views.table import Line

MOST_FAILURES = 3
LINES_OF_OUT = 5
LINES_OF_ERR = 10
LONGEST_LINE = 400


def ending_lines(state: RunState, folder: RunFolder, *, now: float, at: str = "") -> Iterator[Line]:
    """The summary. `at` follows the run id in commands (` --store DIR` where that is needed)."""
    status, run = state.status, folder.run_id
    yield Line(_verdict(state, status, now), status.value)
    if status is RunStatus.FAILED:
        yield from _failures(state, folder)
    if status is RunStatus.WAITING:
        for gate in state.gates.values():
            yield from gate_lines(gate, run, at)
        return
    command = next_command(state, status, run, at)
    if command is not None:
        yield Line(f"go on with: {command}", "command")


def _verdict(state: RunState, status: RunStatus, now: float) -> str:
    facts, counts = state.facts, leaf_counts(state)
    reason = words.one_line(run_reason(state, status), 300)
    because = f": {reason}" if reason else ""
    lasted = words.duration(max(0.0, (facts.ended_at or now) - facts.started_at))
    if status is RunStatus.SUCCEEDED:
        return f"succeeded in {lasted}: {words.amount(counts.total, 'task')}{_passed_over(state)}"
    so_far = f"{counts.done:,} of {words.amount(counts.total, 'task')} done"
    if status in (RunStatus.FAILED, RunStatus.CANCELLED):
        return f"{status.value} after {lasted}{because} ({so_far})"
    return f"{status.value}{because} ({so_far})"


def _passed_over(state: RunState) -> str:
    failed = sum(1 for one in state.instances.values() if one.is_leaf and one.ended and one.status is Status.FAILED)
    skipped = sum(1 for one in state.instances.values() if one.is_leaf and one.ended and one.status is Status.SKIPPED)
    parts = [f"{failed} failed and passed over"] if failed else []
    if skipped:
        parts.append(f"{skipped} skipped")
    return f" ({', '.join(parts)})" if parts else ""


# ---------------------------------------------------------------- what failed


def failed_leaves(state: RunState) -> list[Instance]:
    """The tasks that stopped the run, in the order of their ends."""
    found = [
        one
        for one in state.instances.values()
        if one.is_leaf and one.ended and one.status is Status.FAILED and stops(one)
    ]
    return sorted(found, key=lambda one: one.ended_seq)


def _failures(state: RunState, folder: RunFolder) -> Iterator[Line]:
    failed = failed_leaves(state)
    for instance in failed[:MOST_FAILURES]:
        name, last = words.one_line(instance.path), list(_last_output(instance, folder))
        reason = words.why(instance.reason, instance.exit, instance.signal)
        if reason not in words.one_line(state.facts.end_reason):
            yield Line(f"{name} failed: {reason}", Status.FAILED)
        if last:
            yield Line(f"last output of {name}:", "dim")
            yield from last
    if len(failed) > MOST_FAILURES:
        yield Line(f"and {words.amount(len(failed) - MOST_FAILURES, 'other task')} failed", Status.FAILED)


def _last_output(instance: Instance, folder: RunFolder) -> Iterator[Line]:
    place = folder.attempt_path(instance.path, instance.attempt)
    for stream, mark, most in (("out", "|", LINES_OF_OUT), ("err", "!", LINES_OF_ERR)):
        for text in last_lines(f"{place}/{stream}", most):
            for line in words.output(text, colour=False).split("\n"):
                yield Line(f"  {mark} {words.shortened(line, LONGEST_LINE)}", "dim")
