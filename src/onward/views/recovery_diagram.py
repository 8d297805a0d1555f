"""The table of recoveries → the diagram and the table of `docs/concepts/recovery.md`.

`python -m onward.views.recovery_diagram` prints them; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterator

from onward.recovery.levels import TABLE, Level

WORDS: dict[Level, str] = {
    Level.RERUN: "do the task again, or carry on with it",
    Level.PARALLEL: "keep what is done, dispatch the rest",
    Level.MERGE: "go on at the first open step",
    Level.CHECKPOINT: "show the question again",
    Level.NEXT: "begin the next step",
    Level.FAILED: "retry, skip, or start fresh",
}


def diagram() -> Iterator[str]:
    """Lines of a Mermaid state diagram."""
    yield "stateDiagram-v2"
    yield "    direction LR"
    for level in Level:
        yield f'    state "{level.value}: {WORDS[level]}" as to_{level.value}'
    for row in TABLE:
        yield f"    {row.point.value} --> to_{row.level.value}"


def table() -> Iterator[str]:
    """Lines of a Markdown table."""
    yield "| SparQ calls it | found | recovery | what a resume does first |"
    yield "|---|---|---|---|"
    for row in TABLE:
        yield f"| `{row.point.value}` | {row.found} | {row.level.value} | {WORDS[row.level]} |"


def page_part() -> str:
    """What stands between the markers of the page."""
    return "\n".join(["```mermaid", *diagram(), "```", "", *table()])


if __name__ == "__main__":
    print(page_part())  # noqa: T201 - the command line of this module
