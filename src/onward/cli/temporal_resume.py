"""`onward resume` of a run that Temporal drives, or is to drive; and back to this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from onward.cli.common import Common
from onward.cli.progress import progress_for
from onward.cli.run import finish
from onward.cli.settings import ENGINES, settings_here
from onward.cli.temporal_options import TEMPORAL, connection_for, timing_of
from onward.engine.embedded.launch import ResumeOptions
from onward.errors import UsageError
from onward.store.engine_file import read_engine
from onward.store.folder import RunFolder


def goes_to_temporal(folder: RunFolder, engine: str | None) -> bool:
    """Whether Temporal goes on with the run: it did so before, or is asked to now. A run can be taken from it, too."""
    if engine is not None and engine not in ENGINES:
        raise UsageError(f"there is no engine `{engine}`", help=f"known are: {', '.join(ENGINES)}")
    known = read_engine(folder.root)
    if known is not None and engine is not None and engine != TEMPORAL:
        _take_back(folder)
        return False
    return known is not None or engine == TEMPORAL


def _take_back(folder: RunFolder) -> None:
    """The workflow of a paused or ended run is ended, and a process drives the run from now on."""
    known = read_engine(folder.root)
    connection = connection_for({}, settings_here().temporal or {}, known)
    from onward.engine.temporal.launch import take_back

    take_back(folder, connection)


def resume_in_temporal(
    common: Common, options: ResumeOptions, flags: Mapping[str, Any], where: str, *, detach: bool
) -> int:
    """Go on, and follow the run unless `detach`."""
    settings = settings_here().temporal or {}
    connection = connection_for(flags, settings, read_engine(options.run.root))
    timing = timing_of(settings)
    from onward.engine.temporal.launch import resume_run

    with progress_for(common, where) as progress:
        result = resume_run(options, connection, timing, progress, follow=not detach)
    if detach:
        click.echo(result.run_id)
        return 0
    return finish(common, result)
