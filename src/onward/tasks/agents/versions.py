"""An agent program on the PATH → where it is, and which version it says it is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from onward.tasks.agents.agent import Agent

WITHIN_S = 15.0
_NUMBER = re.compile(r"\d+\.\d+[0-9A-Za-z.+-]*")


def place_of(agent: Agent, path: str | None = None) -> str | None:
    """Where the program is; `path` is searched, else the variable of this process."""
    return shutil.which(agent.program[0], path=path) if agent.program else None


def versions_of(agents: Iterable[Agent]) -> dict[str, str | None]:
    """What each of them says, by name; all are asked at once."""
    asked = list(agents)
    if not asked:
        return {}
    with ThreadPoolExecutor(len(asked)) as pool:
        return dict(zip((agent.name for agent in asked), pool.map(_ask_here, asked), strict=True))


def _ask_here(agent: Agent) -> str | None:
    return ask_version(agent, os.environ)


def ask_version(agent: Agent, env: Mapping[str, str], cwd: str | None = None) -> str | None:
    """Start the program and ask; None where it does not tell. Waits, but not for ever."""
    if not agent.program or not agent.version:
        return None
    program = shutil.which(agent.program[0], path=env.get("PATH"))
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *agent.program[1:], *agent.version],
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WITHIN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _NUMBER.search((done.stdout or done.stderr).decode("utf-8", "replace"))
    return found[0] if found is not None and done.returncode == 0 else None
