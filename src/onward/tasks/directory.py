"""An instance -> the absolute folder it works in: each `directory` is relative to the one around it.

The root's is that of the workflow; an included file brings its own (`settled.md` 39, 40).
"""

from __future__ import annotations

import os

from onward.model.values import Text
from onward.state.instance import Instance, Role
from onward.state.lookup import climb
from onward.tasks.chain import Link, chain_of
from onward.tasks.failures import Failure
from onward.tasks.resolve import Resolver, written
from onward.tasks.worktrees import Worktrees


class Directories:
    """The working folders of the tasks of a run."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._fixed: dict[str, str | None] = {}
        context = resolver.context
        self._worktrees = Worktrees(context.run, context.folder, context.directory)

    def of(self, user: Instance) -> str:
        """The folder, which exists. Raises `TaskError`."""
        folder = self.path(user)
        if not os.path.isdir(folder):
            raise Failure(
                "no-directory",
                f"the folder {folder} of `{user.path}` does not exist",
                help="make it before this task runs, or mend `directory`",
            )
        return folder

    def path(self, user: Instance) -> str:
        """The folder, whether it exists or not."""
        node = user.node
        key = "" if node is None else f"[]{node.path}" if user.role is Role.LOOP else node.path
        if key not in self._fixed:
            links = chain_of(user)
            varies = any(link.node.worktree for link in links) or any(
                not isinstance(link.node.directory, str | None) and not link.whole for link in links
            )
            self._fixed[key] = None if varies else self._follow(user, links)
        fixed = self._fixed[key]
        return fixed if fixed is not None else self._follow(user, chain_of(user))

    def _follow(self, user: Instance, links: list[Link]) -> str:
        folder = self._resolver.context.directory
        for link in links:
            node = link.node
            if node.worktree and not link.whole:
                folder = self._worktrees.of(climb(user, link.level), folder)
            if node.directory is not None and (isinstance(node.directory, str) or not link.whole):
                folder = self._below(folder, climb(user, link.level), node.directory)
            if node.directory is None and node.included is not None and link.level:
                folder = self._of_included(node.included.file, node.included.directory)
        return folder

    def _below(self, folder: str, user: Instance, text: Text) -> str:
        path = self._resolver.path_text(user, text)
        if "\0" in path:
            raise Failure("bad-path", f"`directory: {written(text)}` is no path")
        return os.path.normpath(os.path.join(folder, path))

    def _of_included(self, file: str, directory: str) -> str:
        home = os.path.dirname(os.path.join(self._resolver.context.home, file))
        return os.path.normpath(os.path.join(home, directory))
