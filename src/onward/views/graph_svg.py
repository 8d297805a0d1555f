"""A graph → a drawing in SVG: nested boxes, from the top to the bottom; nothing else is needed to show it.

Sizes are worked out from the inside to the outside, then every box gets its place. Characters are taken to be of one
width (wide ones of two), which is close enough for a frame around them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from html import escape
from itertools import pairwise

from msgspec import Struct

from onward.views.graph import Box, Graph
from onward.views.graph_text import COLOURS, PLAIN, head, standing
from onward.views.words import MARKS, shortened

CHARACTER, LINE = 7.0, 16.0
PAD, GAP, ARROW = 10.0, 14.0, 22.0
LONGEST = 44
LEAST_WIDTH = 90.0
SOFT_WIDTH = 1400.0
"""a row that would be wider goes on below"""


_TIP = """\
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 8 4 0 8z" fill="#57606a"/></marker></defs>"""


class _Part(Struct):
    """A box, a group of boxes or a row with its size, and then its place."""

    width: float
    height: float
    lines: tuple[str, ...] = ()
    box: Box | None = None
    kind: str = "box"
    inner: tuple[_Part, ...] = ()
    arrows: bool = False
    x: float = 0.0
    y: float = 0.0


def svg(graph: Graph) -> str:
    """The drawing as text."""
    body = _stack([*_rows(graph.root), *_sections(graph.root)], arrows=True)
    title = head(graph)
    width, height = max(body.width, _width(title)) + 2 * PAD, body.height + 2 * PAD + LINE + GAP
    _place(body, (width - body.width) / 2, PAD + LINE + GAP)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="monospace" font-size="11.5">',
        f"<title>{_text(title)}</title>",
        _TIP,
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{PAD}" y="{PAD + LINE - 4}" font-weight="bold" fill="#1f2328">{_text(title)}</text>',
        *_drawn(body),
        *_needs(body),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


# ---------------------------------------------------------------- sizes


def _part(box: Box) -> _Part:
    lines = _lines(box)
    width = max(LEAST_WIDTH, *(_width(line) for line in lines)) + 2 * PAD
    own = len(lines) * LINE + 2 * PAD - 4
    if box.leaf:
        return _Part(width=width, height=own, lines=lines, box=box)
    body = _stack([*_rows(box), *_sections(box)], arrows=not box.members)
    return _Part(
        width=max(width, body.width + 2 * PAD),
        height=own + body.height + PAD,
        lines=lines,
        box=box,
        inner=(body,),
    )


def _lines(box: Box) -> tuple[str, ...]:
    mark = f"{MARKS.get(box.status, '?')} " if box.status is not None else ""
    facts = (mark + box.label, box.detail, standing(box))
    return tuple(shortened(line, LONGEST) for line in facts if line)


def _rows(box: Box) -> Iterator[_Part]:
    for row in box.rows:
        parts = [_part(each) for each in row]
        yield parts[0] if len(parts) == 1 else _side_by_side(parts)


def _sections(box: Box) -> Iterator[_Part]:
    for section in box.sections:
        body = _stack(list(_rows(Box(id="", path="", label="", detail="", rows=section.rows))), arrows=True)
        width = max(body.width, _width(section.name)) + 2 * PAD
        height = body.height + LINE + 2 * PAD
        yield _Part(width=width, height=height, lines=(section.name,), kind="section", inner=(body,))


def _side_by_side(parts: list[_Part]) -> _Part:
    """A frame around boxes that run together; very many of them take several lines of it."""
    lines: list[list[_Part]] = [[]]
    for part in parts:
        if lines[-1] and _extent(lines[-1]) + GAP + part.width > SOFT_WIDTH:
            lines.append([])
        lines[-1].append(part)
    rows = tuple(
        _Part(width=_extent(line), height=max(part.height for part in line), kind="row", inner=tuple(line))
        for line in lines
    )
    width = max(row.width for row in rows) + 2 * PAD
    height = sum(row.height for row in rows) + GAP * (len(rows) - 1) + 2 * PAD
    return _Part(width=width, height=height, kind="group", inner=rows)


def _extent(parts: list[_Part]) -> float:
    return sum(part.width for part in parts) + GAP * (len(parts) - 1)


def _stack(parts: list[_Part], *, arrows: bool) -> _Part:
    width = max((part.width for part in parts), default=0.0)
    height = sum(part.height for part in parts) + ARROW * max(0, len(parts) - 1)
    return _Part(width=width, height=height, kind="stack", inner=tuple(parts), arrows=arrows)


def _width(text: str) -> float:
    return CHARACTER * sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


# ---------------------------------------------------------------- places


def _place(part: _Part, x: float, y: float) -> None:
    part.x, part.y = x, y
    if part.kind == "row":
        for inner in part.inner:
            _place(inner, x, y)
            x += inner.width + GAP
        return
    top = y
    if part.kind in ("box", "section"):
        top += len(part.lines) * LINE + 2 * PAD - 4
    elif part.kind == "group":
        top += PAD
    gap = ARROW if part.kind == "stack" else GAP
    for inner in part.inner:
        _place(inner, x + (part.width - inner.width) / 2, top)
        top += inner.height + gap


# ---------------------------------------------------------------- drawing


def _drawn(part: _Part) -> Iterator[str]:
    if part.kind == "box" and part.box is not None:
        yield from _drawn_box(part, part.box)
    elif part.kind in ("section", "group"):
        yield _rectangle(part, "none", "#afb8c1", ' stroke-dasharray="4 3"')
        yield from _drawn_lines(part)
    for inner in part.inner:
        yield from _drawn(inner)
    if part.arrows:
        for before, after in pairwise(part.inner):
            if after.kind != "section":
                yield _arrow(_bottom(before), _top(after))


def _drawn_box(part: _Part, box: Box) -> Iterator[str]:
    fill, line = COLOURS.get(box.status, PLAIN) if box.status is not None else PLAIN
    yield f"<g><title>{_text(box.path or box.label)}</title>"
    yield _rectangle(part, fill, line, "" if box.leaf else ' fill-opacity="0.45"')
    yield from _drawn_lines(part)
    yield "</g>"


def _drawn_lines(part: _Part) -> Iterator[str]:
    for number, line in enumerate(part.lines):
        weight = ' font-weight="bold"' if number == 0 and part.kind == "box" else ""
        y = part.y + PAD + LINE * number + 9
        yield f'<text x="{part.x + PAD:.1f}" y="{y:.1f}" fill="#1f2328"{weight}>{_text(line)}</text>'


def _rectangle(part: _Part, fill: str, line: str, more: str) -> str:
    place = f'x="{part.x:.1f}" y="{part.y:.1f}" width="{part.width:.1f}" height="{part.height:.1f}"'
    return f'<rect {place} rx="6" fill="{fill}" stroke="{line}"{more}/>'


def _needs(whole: _Part) -> Iterator[str]:
    """Arrows between the members of a `parallel`, drawn above everything."""
    places = {part.box.id: part for part in _all(whole) if part.box is not None}
    for part in places.values():
        assert part.box is not None
        for one, other in part.box.needs:
            yield _arrow(_bottom(places[one]), _top(places[other]))


def _all(part: _Part) -> Iterator[_Part]:
    yield part
    for inner in part.inner:
        yield from _all(inner)


def _top(part: _Part) -> tuple[float, float]:
    return part.x + part.width / 2, part.y


def _bottom(part: _Part) -> tuple[float, float]:
    return part.x + part.width / 2, part.y + part.height


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    places = f'x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"'
    return f'<line {places} stroke="#57606a" marker-end="url(#tip)"/>'


def _text(text: str) -> str:
    return escape(text, quote=True)
