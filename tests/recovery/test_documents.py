"""The page about recovery says what the code does."""

from __future__ import annotations

from pathlib import Path

from onward.recovery.levels import LEVEL_OF, TABLE, Level, Point
from onward.recovery.verdicts import Verdict
from onward.views.recovery_diagram import page_part

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "recovery.md"


def test_the_diagram_of_the_page_is_made_from_the_table_of_the_code():
    between = PAGE.read_text("utf-8").partition("recovery_diagram -->\n")[2].partition("<!-- /levels -->")[0]
    assert between.strip() == page_part()


def test_the_table_has_every_point_once_and_leads_to_every_recovery():
    assert [row.point for row in TABLE] == list(Point)
    assert set(LEVEL_OF.values()) == set(Level)


def test_the_page_explains_every_verdict():
    text = PAGE.read_text("utf-8")
    assert [one.value for one in Verdict if f"| {one.value} |" not in text] == []
