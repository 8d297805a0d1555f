"""`onward resume`: go on with a run that was interrupted, paused, or has failed."""

from __future__ import annotations

import click

from onward.cli.common import Common, common_options
from onward.cli.progress import progress_for
from onward.cli.run import finish
from onward.cli.target import at, store_of
from onward.cli.variables import given_variables
from onward.engine.embedded.launch import ResumeOptions, resume_run


@click.command("resume")
@click.argument("run", required=False)
@click.option("--all", is_flag=True, help="All runs that were interrupted, or paused by a shutdown; side by side.")
@click.option("--yes", is_flag=True, help="Ask nothing that has a default; changed artifacts are kept.")
@click.option("--var", "given", multiple=True, metavar="K=V", help="A new value for tasks that still run.")
@click.option("--rerun", multiple=True, metavar="PATH", help="Do this node and what depends on it again.")
@click.option("--original", is_flag=True, help="With the workflow as it was at the start, not as it is today.")
@click.option("--accept-damage", is_flag=True, help="Go on although the journal is damaged.")
@click.option("--take-over", is_flag=True, help="Go on even if another process drives the run; it is stopped.")
@click.option("--adapter", metavar="NAME", help="Another agent for prompts that name none.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many tasks at once.")
@click.option("--detach", is_flag=True, help="Print the id of the run and return; it goes on by itself.")
@common_options(json=True)
def command(
    common: Common,
    run: str | None,
    all: bool,
    yes: bool,
    given: tuple[str, ...],
    rerun: tuple[str, ...],
    original: bool,
    accept_damage: bool,
    take_over: bool,
    adapter: str | None,
    limit: int | None,
    detach: bool,
) -> int:
    """Go on with a run from where it stopped: finished tasks are kept, failed ones are tried again.

    RUN is a run id or the beginning of one; without it the newest run goes on. Exit codes are those of `onward run`.
    With --all the worst of them; changed artifacts are kept, and runs that a person paused stay paused.
    """
    if all:
        from onward.cli.resume_all import refuse_with_all, resume_all

        refuse_with_all(run, given, rerun, original=original, accept_damage=accept_damage, take_over=take_over)
        return resume_all(common, adapter=adapter, limit=limit, detach=detach)
    store = store_of(common)
    options = ResumeOptions(
        run=store.find(run),
        variables=given_variables(given),
        yes=yes,
        take_over=take_over,
        accept_damage=accept_damage,
        original=original,
        rerun=rerun,
        adapter=adapter,
        limit=limit,
    )
    where = at(store)
    if detach:
        from onward.cli.detached import drive_detached

        return drive_detached(lambda observer: resume_run(options, observer), common, where)
    with progress_for(common, where) as progress:
        result = resume_run(options, progress)
    return finish(common, result)
