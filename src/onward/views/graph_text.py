"""A graph → indented lines, a Mermaid flowchart, or the DOT language of Graphviz. Names cannot break out of labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from onward.model.status import RunStatus, Status
from onward.views import words
from onward.views.graph import Box, Graph, Section
from onward.views.table import Line

COLOURS: dict[str, tuple[str, str]] = {
    # status: (fill, line); the word is always written, too
    Status.PENDING: ("#f6f8fa", "#8c959f"),
    Status.RUNNING: ("#ddf4ff", "#0969da"),
    Status.WAITING: ("#fbefff", "#8250df"),
    Status.SUCCEEDED: ("#dafbe1", "#1a7f37"),
    Status.FAILED: ("#ffebe9", "#cf222e"),
    Status.SKIPPED: ("#f6f8fa", "#8c959f"),
    Status.CANCELLED: ("#eaeef2", "#6e7781"),
    RunStatus.INTERRUPTED: ("#fff8c5", "#9a6700"),
}
PLAIN = ("#ffffff", "#57606a")

Rows = tuple[tuple[Box, ...], ...]


def standing(box: Box) -> str:
    """How a node stands, in words; empty in the graph of a file."""
    return words.status_word(box.status) if box.status is not None else ""


def head(graph: Graph) -> str:
    """Name, title and status of the whole on one line."""
    title = graph.title if graph.title != graph.name else ""
    status = words.RUN_WORDS.get(graph.status, graph.status) if graph.status is not None else ""
    return "  ".join(part for part in (words.one_line(graph.name), title, status) if part)


# ---------------------------------------------------------------- indented text


def text_lines(graph: Graph, marks: Mapping[str, str]) -> Iterator[Line]:
    """One line for each node; `|` stands before those that run side by side."""
    yield Line(head(graph), "head")
    yield from _text_rows(graph.root.rows, graph.root.members, marks, "  ")
    yield from _text_sections(graph.root.sections, marks, "  ")


def _text_rows(rows: Rows, members: bool, marks: Mapping[str, str], indent: str) -> Iterator[Line]:
    for row in rows:
        bar = "| " if members or len(row) > 1 else ""
        for box in row:
            mark = f"{marks.get(box.status, '?')} " if box.status is not None else ""
            facts = ", ".join(part for part in (box.detail, standing(box)) if part)
            yield Line(f"{indent}{bar}{mark}{box.label}  {facts}", box.status or "")
            deeper = indent + ("| " if bar else "") + "  "
            yield from _text_rows(box.rows, box.members, marks, deeper)
            yield from _text_sections(box.sections, marks, deeper)


def _text_sections(sections: tuple[Section, ...], marks: Mapping[str, str], indent: str) -> Iterator[Line]:
    for section in sections:
        yield Line(f"{indent}{section.name}:", "dim")
        yield from _text_rows(section.rows, False, marks, f"{indent}  ")


# ---------------------------------------------------------------- what flowcharts have in common


class _Flow:
    """Boxes → statements; subclasses know the language."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._joints = 0

    def rows(self, box_id: str, rows: Rows, members: bool, depth: int) -> None:
        """The boxes of the rows, and that each row follows the one before."""
        for row in rows:
            for box in row:
                self.box(box, depth)
        if not members:
            for number, (before, after) in enumerate(pairwise(rows)):
                self.follow(f"{box_id}j{number}", before, after, depth)

    def follow(self, joint: str, before: tuple[Box, ...], after: tuple[Box, ...], depth: int) -> None:
        """Arrows; between two groups through a joint, so that there is one for each box and not for each pair."""
        if len(before) == 1 or len(after) == 1:
            for one in before:
                for other in after:
                    self.arrow(one, other, depth)
            return
        self.joint(joint, before, after, depth)

    def sections(self, box: Box, depth: int) -> None:
        for section in box.sections:
            self.open(section.id, section.name, None, depth)
            self.rows(section.id, section.rows, False, depth + 1)
            self.close(depth)

    def box(self, box: Box, depth: int) -> None:
        label = "\n".join(part for part in (box.label, box.detail, standing(box)) if part)
        if box.leaf:
            self.leaf(box.id, label, box.status, depth)
            return
        self.open(box.id, " · ".join(label.split("\n")), box.status, depth)
        self.rows(box.id, box.rows, box.members, depth + 1)
        boxes = {each.id: each for row in box.rows for each in row}
        for one, other in box.needs:
            self.arrow(boxes[one], boxes[other], depth + 1)
        self.sections(box, depth + 1)
        self.close(depth)

    def say(self, text: str, depth: int) -> None:
        self.lines.append("  " * depth + text)

    def leaf(self, id: str, label: str, status: str | None, depth: int) -> None:
        raise NotImplementedError

    def open(self, id: str, label: str, status: str | None, depth: int) -> None:
        raise NotImplementedError

    def close(self, depth: int) -> None:
        raise NotImplementedError

    def arrow(self, before: Box, after: Box, depth: int) -> None:
        raise NotImplementedError

    def joint(self, id: str, before: tuple[Box, ...], after: tuple[Box, ...], depth: int) -> None:
        raise NotImplementedError


# ---------------------------------------------------------------- Mermaid

_SAFE_IN_MERMAID = re.compile(r"[^\w \n.,:/·…-]", re.ASCII)


def mermaid(graph: Graph) -> str:
    """A flowchart for Markdown pages, GitHub and the like."""
    flow = _Mermaid()
    flow.say("flowchart TD", 0)
    flow.rows(graph.root.id, graph.root.rows, False, 1)
    flow.sections(graph.root, 1)
    if graph.status is not None:
        for status, (fill, line) in COLOURS.items():
            flow.say(f"classDef {status} fill:{fill},stroke:{line},color:#1f2328", 1)
    return f"%% {_mermaid_text(head(graph))}\n" + "\n".join(flow.lines) + "\n"


class _Mermaid(_Flow):
    def leaf(self, id: str, label: str, status: str | None, depth: int) -> None:
        self.say(f'{id}["{_mermaid_text(label)}"]{_class(status)}', depth)

    def open(self, id: str, label: str, status: str | None, depth: int) -> None:
        self.say(f'subgraph {id}["{_mermaid_text(label)}"]', depth)
        if status is not None:
            self.lines.append("  " * (depth + 1) + "direction TB")

    def close(self, depth: int) -> None:
        self.say("end", depth)

    def arrow(self, before: Box, after: Box, depth: int) -> None:
        self.say(f"{before.id} --> {after.id}", depth)

    def joint(self, id: str, before: tuple[Box, ...], after: tuple[Box, ...], depth: int) -> None:
        self.say(f'{id}((" "))', depth)
        for one in before:
            self.say(f"{one.id} --- {id}", depth)
        for other in after:
            self.say(f"{id} --> {other.id}", depth)


def _class(status: str | None) -> str:
    return f":::{status}" if status is not None else ""


def _mermaid_text(text: str) -> str:
    """Everything that could mean something is written as its number; letters of all scripts stay."""

    def number(found: re.Match[str]) -> str:
        return found[0] if found[0].isalnum() else f"#{ord(found[0])};"

    return "<br>".join(_SAFE_IN_MERMAID.sub(number, line) for line in text.split("\n"))


# ---------------------------------------------------------------- DOT


def dot(graph: Graph) -> str:
    """For Graphviz: `onward graph w.yaml --format dot | dot -Tpdf`."""
    flow = _Dot()
    flow.say(f"digraph {_quoted(graph.name)} {{", 0)
    flow.say("compound=true; rankdir=TB;", 1)
    flow.say('node [shape=box, style="rounded,filled", fillcolor="#ffffff", fontname="sans-serif", fontsize=11];', 1)
    flow.say(f'graph [style=rounded, fontname="sans-serif", fontsize=11, label={_quoted(head(graph))}];', 1)
    flow.rows(graph.root.id, graph.root.rows, False, 1)
    flow.sections(graph.root, 1)
    flow.say("}", 0)
    return "\n".join(flow.lines) + "\n"


class _Dot(_Flow):
    def leaf(self, id: str, label: str, status: str | None, depth: int) -> None:
        fill, line = COLOURS.get(status, PLAIN) if status is not None else PLAIN
        self.say(f'{id} [label={_quoted(label)}, fillcolor="{fill}", color="{line}"];', depth)

    def open(self, id: str, label: str, status: str | None, depth: int) -> None:
        line = COLOURS.get(status, PLAIN)[1] if status is not None else PLAIN[1]
        self.say(f"subgraph cluster_{id} {{", depth)
        self.say(f'label={_quoted(label)}; color="{line}";', depth + 1)

    def close(self, depth: int) -> None:
        self.say("}", depth)

    def arrow(self, before: Box, after: Box, depth: int) -> None:
        self._edge(_last(before), _first(after), before, after, depth)

    def joint(self, id: str, before: tuple[Box, ...], after: tuple[Box, ...], depth: int) -> None:
        self.say(f'{id} [shape=point, label=""];', depth)
        for one in before:
            self._edge(_last(one), id, one, None, depth, "arrowhead=none")
        for other in after:
            self._edge(id, _first(other), None, other, depth)

    def _edge(self, one: str, other: str, tail: Box | None, head: Box | None, depth: int, more: str = "") -> None:
        facts = [more] if more else []
        facts += [f"ltail=cluster_{tail.id}"] if tail is not None and not tail.leaf else []
        facts += [f"lhead=cluster_{head.id}"] if head is not None and not head.leaf else []
        self.say(f"{one} -> {other}" + (f" [{', '.join(facts)}]" if facts else "") + ";", depth)


def _rows_of(box: Box) -> Rows:
    """Graphviz joins nodes, not clusters: some leaf in the box stands for it."""
    return box.rows or box.sections[0].rows


def _first(box: Box) -> str:
    while not box.leaf:
        box = _rows_of(box)[0][0]
    return box.id


def _last(box: Box) -> str:
    while not box.leaf:
        box = _rows_of(box)[-1][0]
    return box.id


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
