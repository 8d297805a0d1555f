"""What was read of a run that may go on: its state over the plan to go on with, and what is wrong with its records."""

from __future__ import annotations

from msgspec import Struct, field

from onward.errors import OnwardError
from onward.journal.findings import Finding
from onward.model.events import Change, Note, Owner
from onward.model.nodes import Plan
from onward.state.rename import former_paths, rename
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.store.lock import Driver


class Seen(Struct, kw_only=True):
    """What was read of a run, without its lock. `state` is as the journal left it, over the plan to go on with."""

    folder: RunFolder
    plan: Plan
    state: RunState
    changes: list[Change] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    """former and new path of each record that has taken another name in `state`, and not yet on the disk"""
    damage: list[Finding] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """what the next driver records of its repairs"""
    previous: Owner | None = None
    """the driver that was replaced"""
    problem: OnwardError | None = None
    """why today's workflow file cannot be used; `plan` is the stored one then"""
    cache_problem: str | None = None
    driver: Driver | None = None
    rebuilt: str | None = None
    """what the state was put together from, where the journal has lost its head"""

    def take_names(self) -> None:
        """Records go by today's names from here on, as they will once the resume is recorded."""
        self.renamed += former_paths(self.state, self.changes)
        for change in self.changes:
            if change.former:
                rename(self.state, change.former, change.path.rpartition("/")[2])

    def kept_at(self, path: str) -> str:
        """The path under which the folders of a node are on the disk."""
        for former, now in reversed(self.renamed):
            if path == now or path.startswith((f"{now}/", f"{now}[")):
                path = former + path[len(now) :]
        return path
