"""The recorded mistakes: `mistakes/<code>[--variant].yaml` and, beside each, the text that it must give.

`python tests/spec/recorded.py` writes the texts anew, to be read before they are committed.
"""

from __future__ import annotations

from pathlib import Path

from onward.errors import Problems
from onward.spec.load import load

FOLDER = Path(__file__).parent / "mistakes"
WORKFLOWS = Path(__file__).parent / "workflows"
MISTAKES = sorted(FOLDER.glob("*.yaml"))


def reported(path: Path) -> str:
    """What loading the file reports, with the file named as in its own folder."""
    try:
        load(path, shown=path.name)
    except Problems as problems:
        return f"{problems}\n"
    return ""


if __name__ == "__main__":
    for mistake in MISTAKES:
        mistake.with_suffix(".txt").write_text(reported(mistake), encoding="utf-8")
