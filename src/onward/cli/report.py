"""`onward report`: one HTML page of a run, for reading and for sending on."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import click

from onward.cli.common import Common, common_options
from onward.cli.target import at, store_of
from onward.errors import UsageError

FILE_MODE = 0o644


@click.command("report")
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="FILE", help="Write it there (`-`: to stdout), not to RUN.html in this folder.")
@common_options()
def command(common: Common, run: str | None, output: str | None) -> int:
    """Write one HTML page of a run: graph, timeline, tasks, output, results, decisions.

    The page needs no other file and no network. RUN is a run id or the beginning of one; without it the newest run.
    """
    store = store_of(common)
    folder = store.find(run)
    target = output if output is not None else f"{folder.run_id}.html"
    if target != "-":
        _check_place(target)
    from onward.views.report.gather import gather
    from onward.views.report.page import page
    from onward.views.source import Source

    data = page(gather(Source(folder, use_cache=False), at(store))).encode("utf-8", "replace")
    if target == "-":
        _print(data)
        return 0
    _write(target, data)
    common.note(f"written to {target}")
    return 0


def _check_place(target: str) -> None:
    """Say at once what would only fail after the work."""
    if os.path.isdir(target):
        raise UsageError(f"{target} is a folder", help=f"name the file: `-o {os.path.join(target, 'report.html')}`")
    parent = os.path.dirname(target) or "."
    if not os.path.isdir(parent):
        raise UsageError(f"the folder {parent} does not exist", help=f"make it first: `mkdir -p {parent}`")


def _write(target: str, data: bytes) -> None:
    """The page appears as a whole; a pipe or device is written to as it is."""
    from onward.errors import StoreError
    from onward.files import write_atomic

    path = Path(os.path.realpath(target))
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            write_atomic(path, data, mode=FILE_MODE, durable=False)
    except (OSError, StoreError) as error:
        raise UsageError(_cannot(target, error), help="name another file with -o, or `-o -` for stdout") from error


def _cannot(target: str, error: Exception) -> str:
    cause = error if isinstance(error, OSError) else error.__cause__
    number = cause.errno if isinstance(cause, OSError) else None
    return f"cannot write {target}: {os.strerror(number or errno.EIO)}"


def _print(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
