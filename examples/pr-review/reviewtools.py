"""The Python half of `pr-review.yaml`: what the reviewers found, in one list."""

from __future__ import annotations

from typing import Any


def combine(correctness: dict[str, Any], security: dict[str, Any], tests: str) -> dict[str, Any]:
    """All findings, the grave ones first, each with the side it comes from; and how the tests ended."""
    sides = {"correctness": correctness, "security": security}
    found = [{"side": side, **finding} for side, reply in sides.items() for finding in reply["findings"]]
    found.sort(key=lambda finding: (finding["severity"] != "major", finding["file"], finding.get("line", 0)))
    return {"findings": found, "tests": tests.splitlines()[-1] if tests else "no output"}
