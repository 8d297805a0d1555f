"""Carry a run to another host: export it to one file, import it there. Both leave a note in its journal."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from onward.engine.embedded.opening import open_run, read_state
from onward.engine.embedded.requests import directory_of
from onward.engine.embedded.snapshotting import append, leave, record_snapshot
from onward.model.events import Note
from onward.model.values import Artifact
from onward.recovery.carrying import CannotCarry, Manifest, Origin, artifacts_of, export
from onward.recovery.unpacking import (
    Placed,
    Unpacked,
    check_artifacts,
    discard,
    place,
    publish,
    settle_workflow,
    unpack,
)
from onward.store.folder import RunFolder
from onward.store.lock import this_process
from onward.store.runs import Store

Tell = Callable[[str, str], None]
TaskLives = Callable[[str, int], bool]


def export_run(
    folder: RunFolder,
    target: Path,
    tell: Tell,
    task_lives: TaskLives,
    *,
    compress: bool = False,
    key: bytes | None = None,
) -> Manifest:
    """Write the run to a file. Raises `RunBusy` where it is driven, `CannotCarry` where a task of it still runs."""
    if target.exists():
        raise CannotCarry(f"{target} is there already", help="name another file with -o, or remove it")
    opened = open_run(folder, tell, original=True)
    try:
        living = [one.path for one in opened.state.running_leaves() if task_lives(one.path, one.attempt)]
        if living:
            raise CannotCarry(
                f"`{living[0]}` still runs, although nothing drives run `{folder.run_id}`",
                help=f"`onward resume {folder.run_id}`, then pause it",
            )
        append(opened, opened.notes)
        taken = record_snapshot(opened, "export")
        owner = this_process()
        text = f"exported to {target.name}"
        append(opened, [Note(text=text, data={"export": target.name, "by": owner.user, "host": owner.host})])
        position = opened.journal.position
        origin = Origin(
            host=owner.host, by=owner.user, seq=position.seq, chain=position.chain, snapshot=taken.file
        )
        return export(folder, opened.state, directory_of(opened), target, origin, compress=compress, key=key)
    finally:
        leave(opened)


def import_run(source: Path, store: Store, *, key: bytes | None = None) -> tuple[RunFolder, Manifest, Placed]:
    """Bring a run into this store. Raises `CannotCarry`, `SnapshotSealed`; then nothing of it is here."""
    unpacked = unpack(source, store, key=key)
    try:
        recorded = _recorded(unpacked)
        check_artifacts(unpacked, recorded)
        base = Path(os.path.realpath(store.root.parent))
        folder = settle_workflow(unpacked, base)
        directory = Path(os.path.normpath(folder / unpacked.plan.directory))
        placed = place(unpacked, base, folder, directory, recorded)
    except BaseException:
        discard(unpacked.folder.root)
        raise
    manifest, owner = unpacked.manifest, this_process()
    text = f"imported from {source.name}, which {manifest.by} exported on {manifest.host}"
    note = Note(text=text, data={"import": source.name, "by": owner.user, "host": owner.host, "from": manifest.host})
    return publish(unpacked, store, note), manifest, placed


def _recorded(unpacked: Unpacked) -> dict[str, Artifact]:
    """What the journal says of artifacts and stored results; the latter are checked. Raises `CannotCarry`."""
    state, _ = read_state(unpacked.folder, unpacked.plan, lambda *_: None)
    for path, instance in state.instances.items():
        for name, value in instance.outputs.items():
            if value.sha256 is not None and not unpacked.folder.values.holds(value.sha256):
                raise CannotCarry(f"the result `{name}` of `{path}` is not in the file as it was recorded")
    return {artifact.path: artifact for artifact in artifacts_of(state)}


