"""`onward resume --from .sparq`: shows what a SparQ folder holds, goes on if it names its workflow, or archives it."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec

from onward import clock
from onward.cli.common import Common
from onward.cli.drawing import draw
from onward.cli.progress import progress_for
from onward.cli.run import finish
from onward.cli.target import print_json
from onward.engine.embedded.launch import StartOptions, start_run
from onward.mirrors.sparq_read import SparqState, read_sparq
from onward.recovery.sparq import level_of, surroundings
from onward.recovery.sparq_mirror import archive
from onward.views.sparq_words import sparq_files, sparq_lines
from onward.views.table import Line


def resume_sparq(source: Path, common: Common, *, fresh: bool, view: bool, plan: bool, store: str | None) -> int:
    """Without a workflow file the work can be shown, and archived, but not carried on."""
    state = read_sparq(source)
    if fresh:
        return _archive(state, common)
    file = _workflow_of(state)
    _show(state, common, file, view=view)
    if view or plan or file is None:
        return 0
    options = StartOptions(file=file, source=Path(state.folder), store=store)
    with progress_for(common, "") as progress:
        result = start_run(options, progress)
    return finish(common, result)


def _workflow_of(state: SparqState) -> Path | None:
    if state.workflow_file is None:
        return None
    file = state.root / state.workflow_file
    return file if file.is_file() else None


def _show(state: SparqState, common: Common, file: Path | None, *, view: bool) -> None:
    level, warnings = level_of(state), [*state.warnings, *surroundings(state)]
    if common.json:
        data = msgspec.to_builtins(state) | {"warnings": warnings}
        print_json({"schema": 1, "level": level.value, "sparq": data})
        return
    draw(sparq_files(state) if view else sparq_lines(state, level, warnings, clock.now().timestamp()), common)
    if file is None:
        command = f"onward run FILE --from {os.path.relpath(state.folder)}"
        draw([Line(""), Line(f"with a workflow file for it: {command}", "command")], common)


def _archive(state: SparqState, common: Common) -> int:
    target = archive(Path(state.folder))
    if common.json:
        print_json({"schema": 1, "archived": os.fspath(target)})
    else:
        click.echo(f"Previous workflow archived in {os.path.relpath(target)}. Start a new one with `onward run FILE`.")
    return 0
