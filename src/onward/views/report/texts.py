"""The streams and results of a run → how much of each the page shows, and that part of it."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterator

from onward.errors import StoreError
from onward.model.nodes import Kind
from onward.model.status import Status
from onward.views import words
from onward.views.record import NodeRecord, Result, Stream, result_head
from onward.views.report.gather import Entry, Gathered
from onward.views.report.html import NOTHING, Html, el, join
from onward.views.report.logs import MOST_OF_A_STREAM, Cut, Wish, head, shares, tail
from onward.views.source import Source

PAGE_BUDGET = 3_600_000
LEAST_BUDGET = 800_000
ROW_COST = 1_100
MOST_OF_AN_EARLIER_TRY = 8 << 10
MOST_OF_A_RESULT = 8 << 10
LAST_LINES = 8
MOST_LAST_BYTES = 2_000
MOST_RESULTS = 20
MOST_TRIES = 20
"""of one node; the last ones"""

_CALM = (Status.SUCCEEDED, Status.SKIPPED, Status.PENDING, Status.CANCELLED)


class Texts:
    """Gives out the texts of nodes; what a text may take was settled for all of them together."""

    def __init__(self, gathered: Gathered, shown: list[Entry]) -> None:
        self._source = gathered.source
        budget = max(LEAST_BUDGET, PAGE_BUDGET - ROW_COST * len(shown))
        wishes = [wish for entry in shown for wish in _wishes(entry)]
        self._shares = shares([*wishes, *_of_the_run(gathered)], budget)

    def stream(self, entry: Entry, attempt: int, name: str, stream: Stream) -> Html:
        """The end of one stream; empty where nothing was written."""
        limit = self._shares.get((entry.path, attempt, name), 0)
        if not limit:
            return NOTHING
        try:
            cut = tail(stream.file, limit)
        except OSError as error:
            return _gone(f"cannot be read: {error.strerror}")
        more = f"onward logs {self._source.run_id} {shlex.quote(entry.path)}"
        note = f"the last {words.size(cut.shown)} of {words.size(cut.total)}; all of it: {more}"
        return _block(cut, note, "err" if name == "err" else None)

    def result(self, path: str, name: str, value: Result) -> Html:
        """The beginning of a result."""
        return _result(self._source, value, self._shares.get((path, name), MOST_OF_A_RESULT))


def results_to_show(entry: Entry) -> dict[str, Result]:
    """The results that are not shown as output already, as many as a page bears."""
    record = entry.record
    if record is None:
        return {}
    shown = {name: value for name, value in record.results.items() if not _is_output(record, name, value)}
    return dict(list(shown.items())[:MOST_RESULTS])


def _is_output(record: NodeRecord, name: str, value: Result) -> bool:
    out = record.attempts[-1].out if record.attempts else None
    return name == "text" and (record.kind == Kind.RUN or (out is not None and out.bytes == value.bytes))


def last_words(entry: Entry) -> Html:
    """The last lines of the last attempt, from the error output where there is any; empty without output."""
    tries = entry.record.attempts if entry.record is not None else []
    for stream in (tries[-1].err, tries[-1].out) if tries else ():
        if stream is not None and stream.bytes:
            try:
                cut = tail(stream.file, MOST_LAST_BYTES)
            except OSError:
                continue  # the details of the task say so
            lines = cut.html.rstrip("\n").split("\n")[-LAST_LINES:]
            return el("pre", Html("\n".join(lines)))
    return NOTHING


def is_urgent(entry: Entry) -> bool:
    """Whether somebody will want to look at it."""
    return entry.view.status not in _CALM


def _wishes(entry: Entry) -> Iterator[Wish]:
    record = entry.record
    if record is None:
        return
    urgent = is_urgent(entry)
    for one in record.attempts[-MOST_TRIES:]:
        last = one is record.attempts[-1]
        most = MOST_OF_A_STREAM if last else MOST_OF_AN_EARLIER_TRY
        for name, stream in (("out", one.out), ("err", one.err)):
            if stream is not None and stream.bytes:
                key: Hashable = (entry.path, one.attempt, name)
                yield Wish(key=key, bytes=min(most, stream.bytes), urgent=urgent and last)
    for name, value in results_to_show(entry).items():
        yield Wish(key=(entry.path, name), bytes=min(MOST_OF_A_RESULT, value.bytes))


def _of_the_run(gathered: Gathered) -> Iterator[Wish]:
    for name, value in gathered.outputs.items():
        yield Wish(key=("", name), bytes=min(MOST_OF_A_RESULT, value.bytes))


def _result(source: Source, value: Result, limit: int) -> Html:
    try:
        data = result_head(source, value, limit).encode("utf-8", "replace")
    except StoreError as error:
        return _gone(error.message)
    whole = len(data) >= value.bytes or (value.file is None and len(data) < limit)
    cut = head(data, len(data) if whole else value.bytes, max(limit, 1))
    return _block(cut, f"the first {words.size(cut.shown)} of {words.size(cut.total)}")


def _block(cut: Cut, said: str, kind: str | None = None) -> Html:
    note = NOTHING if cut.whole else el("p", said, class_="note")
    return join([note, el("pre", Html(cut.html), tabindex=0, class_=kind)])


def _gone(text: str) -> Html:
    return el("p", text, class_="note warn")
