"""A node with `worktree` → a git worktree and a branch of its own, made when it is first needed, found again later.

The worktree lies in the folder of the run, the branch is `onward/<run>/<path>` and starts at the commit at which
the checkout stands when the worktree is made. After a run that succeeded a worktree goes if nothing in it is
uncommitted, and its branch if it was merged; what is not safe elsewhere stays.
"""

from __future__ import annotations

import os
import re
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
            place = self._known[instance.path] = self._ensure(instance.path)
        inside = os.path.relpath(os.path.realpath(around), os.path.realpath(self._top))
        if inside == os.pardir or inside.startswith(os.pardir + os.sep):
            raise Failure("worktree-outside", f"{around} is not in the git repository {self._top}")
        return os.path.normpath(os.path.join(place, inside))

    def _ensure(self, path: str) -> str:
        self._top = self._top or self._find_top()
        place, branch = os.path.join(self._folder, folder_of(path)), branch_of(self._run, path)
        if os.path.exists(os.path.join(place, ".git")):
            return place
        os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
        self._git("worktree", "prune")
        exists = self._try("show-ref", "--verify", "--quiet", f"refs/heads/{branch}").returncode == 0
        what = [place, branch] if exists else ["-b", branch, place, "HEAD"]
        self._git("worktree", "add", "--quiet", "--force", *what)
        return place

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
                "worktree", f"git {arguments[0]} {arguments[1]} did not work: {done.stderr.strip() or done.returncode}"
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
