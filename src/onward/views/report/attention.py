"""The status of a run → what somebody should look at: open questions, tasks that failed, findings about its records."""

from __future__ import annotations

from collections.abc import Iterator

from onward import clock
from onward.model.status import RunStatus, Status
from onward.views import words
from onward.views.report.artifacts import Now
from onward.views.report.gather import Entry, Gathered
from onward.views.report.header import command
from onward.views.report.html import NOTHING, Html, el, join, line, text
from onward.views.report.marks import mark, style
from onward.views.report.texts import last_words
from onward.views.status import FindingView, GateView, approve_command

MOST_SINGLE = 6
MOST_REASONS = 8
MOST_LINKS = 12
MOST_GATES = 20
MOST_FINDINGS = 50
MOST_ARTIFACTS = 12
LONGEST_QUESTION = 6_000

_TROUBLED = (Status.FAILED, RunStatus.INTERRUPTED)


def attention(gathered: Gathered) -> Html:
    """The section; empty where there is nothing."""
    parts = [*_gates(gathered), *_troubled(gathered.entries), *_findings(gathered.status.findings)]
    parts += _artifacts(gathered)
    if not parts:
        return NOTHING
    title = "Passed over" if gathered.status.status == RunStatus.SUCCEEDED else "Needs attention"
    heading = el("h2", title, id="attention-title")
    return el("section", heading, *parts, aria_labelledby="attention-title", class_="attention")


def _gates(gathered: Gathered) -> Iterator[Html]:
    events = gathered.source.state.gates
    for gate in gathered.status.gates[:MOST_GATES]:
        opened = events.get(gate.path)
        answer = command(approve_command(opened, gathered.status.run, gathered.at)) if opened is not None else None
        yield _gate(gate, answer)


def _gate(gate: GateView, answer: Html | None) -> Html:
    facts = [f"Choices: {', '.join(gate.choices)}."] if gate.choices else []
    if gate.fields:
        facts.append(f"Fields: {', '.join(gate.fields)}.")
    if gate.expires_at is not None:
        facts.append(f"Until {words.moment(clock.from_iso(gate.expires_at))}.")
    return el(
        "article",
        el("h3", mark("waiting"), " Question at ", el("code", line(gate.path))),
        el("p", text(words.shortened(gate.question, LONGEST_QUESTION)), class_="question"),
        el("p", " ".join(facts), class_="note") if facts else None,
        el("p", answer) if answer is not None else None,
        class_="card s-waiting",
    )


def _troubled(entries: list[Entry]) -> Iterator[Html]:
    """Tasks that failed or were interrupted; many of them by their reasons."""
    found = [entry for entry in entries if entry.leaf and entry.view.status in _TROUBLED]
    if not found:
        return
    if len(found) <= MOST_SINGLE:
        yield el("ul", *map(_trouble, found), class_="troubles", role="list")
        return
    reasons: dict[tuple[str, str], list[Entry]] = {}
    for entry in found:
        reasons.setdefault((entry.view.status, _reason(entry)), []).append(entry)
    most = sorted(reasons.items(), key=lambda item: -len(item[1]))
    told = [_troubles(status, reason, same) for (status, reason), same in most[:MOST_REASONS]]
    if len(most) > MOST_REASONS:
        told.append(el("li", f"and {len(most) - MOST_REASONS:,} other reasons, in the table below", class_="note"))
    yield el("ul", *told, class_="troubles", role="list")


def _trouble(entry: Entry) -> Html:
    view = entry.view
    tries = f", {words.amount(view.attempts, 'attempt')}" if view.attempts > 1 else ""
    title = el("span", line(view.title, 120), class_="title") if view.title else None
    head = [mark(view.status), " ", _link(entry), " ", title]
    said = el("p", line(_reason(entry), 400), tries)
    return el("li", el("p", *head), said, last_words(entry), class_=style(view.status))


def _troubles(status: str, reason: str, entries: list[Entry]) -> Html:
    """Many that ended alike."""
    if len(entries) == 1:
        return _trouble(entries[0])
    head = el("p", mark(status), " ", el("b", f"{len(entries):,} tasks: "), line(reason, 400))
    links = [_link(entry) for entry in entries[:MOST_LINKS]]
    more = len(entries) - MOST_LINKS
    return el("li", head, el("p", join(links, ", "), f" and {more:,} more" if more > 0 else None),
              last_words(entries[0]), class_=style(status))  # fmt: skip


def _link(entry: Entry) -> Html:
    return el("a", line(entry.path, 200), href=f"#n{entry.number}")


def _reason(entry: Entry) -> str:
    view = entry.view
    return words.why(view.reason, view.exit, view.signal) or words.status_word(view.status)


def _findings(findings: list[FindingView]) -> Iterator[Html]:
    serious = [one for one in findings if one.severity != "note"]
    calm = [one for one in findings if one.severity == "note" and one.kind != "interrupted"]
    shown = [*serious, *calm][:MOST_FINDINGS]
    if not shown:
        return
    yield el("h3", "Findings")
    yield el("ul", *(_finding(one) for one in shown), class_="findings", role="list")
    if len(findings) > MOST_FINDINGS:
        yield el("p", f"{len(findings) - MOST_FINDINGS:,} more: `onward status` lists them.", class_="note")


def _finding(finding: FindingView) -> Html:
    where = join([el("code", line(finding.path)), ": "]) if finding.path else NOTHING
    word = {"note": "Note", "warning": "Warning", "choice": "Needs a choice"}.get(finding.severity, finding.severity)
    choices = [el("p", line(choice.text), ": ", command(choice.command)) for choice in finding.choices]
    severity = "calm" if finding.severity == "note" else "s-interrupted"
    return el("li", el("b", word), " ", where, line(finding.text, 1_000), *choices, class_=severity)


# ---------------------------------------------------------------- files that are not what was recorded


def _artifacts(gathered: Gathered) -> Iterator[Html]:
    found = gathered.artifacts.troubled
    if not found:
        return
    numbers = {entry.path: entry.number for entry in gathered.entries}
    told = [_artifact(numbers[node], node, name, now) for node, name, now in found[:MOST_ARTIFACTS] if node in numbers]
    yield el("h3", f"{len(found):,} of {words.amount(gathered.artifacts.total, 'artifact')} changed or missing")
    yield el("ul", *told, class_="findings", role="list")
    if len(found) > MOST_ARTIFACTS:
        yield el("p", f"{len(found) - MOST_ARTIFACTS:,} more: `onward verify` lists them.", class_="note")


def _artifact(number: int, node: str, name: str, now: Now) -> Html:
    made = [" (made by ", el("a", line(node, 200), href=f"#n{number}"), ")"]
    return el("li", el("code", line(name, 300)), ": ", el("b", now.value), *made, class_="s-interrupted")
