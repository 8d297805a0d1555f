"""`onward resume`: go on with a run that was interrupted, paused, or has failed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from onward.cli.choice_options import choice_options
from onward.cli.common import Common, can_ask, common_options
from onward.cli.progress import progress_for
from onward.cli.run import finish
from onward.cli.target import at, store_of
from onward.cli.temporal_options import temporal_options
from onward.cli.temporal_resume import goes_to_temporal, resume_in_temporal
from onward.cli.variables import given_amounts, given_variables
from onward.engine.embedded.launch import ResumeOptions, resume_run
from onward.errors import UsageError
from onward.store.folder import RunFolder
from onward.store.runs import Store


@click.command("resume")
@click.argument("run", required=False)
@click.option("--all", is_flag=True, help="All runs that were interrupted, or paused by a shutdown; side by side.")
@click.option("--yes", is_flag=True, help="Ask nothing that has a default; changed artifacts are kept.")
@click.option("--plan", is_flag=True, help="Show what would be done with each task; nothing is changed.")
@click.option("--fresh", is_flag=True, help="Archive the run, and start a new one with the same variables.")
@click.option("--view", is_flag=True, help="Show what the run has made so far; nothing is changed.")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    metavar="PLACE",
    help="A `.sparq` folder: show it, and go on where it names its workflow (or --fresh, --view).",
)
@click.option("--var", "given", multiple=True, metavar="K=V", help="A new value for tasks that still run.")
@click.option("--budget", multiple=True, metavar="K=V", help="Raise a budget: usd=10, or PATH:tokens=500000.")
@choice_options
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record.")
@click.option("--original", is_flag=True, help="With the workflow as it was at the start, not as it is today.")
@click.option("--accept-damage", is_flag=True, help="Go on although the journal is damaged.")
@click.option("--take-over", is_flag=True, help="Go on even if another process drives the run; it is stopped.")
@click.option("--adapter", metavar="NAME", help="Another agent for prompts that name none.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many tasks at once.")
@click.option("--engine", metavar="NAME", help="What drives the run from now on: embedded or temporal.")
@temporal_options
@click.option("--detach", is_flag=True, help="Print the id of the run and return; it goes on by itself.")
@common_options(json=True)
def command(
    common: Common,
    run: str | None,
    all: bool,
    yes: bool,
    plan: bool,
    fresh: bool,
    view: bool,
    source: Path | None,
    given: tuple[str, ...],
    budget: tuple[str, ...],
    choices: Mapping[str, Any],
    reason: str,
    original: bool,
    accept_damage: bool,
    take_over: bool,
    adapter: str | None,
    limit: int | None,
    engine: str | None,
    temporal: Mapping[str, Any],
    detach: bool,
) -> int:
    """Go on with a run from where it stopped: finished tasks are kept, failed ones are tried again.

    RUN is a run id or the beginning of one; without it the newest run goes on. On a terminal it is asked what to do
    with a run that was interrupted or has failed; each answer has a flag. Exit codes are those of `onward run`.
    With --all the worst of them; changed artifacts are kept, and runs that a person paused stay paused.
    """
    if all:
        from onward.cli.resume_all import refuse_with_all, resume_all

        given_flags = {"original": original, "accept_damage": accept_damage, "take_over": take_over}
        chosen = {name: bool(value) for name, value in choices.items()} | {"budget": bool(budget)}
        refuse_with_all(run, given, **chosen, **given_flags, plan=plan, fresh=fresh, view=view)
        return resume_all(common, adapter=adapter, limit=limit, detach=detach, reason=reason)
    if source is not None:
        from onward.cli.resume_sparq import resume_sparq

        return resume_sparq(source, common, fresh=fresh, view=view, plan=plan, store=common.store)
    store = store_of(common)
    decided = yes or fresh or view or plan or any(choices.values()) or accept_damage or take_over
    asks = can_ask() and not decided and not common.json
    options = ResumeOptions(
        run=_run_of(store, run, common, asks=asks),
        variables=given_variables(given),
        yes=yes,
        reason=reason,
        take_over=take_over,
        accept_damage=accept_damage,
        original=original,
        budget=given_amounts(budget),
        **choices,
        adapter=adapter,
        limit=limit,
    )
    where = at(store)
    if sum((plan, fresh, view)) > 1:
        raise UsageError("--plan, --fresh and --view do not go together")
    if plan or view:
        from onward.cli.resume_plan import show_made, show_plan

        return show_plan(options, common, where) if plan else show_made(options, common)
    if asks:
        from onward.cli.wizard import Way, decide

        answer = decide(options, common, where)
        options, fresh = answer.options, answer.way is Way.FRESH
    if fresh:
        from onward.cli.fresh import start_fresh

        return start_fresh(options, common, where, detach=detach)
    if goes_to_temporal(options.run, engine):
        return resume_in_temporal(common, options, temporal, where, detach=detach)
    return _go_on(options, common, where, detach=detach)


def _run_of(store: Store, run: str | None, common: Common, *, asks: bool) -> RunFolder:
    if run is None and asks:
        from onward.cli.wizard import choose_run

        return choose_run(store, common)
    return store.find(run)


def _go_on(options: ResumeOptions, common: Common, where: str, *, detach: bool) -> int:
    if detach:
        from onward.cli.detached import drive_detached

        return drive_detached(lambda observer: resume_run(options, observer), common, where)
    with progress_for(common, where) as progress:
        result = resume_run(options, progress)
    return finish(common, result)
