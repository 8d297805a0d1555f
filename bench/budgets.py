"""The table of budgets: what a task costs beside its floor, start-up, resume, memory. `bench/budgets.py [--quick]`.

Every figure stands beside a floor that was measured in the same run, taking turns, since machines are noisy: read the
ratios. The floors are what no durable runner can do without: one append and flush a task, and one process a task.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

LINE = b"x" * 900 + b"\n"
PARTS = ["sequences", "fan_outs", "resumes", "hundred_thousand", "quiet", "start_up"]


@dataclass
class Row:
    what: str
    ours: float
    floor: float | None
    unit: str
    budget: str

    def show(self) -> str:
        floor = "" if self.floor is None else f"{self.floor:.1f}"
        ratio = "" if not self.floor else f"{self.ours / self.floor:.2f} ×"
        return f"| {self.what} | {self.ours:.1f} {self.unit} | {floor} | {ratio} | {self.budget} |"


class Bench:
    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.quick = quick
        self.rows: list[Row] = []
        left_out = ("ONWARD", "PYTHONDONTWRITEBYTECODE")  # an installed program has its bytecode
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(left_out)}
        (folder / "m.py").write_text("def nothing():\n    pass\n")

    # --- floors -------------------------------------------------------------------------------------------------

    def flush_us(self, times: int = 200) -> float:
        """Append one line and flush it."""
        path = self.folder / "floor"
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        begun = time.perf_counter()
        for _ in range(times):
            os.write(file, LINE)
            os.fdatasync(file)
        took = time.perf_counter() - begun
        os.close(file)
        return took / times * 1e6

    def spawn_us(self, times: int = 100) -> float:
        """Spawn, wait, append and flush."""
        file = os.open(self.folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        begun = time.perf_counter()
        for _ in range(times):
            pid = os.posix_spawn("/bin/true", ["true"], self.environment)
            os.waitpid(pid, 0)
            os.write(file, LINE)
            os.fdatasync(file)
        took = time.perf_counter() - begun
        os.close(file)
        return took / times * 1e6

    def fan_out_us(self, limit: int, times: int = 300) -> float:
        """The same fan-out: at most `limit` processes at once, one append and flush each."""
        file = os.open(self.folder / "floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        running = started = ended = 0
        begun = time.perf_counter()
        while ended < times:
            while running < limit and started < times:
                os.posix_spawn("/bin/true", ["true"], self.environment)
                running, started = running + 1, started + 1
            os.wait()
            running, ended = running - 1, ended + 1
            os.write(file, LINE)
            os.fdatasync(file)
        took = time.perf_counter() - begun
        os.close(file)
        return took / times * 1e6

    # --- ours ---------------------------------------------------------------------------------------------------

    def onward(self, *arguments: str, check: bool = True) -> tuple[float, int]:
        """Seconds and peak memory (kB) of one command."""
        begun = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "onward", *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
        if check and process.returncode:
            raise SystemExit(f"onward {' '.join(arguments)} ended with {process.returncode}:\n{said.decode()}")
        return time.perf_counter() - begun, usage.ru_maxrss

    def workflow(self, name: str, text: str) -> None:
        (self.folder / f"{name}.yaml").write_text(text)

    def run(self, name: str) -> tuple[float, int]:
        """Microseconds a task from the first start to the end of the run, and peak memory (kB)."""
        run = f"{name}-{time.monotonic_ns()}"
        _, memory = self.onward("run", f"{name}.yaml", "--id", run)
        lines = (self.folder / ".onward/runs" / run / "journal.jsonl").read_bytes().splitlines()
        starts = [line for line in lines if b'"type":"attempt_start"' in line]
        first, last = _at(starts[0]), _at(lines[-1])
        return (last - first) / len(starts) * 1e6, memory

    def paired(self, ours: Callable[[], float], floor: Callable[[], float], rounds: int = 3) -> tuple[float, float]:
        """Medians of both, measured in turns."""
        pairs = [(floor(), ours()) for _ in range(1 if self.quick else rounds)]
        return statistics.median(p[1] for p in pairs), statistics.median(p[0] for p in pairs)

    # --- rows ---------------------------------------------------------------------------------------------------

    def sequences(self) -> None:
        small = 100
        self.workflow("calls", _sequence(300, "call: 'm:nothing'"))
        ours, floor = self.paired(lambda: self.run("calls")[0], self.flush_us)
        self.rows.append(Row("a sequence of `call`, each durable", ours, floor, "µs", "≤ 3 ×, aim 2 ×"))
        self.workflow("runs", _sequence(200, "run: [/bin/true]"))
        ours, floor = self.paired(lambda: self.run("runs")[0], self.spawn_us)
        self.rows.append(Row("a sequence of `run: [/bin/true]`, each durable", ours, floor, "µs", "≤ 2 ×"))
        self.workflow("small", _sequence(small, "call: 'm:nothing'"))
        large = 1_000 if self.quick else 10_000
        self.workflow("large", _sequence(large, "call: 'm:nothing'"))
        memory = 0

        def of_large() -> float:
            nonlocal memory
            each, memory = self.run("large")
            return each

        ours, floor = self.paired(of_large, lambda: self.run("small")[0], rounds=1)
        self.rows.append(Row(f"a task in a run of {large:,} beside one of {small}", ours, floor, "µs", "≤ 1.1 ×"))
        self.rows.append(Row(f"peak memory of the driver at {large:,} tasks", memory / 1024, None, "MB", "≤ 60 MB"))

    def fan_outs(self) -> None:
        for limit in (2, 50):
            count = 300 if self.quick else 1_000
            members = "\n".join(f"        m{n}: {{run: [/bin/true]}}" for n in range(count))
            self.workflow(f"fan{limit}", f"limit: {limit}\ntask:\n  - g:\n      parallel:\n{members}\n")
            ours, floor = self.paired(lambda: self.run(f"fan{limit}")[0], lambda: self.fan_out_us(limit))  # noqa: B023
            self.rows.append(Row(f"{count:,} × `true` side by side, limit {limit}", ours, floor, "µs", "≤ 1.5 ×"))

    def resumes(self) -> None:
        count = 1_000 if self.quick else 10_000
        self.workflow("long", _sequence(count, "call: 'm:nothing'") + "  - last: {run: 'test -e ok'}\n")
        self.onward("run", "long.yaml", "--id", "long", check=False)
        begun = time.time()
        self.onward("resume", "long", "--yes", check=False)
        lines = (self.folder / ".onward/runs/long/journal.jsonl").read_bytes().splitlines()
        first = next(line for line in reversed(lines) if b'"type":"attempt_start"' in line)
        self.rows.append(
            Row(
                f"resume with {count:,} finished tasks, to the first new task", _at(first) - begun, None, "s", "≤ 0.3 s"
            )
        )

    def hundred_thousand(self) -> None:
        """The large end of two budgets; takes some minutes, and is left out by `--quick`."""
        if self.quick:
            return
        count = 100_000
        loop = f"loop: {{for-each: {{command: [seq, '{count}']}}, as: n, max: {count}}}"
        self.workflow("huge", f"task:\n  - each: {{{loop}, call: 'm:nothing'}}\n  - last: {{run: 'test -e ok'}}\n")
        _, memory = self.onward("run", "huge.yaml", "--id", "huge", check=False)
        self.rows.append(Row(f"peak memory of the driver at {count:,} tasks", memory / 1024, None, "MB", "≤ 150 MB"))
        begun = time.time()
        self.onward("resume", "huge", "--yes", check=False)
        lines = (self.folder / ".onward/runs/huge/journal.jsonl").read_bytes().splitlines()
        first = next(line for line in reversed(lines) if b'"type":"attempt_start"' in line)
        what = f"resume with {count:,} finished tasks, to the first new task"
        self.rows.append(Row(what, _at(first) - begun, None, "s", "≤ 1 s"))

    def quiet(self) -> None:
        """A run that only waits: what it costs to wait, and how soon it pauses when that is asked for."""
        self.workflow("quiet", "task:\n  - a: {run: 'true', loop: {until: {file-exists: go}, max: 9, delay: 10m}}\n")
        driver = subprocess.Popen(
            [sys.executable, "-m", "onward", "run", "quiet.yaml", "--id", "quiet"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        journal = self.folder / ".onward/runs/quiet/journal.jsonl"
        try:
            while not journal.exists() or b'"type":"loop_delay"' not in journal.read_bytes():
                time.sleep(0.05)
            before, begun = _cpu_s(driver.pid), time.monotonic()
            time.sleep(3 if self.quick else 10)
            share = (_cpu_s(driver.pid) - before) / (time.monotonic() - begun)
            self.rows.append(Row("an idle run (a delay)", 100 * share, None, "% CPU", "≈ 0 %"))
            self.onward("pause", "quiet")
        finally:
            driver.kill()
            driver.wait()
        lines = journal.read_bytes().splitlines()
        asked = next(line for line in lines if b'"type":"pause_request"' in line)
        paused = next(line for line in lines if b'"type":"workflow_pause"' in line)
        took = (_at(paused) - _at(asked)) * 1e3
        self.rows.append(Row("a pause, from its request in the journal to all quiet", took, None, "ms", "≤ 100 ms"))

    def start_up(self) -> None:
        bare = [sys.executable, "-c", "pass"]
        self.workflow("few", _sequence(10, "call: 'm:nothing'"))
        self.onward("run", "few.yaml", "--id", "few")
        for arguments, budget in ((["--version"], "≤ 80 ms"), (["--help"], "≤ 80 ms"), (["status", "few"], "≤ 120 ms")):
            ours, floor = self.paired(
                partial(self._command_ms, arguments), lambda: _seconds(bare) * 1e3, rounds=9
            )
            self.rows.append(Row(f"`onward {' '.join(arguments)}`", ours, floor, "ms", budget))

    def _command_ms(self, arguments: list[str]) -> float:
        return self.onward(*arguments)[0] * 1e3

    def table(self) -> str:
        head = ["| what | measured | floor | ratio | budget |", "|---|---:|---:|---:|---|"]
        return "\n".join([*head, *(row.show() for row in self.rows)])


def _sequence(count: int, task: str) -> str:
    return "task:\n" + "".join(f"  - t{n}: {{{task}}}\n" for n in range(count))


def _at(line: bytes) -> float:
    import datetime as dt

    return dt.datetime.fromisoformat(json.loads(line)["at"]).timestamp()


def _cpu_s(pid: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _seconds(command: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer tasks and rounds")
    parser.add_argument("--only", nargs="*", default=PARTS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="onward-bench-", dir=Path.cwd()) as folder:
        bench = Bench(Path(folder), given.quick)
        for part in given.only:
            getattr(bench, part)()
        print(bench.table())
    print(
        f"\n{os.uname().sysname} {os.uname().release}, {os.cpu_count()} cores, Python {sys.version.split()[0]}", end=" "
    )
    print(f"(peak memory of the largest child: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MB)")


if __name__ == "__main__":
    main()
