"""`onward fork`: a new run that keeps everything before a node."""

from __future__ import annotations

import os

import click

from onward.cli.common import Common, common_options
from onward.cli.progress import progress_for
from onward.cli.run import finish
from onward.cli.target import at, store_of
from onward.cli.variables import given_variables
from onward.engine.embedded.forking import fork
from onward.engine.embedded.launch import ResumeOptions, resume_run
from onward.views import words


@click.command("fork")
@click.argument("run", required=False)
@click.option("--from", "path", metavar="PATH", required=True, help="The node to begin with in the new run.")
@click.option("--id", "run_id", metavar="ID", help="The id of the new run.")
@click.option("--var", "given", multiple=True, metavar="K=V", help="A new value for tasks that still run.")
@click.option("--detach", is_flag=True, help="Print the id of the run and return; it goes on by itself.")
@common_options(json=True)
def command(
    common: Common, run: str | None, path: str, run_id: str | None, given: tuple[str, ...], detach: bool
) -> int:
    """Begin a new run that keeps everything RUN did before PATH, and goes on from there. RUN stays as it is.

    Both work in the same folder: files that later tasks of RUN have changed are told, and wait for a choice.
    """
    store = store_of(common)
    forked = fork(store.find(run), path, run_id=run_id, variables=given_variables(given))
    kept = words.amount(forked.kept, "finished task")
    common.note(f"run {forked.folder.run_id} keeps {kept}, and begins with {words.one_line(path)}")
    if forked.abandoned.artifacts:
        names = ", ".join(words.one_line(os.fspath(name)) for name in forked.abandoned.artifacts[:20])
        common.note(f"made by what is done again, and still there: {names}")
    options = ResumeOptions(run=forked.folder, reason="fork")
    where = at(store)
    if detach:
        from onward.cli.detached import drive_detached

        return drive_detached(lambda observer: resume_run(options, observer), common, where)
    with progress_for(common, where) as progress:
        result = resume_run(options, progress)
    return finish(common, result)
