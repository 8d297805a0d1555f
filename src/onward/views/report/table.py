"""Nodes → a table with a row for each and its details below it, folded; what needs attention is never left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from onward.model.nodes import Kind
from onward.views import words
from onward.views.report.gather import Entry, seconds
from onward.views.report.html import NOTHING, Html, el, join, line
from onward.views.report.marks import badge, style
from onward.views.report.texts import is_urgent

MOST_TASKS = 4_000
MOST_GROUPS = 500
AT_ONCE = 500
"""rows that are laid out before somebody asks for more; without the script all are"""
_COLUMNS = (("Status", "status"), ("Task", "task"), ("Kind", "kind"), ("Tries", "tries"), ("Started", "started"),
            ("Took", "took"))  # fmt: skip
_NUMERIC = ("tries", "started", "took")

_GROUPS = (Kind.TASK, Kind.PARALLEL, Kind.INCLUDE)

Below = Callable[[Entry], Html]
"""what is folded below the row of a node; empty where there is nothing"""


def shown_of(entries: list[Entry]) -> list[Entry]:
    """The nodes that the page has room for, in their order: first all that need attention."""
    leaves = _chosen([entry for entry in entries if entry.leaf], MOST_TASKS)
    groups = _chosen([entry for entry in entries if not entry.leaf], MOST_GROUPS)
    return sorted([*leaves, *groups], key=lambda entry: entry.number)


def tasks_section(entries: list[Entry], shown: list[Entry], below: Below) -> Html:
    """The tasks, and the groups and loops around them."""
    leaves = [entry for entry in shown if entry.leaf]
    groups = [entry for entry in shown if not entry.leaf]
    return join([
        _section("tasks", "Tasks", leaves, sum(entry.leaf for entry in entries), below),
        _section("groups", "Groups and loops", groups, sum(not entry.leaf for entry in entries), below),
    ])  # fmt: skip


def _chosen(entries: list[Entry], most: int) -> list[Entry]:
    if len(entries) <= most:
        return entries
    return sorted(entries, key=lambda entry: not is_urgent(entry))[:most]


def _section(id: str, title: str, shown: list[Entry], total: int, below: Below) -> Html:
    if not shown:
        return NOTHING
    heading = f"{id}-title"
    cut = f"{len(shown):,} of {total:,} are listed, those that need attention first." if len(shown) < total else ""
    return el(
        "section",
        el("h2", title, " ", el("span", f"{total:,}", class_="count"), id=heading),
        el("p", cut, class_="note") if cut else None,
        _filters(id, shown),
        el("div", _table(id, heading, shown, below), class_="wide"),
        el("p", el("span"), " ", el("button", "Show all", type="button", class_="plain"), class_="rest", hidden=True),
        class_="list",
        aria_labelledby=heading,
    )


def _filters(id: str, shown: list[Entry]) -> Html:
    """Shown by the script: without it they could do nothing."""
    counts = Counter(entry.view.status for entry in shown)
    search = el("input", type="search", placeholder="Search name, title, reason", aria_label=f"Search {id}", class_="q")
    chips = [
        el("button", badge(status), f" {count:,}", type="button", data_s=status, aria_pressed="false", class_="chip")
        for status, count in counts.most_common()
    ]
    told = el("span", class_="found", role="status")
    fold = el("button", "Unfold all shown", type="button", class_="plain unfold")
    return el("div", search, join(chips if len(chips) > 1 else []), told, fold, class_="filters", hidden=True)


def _table(id: str, heading: str, shown: list[Entry], below: Below) -> Html:
    titles = {"task": "Task" if id == "tasks" else "Group"}
    head = el("thead", el("tr", *(_column(titles.get(key, title), key) for title, key in _COLUMNS)))
    bodies = [_rows(entry, below, late=place >= AT_ONCE) for place, entry in enumerate(shown)]
    return el("table", head, *bodies, id=id, class_="nodes", aria_labelledby=heading)


def _column(title: str, key: str) -> Html:
    return el("th", title, scope="col", class_=f"c-{key}", data_n=key in _NUMERIC)


def _rows(entry: Entry, below: Below, *, late: bool) -> Html:
    """A body of its own keeps a row and its details together when they are sorted or filtered."""
    view = entry.view
    inside = below(entry)
    folded = el("tr", el("td", inside, colspan=len(_COLUMNS)), class_="more") if inside else None
    return el("tbody", _row(entry, linked=bool(inside)), folded, data_s=view.status, class_="late" if late else None)


def _row(entry: Entry, *, linked: bool) -> Html:
    view = entry.view
    started = seconds(view.started_at)
    path = line(view.path, 200)
    name = el("a", path, href=f"#n{entry.number}") if linked else el("span", path)
    title = el("div", line(view.title, 200), class_="title") if view.title else None
    reason = words.why(view.reason, view.exit, view.signal) if view.status != "succeeded" else ""
    because = el("div", line(reason, 240), class_=f"reason {style(view.status)}") if reason else None
    took = view.duration_s if started is not None else None
    return el(
        "tr",
        el("td", badge(view.status), class_="c-status"),
        el("th", name, title, because, scope="row", class_="c-task"),
        el("td", _kind(entry), class_="c-kind"),
        el("td", str(view.attempts or ""), class_="c-tries"),
        _started(started),
        el("td", "" if took is None else words.duration(took), class_="c-took", data_v=took),
    )


def _kind(entry: Entry) -> str:
    """As the graph has it: a `task` with steps is a sequence; what is a loop as a whole does nothing itself."""
    kind = entry.view.kind
    if entry.leaf or kind not in _GROUPS:
        return (kind or "?") if entry.leaf else "loop"
    return "sequence" if kind == Kind.TASK else kind


def _started(started: float | None) -> Html:
    if started is None:
        return el("td", class_="c-started")
    at = words.moment(words.at_time(started))
    return el("td", at[11:19], class_="c-started", title=at, data_v=f"{started:.3f}")
