"""A workflow file → its plan and the bytes of every file of the definition."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from onward.errors import Problem, Problems
from onward.model.nodes import Plan
from onward.plan.make import make_plan
from onward.plan.partial import problems_of_meaning
from onward.plan.repository import without_repository
from onward.spec.document import Document
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
