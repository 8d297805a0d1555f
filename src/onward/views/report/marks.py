"""A status → its mark and word, so that no meaning hangs on a colour alone.

The marks themselves are in the style (`mark_rules`): a page of thousands of rows has to do with few elements.
"""

from __future__ import annotations

from onward.views import words
from onward.views.report.html import Html, el, line

_KNOWN = frozenset(words.MARKS)


def style(status: str) -> str:
    """The class of a status; one that is not known gets none of the colours."""
    return f"s-{status}" if status in _KNOWN else "s-other"


def mark(status: str) -> Html:
    """The mark, with its word for those who cannot see it."""
    return el("span", class_=f"m {style(status)}", role="img", aria_label=words.status_word(status))


def badge(status: str, text: str | None = None) -> Html:
    """Mark and word in a small frame."""
    return el("span", line(text or words.status_word(status), 40), class_=f"badge {style(status)}")


def mark_rules() -> str:
    """Rules for the page's style: which mark each status has. What is read aloud is the word beside it."""
    rules = [f'.s-{status}{{--mark:"{sign}"}}' for status, sign in words.MARKS.items()]
    return "".join([*rules, '.s-other{--mark:"?"}\n'])
