"""`onward rewind`: the same run, a node and what follows it to be done again."""

from __future__ import annotations

import click
import msgspec

from onward.cli.common import Common, can_ask, common_options
from onward.cli.target import at, print_json, store_of
from onward.engine.embedded.going_back import Back, look_back, rewind
from onward.views import words

MOST_LISTED = 20


@click.command("rewind")
@click.argument("run", required=False)
@click.option("--to", "path", metavar="PATH", required=True, help="The node to go back to; it is done again, too.")
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record.")
@click.option("--dry-run", is_flag=True, help="Say what would be done again; nothing is changed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options(json=True)
def command(common: Common, run: str | None, path: str, reason: str, dry_run: bool, yes: bool) -> int:
    """Go back in a run: PATH and what follows it will be done again. Nothing of its history is lost.

    The run must not be driven. It is paused then; `onward resume` goes on from there.
    """
    store = store_of(common)
    folder = store.find(run)
    back = look_back(folder, path)
    if not common.json:
        _tell(common, back)
    if can_ask() and not yes and not dry_run and not common.json and not click.confirm("go back?", err=True):
        common.note("nothing was changed")
        return 0
    if not dry_run:
        back = rewind(folder, path, lambda level, text: common.note(f"{level}: {text}"), reason=reason)
    next = f"onward resume {folder.run_id}{at(store)}"
    if common.json:
        data = {"schema": 1, "run": folder.run_id, "to": path, "done": not dry_run, "next": next}
        print_json(data | {"again": [one.path for one in back.overrides], **msgspec.to_builtins(back.abandoned)})
    elif not dry_run:
        common.note(f"run {folder.run_id} is back at {words.one_line(path)}; go on with: {next}")
    return 0


def _tell(common: Common, back: Back) -> None:
    repeated, artifacts = back.abandoned.repeated, back.abandoned.artifacts
    common.note(f"will be done again: {_listed(repeated)}" if repeated else "nothing has run from there on")
    if artifacts:
        common.note(f"their files stay where they are until then: {_listed(artifacts)}")


def _listed(names: list[str]) -> str:
    rest = len(names) - MOST_LISTED
    return ", ".join(words.one_line(name) for name in names[:MOST_LISTED]) + (f" and {rest:,} more" if rest > 0 else "")
