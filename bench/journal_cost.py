"""What the journal costs, beside the bare system calls that nothing can do without.

`python bench/journal_cost.py [FOLDER]` prints a table. Flushes are taken in turns with bare ones on the same disk, so
that both meet the same neighbours. The last two rows say what a file that was made large beforehand would spare.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from onward.journal.reader import read
from onward.journal.writer import Journal
from onward.model.events import AttemptEnd, AttemptStart, Event, WorkflowStart
from onward.model.status import Outcome
from onward.model.values import Value
from onward.store.runs import Store

BATCHES = 1000
LINES = 100_000


def main(folder: Path) -> None:
    journal = Journal.create(folder / "journal.jsonl")
    journal.add(WorkflowStart(run="bench"))
    journal.flush()
    ours, bare, adding = flushes(journal, folder)
    row("one event added, behind a flush", adding, "µs")
    row("end and start of a task, on the disk", ours, "µs")
    row("the same bytes, bare append and fdatasync", bare, "µs")
    row("ratio", ours / bare, "×")
    row("a run made (folders, files, first event)", runs(folder), "µs")
    row("one event added, of a thousand (best)", long_journal(journal), "µs")
    for name, check in (("with its chain", True), ("without", False)):
        row(f"{LINES:,} lines read, {name}", best(lambda check=check: reading(folder, check)) * 1e3, "ms")
    growing, filled = preallocated(folder)
    row("fdatasync of a file that grows", growing, "µs")
    row("fdatasync of a file of zeros", filled, "µs")


def row(name: str, value: float, unit: str) -> None:
    print(f"{name:45} {value:10,.1f} {unit}")


def ended_and_started(number: int) -> tuple[Event, Event]:
    path = f"review/each[{number}]/write"
    text = Value(type="text", bytes=120, value="x" * 120)
    return (
        AttemptEnd(path=path, attempt=1, outcome=Outcome.OK, exit=0, duration_s=1.25, outputs={"text": text}),
        AttemptStart(path=path, attempt=1, key="a" * 40, definition_sha256="d" * 64),
    )


def flushes(journal: Journal, folder: Path) -> tuple[float, float, float]:
    """Medians in µs: a batch of two events, the same bytes bare, and the adding of one event."""
    descriptor = os.open(folder / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    ours, bare, adding = [], [], []
    for number in range(BATCHES):
        events = ended_and_started(number)
        before = journal.position.offset
        start = time.perf_counter()
        for event in events:
            journal.add(event)
        added = time.perf_counter()
        journal.flush()
        end = time.perf_counter()
        data = bytes(journal.position.offset - before)
        begin = time.perf_counter()
        os.write(descriptor, data)
        os.fdatasync(descriptor)
        bare.append(time.perf_counter() - begin)
        ours.append(end - start)
        adding.append((added - start) / len(events))
    os.close(descriptor)
    return median(ours) * 1e6, median(bare) * 1e6, median(adding) * 1e6


def runs(folder: Path) -> float:
    store = Store(folder / ".onward")
    times = []
    for number in range(20):
        start = time.perf_counter()
        new = store.create_run(
            f"r{number}", definition={"flow.yaml": b"x" * 2000}, plan=b"{}", start=WorkflowStart(run=f"r{number}")
        )
        times.append(time.perf_counter() - start)
        new.journal.close()
        new.lock.release()
    return median(times) * 1e6


def long_journal(journal: Journal) -> float:
    """Fill the journal. Returns the µs of adding one event."""
    number, times = 0, []
    while journal.position.line < LINES:
        number += 500
        events = [event for n in range(number, number + 500) for event in ended_and_started(n)]
        start = time.perf_counter()
        for event in events:
            journal.add(event)
        times.append((time.perf_counter() - start) / len(events))
        journal.flush()
    journal.close()
    return min(times) * 1e6


def reading(folder: Path, check_chain: bool) -> None:
    events = sum(len(piece) for piece in read(folder / "journal.jsonl", check_chain=check_chain).pieces())
    assert events >= LINES


def preallocated(folder: Path) -> tuple[float, float]:
    data = b"x" * 800
    found = []
    for zeros in (0, BATCHES * len(data)):
        descriptor = os.open(folder / f"zeros-{zeros}", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, bytes(zeros))
        os.fsync(descriptor)
        times = []
        for number in range(BATCHES):
            start = time.perf_counter()
            os.pwrite(descriptor, data, number * len(data))
            os.fdatasync(descriptor)
            times.append(time.perf_counter() - start)
        os.close(descriptor)
        found.append(median(times) * 1e6)
    return found[0], found[1]


def best(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as name:
        main(Path(name))
