"""A mistake found while planning -> a `Problem` with its line, its column and the nodes around it.

Texts are scanned after YAML was parsed, so an offset into a text is not an offset into the file. `locate` finds it
again by counting: the n-th `{{` (or `$`) of a scalar is the n-th one after the place where the scalar begins.
"""

from __future__ import annotations

import posixpath

from msgspec import Struct, field

from onward.errors import Collector, Place, Problem
from onward.plan.site import Site
from onward.spec.document import Document, Mapping, Scalar, Sequence, TextFile
from onward.spec.excerpts import excerpt

Origin = Scalar | Sequence | Mapping | TextFile
"""What a mistake is in: a value of the tree, or a file that the definition names"""


class Report(Struct):
    """Gathers problems of all files of a plan; the same one (a shared anchor, a default) is told once."""

    collector: Collector = field(default_factory=Collector)
    _told: set[tuple[str, str, Place]] = field(default_factory=set)

    def error(self, code: str, message: str, where: Where, help: str | None = None) -> None:
        """Note a mistake that keeps the workflow from running."""
        self._add(code, message, where, help, warning=False)

    def warn(self, code: str, message: str, where: Where, help: str | None = None) -> None:
        """Note what is probably not meant."""
        self._add(code, message, where, help, warning=True)

    def _add(self, code: str, message: str, where: Where, help: str | None, *, warning: bool) -> None:
        place, source = where.located()
        if (code, message, place) in self._told:
            return
        self._told.add((code, message, place))
        self.collector.add(
            Problem(
                code=code,
                message=message,
                place=place,
                help=help,
                trail=where.trail,
                source=source,
                warning=warning,
            )
        )


class Where(Struct, frozen=True):
    """A place in a file of the definition: a value, and an offset into its text when the mistake is inside."""

    document: Document
    origin: Origin
    site: Site | None = None
    at: int | None = None

    @property
    def trail(self) -> tuple[str, ...]:
        """The nodes around it, outermost first."""
        return () if self.site is None else self.site.trail

    def located(self) -> tuple[Place, str | None]:
        """The place for people, and the line that stands there."""
        if isinstance(self.origin, TextFile):
            return self._in_text_file(self.origin)
        place = self.origin.place
        if self.at is not None and isinstance(self.origin, Scalar):
            place = locate(self.document.lines, place, self.origin.text, self.at)
        return place, excerpt(self.document.lines, place)

    def _in_text_file(self, file: TextFile) -> tuple[Place, str | None]:
        before = file.text[: self.at or 0].split("\n")
        shown = posixpath.join(posixpath.dirname(self.document.shown), file.name)
        place = Place(file=shown, line=len(before), column=len(before[-1]) + 1)
        return place, excerpt(file.text.split("\n"), place)


def locate(lines: list[str], start: Place, text: str, at: int) -> Place:
    """Where the character `text[at]` of a scalar that begins at `start` stands in the file; `start` if unknown."""
    mark = "{{" if text.startswith("{{", at) else text[at : at + 1]
    if not mark:
        return start
    wanted = _count(text[:at], mark)
    column = start.column - 1
    for number in range(start.line - 1, len(lines)):
        line = lines[number]
        found = line.find(mark, column)
        while found >= 0:
            if wanted == 0:
                return Place(file=start.file, line=number + 1, column=found + 1)
            wanted -= 1
            found = line.find(mark, found + 1)
        column = 0
    return start


def _count(text: str, mark: str) -> int:
    # Overlapping ones count: `{{{` holds two.
    count, found = 0, text.find(mark)
    while found >= 0:
        count, found = count + 1, text.find(mark, found + 1)
    return count
