"""What the format has and this version does not execute yet. Removing a line enables the feature."""

from __future__ import annotations

from collections.abc import Iterator

from onward.errors import Problem
from onward.spec.document import Document
from onward.spec.excerpts import excerpt, quoted

NOT_YET: dict[str, str] = {}


def unsupported(document: Document) -> list[Problem]:
    """A problem for each place of the file and its includes that uses a feature of the table."""
    return [
        Problem(
            code="not-yet-supported",
            message=f"{quoted(use.key)} is part of the format, but this version of onward cannot execute it yet: "
            f"{NOT_YET[use.feature]}",
            place=use.place,
            source=excerpt(each.lines, use.place),
            trail=use.trail,
            help="nothing was run; remove it, or use a version whose reference lists it as supported",
        )
        for each in _documents(document, set())
        for use in each.uses
        if use.feature in NOT_YET
    ]


def _documents(document: Document, seen: set[str]) -> Iterator[Document]:
    if document.path in seen:
        return
    seen.add(document.path)
    yield document
    for included in document.includes.values():
        yield from _documents(included, seen)
