"""What people ask of the snapshots of a run: take one now, go back to one. With or without a driver.

A driver is asked through its inbox; without one the caller takes the run's lock for a moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from onward import clock
from onward.engine.embedded.mirroring import snapshots_of
from onward.engine.embedded.opening import Opened, open_run
from onward.errors import OnwardError, RunBusy
from onward.mirrors.snapshot_file import WorkflowSnapshot
from onward.mirrors.snapshot_history import Kept, SnapshotHistory
from onward.mirrors.snapshot_run import Reflected
from onward.model import events as ev
from onward.recovery.rollback import NotOfThisRun, Rollback, rollback_to
from onward.state.fold import fold
from onward.store.folder import RunFolder
from onward.store.lock import this_process

Tell = Callable[[str, str], None]

WAIT_S = 30.0
LOOK_S = 0.02


class NotTaken(OnwardError):
    """The driver of the run has not taken the snapshot."""

    code = "snapshot-not-taken"
    exit_code = 1


def take_snapshot(
    folder: RunFolder, tell: Tell, *, compress: bool = False, key: bytes | None = None, key_file: str | None = None
) -> Kept:
    """A snapshot of the run as it is now. `key` is `key_file`'s, or the environment's where there is no such file."""
    if folder.driver() is None:
        try:
            opened = open_run(folder, tell, original=True)
        except RunBusy:
            pass  # somebody began to drive it this moment
        else:
            return _take_alone(opened, compress=compress, key=key)
    return _ask_driver(folder, compress=compress, key=key, key_file=key_file)


def _take_alone(opened: Opened, *, compress: bool, key: bytes | None) -> Kept:
    try:
        append(opened, opened.notes)
        taken = record_snapshot(opened, "request", compress=compress, key=key)
        return SnapshotHistory(opened.folder.snapshots).find(_id_of(taken))
    finally:
        leave(opened)


def _ask_driver(folder: RunFolder, *, compress: bool, key: bytes | None, key_file: str | None) -> Kept:
    if key is not None and key_file is None:
        raise NotTaken(
            f"run `{folder.run_id}` is driven by another process, which does not know the key of this environment",
            help="name the file that holds it with --key-file, or pause the run first",
        )
    history = SnapshotHistory(folder.snapshots)
    before = {kept.number for kept in history.all()}
    folder.inbox.drop("snapshot", {"compress": compress, "key_file": key_file or "", "by": this_process().user})
    until = clock.monotonic() + WAIT_S
    while clock.monotonic() < until:
        for kept in history.all():
            if kept.number not in before and (kept.encrypted or key is None):
                return kept
        time.sleep(LOOK_S)
    raise NotTaken(
        f"the driver of run `{folder.run_id}` has not taken a snapshot within {WAIT_S:g} s",
        help=f"see how it is with `onward status {folder.run_id}`",
    )


# ---------------------------------------------------------------- going back


def roll_back(
    folder: RunFolder, kept: Kept, snapshot: WorkflowSnapshot, tell: Tell, *, reason: str = "", dry_run: bool = False
) -> Rollback:
    """Set aside all that has happened since the snapshot; the run is paused then. Raises `RunBusy`, `NotOfThisRun`."""
    place = snapshot.onward or {}
    seq, chain = place.get("seq"), place.get("chain", "")
    if snapshot.workflow_id != folder.run_id or not isinstance(seq, int) or not isinstance(chain, str):
        raise NotOfThisRun(f"{kept.path} is no snapshot of run `{folder.run_id}`")
    opened = open_run(folder, tell, original=True)
    by = this_process().user
    try:
        append(opened, opened.notes)
        plan = rollback_to(folder, opened.state, seq=seq, chain=chain, name=kept.id, by=by)
        if not dry_run:
            append(opened, _events(opened, kept, plan, seq, by, reason))
            record_snapshot(opened, "rollback")
    finally:
        leave(opened)
    return plan


def _events(opened: Opened, kept: Kept, plan: Rollback, seq: int, by: str, reason: str) -> Sequence[ev.Event]:
    """Opened again, set aside, and paused by a person, so that nothing goes on by itself."""
    text = f"rolled back to {kept.id} (event {seq})"
    facts = opened.state.facts
    return (
        ev.WorkflowResume(reason=text, by=by, resumed_count=facts.resumed_count, variables=plan.variables),
        *plan.overrides,
        ev.Note(text=text + (f": {reason}" if reason else ""), data={"rollback": kept.id, "of": seq, "by": by}),
        ev.PauseRequest(reason=text, by=by, cause="person"),
        ev.WorkflowPause(),
    )


# ---------------------------------------------------------------- the journal of a run without a driver


def append(opened: Opened, events: Sequence[ev.Event]) -> None:
    """Add events, on the disk when this returns."""
    for event in events:
        fold(opened.state, opened.journal.add(event))
    opened.journal.flush()


def record_snapshot(
    opened: Opened, cause: str, *, compress: bool = False, key: bytes | None = None
) -> ev.SnapshotTaken:
    """Take a snapshot of what the journal holds, and note that there."""
    position = opened.journal.position
    reflected = Reflected(seq=position.seq, chain=position.chain, cause=cause)
    snapshots = snapshots_of(opened.folder, opened.state)
    snapshots.mirror(opened.state, reflected)
    taken = snapshots.take(opened.state, reflected, compress=compress, key=key)
    append(opened, [taken])
    return taken


def leave(opened: Opened) -> None:
    """Let others drive the run."""
    opened.journal.close()
    opened.lock.release()


def _id_of(taken: ev.SnapshotTaken) -> str:
    return taken.file.rpartition("/")[2].partition(".")[0]
