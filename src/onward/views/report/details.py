"""The record of a node → what is folded below its row: attempts, output, results, artifacts, what happened, why."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onward import clock
from onward.views import words
from onward.views.record import Happened, Made, NodeRecord, Result, Try
from onward.views.report.artifacts import Kept, Now
from onward.views.report.gather import Entry
from onward.views.report.html import NOTHING, Html, el, join, line, text
from onward.views.report.marks import badge
from onward.views.report.texts import MOST_TRIES, Texts, results_to_show

MOST_ARTIFACTS = 60
MOST_HAPPENED = 40
LONGEST = 2_000
SHORT = 100
_OUTCOMES = {
    "ok": ("succeeded", "ok"),
    "error": ("failed", "failed"),
    "timeout": ("failed", "timed out"),
    "invalid": ("failed", "not valid"),
    "limited": ("waiting", "usage limit"),
    "interrupted": ("interrupted", "interrupted"),
}
_ORDINARY = ("it ran", "it ran, in 1 attempt", "it has not ended")
_ROUTINE = re.compile(r"begun|ended, .*|attempt \d+ (?:started|ended: .*)", re.DOTALL)
"""what the row and the attempts tell already"""
_RESUMED = "the run was resumed"


def details(entry: Entry, texts: Texts, kept: Kept) -> Html:
    """Folded; empty of a node that was never reached."""
    record = entry.record
    if record is None:
        return NOTHING
    parts = [*_why(record), *_attempts(entry, record, texts), *_results(entry, texts)]
    parts += _artifacts(record, kept)
    parts += [*_numbers(record), *_history(record.history)]
    inside = el("div", *parts, id=f"n{entry.number}", class_="d")
    return el("details", el("summary", "Details of ", line(entry.path, 80)), inside)


def _why(record: NodeRecord) -> Iterator[Html]:
    if record.why not in _ORDINARY:
        yield el("p", el("b", "Why: "), line(record.why, LONGEST))
    if record.reason and record.reason not in record.why and record.reason not in _errors(record):
        yield el("p", el("b", "Reason: "), text(words.shortened(record.reason, LONGEST)))
    if record.items is not None:
        yield el("p", el("b", "Items: "), f"{record.items:,}")


def _errors(record: NodeRecord) -> list[str]:
    return [one.error or "" for one in record.attempts]


# ---------------------------------------------------------------- attempts


def _attempts(entry: Entry, record: NodeRecord, texts: Texts) -> Iterator[Html]:
    left_out = len(record.attempts) - MOST_TRIES
    if left_out > 0:
        yield el("p", f"{words.amount(left_out, 'earlier attempt')} left out.", class_="note")
    for one in record.attempts[-MOST_TRIES:]:
        yield _attempt(entry, one, texts)


def _attempt(entry: Entry, one: Try, texts: Texts) -> Html:
    status, word = _OUTCOMES.get(one.outcome or "", ("running", one.outcome or "not ended"))
    status = entry.view.status if one.outcome is None else status
    facts = [el("b", f"Attempt {one.attempt}"), badge(status, word), *_attempt_facts(one)]
    streams = [_stream(entry, one, name, texts) for name in ("out", "err")]
    return join([el("p", join(facts, " "), class_="facts"), *_checks(one), *streams])


def _attempt_facts(one: Try) -> Iterator[Html]:
    yield _fact("started", words.moment(clock.from_iso(one.started_at)))
    if one.duration_s is not None:
        yield _fact("took", words.duration(one.duration_s))
    if one.exit is not None:
        yield _fact("exit", str(one.exit))
    if one.signal:
        yield _fact("signal", one.signal)
    agent = " ".join(part for part in (one.adapter, one.adapter_version, one.model) if part)
    if agent:
        yield _fact("agent", agent)
    if one.session:
        yield _fact("session", one.session)
    for name, number in list(one.usage.items())[:20]:
        yield _fact(name.replace("_", " "), figure(number))
    if one.error and one.error != f"exit code {one.exit}":
        yield _fact("error", one.error)


def figure(number: float) -> str:
    """A count, or an amount of money."""
    return f"{number:,.0f}" if float(number).is_integer() else f"{number:,.4g}"


def _fact(name: str, value: str) -> Html:
    return join([line(name, 40), Html("&nbsp;"), el("b", line(value, LONGEST))])


def _checks(one: Try) -> Iterator[Html]:
    if one.checks:
        yield el("ul", *(_check(check.index, check.passed, check.detail) for check in one.checks[:50]), class_="checks")


def _check(index: int, passed: bool, detail: str) -> Html:
    said = f": {words.shortened(detail, LONGEST)}" if detail else ""
    return el("li", badge("succeeded" if passed else "failed", "passed" if passed else "did not pass"), " ",
              f"validator {index + 1}", text(said))  # fmt: skip


def _stream(entry: Entry, one: Try, name: str, texts: Texts) -> Html:
    stream = one.out if name == "out" else one.err
    shown = texts.stream(entry, one.attempt, name, stream) if stream is not None else NOTHING
    return join([el("h4", "Output" if name == "out" else "Error output"), shown]) if shown else NOTHING


# ---------------------------------------------------------------- results and the rest


def _results(entry: Entry, texts: Texts) -> Iterator[Html]:
    for name, value in results_to_show(entry).items():
        kind = f"{value.type}, {words.size(value.bytes)}"
        if _is_short(value):
            yield el("p", "Result ", el("code", line(name, 80)), " ", el("b", text(str(value.value))), class_="facts")
            continue
        title = el("h4", "Result ", el("code", line(name, 80)), " ", el("small", kind))
        yield join([title, texts.result(entry.path, name, value)])


def _is_short(value: Result) -> bool:
    shown = value.value if isinstance(value.value, str | int | float) else None
    return value.file is None and shown is not None and "\n" not in str(shown) and len(str(shown)) <= SHORT


def _artifacts(record: NodeRecord, kept: Kept) -> Iterator[Html]:
    made = record.artifacts
    if not made:
        return
    rows = [_artifact(one, kept.of(record.path, one.path)) for one in made[:MOST_ARTIFACTS]]
    head = el("tr", *(el("th", title, scope="col") for title in ("Artifact", "Size", "SHA-256", "Now")))
    more = el("p", f"{len(made) - MOST_ARTIFACTS:,} more.", class_="note") if len(made) > MOST_ARTIFACTS else None
    yield el("div", el("table", el("thead", head), el("tbody", *rows), class_="small"), more, class_="wide")


def _artifact(one: Made, now: Now | None) -> Html:
    standing = el("span", now.value, class_="troubled" if now.troubled else None) if now is not None else None
    return el(
        "tr",
        el("td", el("code", line(one.path, LONGEST))),
        el("td", words.size(one.bytes), class_="num"),
        el("td", el("code", one.sha256[:16], title=one.sha256)),
        el("td", standing),
    )


def _numbers(record: NodeRecord) -> Iterator[Html]:
    facts = [_fact(name, figure(number)) for name, number in list(record.metrics.items())[:40] if name != "duration"]
    if facts:
        yield el("p", el("b", "Metrics"), " ", join(facts, " "), class_="facts")


def _history(happened: list[Happened]) -> Iterator[Html]:
    """Only where there is more to tell than that it began and ended."""
    told = [one for one in happened if not _ROUTINE.fullmatch(one.text)]
    if all(one.text.startswith(_RESUMED) for one in told):
        return
    left_out = len(told) - MOST_HAPPENED
    rows = [
        el("li", el("time", words.moment(clock.from_iso(one.at))), " ", line(one.text, LONGEST))
        for one in told[-MOST_HAPPENED:]
    ]
    more = el("p", f"{left_out:,} earlier ones left out.", class_="note") if left_out > 0 else None
    yield el("div", el("h4", "What happened"), more, el("ol", *rows, class_="history"))
