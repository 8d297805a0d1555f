"""`onward run FILE`: check the file, start a run, show how it goes, end with a summary."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from onward.cli.common import Common, common_options
from onward.cli.progress import progress_for
from onward.cli.settings import ENGINES, settings_of
from onward.cli.target import at, print_json, store_of_file
from onward.cli.temporal_options import TEMPORAL, connection_for, temporal_options, timing_of
from onward.cli.variables import given_variables, variable_options
from onward.engine.embedded.launch import RunResult, StartOptions, start_run
from onward.errors import UsageError


@click.command("run")
@click.argument("file", type=click.Path(path_type=Path))
@variable_options
@click.option("--resume", is_flag=True, help="Go on from the state file of `checkpoint:`, if there is one.")
@click.option(
    "--rerun", multiple=True, metavar="NAME", help="With --resume: do this task again though it is listed as completed."
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    metavar="PLACE",
    help="Take over what a `.sparq` folder or a state file says is done.",
)
@click.option("--id", "run_id", metavar="ID", help="The id of the run (made from the workflow's name and the time).")
@click.option("--adapter", metavar="NAME", envvar="ONWARD_ADAPTER", help="The agent for prompts that name none.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many tasks at once.")
@click.option("--engine", metavar="NAME", envvar="ONWARD_ENGINE", help="What drives the run: embedded or temporal.")
@temporal_options
@click.option("--detach", is_flag=True, help="Print the id of the run and return; it goes on by itself.")
@click.option("--dry-run", is_flag=True, help="Show the plan; nothing is done.")
@click.option("--yes", is_flag=True, help="Ask nothing that has a default.")
@common_options(json=True)
def command(
    common: Common,
    file: Path,
    given: tuple[str, ...],
    vars_file: Path | None,
    resume: bool,
    rerun: tuple[str, ...],
    source: Path | None,
    run_id: str | None,
    adapter: str | None,
    limit: int | None,
    engine: str | None,
    temporal: Mapping[str, Any],
    detach: bool,
    dry_run: bool,
    yes: bool,  # noqa: ARG001 - nothing is asked here yet
) -> int:
    """Start a run of a workflow file, show how it goes, and end with a summary.

    Ends with 0 when the run succeeded, 1 when it failed, 2 when the file or the command cannot be used, 3 when it is
    paused or waits for somebody, 4 when onward could not write its own files, 130 when it was cancelled.
    """
    variables = given_variables(given)
    if dry_run:
        return _show_plan(common, file, variables, vars_file)
    settings = settings_of(file)
    engine = _engine(engine or settings.engine)
    store = store_of_file(file, common)
    options = StartOptions(
        file=file,
        variables=variables,
        vars_file=vars_file,
        store=os.fspath(store.root),
        run_id=run_id,
        adapter=adapter or settings.adapter,
        limit=limit or settings.limit,
        resume=resume,
        rerun=rerun,
        source=source,
    )
    where = at(store)
    if engine == TEMPORAL:
        return run_in_temporal(common, options, temporal, settings.temporal or {}, where, detach=detach)
    if detach:
        from onward.cli.detached import drive_detached

        return drive_detached(lambda observer: start_run(options, observer), common, where)
    with progress_for(common, where) as progress:
        result = start_run(options, progress)
    return finish(common, result)


def _engine(engine: str | None) -> str:
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"there is no engine `{engine}`", help=f"known are: {', '.join(ENGINES)}")
    return engine or ENGINES[0]


def run_in_temporal(
    common: Common,
    options: StartOptions,
    flags: Mapping[str, Any],
    settings: Mapping[str, Any],
    where: str,
    *,
    detach: bool,
) -> int:
    """Start a run that Temporal drives; follow it, unless `detach`."""
    connection, timing = connection_for(flags, settings), timing_of(settings)
    from onward.engine.temporal.launch import start_run as start_in_temporal

    with progress_for(common, where) as progress:
        result = start_in_temporal(options, connection, timing, progress, follow=not detach)
    if detach:
        click.echo(result.run_id)
        return 0
    return finish(common, result)


def finish(common: Common, result: RunResult) -> int:
    """The exit code; with `--json` also what became of the run, on stdout."""
    if common.json:
        print_json(
            {
                "schema": 1,
                "run": result.run_id,
                "status": result.status.value,
                "reason": result.reason,
                "exit_code": result.exit_code,
            }
        )
    return result.exit_code


def _show_plan(common: Common, file: Path, variables: dict[str, str], vars_file: Path | None) -> int:
    from onward.cli.drawing import draw, marks_for
    from onward.engine.definition import load_plan
    from onward.plan.inputs import resolve_variables
    from onward.spec.variables_file import read_variables
    from onward.state.run_state import RunState
    from onward.views import words
    from onward.views.nodes import Around, node_views
    from onward.views.secrets import needed
    from onward.views.table import Line, tree_lines

    loaded = load_plan(file, shown=str(file))
    from_file = read_variables(vars_file) if vars_file is not None else {}
    state = RunState(loaded.plan)
    state.facts.variables = resolve_variables(loaded.plan, variables, from_file)
    nodes, secrets = node_views(state, Around(run="", now=0.0)), needed(loaded.plan)
    if common.json:
        shown = [{"path": node.path, "kind": node.kind, "title": node.title} for node in nodes]
        variables = state.facts.variables
        print_json({"schema": 1, "file": str(file), "variables": variables, "secrets": secrets, "nodes": shown})
        return 0
    draw(tree_lines(nodes, marks_for(sys.stdout), whole=True), common)
    for one in secrets:
        draw([Line(words.one_line(f"secret {one.name} from {one.origin}, for `{one.needed_by}`"), "dim")], common)
    draw([Line(f"{file}: nothing was run", "dim")], common, sys.stderr)
    return 0
