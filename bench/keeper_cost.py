"""What the keeper's path costs per task, beside the floor of the same machine in the same minute.

    python bench/keeper_cost.py [rounds] [folder]

The ways take turns, twenty times each, so that whatever else the machine does hits all alike while each still runs as
it does in a sequence of its kind. All of them append one line to a file and flush it. The folder is a new one and is
left in place: ext4 makes files several times more slowly for minutes after many were deleted nearby.
"""

import os
import select
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from onward.tasks.keeper_link import (
    CallRequest,
    Exited,
    KeeperLink,
    ProgramRequest,
    WorkerLink,
    WorkerRequest,
    lock_attempt,
)

LINE = b"x" * 400 + b"\n"
IN_A_TURN = 20
ENV = dict(os.environ)


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.number = 0
        self.journal = os.open(folder / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.link = KeeperLink.launch(log=folder / "keeper.log")
        self.worker = self._open_worker()

    def _open_worker(self) -> WorkerLink:
        (self.folder / "bench_calls.py").write_text("def nothing() -> None:\n    return None\n")
        folder = self.folder / "worker"
        folder.mkdir()
        request = WorkerRequest(id="worker", folder=folder, path=self.folder, env=ENV)
        return self.link.worker(request, lock_attempt(folder))

    def flush(self) -> None:
        os.write(self.journal, LINE)
        os.fdatasync(self.journal)

    def spawn(self) -> None:
        self.flush()
        os.waitpid(os.posix_spawn("/bin/true", ["/bin/true"], ENV), 0)

    def run(self) -> None:
        self.flush()
        self.number += 1
        name = str(self.number)
        folder = self.folder / name
        os.mkdir(folder, 0o700)
        request = ProgramRequest(id=name, folder=folder, argv=("/bin/true",), env=ENV, cwd=self.folder, marker=name)
        self.link.start(request, lock_attempt(folder))
        while not any(isinstance(message, Exited) for message in self.link.receive()):
            select.select([self.link], [], [])

    def call(self) -> None:
        self.flush()
        self.number += 1
        request = CallRequest(
            id=str(self.number),
            folder=self.folder / str(self.number),
            target="bench_calls:nothing",
            arguments={},
            env={"ONWARD_TASK": "bench", "ONWARD_KEY": str(self.number), "ONWARD_ATTEMPT": "1"},
            cwd=self.folder,
        )
        self.worker.call(request)
        while self.worker.receive() is None:
            select.select([self.worker], [], [])


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    bench = Bench(Path(tempfile.mkdtemp(prefix="keeper-cost-", dir=sys.argv[2] if len(sys.argv) > 2 else None)))
    ways = {
        "append + flush": bench.flush,
        "append + flush + call": bench.call,
        "append + flush + spawn + wait": bench.spawn,
        "append + flush + keeper": bench.run,
    }
    floors = ["append + flush"] * 2 + ["append + flush + spawn + wait"] * 2
    times = measure(ways, rounds)
    print(f"{'':32}{'median':>10}{'':9}{'10th percentile':>18}")
    for name, floor in zip(ways, floors, strict=True):
        columns = [(at(times[name], share), at(times[name], share) / at(times[floor], share)) for share in (0.5, 0.1)]
        print(f"{name:32}" + "".join(f"{seconds * 1e6:7.0f} us {ratio:5.2f} x   " for seconds, ratio in columns))
    bench.worker.close()
    bench.link.close()
    print(f"{rounds} rounds in {bench.folder}")


def at(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def measure(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(1 + rounds // IN_A_TURN):
        for name, way in ways.items():
            for _ in range(IN_A_TURN):
                start = time.perf_counter()
                way()
                if turn > 0:  # the first one loads and warms
                    times[name].append(time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
