"""What a resume would do → the data of `onward resume --plan --json`, and findings as `status --json` has them."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from onward.recovery.diagnose import Diagnosis
from onward.recovery.findings import Finding
from onward.views.status import ChoiceView, FindingView

SCHEMA = 1


class PlanView(Struct, frozen=True, kw_only=True):
    """The whole; `waits`: a resume without more flags would do nothing, because a finding needs a choice."""

    schema: int = SCHEMA
    run: str
    level: str
    phase: str
    waits: bool
    fresh_is_better: bool
    age: dict[str, Any]
    counts: dict[str, int]
    nodes: list[dict[str, str]]
    artifacts: dict[str, Any]
    hand_offs: dict[str, Any]
    watch: list[dict[str, Any]]
    changes: list[dict[str, str]]
    revision: str | None
    uncommitted: int | None
    findings: list[FindingView]
    next: str | None


def plan_view(diagnosis: Diagnosis, next: str | None, at: str = "") -> PlanView:
    """`next` is the command that does it; `at` follows the run id in commands."""
    import msgspec

    one = diagnosis
    return PlanView(
        run=one.run,
        level=one.standing.level.value,
        phase=one.standing.phase,
        waits=bool(one.waits),
        fresh_is_better=one.fresh_is_better,
        age={"class": one.age.freshness.value, "seconds": round(one.age.seconds, 3), "ahead_s": one.age.ahead_s},
        counts=one.counts,
        nodes=[
            {"path": node.path, "kind": node.kind, "verdict": node.verdict.value, "reason": node.reason}
            for node in one.nodes
        ],
        artifacts=msgspec.to_builtins(one.artifacts),
        hand_offs=msgspec.to_builtins(one.hand_offs),
        watch=msgspec.to_builtins(one.watch),
        changes=msgspec.to_builtins(one.changes),
        revision=one.revision,
        uncommitted=one.uncommitted,
        findings=finding_views(one.findings, one.run, at),
        next=next,
    )


def finding_views(findings: list[Finding], run: str, at: str = "") -> list[FindingView]:
    """Findings with the whole command for each of their choices."""
    return [
        FindingView(
            kind=one.kind,
            severity=one.severity,
            path=one.path,
            text=one.text,
            choices=[
                ChoiceView(id=choice.id, text=choice.text, command=f"onward resume {run} {choice.flags}{at}")
                for choice in one.choices
            ],
        )
        for one in findings
    ]
