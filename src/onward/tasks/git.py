"""A checkout → which of its files are not committed, as git tells; bounded in time, silent where there is no git."""

from __future__ import annotations

import os
import subprocess

WITHIN_S = 5.0


def uncommitted(folder: str | os.PathLike[str]) -> list[str] | None:
    """Paths that git calls changed, added or unknown; None outside of a checkout, or when git does not answer."""
    command = ["git", "-c", "core.fsmonitor=false", "-C", os.fspath(folder), "status", "--porcelain", "-z"]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        said = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=WITHIN_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return [entry[3:] for entry in said.stdout.decode("utf-8", "replace").split("\0") if len(entry) > 3]
