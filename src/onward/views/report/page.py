"""Everything about a run → the page as one text, which loads nothing and runs no script but its own.

The policy in its head names the style and the script by their checksums: whatever a task wrote, a browser would not
run it as a script even if it could become an element.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import partial
from importlib.resources import files

from onward.views import words
from onward.views.record import Result
from onward.views.report.attention import attention
from onward.views.report.decisions import Decision
from onward.views.report.details import details
from onward.views.report.gather import Entry, Gathered
from onward.views.report.graph import graph_section
from onward.views.report.header import header
from onward.views.report.html import NOTHING, Html, el, join, line, text
from onward.views.report.marks import mark, mark_rules
from onward.views.report.palette import graph_colours
from onward.views.report.table import shown_of, tasks_section
from onward.views.report.texts import Texts
from onward.views.report.timeline import timeline

MOST_DECISIONS = 400
MOST_VARIABLES = 300
LONGEST = 2_000
EARLY = 'document.documentElement.classList.add("js")'
"""before the page is laid out: what the script will fold need not be laid out first"""


def page(gathered: Gathered) -> str:
    """The whole document."""
    style, script = _asset("page.css") + mark_rules() + graph_colours(), _asset("page.js")
    shown = shown_of(gathered.entries)
    texts = Texts(gathered, shown)
    body = join([
        el("a", "Skip to what happened", href="#main", class_="skip"),
        header(gathered),
        el("main", *_sections(gathered, shown, texts), id="main"),
        el("footer", el("p", "Made by onward from the journal of the run. It holds everything it shows.")),
        el("script", Html(script)),
    ])  # fmt: skip
    title = words.one_line(gathered.status.title or gathered.status.run, 120)
    head = _head(title, style, _policy([style], [EARLY, script]))
    return f'<!DOCTYPE html>\n<html lang="en">{head}<body>{body}</body></html>\n'


def _sections(gathered: Gathered, shown: list[Entry], texts: Texts) -> Iterator[Html]:
    yield attention(gathered)
    yield graph_section(gathered.graph)
    yield timeline(gathered)
    yield tasks_section(gathered.entries, shown, partial(details, texts=texts, kept=gathered.artifacts))
    yield _outputs(gathered.outputs, texts)
    yield _decisions(gathered.decisions)
    yield _variables(gathered.status.variables)


# ---------------------------------------------------------------- the head of the document


def _head(title: str, style: str, policy: str) -> Html:
    return el(
        "head",
        el("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="robots", content="noindex"),
        el("title", title),
        el("style", Html(style)),
        el("script", Html(EARLY)),
    )


def _policy(styles: list[str], scripts: list[str]) -> str:
    allowed = {"style": styles, "script": scripts}
    sources = [f"{kind}-src {' '.join(map(_hash, texts))}" for kind, texts in allowed.items()]
    rules = ("default-src 'none'", *sources, "base-uri 'none'", "form-action 'none'")
    return "; ".join(rules)


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return files("onward.views.report").joinpath(name).read_text("utf-8")


# ---------------------------------------------------------------- the sections at the end


def _outputs(outputs: dict[str, Result], texts: Texts) -> Html:
    if not outputs:
        return NOTHING
    parts = [
        el("div", el("h3", el("code", line(name, 80))), texts.result("", name, value), class_="stream")
        for name, value in outputs.items()
    ]
    return el("section", el("h2", "Results of the run", id="outputs-title"), *parts, aria_labelledby="outputs-title")


def _decisions(made: list[Decision]) -> Html:
    if not made:
        return NOTHING
    left_out = max(0, len(made) - MOST_DECISIONS)
    shown = made[: MOST_DECISIONS // 4] + made[len(made) - MOST_DECISIONS * 3 // 4 :] if left_out else made
    head = el("tr", *(el("th", title, scope="col") for title in ("When", "What", "Node", "Who", "Why")))
    table = el(
        "table",
        el("thead", head),
        el("tbody", *map(_decision, shown), role="rowgroup"),
        aria_labelledby="decisions-title",
        role="table",  # on a narrow page its rows are blocks, which would make it no table for those who listen
    )
    note = el("p", f"{left_out:,} in between are left out: `onward show` lists them.", class_="note")
    heading = el("h2", "Decisions, pauses and resumes", id="decisions-title")
    return el("section", heading, note if left_out else None, el("div", table, class_="wide"),
              aria_labelledby="decisions-title", class_="decisions")  # fmt: skip


def _decision(one: Decision) -> Html:
    cells = [
        el("td", el("time", words.moment(words.at_time(one.at))), role="cell"),
        el("th", mark(one.style), " ", line(one.what, 120), scope="row", role="rowheader"),
        el("td", el("code", line(one.path, 200)) if one.path else None, role="cell"),
        el("td", line(one.who, 120), role="cell"),
        el("td", text(words.shortened(one.why, LONGEST)), class_="pre", role="cell"),
    ]
    return el("tr", *cells, role="row")


def _variables(variables: dict[str, str]) -> Html:
    if not variables:
        return NOTHING
    rows = [
        el("tr", el("th", el("code", line(name, 120)), scope="row"), el("td", text(words.shortened(value, LONGEST)),
           class_="pre"))
        for name, value in list(variables.items())[:MOST_VARIABLES]
    ]  # fmt: skip
    head = el("tr", el("th", "Name", scope="col"), el("th", "Value", scope="col"))
    table = el("table", el("thead", head), el("tbody", *rows), aria_labelledby="variables-title", class_="pairs")
    left_out = len(variables) - MOST_VARIABLES
    note = el("p", f"{left_out:,} more are left out.", class_="note") if left_out > 0 else None
    heading = el("h2", "Variables", id="variables-title")
    return el("section", heading, el("div", table, class_="wide"), note, aria_labelledby="variables-title")
