"""A folder with a workflow, and the command line run in it as a person would: start, kill, look, resume, compare."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Said:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str

    def check(self, code: int = 0) -> Said:
        """Fail with everything that was said unless the exit code is as expected."""
        assert self.code == code, f"exit {self.code}, not {code}\n--- out\n{self.out}\n--- err\n{self.err}"
        assert "Traceback (most recent call last)" not in self.out + self.err, self.err
        return self


class Project:
    """The folder `root`; `ledger.txt` in it is where tasks of a story note what they did."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith("ONWARD") and name != "NO_COLOR"
        }
        self.environment["PYTHONUNBUFFERED"] = "1"
        self.started: list[subprocess.Popen[str]] = []

    # --- files ------------------------------------------------------------------------------------------------

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), "utf-8")
        return path

    def workflow(self, text: str, name: str = "w.yaml") -> Path:
        return self.write(name, text)

    def read(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def touch(self, name: str) -> None:
        (self.root / name).touch()

    @property
    def ledger(self) -> list[str]:
        path = self.root / "ledger.txt"
        return path.read_text("utf-8").split("\n")[:-1] if path.exists() else []

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.ledger)

    # --- commands ---------------------------------------------------------------------------------------------

    def onward(self, *arguments: str, within_s: float = WITHIN_S, cwd: Path | None = None, **env: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "onward", *arguments],
            cwd=cwd or self.root,
            env=self.environment | env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=within_s,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """A command in the background, in a session of its own; `finish` ends what is still there."""
        process = subprocess.Popen(
            [sys.executable, "-m", "onward", *arguments],
            cwd=self.root,
            env=self.environment | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def status(self, *arguments: str) -> dict[str, Any]:
        said = self.onward("status", "--json", *arguments)
        return dict(json.loads(said.check().out))

    def node(self, path: str) -> dict[str, Any]:
        return next(node for node in self.status()["nodes"] if node["path"] == path)

    # --- accidents --------------------------------------------------------------------------------------------

    def wait(self, what: str, ready: Callable[[], bool], within_s: float = WITHIN_S) -> None:
        end = time.monotonic() + within_s
        while not ready():
            assert time.monotonic() < end, f"waited {within_s} s in vain until {what}"
            time.sleep(0.02)

    def wait_for_file(self, name: str, within_s: float = WITHIN_S) -> None:
        self.wait(f"{name} is there", lambda: (self.root / name).exists(), within_s)

    def kill_driver(self, process: subprocess.Popen[str]) -> None:
        """SIGKILL to the driver alone: its keeper and tasks live on."""
        process.kill()
        process.wait(WITHIN_S)

    def kill_all(self, process: subprocess.Popen[str]) -> None:
        """SIGKILL to the driver, then to its keeper, then to every process of its tasks."""
        keepers = self.keepers(process.pid)
        self.kill_driver(process)
        for pid in keepers:
            _kill(pid)
        for pid in self.tasks():
            _kill(pid)

    def keepers(self, parent: int) -> list[int]:
        """The keeper processes that a driver has started."""
        return [pid for pid, line in _processes() if "keeper.py" in line and _parent(pid) == parent]

    def tasks(self) -> list[int]:
        """Every process that carries the mark of an attempt of a run in this folder."""
        return [pid for pid, _ in _processes() if _works_here(pid, self.root)]

    def finish(self) -> None:
        """End whatever a story left behind."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait(WITHIN_S)
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        for pid in self.tasks():
            _kill(pid)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _processes() -> list[tuple[int, str]]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(
                    (
                        int(name),
                        Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"),
                    )
                )
            except OSError:
                continue
    return found


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[1])
    except (OSError, IndexError):
        return 0


def _works_here(pid: int, root: Path) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return b"ONWARD_ATTEMPT_ID=" in environment and os.fsencode(str(root)) in environment
