"""A node with `worktree` → a git worktree and a branch of its own, made when it is first needed, found again later.

The worktree lies in the folder of the run, the branch is `onward/<run>/<path>` and starts at the commit at which
the checkout stands when the worktree is made. After a run that succeeded a worktree goes if nothing in it is
uncommitted, and its branch if it was merged; what is not safe elsewhere stays.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from onward.state.instance import Instance, Role
from onward.store.names import folder_of
from onward.tasks.failures import Failure

if TYPE_CHECKING:
    from subprocess import CompletedProcess

FOLDER = "worktrees"
WITHIN_S = 120.0
"""a checkout of a large repository takes its time"""
_LOOKS, _LOOK_S = 20, 0.25

_NOT_IN_A_REF = re.compile(r"[^A-Za-z0-9._/-]+|\.(?=[./])|\.lock(?=/|$)|\.$")


def has_own(instance: Instance) -> bool:
    """Whether an instance is the member or the iteration that works in a worktree of its own."""
    node = instance.node
    return node is not None and node.worktree and instance.role in (Role.NODE, Role.ITERATION)


def branch_of(run: str, path: str) -> str:
    """The name of the branch; what no branch may be called becomes `-`, the hash of a part keeps it apart."""
    return f"onward/{run}/{_NOT_IN_A_REF.sub('-', folder_of(path))}"


class Worktrees:
    """The worktrees of one run. `directory` is where its tasks work, `folder` its own folder."""

    def __init__(self, run: str, folder: str, directory: str) -> None:
        self._run = run
        self._folder = os.path.join(folder, FOLDER)
        self._directory = directory
        self._known: dict[str, str] = {}
        self._top = ""

    def of(self, instance: Instance, around: str) -> str:
        """The folder in the worktree that stands for `around`, a folder of the checkout. Raises `TaskError`."""
        place = self._known.get(instance.path)
        if place is None:
            _refuse_nested(instance)
            place = self._known[instance.path] = self._ensure(instance.path)
        inside = os.path.relpath(os.path.realpath(around), os.path.realpath(self._top))
        if inside == os.pardir or inside.startswith(os.pardir + os.sep):
            raise Failure("worktree-outside", f"{around} is not in the git repository {self._top}")
        return os.path.normpath(os.path.join(place, inside))

    def _ensure(self, path: str) -> str:
        self._top = self._top or self._find_top()
        place, branch = os.path.join(self._folder, folder_of(path)), branch_of(self._run, path)
        if self._is_made(place):
            return place
        if self._try("rev-parse", "--verify", "--quiet", "HEAD").returncode:
            raise Failure(
                "no-commit",
                f"git worktree needs a commit, and {self._top} has no commit yet",
                help="commit something first",
            )
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        self._git("worktree", "prune")
        exists = self._try("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").returncode == 0
        what = [place, branch] if exists else ["-b", branch, place, "HEAD"]
        twice = ("--force", "--force")  # once is not enough where a `worktree add` was killed and its folder is gone
        self._git("worktree", "add", "--quiet", *twice, *what)
        return place

    def _is_made(self, place: str) -> bool:
        """Whether it is there as a whole; what a `git worktree add` that was killed has left of it is removed."""
        record = _record_of(place)
        if record is None:
            return False
        if not os.path.isdir(record):
            raise Failure(
                "worktree",
                f"the worktree {place} is unknown to git by now",
                help="take out of that folder what you need and remove it; then `onward resume` makes it anew",
            )
        if not _is_being_made(record):
            return True
        self._git("worktree", "remove", "--force", "--force", place)
        return False

    def _find_top(self) -> str:
        found = self._try("rev-parse", "--show-toplevel")
        if found.returncode:
            raise Failure(
                "no-repository",
                f"`worktree` needs a git repository, and {self._directory} is in none: {found.stderr.strip()}",
                help="run `git init` and commit there, or leave `worktree` out",
            )
        return found.stdout.rstrip("\n")

    # --- afterwards -----------------------------------------------------------------------------------------------

    def tidy(self, paths: Iterable[str]) -> list[str]:
        """Remove what is safe elsewhere, after a run that succeeded. Returns words about what stays."""
        kept = []
        for path in paths:
            place, branch = os.path.join(self._folder, folder_of(path)), branch_of(self._run, path)
            if not os.path.exists(os.path.join(place, ".git")):
                continue
            if self._try("worktree", "remove", place).returncode:
                kept.append(f"the worktree of `{path}` stays, for something in it is not committed: {place}")
                continue
            if self._try("branch", "--quiet", "-d", branch).returncode:
                kept.append(f"the branch {branch} of `{path}` stays, for it was not merged")
        return kept

    # --- git ------------------------------------------------------------------------------------------------------

    def _git(self, *arguments: str) -> None:
        done = self._try(*arguments)
        if done.returncode:
            raise Failure(
                "worktree",
                f"git {arguments[0]} {arguments[1]} did not work: {done.stderr.strip() or done.returncode}",
                help="mend that in the git repository, then `onward resume`",
            )

    def _try(self, *arguments: str) -> CompletedProcess[str]:
        import subprocess  # only where there are worktrees

        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            return subprocess.run(
                ["git", "-C", self._directory, *arguments],
                env=environment | {"LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=WITHIN_S,
                check=False,
            )
        except FileNotFoundError:
            raise Failure("no-git", "`worktree` needs git, which is not on the PATH", help="install git") from None
        except subprocess.TimeoutExpired:
            raise Failure("worktree", f"git did not answer within {WITHIN_S:g} s") from None


def _refuse_nested(instance: Instance) -> None:
    place = instance.parent
    while place is not None:
        if has_own(place):
            raise Failure(
                "nested-worktree",
                f"`{place.path}` has a worktree, and what is in it cannot have another one",
                help="leave `worktree` out at one of the two",
            )
        place = place.parent


def _record_of(place: str) -> str | None:
    """Where git keeps what it knows of a worktree; None if there is no worktree in that folder."""
    try:
        with open(os.path.join(place, ".git"), encoding="utf-8", errors="surrogateescape") as file:
            return os.path.join(place, file.read().removeprefix("gitdir:").strip())
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_being_made(record: str) -> bool:
    """Whether git has begun to make a worktree and not ended; one that outlived its driver may still be at it."""
    lock = os.path.join(record, "locked")
    for _ in range(_LOOKS):
        try:
            with open(lock, encoding="utf-8", errors="replace") as file:
                if file.read().strip() != "initializing":
                    return False
        except FileNotFoundError:
            return False
        time.sleep(_LOOK_S)
    return True
