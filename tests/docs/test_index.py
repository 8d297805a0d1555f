"""The index of the documents leads to all of them."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BELOW_ANOTHER_INDEX = {"decisions", "recovery-sessions"}


def test_every_document_is_in_the_index():
    text = (DOCS / "README.md").read_text("utf-8")
    named = {(DOCS / target).resolve() for target in re.findall(r"\]\(([^)#:]+)", text)}
    pages = [page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in BELOW_ANOTHER_INDEX]
    assert [str(page.relative_to(DOCS)) for page in pages if page not in named and page != DOCS / "README.md"] == []


def test_the_promise_has_the_same_words_in_the_readme():
    said = (DOCS / "concepts" / "promise.md").read_text("utf-8")
    [promise] = re.findall(r"^(?:> .*\n)+", said, re.MULTILINE)
    words = " ".join(promise.replace("> ", " ").split()).lower()
    assert words in " ".join((DOCS.parent / "README.md").read_text("utf-8").split()).lower()


def test_every_page_of_the_reference_can_be_made_anew_by_one_command():
    text = (Path(__file__).parent / "make_pages.py").read_text("utf-8")
    assert [page.name for page in (DOCS / "reference").iterdir() if f'"{page.name}"' not in text] == []
