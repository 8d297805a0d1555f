"""What the stories of the cases share: work of every kind, gates, damage done to files, and what must always hold."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stories.project import Project

KINDS = ["run", "argv", "sh", "call", "prompt"]

ADAPTER = {"agent": {"command": ["bash", "agent.sh"]}}
"""a program that reads its prompt, a script, and does what it says: its reply is what the script prints"""


def hold(flag: str, waits: str = "waits") -> str:
    """Shell text that tells where it is with one file and goes on when there is the other."""
    return f"touch {waits}; until [ -e {flag} ]; do sleep 0.05; done"


def work(project: Project, kind: str, script: str, name: str = "work") -> dict[str, Any]:
    """A task of that kind which does what a shell script says; needs `adapters: ADAPTER` in the workflow."""
    match kind:
        case "run":
            return {"run": script}
        case "sh":
            return {"run": script, "shell": "sh"}
        case "argv":
            project.write(f"{name}.sh", script)
            return {"run": ["bash", "-eu", f"{name}.sh"]}
        case "call":
            project.write(f"{name}_module.py", CALLS.format(script=["bash", "-euc", script]))
            return {"call": f"{name}_module:go"}
        case "prompt":
            project.write("agent.sh", "exec bash -euo pipefail -c \"$(cat)\"\n")
            return {"prompt": script, "adapter": "agent"}
        case _:
            raise AssertionError(kind)


CALLS = """
import subprocess
def go():
    done = subprocess.run({script!r}, check=False)
    assert done.returncode == 0, f"the script ended with {{done.returncode}}"
"""


def workflow(project: Project, task: list[dict[str, Any]], name: str = "w.yaml", **fields: Any) -> Path:
    """A workflow file made from data; JSON is YAML."""
    return project.write(name, json.dumps({"adapters": ADAPTER, **fields, "task": task}, indent=1))


# --- files of a run -----------------------------------------------------------------------------------------------


def run_folder(project: Project, run: str = "r") -> Path:
    return project.root / ".onward/runs" / run


def journal(project: Project, run: str = "r") -> Path:
    return run_folder(project, run) / "journal.jsonl"


def events(project: Project, run: str = "r") -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal(project, run).read_text("utf-8").splitlines()]


def line_of(project: Project, type: str, path: str = "") -> int:
    """The number, from 1, of the first line of the journal with that event."""
    found = (n for n, e in enumerate(events(project), 1) if e["type"] == type and e.get("path", "") == path)
    return next(found)


def damage(project: Project, number: int, change: Callable[[list[bytes], int], None]) -> bytes:
    """Change the journal around its line `number`; returns what it holds then."""
    file = journal(project)
    lines = file.read_bytes().split(b"\n")
    change(lines, number - 1)
    file.write_bytes(b"\n".join(lines))
    return file.read_bytes()


def output_of(project: Project, path: str, attempt: int = 1, stream: str = "out", run: str = "r") -> bytes:
    return (run_folder(project, run) / "tasks" / path / str(attempt) / stream).read_bytes()


# --- what must always hold ----------------------------------------------------------------------------------------


def sound(project: Project, run: str = "r", *, expect: str | None = None) -> dict[str, Any]:
    """Journal and mirrors parse, status agrees with them, nothing is left lying about; returns the status."""
    kept = events(project, run)
    status = project.status(run)
    ends = {e["path"]: e["status"] for e in kept if e["type"] == "node_end"}
    assert [e["seq"] for e in kept] == sorted(e["seq"] for e in kept)
    assert status["status"] == "running" or status["driver"] is None
    for node in status["nodes"]:
        if node["status"] == "succeeded" and node["kind"] not in ("parallel", "task", "include"):
            assert ends.get(node["path"]) == "succeeded", node["path"]
    if (mirror := project.root / "state.json").exists():
        state = json.loads(mirror.read_text("utf-8"))
        assert set(state["completed_tasks"]) <= {path for path, end in ends.items() if end in ("succeeded", "skipped")}
        assert state["onward"]["run"] == run
    if status["driver"] is None:
        assert list(project.root.rglob("*.onward-tmp")) == []
    if expect is not None:
        assert status["status"] == expect
    return status


# --- processes ----------------------------------------------------------------------------------------------------


def marked(project: Project, mark: str) -> list[int]:
    """Processes with that mark in their command line, below this story's folder."""
    found = []
    for name in os.listdir("/proc"):
        try:
            line = Path("/proc", name, "cmdline").read_bytes()
            here = name.isdigit() and os.readlink(f"/proc/{name}/cwd").startswith(str(project.root))
        except OSError:
            continue
        if here and mark.encode() in line:
            found.append(int(name))
    return found


def end_marked(project: Project, mark: str) -> None:
    """End what a story has found left over, so that nothing of it stays behind."""
    for pid in marked(project, mark):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def environ(pid: int) -> dict[str, str]:
    try:
        data = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    return dict(entry.split("=", 1) for entry in data.decode("utf-8", "replace").split("\0") if "=" in entry)


# --- terminals ----------------------------------------------------------------------------------------------------


def on_a_terminal(project: Project, *arguments: str, **env: str) -> tuple[int, bytes]:
    """Run a command on a terminal of its own; its exit code and all that the terminal got."""
    import pty
    import sys

    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(project.root)
        environment = project.environment | {"TERM": "xterm", "COLUMNS": "100"} | env
        os.execvpe(sys.executable, [sys.executable, "-m", "onward", *arguments], environment)
    return _read_to_the_end(pid, terminal)


def _read_to_the_end(pid: int, terminal: int) -> tuple[int, bytes]:
    import select

    got = b""
    try:
        while select.select([terminal], [], [], 20)[0]:
            try:
                piece = os.read(terminal, 65536)
            except OSError:
                break
            if not piece:
                break
            got += piece
        else:
            os.kill(pid, signal.SIGKILL)
    finally:
        os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), got


FORBIDDEN = re.compile(rb"\x1b\]|\x07|\x1b\[[0-9;]*[ABCDHJKfhl]|\x9b|\x08")
"""what a task or a name may never get onto a terminal: titles, the bell, movements"""


def shell(project: Project, script: str, within_s: float = 20.0) -> str:
    """A few shell lines in the project's folder."""
    done = subprocess.run(
        ["bash", "-euc", script], cwd=project.root, capture_output=True, text=True, timeout=within_s, check=True
    )
    return done.stdout
