"""What a run has made so far → lines for choice C of the wizard and `onward resume --view`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onward.recovery.diagnose import Diagnosis
from onward.recovery.made import Made
from onward.recovery.verdicts import Verdict
from onward.state.run_state import RunState
from onward.views import words
from onward.views.recovery_names import name_of, top_nodes
from onward.views.table import Line

MOST_LISTED = 200


def made_lines(state: RunState, diagnosis: Diagnosis, made: Sequence[Made]) -> Iterator[Line]:
    """Each file with what it is, then how much of the whole is done."""
    yield Line("What was made so far:", "head")
    for one in made[:MOST_LISTED]:
        if one.form == "summary":
            yield Line(f"  “{name_of(state, one.by)}” in short: {words.one_line(one.summary, 160) or 'nothing'}")
            continue
        size = words.size(one.bytes) if one.bytes is not None else "gone"
        yield Line(f"  {words.one_line(one.path)}  ({size})", "warning" if one.bytes is None else "")
        yield Line(f"      made by “{name_of(state, one.by)}”", "dim")
    if len(made) > MOST_LISTED:
        yield Line(f"  … and {len(made) - MOST_LISTED:,} more", "dim")
    if not made:
        yield Line("  no files yet")
    there = sum(one.bytes is not None and one.form == "file" for one in made)
    yield Line(f"{_coverage(state, diagnosis)}, {words.amount(there, 'file')} on disk")


def _coverage(state: RunState, diagnosis: Diagnosis) -> str:
    done = total = 0
    for node in top_nodes(state):
        below = [one for one in diagnosis.nodes if one.path.partition("/")[0].partition("[")[0] == node.name]
        total += 1
        done += all(one.verdict is Verdict.KEEP for one in below)
    kept = diagnosis.counts.get(Verdict.KEEP.value, 0)
    return f"{done} of {words.amount(total, 'step')} done ({kept} of {words.amount(len(diagnosis.nodes), 'task')})"
