"""`onward explain`: how each value of a workflow is found, and what a resume of a run would do with its nodes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from onward.cli.common import Common, common_options
from onward.cli.drawing import draw
from onward.cli.target import print_json, store_of_file
from onward.cli.variables import given_variables, variable_options
from onward.engine.definition import load_plan
from onward.errors import UsageError
from onward.model.nodes import Plan
from onward.model.status import Status
from onward.spec.document import Document, Mapping
from onward.spec.load import load
from onward.spec.variables_file import read_variables
from onward.views import words
from onward.views.explain import Explanation, Reference, explain
from onward.views.forecast import Forecast
from onward.views.table import Line


@click.command("explain")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("path", required=False)
@variable_options
@click.option("--run", metavar="RUN", help="Also what a resume of that run would do with each node.")
@common_options(json=True)
def command(
    common: Common, file: Path, path: str | None, given: tuple[str, ...], vars_file: Path | None, run: str | None
) -> int:
    """Explain a workflow file: for each node, or that of PATH, where its values come from.

    With PATH also the names in its environment, its folder, and what its definition hash is made of.
    """
    from_file = read_variables(vars_file) if vars_file is not None else {}
    names = sorted(given_variables(given).keys() | from_file.keys())
    plan = load_plan(file, shown=str(file), given=names).plan
    found = list(explain(plan, _variable_lines(load(file, shown=str(file))), names))
    if path is not None:
        found = _chosen(found, path)
    forecast = _forecast(common, file, plan, run) if run is not None else None
    if common.json:
        print_json({"schema": 1, "file": str(file), "nodes": [_as_data(one, plan, forecast) for one in found]})
    else:
        draw(_lines(found, plan, forecast, whole=path is not None), common)
    return 0


def _chosen(found: list[Explanation], path: str) -> list[Explanation]:
    chosen = [one for one in found if one.path == path]
    if not chosen:
        from difflib import get_close_matches

        near = get_close_matches(path, [one.path for one in found], n=1)
        help = f"did you mean `{near[0]}`?" if near else "without PATH all nodes are listed"
        raise UsageError(f"the workflow has no node `{path}`", help=help)
    return chosen


def _variable_lines(document: Document) -> dict[tuple[str, str], int]:
    home = os.path.dirname(document.path)
    lines: dict[tuple[str, str], int] = {}
    waiting, seen = [document], set[str]()
    while waiting:
        each = waiting.pop()
        if each.path in seen:
            continue
        seen.add(each.path)
        name = "" if each is document else os.path.relpath(each.path, home)
        variables = each.root.get("variables")
        if isinstance(variables, Mapping):
            lines |= {(name, key): entry.key.place.line for key, entry in variables.entries.items()}
        waiting += each.includes.values()
    return lines


def _forecast(common: Common, file: Path, plan: Plan, run: str) -> Forecast:
    from onward.views.source import Source

    source = Source(store_of_file(file, common).find(run))
    facts = source.state.facts
    if os.path.realpath(source.place(facts.file)) != os.path.realpath(file):
        common.note(f"run {source.run_id} is of another file: {facts.file}")
    if facts.end is not None and facts.end is not Status.FAILED:
        common.note(f"run {source.run_id} has {facts.end.value}: only `--rerun` does any of it again")
    if source.driven:
        common.note(f"run {source.run_id} is driven now")
    return Forecast(source.state, plan, source.fate, source.place(facts.directory))


# ---------------------------------------------------------------- what is printed


def _as_data(one: Explanation, plan: Plan, forecast: Forecast | None) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.to_builtins(one)
    if forecast is not None:
        data["resume"] = _resume(one, plan, forecast)
    return data


def _resume(one: Explanation, plan: Plan, forecast: Forecast) -> list[str]:
    return forecast.of(next(node for node in plan.root.walk() if node.path == one.path))


def _lines(found: list[Explanation], plan: Plan, forecast: Forecast | None, *, whole: bool) -> Iterator[Line]:
    for one in found:
        yield _line("", f"{one.path} ({one.kind}, {one.file or os.path.basename(plan.file)} line {one.line})", "head")
        for reference in one.references:
            yield _line("  ", f"{reference.field}: {reference.written} ← {_leads_to(reference)}")
        if whole:
            yield from _details(one)
        for sentence in _resume(one, plan, forecast) if forecast is not None else []:
            yield _line("  ", f"on resume: {sentence}", "command")
    for path in forecast.gone() if forecast is not None and not whole else []:
        yield _line("", f"{path} is no longer in the workflow; its record stays, unused", "dim")


def _line(indent: str, text: str, style: str = "") -> Line:
    return Line(indent + words.one_line(text), style)


def _leads_to(reference: Reference) -> str:
    place = f"{reference.file} line {reference.line}" if reference.file else f"line {reference.line}"
    return words.one_line(reference.leads_to, 100) + (f" ({place})" if reference.line else "")


def _details(one: Explanation) -> Iterator[Line]:
    for what in one.agent_calls:
        yield _line("  ", f"calls an agent for {what}")
    folder, *why = one.directory
    yield _line("  ", f"works in {folder}")
    for each in why:
        yield _line("    ", each, "dim")
    if one.environment:
        yield _line("  ", "environment: that of the caller without declared secrets, and")
        width = max(len(named.name) for named in one.environment)
        for named in one.environment:
            yield _line(f"    {named.name:{width}}  ", words.one_line(named.source, 100))
    yield _line("  ", f"definition hash {one.hash[:12]} of {', '.join(one.hashed)}")
