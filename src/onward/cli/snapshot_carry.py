"""`onward snapshot export` and `import`: a run as one file, from one host to another."""

from __future__ import annotations

import os
from pathlib import Path

import click

from onward.cli.common import Common, common_options
from onward.cli.snapshot_key import compress_option, encrypt_option, key_option, wanted_key
from onward.cli.target import at, print_json, store_of
from onward.mirrors.snapshot_seal import find_key
from onward.recovery.unpacking import Placed
from onward.views import words
from onward.views.source import Source

ENDING = ".onward.tar"


@click.command("export")
@click.argument("run", required=False)
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Where to.")
@compress_option
@key_option
@encrypt_option
@common_options(json=True)
def export(
    common: Common, run: str | None, output: Path | None, compress: bool, key_file: str | None, encrypt: bool
) -> int:
    """Write a run that nobody drives to one file: journal, definition, results, logs, artifacts.

    `onward snapshot import` brings it into another store, where `onward resume` goes on with it. Go on with one only.
    """
    from onward.engine.embedded.carry import export_run

    folder = store_of(common).find(run)
    target = output if output is not None else Path(folder.run_id + ENDING)
    key = wanted_key(key_file, encrypt=encrypt)
    lives = Source(folder).task_lives
    manifest = export_run(folder, target, lambda _, text: common.note(text), lives, compress=compress, key=key)
    size = target.stat().st_size
    if common.json:
        counts = {"files": len(manifest.files), "bytes": size, "left": manifest.left}
        print_json({"schema": 1, "run": folder.run_id, "file": os.fspath(target), **counts})
        return 0
    click.echo(f"run {folder.run_id}: {target}, {words.amount(len(manifest.files), 'file')}, {words.size(size)}")
    for path in manifest.left:
        common.note(f"not in it, because it is gone, changed or outside the workflow's folder: {words.one_line(path)}")
    return 0


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@key_option
@common_options(json=True)
def import_(common: Common, file: Path, key_file: str | None) -> int:
    """Bring an exported run into this store, every file of it verified by its SHA-256.

    Files of the workflow and artifacts are put beside the store, where they are not there yet; nothing is overwritten.
    """
    from onward.engine.embedded.carry import import_run

    store = store_of(common)
    folder, manifest, placed = import_run(file, store, key=find_key(key_file, os.environ))
    if common.json:
        print_json(
            {
                "schema": 1,
                "run": folder.run_id,
                "from": manifest.host,
                "files": len(manifest.files),
                "written": placed.written,
                "kept": placed.kept,
                "different": placed.different,
                "missing": placed.missing,
            }
        )
        return 0
    click.echo(f"run {folder.run_id}: {words.amount(len(manifest.files), 'file')} verified, in {folder.root}")
    _tell(common, placed)
    common.note(f"go on with: onward resume {folder.run_id}{at(store)}")
    return 0


def _tell(common: Common, placed: Placed) -> None:
    for path in placed.written:
        common.note(f"written: {words.one_line(path)}")
    for path in placed.different:
        common.note(f"left as it is, although the run knew it otherwise: {words.one_line(path)}")
    for path in placed.missing:
        common.note(f"not in the file: {words.one_line(path)}")
