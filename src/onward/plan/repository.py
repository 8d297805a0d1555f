"""A plan → a problem for each node that wants a git worktree where there is no git repository (`settled.md` 62)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from onward.errors import Place, Problem
from onward.model.nodes import Plan
from onward.spec.document import Document
from onward.spec.excerpts import excerpt


def without_repository(plan: Plan, document: Document) -> Iterator[Problem]:
    """The problems; none where nothing wants a worktree, or `directory` lies in a repository."""
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
