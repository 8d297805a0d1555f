"""`onward worker`: do the work of runs that Temporal drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onward.cli.common import Common, common_options
from onward.cli.settings import settings_here
from onward.cli.temporal_options import connection_for, temporal_options
from onward.errors import UsageError


@click.command("worker")
@temporal_options
@click.option("--slots", type=click.IntRange(min=1), default=100, show_default=True, help="Most tasks at once.")
@click.option("--tasks-only", is_flag=True, help="Do tasks; leave the turns of workflows to other workers.")
@click.option("--deployment", metavar="NAME", help="Worker versioning: the deployment of this worker.")
@click.option("--build-id", metavar="ID", help="Worker versioning: its release; runs stay with theirs.")
@common_options()
def command(
    common: Common,
    temporal: Mapping[str, Any],
    slots: int,
    tasks_only: bool,
    deployment: str | None,
    build_id: str | None,
) -> int:
    """Serve a task queue of a Temporal server until Ctrl-C or SIGTERM; tasks that run then go on.

    The store of the runs must be seen by every worker; a worker that is started again on the same host finds the
    tasks that it left.
    """
    if (deployment is None) != (build_id is None):
        raise UsageError("--deployment and --build-id go together")
    settings = settings_here()
    connection = connection_for(temporal, settings.temporal or {})
    from onward.engine.temporal.worker import WorkerOptions, serve

    store = common.store or settings.store
    options = WorkerOptions(
        connection=connection,
        store=store,
        slots=slots,
        workflows=not tasks_only,
        deployment=deployment,
        build_id=build_id,
    )
    serve(options, common.note)
    return 0
