"""Every key of the format has a story that was run and a bad value whose message is the real one."""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from language_cases import STORIES
from language_page import PLACES, bad, page, records_of_the_grammar, rows, stories_of
from language_stories import faults, text_of

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "language.md"
ROWS = rows()


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What was wrong in each story; several are under way at once, since they wait more than they work."""
    folders = [tmp_path_factory.mktemp(story.name) for story in STORIES]
    with ThreadPoolExecutor(6) as pool:
        found = pool.map(faults, STORIES, folders)
    return dict(zip([story.name for story in STORIES], found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_a_story_goes_as_it_says(outcomes, story):
    assert outcomes[story.name] == []


def test_every_mapping_of_the_grammar_has_its_place():
    known = [field for fields in PLACES.values() for field in fields]
    lacking = [one.title for one in records_of_the_grammar() if not all(field in known for field in one.fields)]
    assert [title for title in lacking if not title.startswith("`defaults.")] == []  # these are fields of nodes


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_key_has_a_story_in_which_it_stands(row):
    assert stories_of(row), f"no story uses {row.name}"
    for story in stories_of(row):
        whole = "\n".join([text_of(story), *story.beside.values()])
        assert re.search(rf"(?<![\w-]){row.field.key}:", whole), f"{row.name} is not in {story.name}"


def test_no_story_claims_a_key_that_is_not_in_the_grammar():
    assert {name for story in STORIES for name in story.uses.split()} - {row.name for row in ROWS} == set()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_bad_value_is_told_where_it_stands(row):
    text, problem = bad(row)
    [line] = [number for number, line in enumerate(text.splitlines(), 1) if f"{row.field.key}: " in line][:1]
    assert problem.place.line == line


def test_the_page_is_made_from_the_grammar():
    assert PAGE.read_text("utf-8") == page(), "python tests/docs/language_page.py > docs/reference/language.md"
