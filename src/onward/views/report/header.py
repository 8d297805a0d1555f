"""The status of a run → the top of the page: how it stands in plain words, when it was, what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from onward import clock
from onward.model.status import RunStatus, Status
from onward.views import words
from onward.views.report.details import figure
from onward.views.report.gather import Gathered, seconds
from onward.views.report.html import NOTHING, Html, el, join, line, text, ticked
from onward.views.report.marks import badge, mark, style
from onward.views.status import StatusView

MOST_USAGE = 8
_ORDER = (
    Status.SUCCEEDED, Status.SKIPPED, Status.FAILED, RunStatus.INTERRUPTED, Status.CANCELLED, Status.WAITING,
    Status.RUNNING, Status.PENDING,
)  # fmt: skip


def header(gathered: Gathered) -> Html:
    """The head of the page."""
    status = gathered.status
    title = status.title or status.workflow or status.run
    return el(
        "header",
        el("p", "onward run report", class_="kicker"),
        el("h1", line(title, 300)),
        el("p", badge(status.status, _word(status)), " ", ticked(_sentence(gathered)), class_="verdict"),
        _progress(gathered),
        el("dl", *_facts(gathered), class_="facts-grid"),
        _next(gathered),
    )


# ---------------------------------------------------------------- the head


def _word(status: StatusView) -> str:
    return words.STATUS_WORDS.get(status.status, status.status) if status.status != "succeeded" else "succeeded"


def _sentence(gathered: Gathered) -> str:
    status = gathered.status
    total = status.progress.total
    done = f"{status.progress.done:,} of {words.amount(total, 'task')} done" if total else "its tasks are not known"
    because = words.one_line(status.reason, 400)
    match status.status:
        case RunStatus.SUCCEEDED:
            failed = gathered.counts["failed"]
            if failed:
                return f"It ended well: {done}; {failed:,} of them failed and went on all the same."
            return f"Everything is done: {done}."
        case RunStatus.FAILED:
            return f"It ended because {because}; {done}." if because else f"It failed; {done}."
        case RunStatus.PAUSED:
            why = f" ({because})" if because else ""
            return f"It stopped at a safe point{why}; {done}. Nothing is lost, a resume goes on from here."
        case RunStatus.INTERRUPTED:
            return f"It has not ended and nothing drives it; {done}. A resume goes on from what is finished."
        case RunStatus.WAITING:
            return f"It waits: {because}; {done}." if because else f"It waits; {done}."
        case RunStatus.CANCELLED:
            return f"It was ended{f': {because}' if because else ''}; {done}."
        case _:
            return f"It is at work; {done}."


def _progress(gathered: Gathered) -> Html:
    """How many tasks stand how, as a bar and in words."""
    counts = gathered.counts
    total = sum(counts.values())
    if not total:
        return NOTHING
    found = [(status, counts[status]) for status in _ORDER if counts[status]]
    boxes, left = [], 0.0
    for status, count in found:
        width = 100 * count / total
        boxes.append(el("rect", x=f"{left:.3f}%", width=f"{width:.3f}%", height=10, class_=f"p {style(status)}"))
        left += width
    told = [el("li", mark(status), f" {count:,} ", words.status_word(status)) for status, count in found]
    bar = el("svg", join(boxes), width="100%", height=10, class_="bar", aria_hidden="true")
    return el("div", bar, el("ul", *told, role="list"), class_="progress")


def _facts(gathered: Gathered) -> Iterator[Html]:
    status = gathered.status
    yield _fact("Run", el("code", line(status.run)))
    yield _fact("Workflow", el("code", line(status.file or status.workflow)))
    started, ended = seconds(status.started_at), seconds(status.ended_at)
    if started is not None:
        yield _fact("Started", _moment(started))
        yield from _lasted(gathered, started, ended)
    if status.resumed_count:
        yield _fact("Resumed", text(words.amount(status.resumed_count, "time")))
    usage = gathered.usage
    if usage:
        told = [f"{name.replace('_', ' ')} {figure(number)}" for name, number in list(usage.items())[:MOST_USAGE]]
        yield _fact("Agents used", line(", ".join(told)))
    if status.driver is not None or status.ended_at is None:
        yield _fact("Driver", line(_driver(status)))
    yield _fact("Folder", el("code", line(status.directory)))
    yield _fact("Page made", _moment(gathered.now))


def _lasted(gathered: Gathered, started: float, ended: float | None) -> Iterator[Html]:
    if ended is not None:
        yield _fact("Ended", _moment(ended))
    end = ended if ended is not None else gathered.now
    active = gathered.source.state.active_s(gathered.now if gathered.status.driver is not None else gathered.last)
    lasted = words.duration(max(0.0, end - started))
    quiet = end - started - active > max(1.0, 0.02 * active)
    extra = f", {words.duration(active)} of it at work" if quiet and active > 0 else ""
    yield _fact("Took" if ended is not None else "So far", text(lasted + extra))


def _fact(name: str, value: Html) -> Html:
    return el("div", el("dt", name), el("dd", value))


def _moment(at: float) -> Html:
    moment = words.at_time(at)
    return el("time", words.moment(moment), datetime=clock.to_iso(moment))


def _driver(status: StatusView) -> str:
    driver = status.driver
    if driver is None:
        return "none"
    since = f", since {words.moment(clock.from_iso(driver.since))}" if driver.since else ""
    return f"process {driver.pid} on {driver.host}{since}"


def _next(gathered: Gathered) -> Html:
    status = gathered.status
    if status.next is None:
        return NOTHING
    told = "Answer the question:" if status.gates and " approve " in f" {status.next} " else "What to do next:"
    return el("div", el("span", told), command(status.next), class_="next")


def command(words_to_type: str) -> Html:
    """A command, with a button for copying it that the script shows."""
    button = el("button", "Copy", type="button", class_="plain copy", hidden=True)
    return el("span", el("code", line(words_to_type, 1_000)), button, class_="cmd")
