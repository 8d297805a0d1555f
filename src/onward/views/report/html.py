"""Texts and elements → HTML in which no text can become an element, an attribute or a script.

`Html` is what is HTML already; every other text that goes into an element is made visible (control characters and the
like are written out) and escaped on its way in, so that forgetting it is not possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from html import escape

from onward.views import words


class Html(str):
    """A piece of HTML that is safe as it is."""

    __slots__ = ()


NOTHING = Html("")
_VOID = frozenset({"meta", "input", "br", "rect", "line", "path", "use"})

Child = str | None
Attribute = str | int | float | bool | None


def text(words_of_others: str) -> Html:
    """A text that is shown as it is, line breaks and tabs included."""
    if words_of_others.isprintable():
        return Html(escape(words_of_others))
    return Html(escape(words.block(words_of_others)))


def line(words_of_others: str, limit: int = 300) -> Html:
    """A name or reason on one line, shortened."""
    return Html(escape(words.one_line(words_of_others, limit)))


def ticked(words_of_others: str) -> Html:
    """A sentence in which names stand in backticks: these become code."""
    parts = words_of_others.split("`")
    if len(parts) % 2 == 0:
        return text(words_of_others)
    return join(el("code", part) if number % 2 else part for number, part in enumerate(parts))


def join(parts: Iterable[Child], between: str = "") -> Html:
    """The parts one after the other."""
    return Html(between.join(part if isinstance(part, Html) else text(part) for part in parts if part is not None))


def el(name: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. `class_` and `for_` lose their end, `aria_label` is `aria-label`; None and False leave one out."""
    given = {key: value for key, value in attributes.items() if value is not None and value is not False}
    head = name + "".join(_attribute(key, value) for key, value in given.items())
    if name in _VOID and not children:
        return Html(f"<{head}>" if name in ("meta", "input", "br") else f"<{head}/>")
    return Html(f"<{head}>{join(children)}</{name}>")


@lru_cache(maxsize=512, typed=True)
def _attribute(key: str, value: Attribute) -> str:
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(words.one_line(str(value)))}"'
