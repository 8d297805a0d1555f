"""`onward check`: every mistake of workflow files, with its place; nothing is run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from onward.cli.common import Common, common_options
from onward.cli.drawing import draw
from onward.cli.target import print_json
from onward.cli.variables import given_variables, variable_options
from onward.errors import OnwardError, Place, Problem, Problems
from onward.model.nodes import Plan
from onward.plan.inputs import resolve_variables
from onward.plan.make import make_plan
from onward.plan.partial import problems_of_meaning
from onward.plan.repository import without_repository
from onward.spec.document import Document
from onward.spec.load import load
from onward.spec.supported import unsupported
from onward.spec.variables_file import read_variables
from onward.views import words
from onward.views.table import Line

EXIT_BAD = 2


class Checked:
    """What was found in one file. `complaint` is about the variables that were given, which have no place in it."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.plan: Plan | None = None
        self.complaint: OnwardError | None = None

    @property
    def ok(self) -> bool:
        """Whether the file can be run; warnings change nothing."""
        return self.complaint is None and not any(not problem.warning for problem in self.problems)


@click.command("check")
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@variable_options
@common_options(json=True)
def command(common: Common, files: tuple[str, ...], given: tuple[str, ...], vars_file: Path | None) -> int:
    """Check workflow files: all errors and warnings of each, nothing is run.

    With --var or --vars-file the values are checked as well.
    """
    from_file = read_variables(vars_file) if vars_file is not None else {}
    variables = given_variables(given)
    checked = [check_file(file, variables, from_file) for file in files]
    if common.json:
        print_json({"schema": 1, "files": [_as_data(one) for one in checked]})
    else:
        draw((line for one in checked for line in _lines(one, quiet=common.quiet)), common)
    return 0 if all(one.ok for one in checked) else EXIT_BAD


def check_file(file: str, given: dict[str, str], from_file: dict[str, str]) -> Checked:
    """Everything that is wrong with one file."""
    found = Checked(file)
    try:
        document = load(file, shown=file)
        found.problems = unsupported(document)
        found.plan, warnings = make_plan(document, given.keys() | from_file.keys())
        found.problems += [*without_repository(found.plan, document), *warnings]
    except Problems as failure:
        found.problems += failure.problems
        if isinstance(failure.document, Document):
            found.problems += problems_of_meaning(failure.document, failure.problems, given.keys() | from_file.keys())
        found.problems.sort(key=lambda problem: (problem.place.line, problem.place.column))
        return found
    if given or from_file:
        _check_variables(found, found.plan, given, from_file)
    return found


def _check_variables(found: Checked, plan: Plan, given: dict[str, str], from_file: dict[str, str]) -> None:
    told: list[str] = []
    try:
        resolve_variables(plan, given, from_file, told)
    except OnwardError as error:
        found.complaint = error
    place = Place(file=found.file)
    found.problems += [Problem(code="strange-variable", message=text, place=place, warning=True) for text in told]


# ---------------------------------------------------------------- what is printed


def _lines(found: Checked, *, quiet: bool) -> Iterator[Line]:
    for problem in found.problems:
        yield Line(words.block(str(problem)), "warning" if problem.warning else "failed")
    if found.complaint is not None:
        yield Line(words.block(f"{found.file}: error[{found.complaint.code}]: {found.complaint}"), "failed")
    if quiet and found.ok:
        return
    yield Line(f"{words.one_line(found.file)}: {_verdict(found)}", "succeeded" if found.ok else "failed")


def _verdict(found: Checked) -> str:
    errors = sum(not problem.warning for problem in found.problems) + (found.complaint is not None)
    warnings = sum(problem.warning for problem in found.problems)
    parts = [words.amount(errors, "error")] if errors else ["no errors"]
    if warnings:
        parts.append(words.amount(warnings, "warning"))
    if found.plan is not None and not errors:
        parts.append(words.amount(sum(node.kind.leaf for node in found.plan.root.walk()), "task"))
    return ", ".join(parts)


def _as_data(found: Checked) -> dict[str, Any]:
    return {
        "file": found.file,
        "ok": found.ok,
        "name": found.plan.name if found.plan is not None else None,
        "problems": [*_problems(found.problems), *_complaints(found)],
    }


def _problems(problems: Iterable[Problem]) -> Iterator[dict[str, Any]]:
    for problem in problems:
        yield {
            "severity": "warning" if problem.warning else "error",
            "code": problem.code,
            "message": problem.message,
            "file": problem.place.file,
            "line": problem.place.line,
            "column": problem.place.column,
            "help": problem.help,
            "trail": list(problem.trail),
            "source": problem.source,
        }


def _complaints(found: Checked) -> Iterator[dict[str, Any]]:
    if found.complaint is not None:
        yield {
            "severity": "error",
            "code": found.complaint.code,
            "message": found.complaint.message,
            "file": found.file,
            "line": None,
            "column": None,
            "help": found.complaint.help,
            "trail": [],
            "source": None,
        }
