"""A disk that is really full: what was said to be on it is, the last events find room, and the run goes on once there
is space."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal import journals
from onward.errors import JournalError, StateError
from onward.journal.reader import read
from onward.journal.writer import LAST_WORDS, Journal
from onward.model.events import Note, WorkflowStart
from onward.store.runs import NewRun, Store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False, timeout=20).returncode != 0:
        pytest.skip("a file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True, timeout=20)


def filled(disk: Path) -> None:
    """Leave no room."""
    with open(disk / "filler", "ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(bytes(size)):
                    continue
            except OSError:
                continue


def started(disk: Path) -> NewRun:
    """A run on that disk."""
    return Store(disk / ".onward").create_run(
        "one", definition={"flow.yaml": b""}, plan=b"{}", start=WorkflowStart(run="one"), now=journals.ticking()
    )


def write_on(journal: Journal) -> None:
    """A batch after the other."""
    for number in range(10_000):
        journal.add(Note(text=f"{number}"))
        journal.flush()


@pytest.mark.crash
def test_a_run_on_a_full_disk_stops_with_its_last_events_kept_and_goes_on_later(small_disk: Path) -> None:
    new = started(small_disk)
    filled(small_disk)
    with new.journal as journal, pytest.raises(JournalError, match="No space left on device"):
        write_on(journal)
    new.lock.release()
    events, reading = journals.finished(new.folder.journal)
    assert reading.findings == []
    assert events[-1].text == LAST_WORDS
    # The very event that met the full disk is there: it was added, and nothing after it but the last words.
    assert [event.text for event in events[1:-1]] == [str(number) for number in range(len(events) - 2)]
    assert journal.pending == 2
    (small_disk / "filler").unlink()
    journals.appended(new.folder.journal, Note(text="on"))
    assert read(new.folder.journal).all()[-1].text == "on"


@pytest.mark.crash
def test_on_a_full_disk_nothing_whole_is_emptied_and_nothing_half_is_left(small_disk: Path) -> None:
    new = started(small_disk)
    run = new.folder
    new.journal.close()
    run.write_cache(read(run.journal).finish().position, b'{"old":1}')
    run.inbox.drop("pause", {})
    filled(small_disk)
    for change in (
        lambda: run.write_cache(read(run.journal).finish().position, b'"' + b"x" * 9000 + b'"'),
        lambda: run.inbox.drop("cancel", {"reason": "x" * 9000}),
        lambda: (run.values.put(b"x" * 9000), run.values.flush()),
    ):
        with pytest.raises(StateError, match="No space left on device"):
            change()
    assert run.load_cache().cache.state == b'{"old":1}'
    assert [signal.kind for signal in run.inbox.take()] == ["pause"]
    assert list(run.root.rglob("*.onward-tmp")) == []
    with pytest.raises(StateError, match="No space left on device"):
        Store(small_disk / ".onward").create_run(
            "two", definition={"flow.yaml": b"x" * 9000}, plan=b"{}", start=WorkflowStart(run="two")
        )
    assert [run.run_id for run in Store(small_disk / ".onward").runs()] == ["one"]
    assert [name for name in os.listdir(run.root.parent) if name.startswith(".new-")] == []
    new.lock.release()
