"""`onward snapshot`: take, look at and remove snapshots of a run, go back to one, carry a run to another host."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from onward import clock
from onward.cli.common import Common, can_ask, common_options
from onward.cli.drawing import draw
from onward.cli.durations import DURATION
from onward.cli.elsewhere import elsewhere
from onward.cli.snapshot_carry import export, import_
from onward.cli.snapshot_key import compress_option, encrypt_option, key_option, wanted_key
from onward.cli.target import at, matches, print_json, store_of
from onward.errors import OnwardError, UsageError
from onward.mirrors.snapshot_history import Kept, SnapshotHistory
from onward.mirrors.snapshot_seal import KEY_FILE_VARIABLE, find_key
from onward.recovery.rollback import Rollback
from onward.store.folder import RunFolder
from onward.store.runs import Store
from onward.views import words
from onward.views.table import Line


@click.group("snapshot")
def command() -> None:
    """Snapshots of a run: its state in one file, taken at each pause and failure, and when you ask."""


# ---------------------------------------------------------------- create


@command.command("create")
@click.argument("run", required=False)
@compress_option
@key_option
@encrypt_option
@common_options(json=True)
def create(common: Common, run: str | None, compress: bool, key_file: str | None, encrypt: bool) -> int:
    """Take a snapshot of a run as it is now, driven or not."""
    from onward.engine.embedded.snapshotting import take_snapshot

    folder = store_of(common).find(run)
    key = wanted_key(key_file, encrypt=encrypt)
    named = os.path.abspath(key_file) if key_file is not None else os.environ.get(KEY_FILE_VARIABLE) if key else None
    there = elsewhere(folder)
    if there is not None and not there.has_ended:
        kept = there.snapshot(folder, plain=not compress and key is None)
    else:
        kept = take_snapshot(folder, lambda _, text: common.note(text), compress=compress, key=key, key_file=named)
    if common.json:
        print_json({"schema": 1, "run": folder.run_id, "snapshot": _row(kept)})
    else:
        click.echo(f"snapshot {kept.id} of run {folder.run_id}: {kept.path}")
    return 0


# ---------------------------------------------------------------- list and show


@command.command("list")
@click.argument("run", required=False)
@common_options(json=True)
def list_(common: Common, run: str | None) -> int:
    """The snapshots of a run, oldest first."""
    folder = store_of(common).find(run)
    history = SnapshotHistory(folder.snapshots)
    every = history.all()
    key = find_key(None, os.environ)
    if common.json:
        rows = [_row(kept) | _facts(history, kept, key) for kept in every]
        print_json({"schema": 1, "run": folder.run_id, "snapshots": rows})
        return 0
    draw(_lines(folder, [(kept, _facts(history, kept, key)) for kept in every]), common)
    return 0


def _facts(history: SnapshotHistory, kept: Kept, key: bytes | None) -> dict[str, Any]:
    """What the file says; `problem` where it cannot be read, which keeps no other from being listed."""
    try:
        snapshot = history.read(kept, key)
    except OnwardError as error:
        return {"problem": error.message}
    place = snapshot.onward or {}
    return {
        "timestamp": clock.to_iso(snapshot.timestamp),
        "cause": place.get("cause", ""),
        "of": place.get("seq"),
        "stage": snapshot.stage,
        "completed": len(snapshot.completed_tasks),
        "pending": len(snapshot.pending_tasks),
        "failed": len(snapshot.failed_tasks),
    }


def _row(kept: Kept) -> dict[str, Any]:
    return {
        "id": kept.id,
        "file": kept.path,
        "bytes": kept.bytes,
        "compressed": kept.compressed,
        "encrypted": kept.encrypted,
    }


def _lines(folder: RunFolder, rows: list[tuple[Kept, dict[str, Any]]]) -> Iterator[Line]:
    if not rows:
        yield Line(f"run {folder.run_id} has no snapshot; take one with: onward snapshot create", "dim")
    for kept, facts in rows:
        sealed = [word for word, holds in (("compressed", kept.compressed), ("encrypted", kept.encrypted)) if holds]
        more = f"  {', '.join(sealed)}" if sealed else ""
        if "problem" in facts:
            yield Line(f"{kept.id:>4}  {words.size(kept.bytes)}{more}  {words.one_line(facts['problem'])}", "warning")
            continue
        when = words.moment(clock.from_iso(facts["timestamp"]))
        counts = f"{facts['completed']} done, {facts['pending']} pending, {facts['failed']} failed"
        stage = f" at {words.one_line(facts['stage'])}" if facts["stage"] else ""
        yield Line(f"{kept.id:>4}  {when}  {facts['cause']}{stage}: {counts}  {words.size(kept.bytes)}{more}")


@command.command("show")
@click.argument("words_given", metavar="[RUN] [ID]", nargs=-1)
@key_option
@common_options(json=True)
def show(common: Common, words_given: tuple[str, ...], key_file: str | None) -> int:
    """Print a snapshot (the newest, or `s3`), decompressed and decrypted."""
    folder, kept = _named(store_of(common), words_given)
    snapshot = SnapshotHistory(folder.snapshots).read(kept, find_key(key_file, os.environ))
    print_json(snapshot.to_dict())
    return 0


# ---------------------------------------------------------------- rm


@command.command("rm")
@click.argument("words_given", metavar="[RUN] [ID]...", nargs=-1)
@click.option("--keep", type=click.IntRange(min=1), metavar="N", help="All but the newest N.")
@click.option("--older-than", type=DURATION, metavar="D", help="Those that are older (30s, 5m, 2h, 3d).")
@click.option("--dry-run", is_flag=True, help="Say what would be removed; nothing is.")
@common_options(json=True)
def rm(
    common: Common, words_given: tuple[str, ...], keep: int | None, older_than: float | None, dry_run: bool
) -> int:
    """Remove snapshots by name, number or age. By age the newest one always stays."""
    folder, ids = _run_and_ids(store_of(common), words_given)
    by_rule = keep is not None or older_than is not None
    if by_rule == bool(ids):
        raise UsageError("which snapshots?", help="name them (s1 s2), or give --keep N or --older-than D")
    history = SnapshotHistory(folder.snapshots)
    going = history.to_prune(keep=keep, older_than_s=older_than) if by_rule else [history.find(id) for id in ids]
    removed = [kept for kept in going if dry_run or history.remove(kept)]
    if common.json:
        rows = [_row(kept) for kept in removed]
        print_json({"schema": 1, "run": folder.run_id, "dry_run": dry_run, "removed": rows})
        return 0
    verb = "would remove" if dry_run else "removed"
    listed = ", ".join(kept.id for kept in removed)
    click.echo(f"{verb} {words.amount(len(removed), 'snapshot')}" + (f": {listed}" if listed else ""))
    return 0


# ---------------------------------------------------------------- rollback


@command.command("rollback")
@click.argument("words_given", metavar="[RUN] ID", nargs=-1, required=True)
@key_option
@click.option("--reason", metavar="TEXT", default="", help="Why, for the record.")
@click.option("--dry-run", is_flag=True, help="Say what would be done again; nothing is changed.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@common_options(json=True)
def rollback(
    common: Common, words_given: tuple[str, ...], key_file: str | None, reason: str, dry_run: bool, yes: bool
) -> int:
    """Bring a run back to a snapshot: what has happened since is done again when it goes on.

    The run must not be driven. Nothing is lost: history stays, and the snapshots after this one do too.
    """
    from onward.engine.embedded.snapshotting import roll_back

    store = store_of(common)
    folder, kept = _named(store, words_given)
    snapshot = SnapshotHistory(folder.snapshots).read(kept, find_key(key_file, os.environ))
    asks = can_ask() and not yes and not dry_run
    if dry_run or asks:
        plan = roll_back(folder, kept, snapshot, lambda _, text: common.note(text), dry_run=True)
        _tell(common, folder, kept, plan, done=False)
    if asks and not click.confirm("go back?", err=True):
        common.note("nothing was changed")
        return 0
    if not dry_run:
        plan = roll_back(folder, kept, snapshot, lambda _, text: common.note(text), reason=reason)
        _tell(common, folder, kept, plan, done=True)
        common.note(f"it is paused there; go on with: onward resume {folder.run_id}{at(store)}")
    return 0


def _tell(common: Common, folder: RunFolder, kept: Kept, plan: Rollback, *, done: bool) -> None:
    if common.json:
        print_json(
            {
                "schema": 1,
                "run": folder.run_id,
                "snapshot": kept.id,
                "done": done,
                "set_aside": [override.path for override in plan.overrides],
                "repeated": list(plan.repeated),
                "lost": list(plan.lost),
            }
        )
        return
    verb = "is" if done else "would be"
    click.echo(f"run {folder.run_id} {verb} back at {kept.id}")
    if plan.repeated:
        click.echo("these have run already and run a second time: " + ", ".join(map(words.one_line, plan.repeated)))
    if plan.lost:
        click.echo("these were done then and are not now; they run, too: " + ", ".join(map(words.one_line, plan.lost)))


# ---------------------------------------------------------------- which one


def _named(store: Store, given: tuple[str, ...]) -> tuple[RunFolder, Kept]:
    folder, ids = _run_and_ids(store, given)
    if len(ids) > 1:
        raise UsageError(f"one snapshot, not {len(ids)}")
    return folder, SnapshotHistory(folder.snapshots).find(ids[0] if ids else None)


def _run_and_ids(store: Store, given: tuple[str, ...]) -> tuple[RunFolder, tuple[str, ...]]:
    """The first word is a run if one matches it, else the newest run is meant."""
    if given and (matches(store, given[0]) or not _is_id(given[0])):
        return store.find(given[0]), given[1:]
    return store.find(), given


def _is_id(word: str) -> bool:
    return word.removeprefix("s").isdecimal()


command.add_command(export)
command.add_command(import_)
