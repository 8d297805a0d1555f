"""What a pause and a snapshot cost: `bench/pause_cost.py [--tasks N]`.

A pause is timed from the file in the inbox to the line that says that all is quiet, snapshots and flushes included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from onward.engine.embedded.mirroring import snapshots_of
from onward.mirrors.snapshot_run import Reflected
from onward.store.folder import RunFolder
from onward.views.source import Source

WAITING = """
task:
  - wait: {run: "true", loop: {until: {file-exists: go}, max: 5, delay: 10m}}
"""
WORKING = """
grace: 0s
task:
  - work: {run: touch began; sleep 600}
"""
MANY = """
limit: 8
task:
  - list: {run: [seq, "%d"]}
  - each: {loop: {for-each: "{{list.lines}}", as: n, limit: 8, max: 100000}, run: ["true"]}
"""
TIMES = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=5000)
    tasks = parser.parse_args().tasks
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        print("| what | median | worst |\n|---|---:|---:|")
        show("request to acknowledged, nothing running", [pause(WAITING, "loop_delay", n) for n in range(TIMES)])
        show("request to acknowledged, one task ended by TERM", [pause(WORKING, "", n) for n in range(TIMES)])
        snapshots(tasks)


def show(what: str, took: list[float]) -> None:
    print(f"| {what} | {statistics.median(took):.1f} ms | {max(took):.1f} ms |")


def onward(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "onward", *arguments]


def pause(workflow: str, wanted: str, number: int) -> float:
    run = f"r{bool(wanted):d}{number}"
    Path("w.yaml").write_text(workflow)
    Path("began").unlink(missing_ok=True)
    journal = Path(f".onward/runs/{run}/journal.jsonl")
    driver = subprocess.Popen(onward("run", "w.yaml", "--id", run, "--quiet"), stderr=subprocess.DEVNULL)
    try:
        wait(lambda: journal.exists() and wanted.encode() in journal.read_bytes())
        wait(lambda: bool(wanted) or Path("began").exists())
        time.sleep(0.3)
        begun = time.perf_counter()
        RunFolder(journal.parent.absolute()).inbox.drop("pause", {"reason": "bench", "by": "bench", "grace_s": 0})
        wait(lambda: b'"workflow_pause"' in journal.read_bytes())
        return (time.perf_counter() - begun) * 1000
    finally:
        driver.wait(30)


def wait(ready: object, within_s: float = 30.0) -> None:
    end = time.monotonic() + within_s
    while not ready():  # type: ignore[operator]
        if time.monotonic() > end:
            raise SystemExit("waited in vain")
        time.sleep(0.0005)


def snapshots(tasks: int) -> None:
    Path("w.yaml").write_text(MANY % tasks)
    subprocess.run(onward("run", "w.yaml", "--id", "many", "--quiet"), check=True, timeout=280)
    source = Source(RunFolder(Path(".onward/runs/many").absolute()))
    taker = snapshots_of(source.folder, source.state)
    took, sizes = [], [0]
    for _ in range(5):
        begun = time.perf_counter()
        taker.take(source.state, Reflected(seq=source.state.facts.seq, chain="", cause="bench"))
        took.append((time.perf_counter() - begun) * 1000)
        sizes.append(sum(p.stat().st_size for p in Path(taker.history.folder).rglob("*") if p.is_file()))
    show(f"a snapshot of {tasks:,} finished tasks", took)
    print(f"\nthe first takes {sizes[1]:,} bytes, the next one {sizes[2] - sizes[1]:,} more")


if __name__ == "__main__":
    main()
