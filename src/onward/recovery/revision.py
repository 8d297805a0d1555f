"""A folder in a git checkout → the commit that it stands at, read from git's own files: no program is started."""

from __future__ import annotations

import os
import re
from pathlib import Path

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_BYTES = 16 << 20


def revision_of(folder: str | os.PathLike[str]) -> str | None:
    """The commit, or None outside of a checkout and before the first commit."""
    git = _git_folder(Path(folder))
    if git is None:
        return None
    head = _text(git / "HEAD").strip()
    if not head.startswith("ref: "):
        return head if _COMMIT.fullmatch(head) else None
    return _of_branch(git, head[5:])


def _git_folder(folder: Path) -> Path | None:
    for place in (folder, *folder.parents):
        found = place / ".git"
        if found.is_dir():
            return found
        if found.is_file():  # a worktree, or a submodule
            named = _text(found).strip().removeprefix("gitdir: ")
            return (place / named) if named else None
    return None


def _of_branch(git: Path, name: str) -> str | None:
    common = _text(git / "commondir").strip()
    for place in (git, git / common) if common else (git,):
        commit = _text(place / name).strip()
        if _COMMIT.fullmatch(commit):
            return commit
        for line in _text(place / "packed-refs").splitlines():
            commit, _, ref = line.partition(" ")
            if ref == name and _COMMIT.fullmatch(commit):
                return commit
    return None


def _text(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(_MOST_BYTES)
    except OSError:
        return ""
