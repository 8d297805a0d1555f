"""The rows of a timeline → labels and a drawing beside them, whose places are percentages of its width."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from onward import clock
from onward.views import words
from onward.views.report.absence import Why
from onward.views.report.bars import Bar, Look
from onward.views.report.gather import Gathered
from onward.views.report.html import NOTHING, Html, el, join, line
from onward.views.report.marks import mark
from onward.views.report.rows import Row, Rows, rows_of, thinned
from onward.views.report.scale import WIDTH, Piece, Scale

ROW = 24
LANE = 9
AXIS = 26
BAR = 12
LEAST_SHARE = 0.0008
"""of the width: thinner bars of a lane are drawn together"""
LEAST_WIDTH = 0.3
LEAST_NAMED = 6.0
"""percent: a narrower absence is named by its tip alone"""
DAY_S = 86_400
_SHORT = {Why.PAUSED: "paused", Why.INTERRUPTED: "interrupted", Why.WAITING: "waiting", Why.ENDED: "ended"}


def timeline(gathered: Gathered) -> Html:
    """The section; empty where nothing was begun."""
    rows = rows_of(gathered)
    if not rows.rows:
        return NOTHING
    scale = _scale(gathered, rows)
    return el(
        "section",
        el("h2", "Timeline", id="timeline-title"),
        el("div", _labels(rows), _drawing(gathered, rows, scale), class_="tl"),
        _notes(gathered, rows, scale),
        aria_labelledby="timeline-title",
    )


def _scale(gathered: Gathered, rows: Rows) -> Scale:
    every = [bar for row in rows.rows for lane in row.lanes for bar in lane]
    quiet = (Look.GROUP, Look.WAITING)
    start = min(bar.start for bar in every)
    end = max(bar.end for bar in every)
    if gathered.status.ended_at is None:
        end = max(end, gathered.now)
    return Scale(start, end, [(bar.start, bar.end) for bar in every if bar.look not in quiet])


# ---------------------------------------------------------------- labels


def _labels(rows: Rows) -> Html:
    return el("ul", *(_label(row) for row in rows.rows), class_="tl-names", role="list")


def _label(row: Row) -> Html:
    name = line(row.text, 90)
    shown = el("a", name, href=f"#n{row.entry.number}", class_="tl-name") if row.entry is not None else el("span", name)
    lanes = f" l{len(row.lanes)}" if len(row.lanes) > 1 else ""
    title = row.entry.path if row.entry is not None else row.text
    return el(
        "li", mark(row.status), " ", shown, class_=f"d{min(row.depth, 6)}{lanes}", title=words.shortened(title, 300)
    )


def _height(row: Row) -> int:
    return ROW if len(row.lanes) == 1 else max(ROW, LANE * len(row.lanes) + 6)


# ---------------------------------------------------------------- drawing


def _drawing(gathered: Gathered, rows: Rows, scale: Scale) -> Html:
    height = AXIS + sum(map(_height, rows.rows))
    told = f"Timeline of {words.amount(len(rows.rows), 'row')}; the table of tasks has the same times as text."
    return el(
        "svg",
        _PATTERNS,
        join(_bands(gathered, scale, height)),
        join(_axis(scale, height)),
        join(_all_bars(rows, scale)),
        role="img",
        aria_label=told,
        class_="tl-svg",
        height=height,
        width="100%",
    )


_PATTERNS = Html(
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="3" height="6" class="hatch"/></pattern>'
    '<pattern id="cross" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">'
    '<rect width="5" height="5" class="cross-ground"/><rect width="2" height="5" class="cross"/></pattern></defs>'
)


def _bands(gathered: Gathered, scale: Scale, height: int) -> Iterator[Html]:
    """The times in which nobody worked, from the top to the bottom."""
    for away in gathered.absences:
        end = away.end if away.end is not None else gathered.now
        left, right = scale.at(away.start), scale.at(end)
        title = el("title", f"{away.why}, {words.duration(end - away.start)}")
        width = max(LEAST_WIDTH, right - left)
        yield el("rect", title, x=f"{left:.2f}%", width=f"{width:.2f}%", y=AXIS, height=height - AXIS, class_="away")
        if width > LEAST_NAMED and not any(cut.left <= (left + right) / 2 <= cut.right for cut in scale.cuts()):
            yield _above((left + right) / 2, _SHORT[away.why])
    for piece in scale.cuts():
        yield _cut(gathered, piece, height)


def _cut(gathered: Gathered, piece: Piece, height: int) -> Html:
    places = {"x": f"{piece.left:.2f}%", "width": f"{piece.right - piece.left:.2f}%"}
    lasted = words.duration(piece.end - piece.start)
    title = el("title", f"shortened: {lasted} in which nothing ran")
    box = el("rect", title, **places, y=AXIS - 10, height=height - AXIS + 10, class_="cutout")
    why = _why_away(gathered, (piece.start + piece.end) / 2)
    return join([box, _above((piece.left + piece.right) / 2, f"{why} {lasted}".strip())])


def _why_away(gathered: Gathered, time: float) -> str:
    for away in gathered.absences:
        if away.start <= time <= (away.end if away.end is not None else gathered.now):
            return _SHORT[away.why]
    return ""


def _above(place: float, text: str) -> Html:
    anchor, place = ("end", WIDTH) if place > WIDTH - 5 else ("middle", place)
    return el("text", text, x=f"{place:.2f}%", y=10, text_anchor=anchor, class_="tick cut")


def _axis(scale: Scale, height: int) -> Iterator[Html]:
    ticks = list(scale.ticks())
    for time, place in ticks:
        anchor = "start" if place < 4 else "end" if place > WIDTH - 4 else "middle"
        yield el("line", x1=f"{place:.2f}%", x2=f"{place:.2f}%", y1=AXIS - 4, y2=height, class_="grid")
        yield el("text", _tick(time, ticks), x=f"{place:.2f}%", y=AXIS - 9, text_anchor=anchor, class_="tick")


def _tick(time: float, ticks: list[tuple[float, float]]) -> str:
    at = clock.local(words.at_time(time))
    apart = min((later[0] - sooner[0] for sooner, later in pairwise(ticks)), default=1.0)
    if apart < 1:
        return f"{at:%H:%M:%S}.{at.microsecond // 100_000}"
    if apart >= DAY_S:
        return f"{at:%b} {at.day}"
    return f"{at:%H:%M}" if apart >= 60 and not at.second else f"{at:%H:%M:%S}"


def _all_bars(rows: Rows, scale: Scale) -> Iterator[Html]:
    y = AXIS
    for row in rows.rows:
        if len(row.lanes) == 1:
            yield join(_bar(bar, scale, y + (ROW - BAR) / 2, BAR) for bar in row.lanes[0])
        else:
            yield from _lanes(row, scale, y + 3)
        y += _height(row)


def _lanes(row: Row, scale: Scale, y: float) -> Iterator[Html]:
    """Bars that went wrong are drawn last, so that they stay visible."""
    span = sum(piece.end - piece.start for piece in scale.pieces if not piece.cut)
    placed = [
        (bar, y + LANE * number) for number, lane in enumerate(row.lanes) for bar in thinned(lane, span * LEAST_SHARE)
    ]
    for bar, top in sorted(placed, key=lambda pair: pair[0].look is not Look.OK):
        yield _bar(bar, scale, top, LANE - 2)


def _bar(bar: Bar, scale: Scale, y: float, height: int) -> Html:
    left = scale.at(bar.start)
    width = max(LEAST_WIDTH if bar.look is not Look.OK else 0.08, scale.at(bar.end) - left)
    places = {"x": f"{min(left, WIDTH - width):.2f}%", "width": f"{width:.2f}%"}
    if bar.look is Look.GROUP:
        y, height = y + 3, 6
    title = el("title", words.shortened(bar.text, 200))
    return el("rect", title, **places, y=f"{y:g}", height=height, rx=2 if height > 8 else None, class_=f"b {bar.look}")


# ---------------------------------------------------------------- below


def _notes(gathered: Gathered, rows: Rows, scale: Scale) -> Html:
    keys = [
        (Look.OK, "done"), (Look.FAILED, "failed"), (Look.RETRIED, "failed, tried again"),
        (Look.INTERRUPTED, "interrupted"), (Look.RUNNING, "running"), (Look.WAITING, "waiting"), (Look.GROUP, "group"),
    ]  # fmt: skip
    there = {bar.look for row in rows.rows for lane in row.lanes for bar in lane}
    shown = [el("span", _key(look), f" {text}", class_="key") for look, text in keys if look in there]
    if gathered.absences:
        shown.append(el("span", _swatch("away"), " nobody worked on it", class_="key"))
    if scale.cuts():
        shown.append(el("span", _swatch("cutout"), " nothing ran, shortened", class_="key"))
    if rows.left_out:
        shown.append(el("span", f"{words.amount(rows.left_out, 'row')} more are not drawn."))
    return el("p", *shown, class_="keys")


def _key(look: Look) -> Html:
    return _swatch(f"b {look}")


def _swatch(kind: str) -> Html:
    box = el("rect", width=18, height=10, rx=2, class_=kind)
    return el("svg", box, width=18, height=10, aria_hidden="true")
