"""`onward init`: a starter workflow that runs as it is, with the first line that editors read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from onward import files
from onward.cli.common import Common, can_ask, common_options
from onward.cli.starters import STARTERS, filled
from onward.cli.target import print_json, store_of_file
from onward.errors import UsageError

FILE = Path("workflow.yaml")
SCHEMA = "workflow.schema.json"
MODULE = "steps"


@click.command("init")
@click.argument("file", type=click.Path(path_type=Path), default=FILE)
@click.option("--template", metavar="N", help=f"What to begin with: {', '.join(STARTERS)}.")
@common_options(json=True)
def command(common: Common, file: Path, template: str | None) -> int:
    """Write a starter workflow to FILE (workflow.yaml), and the schema for editors into the store.

    Asks what kind on a terminal. A file that is there is never overwritten.
    """
    if template is not None and template not in STARTERS:
        raise UsageError(f"there is no template `{template}`", help=f"known are: {', '.join(STARTERS)}")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}", help="make it first")
    _refuse_existing(file)
    starter = STARTERS[template or _asked()]
    _refuse_existing(*(file.parent / name.format(module=MODULE) for name, _ in starter.files))
    schema = _write_schema(file, common)
    texts = filled(starter, file.name, _name_of(file), MODULE)
    texts[file.name] = _first_line(file, schema) + texts[file.name]
    for name, text in texts.items():
        _create(file.parent / name, text)
    made = [os.fspath(file.parent / name) for name in texts]
    if common.json:
        print_json({"schema": 1, "files": made, "editor_schema": os.fspath(schema)})
    else:
        click.echo("\n".join(made))
        common.note(f"start it with: onward run {file}")
    return 0


def _asked() -> str:
    """The template that a person chooses; a usage error where nobody can be asked."""
    names = list(STARTERS)
    if can_ask():
        click.echo("What is it to be made of?", err=True)
        for number, (name, starter) in enumerate(STARTERS.items(), 1):
            click.echo(f"  {number}  {name:7} {starter.words}", err=True)
        while (answer := _answer()) is not None:
            if answer.isdecimal() and 1 <= int(answer) <= len(names):
                return names[int(answer) - 1]
            if answer in names:
                return answer
            click.echo(f"`{answer}` is none of them", err=True)
    raise UsageError("nobody said what kind of workflow it is to be", help=f"give --template {'|'.join(names)}")


def _answer() -> str | None:
    try:
        return str(click.prompt("A number or a name", default="1", err=True)).strip()
    except click.Abort:
        return None  # the end of what was typed is no answer


def _refuse_existing(*paths: Path) -> None:
    for path in paths:
        if os.path.lexists(path):
            raise UsageError(f"{path} is there already; nothing was written", help="give another FILE")


def _name_of(file: Path) -> str:
    """A name that is fit for everything: the stem of the file, without what needs quotes."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", file.stem).strip("-_") or "workflow"


def _write_schema(file: Path, common: Common) -> Path:
    """The schema in the store, which is not committed: every version of onward writes its own."""
    from onward.spec.schema import schema_text

    store = store_of_file(file, common)
    store.make()
    path = store.root / SCHEMA
    files.write_atomic(path, schema_text().encode(), mode=0o644, durable=False)
    return path


def _first_line(file: Path, schema: Path) -> str:
    place = os.path.relpath(schema.resolve(), file.parent.resolve())
    return f"# yaml-language-server: $schema={place}\n"


def _create(path: Path, text: str) -> None:
    """Unlike onward's own files this is one of the user's: its rights are those that the user's files get."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        _refuse_existing(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", help="give another FILE") from error
