"""What a resume would do → lines of text for `onward resume --plan`: every task that is not simply kept, and why."""

from __future__ import annotations

from collections.abc import Iterator

from onward.recovery.diagnose import Diagnosis
from onward.recovery.findings import Finding
from onward.recovery.verdicts import NodeVerdict, Verdict
from onward.views import words
from onward.views.table import Line

MOST_LINES = 200
SUMMED_FROM = 6
"""neighbours of one verdict and one reason are counted together from this number on"""

STYLES = {
    Verdict.KEEP: "succeeded",
    Verdict.AGAIN: "interrupted",
    Verdict.CONTINUE: "running",
    Verdict.ASK: "waiting",
    Verdict.BEGIN: "pending",
}


def plan_lines(diagnosis: Diagnosis, next: str | None, at: str = "") -> Iterator[Line]:
    """The whole plan."""
    yield Line(f"{diagnosis.run}: what a resume would do; nothing was changed", "head")
    yield Line(_counts(diagnosis), "dim")
    yield from _nodes(diagnosis.nodes)
    yield from _intact(diagnosis)
    for finding in diagnosis.findings:
        yield from _finding(finding, diagnosis.run, at)
    if next is not None:
        yield Line("")
        yield Line(f"{'after a choice' if diagnosis.waits else 'to do it'}: {next}", "command")


def _counts(diagnosis: Diagnosis) -> str:
    found = [f"{diagnosis.counts[one.value]:,} {_SAID[one]}" for one in Verdict if diagnosis.counts.get(one.value)]
    return ", ".join(found) or "there is nothing to do"


_SAID = {
    Verdict.KEEP: "kept",
    Verdict.AGAIN: "done again",
    Verdict.CONTINUE: "carried on",
    Verdict.ASK: "asked about",
    Verdict.BEGIN: "not begun yet",
}


def _nodes(nodes: list[NodeVerdict]) -> Iterator[Line]:
    width = max((len(verdict.value) for verdict in Verdict), default=0)
    for shown, same in enumerate(_alike(nodes)):
        if shown == MOST_LINES:
            yield Line(f"  … and more; `--plan --json` lists all {len(nodes):,} tasks", "dim")
            return
        first = same[0]
        name = words.one_line(first.path)
        if len(same) > 1:
            name = f"{name} … {words.one_line(same[-1].path)} ({len(same):,} tasks)"
        text = f"  {first.verdict.value:{width}}  {name}: {words.one_line(first.reason, 160)}"
        yield Line(text, STYLES[first.verdict])


def _alike(nodes: list[NodeVerdict]) -> Iterator[list[NodeVerdict]]:
    from itertools import groupby

    for _, group in groupby(nodes, key=lambda node: (node.verdict, node.reason)):
        same = list(group)
        if len(same) >= SUMMED_FROM:
            yield same
        else:
            yield from ([one] for one in same)


def _intact(diagnosis: Diagnosis) -> Iterator[Line]:
    found = []
    if diagnosis.artifacts.total:
        found.append(f"{diagnosis.artifacts.intact} of {diagnosis.artifacts.total} artifacts are intact")
    if diagnosis.hand_offs.total:
        found.append(f"{diagnosis.hand_offs.intact} of {diagnosis.hand_offs.total} hand-offs are intact")
    if found:
        yield Line("; ".join(found), "dim")


def _finding(finding: Finding, run: str, at: str) -> Iterator[Line]:
    where = f"`{finding.path}`: " if finding.path and not finding.text.startswith("`") else ""
    style = "dim" if finding.severity == "note" else "warning"
    lines = words.block(f"{finding.severity}: {where}{finding.text}").split("\n")
    yield from (Line(line, style) for line in lines)
    for choice in finding.choices:
        yield Line(f"    {choice.text}: onward resume {run} {choice.flags}{at}", "command")
