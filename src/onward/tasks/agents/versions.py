"""An agent program on the PATH → where it is, and which version it says it is."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping

from onward.tasks.agents.agent import Agent

WITHIN_S = 15.0
_NUMBER = re.compile(r"\d+\.\d+[0-9A-Za-z.+-]*")


def place_of(agent: Agent, path: str | None = None) -> str | None:
    """Where the program is; `path` is searched, else the variable of this process."""
    return shutil.which(agent.program[0], path=path) if agent.program else None


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
