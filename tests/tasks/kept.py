"""A keeper to talk to, and folders for what it is asked to run; ends whatever a test leaves."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from onward.tasks.attempt_folder import Exit, attempt_is_held, lock_attempt
from onward.tasks.keeper_link import (
    CallEnded,
    CallRequest,
    Exited,
    KeeperLink,
    KeeperMessage,
    ProgramRequest,
    WorkerEnded,
    WorkerLink,
    WorkerRequest,
)
from onward.tasks.processes import Snapshot, send

PATIENCE_S = 20.0


class Kept:
    """One keeper, as a driver sees it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = uuid4().hex[:12]
        self.log = folder / "keeper.log"
        self.link = KeeperLink.launch(log=self.log)
        self.seen: list[KeeperMessage] = []
        self.worker_links: list[WorkerLink] = []
        self._number = 0

    # -- programs

    def start(self, *argv: str, env: dict[str, str] | None = None, **more: Any) -> str:
        """Starts a program; its id, which is its marker too."""
        id = self.new_id()
        folder = self.place(id)
        folder.mkdir(0o700)
        request = ProgramRequest(
            **{
                "id": id,
                "folder": folder,
                "argv": argv,
                "env": os.environ if env is None else env,
                "cwd": self.folder,
                "marker": id,
                **more,
            }
        )
        self.link.start(request, lock_attempt(folder))
        return id

    def sh(self, script: str, **more: Any) -> str:
        return self.start("/bin/sh", "-c", script, **more)

    def run(self, script: str, **more: Any) -> tuple[Exit, Path]:
        """Runs a shell script to its end."""
        id = self.sh(script, **more)
        return self.exit(id), self.place(id)

    def exit(self, id: str) -> Exit:
        """How the program ended, when it has."""
        return self.message(lambda message: isinstance(message, Exited) and message.id == id).exit

    def message(self, wanted: Callable[[KeeperMessage], bool]) -> Any:
        """The first message of that kind, come or to come."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            for message in self.seen:
                if wanted(message):
                    return message
            if self.link.lost:
                raise AssertionError(f"the keeper has gone; it said {self.seen}, and {self.log.read_text()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not told within {PATIENCE_S} s; told {self.seen}, and {self.log.read_text()}")
            select.select([self.link], [], [], 0.5)
            self.seen += self.link.receive()

    # -- calls

    def worker(self, **more: Any) -> WorkerLink:
        id = self.new_id()
        folder = self.folder / "workers" / id
        folder.mkdir(0o700, parents=True)
        request = WorkerRequest(**{"id": id, "folder": folder, "path": self.folder, "env": dict(os.environ), **more})
        worker = self.link.worker(request, lock_attempt(folder))
        self.worker_links.append(worker)
        return worker

    def send_call(self, worker: WorkerLink, target: str, arguments: dict[str, Any] | None = None, **more: Any) -> str:
        id = self.new_id()
        request = {"id": id, "folder": self.place(id), "target": target, "arguments": arguments or {}}
        worker.call(CallRequest(**{**request, "cwd": self.folder, **more}))
        return id

    def call(self, worker: WorkerLink, target: str, arguments: dict[str, Any] | None = None, **more: Any) -> CallEnded:
        """Calls a function to its end, be that the worker's death."""
        id = self.send_call(worker, target, arguments, **more)
        return self.call_ended(worker, id)

    def call_ended(self, worker: WorkerLink, id: str) -> CallEnded:
        ended = receive_call(worker)
        if ended is None:
            death = self.message(lambda message: isinstance(message, WorkerEnded) and message.id == worker.id)
            ended = death.call
        assert ended is not None
        assert ended.id == id
        return ended

    # -- what there is

    def new_id(self) -> str:
        self._number += 1
        return f"{self.token}.{self._number}"

    def place(self, id: str) -> Path:
        return self.folder / id

    def out(self, id: str) -> bytes:
        return content(self.place(id) / "out")

    def err(self, id: str) -> bytes:
        return content(self.place(id) / "err")

    def strays(self) -> list[int]:
        """Living processes that carry a marker of this keeper."""
        mine = [f"{self.token}.{number}".encode() for number in range(1, self._number + 1)]
        return [process.pid for process in Snapshot.take().marked(mine)]

    def close(self) -> None:
        """Ends everything, and complains about what the keeper wrote into its log."""
        for worker in self.worker_links:
            worker.close()
        self.link.close()
        mine = {f"{self.token}.{number}".encode() for number in range(1, self._number + 1)}
        wait_until(lambda: not _kill(Snapshot.take().marked(mine)), "the processes of the test end")
        wait_until(lambda: not alive(self.link.pid), "the keeper ends with its last task")
        assert self.log.read_text() == ""


@contextmanager
def keeping(folder: Path) -> Iterator[Kept]:
    kept = Kept(folder)
    try:
        yield kept
    finally:
        kept.close()


def _kill(processes: Any) -> bool:
    killed = [send(process, signal.SIGKILL) for process in processes]
    return any(killed)


def receive_call(worker: WorkerLink) -> CallEnded | None:
    """The end of the call; `None` when the worker has died."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        select.select([worker], [], [], 0.5)
        ended = worker.receive()
        if ended is not None or worker.lost:
            return ended
    raise AssertionError(f"the call did not end within {PATIENCE_S} s")


def content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def alive(pid: int) -> bool:
    """A child of this process is buried when it has ended."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
    return os.path.exists(f"/proc/{pid}") and b"\nState:\tZ" not in Path(f"/proc/{pid}/status").read_bytes()


def wait_until(true: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.01)


def free(folder: Path) -> bool:
    return not attempt_is_held(folder)


DRIVER = """
import os, sys
from pathlib import Path
from onward.tasks.keeper_link import *
link = KeeperLink.launch()
folder, id, script = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
request = ProgramRequest(
    id=id, folder=folder, argv=("/bin/sh", "-c", script), env=dict(os.environ), cwd=folder.parent, marker=id,
    timeout_s=float(sys.argv[4]) if len(sys.argv) > 4 else None,
)
link.start(request, lock_attempt(folder))
print(link.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def a_driver(
    folder: Path, script: str, *more: str, program: str = DRIVER
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A driver process of its own, which hands one script over and then waits to be killed; with its keeper's id."""
    folder.mkdir(0o700, parents=True, exist_ok=True)
    id = f"{uuid4().hex[:12]}.1"
    driver = subprocess.Popen(
        [sys.executable, "-c", program, str(folder), id, script, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert driver.stdout is not None
    assert driver.stdin is not None
    keeper = int(driver.stdout.readline())
    try:
        yield driver, keeper
    finally:
        driver.kill()
        driver.stdin.close()
        driver.stdout.close()
        driver.wait()
        wait_until(lambda: not _kill(Snapshot.take().marked([id.encode()])), "the processes of the test end")
        wait_until(lambda: not alive(keeper), "the keeper ends with its last task")
