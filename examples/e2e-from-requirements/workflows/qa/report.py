"""The last phase of `e2e-from-requirements`: what was handed on and what became of it, as qa/report.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def build(hand_offs: list[dict[str, Any]], results: dict[str, Any]) -> dict[str, Any]:
    """Write the report into the working folder; returns how many tests there are."""
    risky = [name for data in hand_offs for name in data.get("risky", [])]
    suite = Path("e2e/suite.txt").read_text("utf-8").splitlines()
    lines = ["# End-to-end tests", "", f"Risky: {', '.join(risky) or 'nothing'}", ""]
    lines += ["| case | status |", "|---|---|"]
    lines += [f"| {case} | {result['status']} |" for case, result in sorted(results.items())]
    lines += ["", f"{len(suite)} files in the suite"]
    Path("qa/report.md").write_text("\n".join(lines) + "\n", "utf-8")
    return {"tests": len(results), "files": len(suite)}
