"""A workflow file → its plan and the bytes of every file of the definition."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from onward.errors import Place, Problem, Problems
from onward.model.nodes import Plan
from onward.plan.make import make_plan
from onward.plan.partial import problems_of_meaning
from onward.spec.document import Document
from onward.spec.excerpts import excerpt
from onward.spec.load import load
from onward.spec.supported import unsupported


class Loaded(Struct, frozen=True):
    """What a workflow file gives. `files`: by their paths relative to the folder of the workflow file."""

    plan: Plan
    warnings: list[Problem]
    files: dict[str, bytes]


def load_plan(path: Path, *, shown: str | None = None, given: Iterable[str] = ()) -> Loaded:
    """Read, check and resolve a workflow file. Raises `Problems` with every mistake that was found.

    `given` are names of variables that the start gives, and that need no declaration.
    """
    given = tuple(given)
    try:
        document = load(path, shown=shown)
    except Problems as failure:
        if isinstance(failure.document, Document):
            more = problems_of_meaning(failure.document, failure.problems, given)
            raise Problems([*failure.problems, *more]) from None
        raise
    refused = unsupported(document)
    if refused:
        raise Problems(refused)
    plan, warnings = make_plan(document, given)
    base = Path(plan.file).parent
    homeless = list(without_repository(plan, document))
    if homeless:
        raise Problems(homeless)
    return Loaded(plan, warnings, {file.path: (base / file.path).read_bytes() for file in plan.files})


def without_repository(plan: Plan, document: Document) -> Iterator[Problem]:
    """A problem for each node that wants a git worktree where there is no repository (`settled.md` 62)."""
    wanting = [node for node in plan.root.walk() if node.worktree]
    directory = Path(os.path.normpath(Path(plan.file).parent / plan.directory))
    if not wanting or any((place / ".git").exists() for place in (directory, *directory.parents)):
        return
    for node in wanting:
        own = not node.file or node.file == os.path.basename(plan.file)
        place = Place(document.shown if own else node.file, node.line or 1)
        yield Problem(
            code="no-repository",
            message=f"`worktree` of `{node.path}` needs a git repository, and {directory} is in none",
            place=place,
            source=excerpt(document.lines, place) if own else None,
            help="run `git init` and commit there, or leave `worktree` out",
        )
