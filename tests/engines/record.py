"""Runs a few workflows on a server of its own and writes their histories to `histories/`: `record.py [VERSION]`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from engines.conftest import Told, settle_in  # noqa: E402
from engines.server import Server, Workers  # noqa: E402

STORIES = {
    "all-kinds": """
        variables: {who: world}
        task:
          - a: {run: [echo, "hello {{who}}"]}
          - flaky: {run: 'test "$ONWARD_ATTEMPT" = 2', retry: {attempts: 2, delay: 1s}}
          - all: {limit: 2, parallel: {x: {run: 'true'}, y: {run: 'true'}, z: {needs: [x], run: 'sleep 0.2'}}}
          - loop: {loop: {for-each: [one, two, three], as: n, limit: 2}, run: [echo, "{{n}}"]}
          - poll:
              loop: {until: {file-exists: ready}, max: 3, delay: 1s}
              run: "test -e first && touch ready; touch first"
          - skip: {skip-if: {command: 'true'}, run: 'true'}
          - sure: {run: 'echo 1 > out.txt', artifacts: [out.txt], ensure: {after: {file-exists: out.txt}}}
          - ask: {approve: "go?", timeout: 1s, on-timeout: approve}
    """,
    "failed": """
        task:
          - all:
              fail-fast: true
              parallel:
                bad: {run: 'until [ -e began ]; do sleep 0.05; done; exit 3'}
                long: {run: 'touch began; sleep 60'}
        finally:
          - tidy: {run: 'true'}
    """,
    "paused": """
        task:
          - a: {run: 'true'}
          - long: {run: 'touch began; sleep 60'}
    """,
    "handed-on": """
        task:
          - all: {loop: {for-each: {command: seq 40}, as: n, limit: 4}, run: 'true'}
    """,
}


def record(version: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        server.start()
        workers = Workers(server, Path(folder), "record")
        workers.start()
        try:
            for name, text in STORIES.items():
                _record(Path(folder, name), server, name, text, version)
        finally:
            workers.finish()
            server.stop()


def _record(folder: Path, server: Server, name: str, text: str, version: str) -> None:
    folder.mkdir()
    project = settle_in(Told(folder), server, "record")
    project.environment["ONWARD_ENGINE"] = "temporal"
    if name == "handed-on":
        project.write("onward.toml", project.read("onward.toml") + "history-soft = 60\nhistory-hard = 100\n")
    project.workflow(text)
    project.run = f"recorded-{name}"
    project.onward("run", "w.yaml", "--id", project.run, "--detach").check()
    if name == "paused":
        project.wait_for_file("began")
        project.onward("pause", project.run, "--now").check()
    else:
        project.wait("it ends", lambda: project.status(project.run)["ended_at"] is not None)
    recorded = asyncio.run(_history(server.address, project.run))
    path = HERE / "histories" / f"{version}-{name}.json"
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(recorded, separators=(",", ":")).replace(f"{Path(__file__).parents[2]}/", "")
    path.write_text(text + "\n", "utf-8")  # without the places of the machine it was recorded on
    project.finish()


async def _history(address: str, run: str) -> dict[str, Any]:
    from temporalio.client import Client

    client = await Client.connect(address)
    first = None
    async for execution in client.list_workflows(f"WorkflowId = 'onward-{run}'"):
        first = execution
    assert first is not None
    handle = client.get_workflow_handle(first.id, run_id=first.run_id)
    history = _without_hosts(json.loads((await handle.fetch_history()).to_json()))
    return {"workflow_id": first.id, "history": history}


def _without_hosts(data: Any) -> Any:
    """Which process of which machine did it says nothing to anybody else."""
    if isinstance(data, dict):
        return {key: _without_hosts(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_without_hosts(each) for each in data]
    return "worker" if isinstance(data, str) and re.match(r"\d+@", data) else data



if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else "unreleased")
