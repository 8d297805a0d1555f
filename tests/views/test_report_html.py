"""Elements of a page: what is put into them is text, whatever it looks like."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.views.report.html import Html, el, join, line, text, ticked
from stories.report_pages import Page


def test_a_text_is_escaped_and_html_is_not() -> None:
    assert el("p", "<b>&", Html("<b>x</b>")) == "<p>&lt;b&gt;&amp;<b>x</b></p>"


def test_attributes_are_escaped_named_as_in_html_and_left_out_where_there_is_none() -> None:
    made = el("a", "x", href='#"><i>', class_="c", aria_label="l", title=None, hidden=False)
    assert made == '<a href="#&quot;&gt;&lt;i&gt;" class="c" aria-label="l">x</a>'
    assert el("input", hidden=True, tabindex=0) == '<input hidden tabindex="0">'
    assert el("td", colspan=1) == '<td colspan="1"></td>'


def test_characters_that_nobody_sees_are_written_out() -> None:
    assert text("a\x00b\u202ec\x1b[1m") == r"a\x00b\u202ec\x1b[1m"
    assert line("two\nlines  \t of") == "two lines of"
    assert el("p", title="a\u2066b") == r'<p title="a\u2066b"></p>'


def test_a_long_line_is_shortened_before_it_is_escaped() -> None:
    assert line("<" * 10, 3) == "&lt;&lt;…"


def test_names_in_backticks_become_code_and_an_odd_backtick_stays() -> None:
    assert ticked("`a<` failed") == "<code>a&lt;</code> failed"
    assert ticked("one ` alone") == "one ` alone"


def test_joined_texts_are_escaped_too() -> None:
    assert join(["<", Html("<br>"), None], ", ") == "&lt;, <br>"


@pytest.mark.parametrize("place", ["text", "attribute"])
@given(words=st.text(alphabet=st.sampled_from("<>\"'&/=!-x \n\r\t\x00`;#]") | st.characters(), max_size=40))
def test_no_text_becomes_an_element_or_an_attribute(place: str, words: str) -> None:
    made = el("p", words) if place == "text" else el("p", title=words)
    page = Page(made)
    assert dict(page.elements) == {"p": 1}
    assert page.unbalanced == []
    assert [name for _, name, _ in page.attributes] == ([] if place == "text" else ["title"])
