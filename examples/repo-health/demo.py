"""The main job, with an accident: run `repo-health` on a checkout, kill its driver half-way, look, resume, read.

Usage: demo.py [CHECKOUT]      (default: this project)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
WITHIN_S = 60.0


def main() -> int:
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else PROJECT).resolve()
    if not (checkout / ".git").exists():
        print(f"{checkout} is no git checkout", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="onward-demo-") as folder:
        return Demo(Path(folder), checkout).play()


class Demo:
    """One play in a folder of its own, so that nothing is left in the checkout."""

    def __init__(self, folder: Path, checkout: Path) -> None:
        self.folder = folder
        self.checkout = checkout
        self.environment = {**os.environ, "ONWARD_STORE": str(folder / ".onward")}
        for name in ("repo-health.yaml", "health.py"):
            (folder / name).write_bytes((HERE / name).read_bytes())

    def play(self) -> int:
        say(f"run repo-health on {self.checkout}")
        driver = self.start("run", "repo-health.yaml", "--var", f"repository={self.checkout}", "--var", "pace=0.7")
        done = self.wait_until_half()
        say(f"kill -9 {driver.pid}: the driver is gone, {done} tasks are done, others are in the middle of their work")
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait(WITHIN_S)
        say("onward status")
        self.onward("status")
        say("onward resume")
        code = self.onward("resume", "--yes")
        if code:
            return code
        report = self.folder / "report.md"
        say("report.md")
        print(report.read_text("utf-8"))
        return 0

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "onward", *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=self.environment, start_new_session=True)

    def onward(self, *arguments: str) -> int:
        command = [sys.executable, "-m", "onward", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, timeout=WITHIN_S * 2, check=False
        ).returncode

    def wait_until_half(self) -> int:
        """How many tasks are done when at least half of them are and another one runs."""
        end = time.monotonic() + WITHIN_S
        while time.monotonic() < end:
            command = [sys.executable, "-m", "onward", "status", "--json"]
            told = subprocess.run(
                command, cwd=self.folder, env=self.environment, capture_output=True, timeout=WITHIN_S, check=False
            )
            if told.returncode == 0:
                status = json.loads(told.stdout)
                running = [node for node in status["nodes"] if node["status"] == "running" and node["attempts"]]
                if running and status["progress"]["done"] * 2 >= status["progress"]["total"]:
                    return int(status["progress"]["done"])
            time.sleep(0.05)
        raise SystemExit("the run did not get half-way: it ended before, or took too long (what it said is above)")


def say(text: str) -> None:
    print(f"\n\033[1m$ {text}\033[0m" if sys.stdout.isatty() else f"\n$ {text}", flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
