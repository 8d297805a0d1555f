"""A status → its mark and word, so that no meaning hangs on a colour alone."""

from __future__ import annotations

from onward.views import words
from onward.views.report.html import Html, el

_KNOWN = frozenset(words.MARKS)


def style(status: str) -> str:
    """The class of a status; one that is not known gets none of the colours."""
    return f"s-{status}" if status in _KNOWN else "s-other"


def mark(status: str) -> Html:
    """The mark with its word for those who cannot see it."""
    sign = el("span", words.MARKS.get(status, "?"), aria_hidden="true")
    return el("span", sign, el("span", words.status_word(status), class_="vh"), class_=f"m {style(status)}")


def badge(status: str, text: str | None = None) -> Html:
    """Mark and word in a small frame."""
    sign = el("span", words.MARKS.get(status, "?"), aria_hidden="true")
    return el("span", sign, f" {text or words.status_word(status)}", class_=f"badge {style(status)}")
