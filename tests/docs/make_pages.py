"""Everything in `docs/reference` → written anew from the code: `python tests/docs/make_pages.py`.

A page is replaced only when it could be made as a whole.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import error_page
import journal_page
import json_page
import language_page

from onward.cli import reference as of_commands
from onward.spec import reference as of_the_format
from onward.spec.schema import schema_text

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "cli.md": of_commands.reference,
    "errors.md": error_page.page,
    "format.md": of_the_format.reference,
    "journal.md": journal_page.page,
    "json.md": json_page.page,
    "language.md": language_page.page,
    "workflow.schema.json": schema_text,
}


def main() -> None:
    for name, make in PAGES.items():
        text = make()
        path = FOLDER / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{name}: written anew\n")


if __name__ == "__main__":
    main()
