"""The state of a run to the state file of requirement 1 (version 1.0), kept up to date while the run goes on.

It is written at the start, after every step up to 1,000 tasks and then at a bounded share of the time, and always at
a pause, a failure and the end. Between events nothing is walked: what a step changes is changed in lists.

The journal is the truth, so a state file that cannot be written stops a run at its start only; later the engine makes
a warning of it. The file belongs to the run that was started last: another run that finds it taken stops writing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from onward import clock, files
from onward.errors import StoreError, WorkflowCheckpointError
from onward.mirrors import checkpoint_file
from onward.model import events as ev
from onward.model.nodes import Plan
from onward.model.status import Status
from onward.state.advance import stops
from onward.state.run_state import RunState

EVERY_STEP_LIMIT = 1000
"""up to so many listed tasks the file is written after every step"""
SHARE_OF_TIME = 0.05
"""beyond, writing takes at most this share of the time"""
RETRY_AFTER_S = 1.0
"""after a write that failed; a pause, a failure and the end do not wait"""

_RECOUNT = (ev.Override, ev.WorkflowResume, ev.CancelRequest)
_ALWAYS = (ev.WorkflowPause, ev.WorkflowEnd)


def path_of(plan: Plan, directory: str | os.PathLike[str]) -> str | None:
    """Where the state file of a workflow lies; `directory` is the folder in which its tasks work."""
    if plan.checkpoint is None:
        return None
    return os.path.normpath(os.path.join(directory, plan.checkpoint.state_file))


class StateFile:
    """The state file of one run; the first write (`begin`) comes once its start (or resume) is in the journal."""

    name = "the state file"

    def __init__(
        self,
        state: RunState,
        path: str | os.PathLike[str],
        *,
        policy: str = "on-success",
        journal: str | os.PathLike[str],
        started_at: str | None = None,
        monotonic: Callable[[], float] = clock.monotonic,
    ) -> None:
        """`started_at` is that of an imported state file; without it the run's `datetime` is its start."""
        self.path = os.fspath(path)
        self._policy = policy
        self._state = state
        self._started_at = started_at
        self._journal = _as_stored(journal, self.path)
        self._monotonic = monotonic
        self._steps = [[node.name for node in step] for step in state.plan.root.steps]
        self._names = frozenset(name for step in self._steps for name in step)
        self._completed: dict[str, None] = {}
        self._failed: dict[str, None] = {}
        self._passed: set[str] = set()
        self._index = 0
        self._changed = False
        self._stamp: tuple[int, int] | None = None
        self._not_before = 0.0
        self._given_up: str | None = None
        self._told = False
        self._recount()

    def begin(self, *, fresh: bool) -> None:
        """Write the file for the first time in this process. Raises `WorkflowCheckpointError` where that fails.

        A fresh run takes the file whoever had it. A run that is resumed leaves it to a run that was started after
        it, which its first `changed` tells.
        """
        owner = None if fresh else self._other_owner()
        if owner is not None:
            self._given_up = owner
            return
        _remove_leftovers(self.path)
        self._write()

    def changed(self, state: RunState, events: Iterable[ev.Event]) -> None:
        """Take in events that are in the journal and in the state; write if it is time.

        Raises `WorkflowCheckpointError` when it cannot be written (it is tried again), or belongs to another run
        (told once). Neither harms the run.
        """
        self._state, must = state, False
        for event in events:
            must = self._take(event) or must
        if self._given_up is not None:
            self._tell_that_given_up()
        elif must or (self._changed and self.is_due()):
            self._write_unless_taken(name_later=not must)

    def close(self, state: RunState) -> None:
        """The driver stops: write what still waits to be written."""
        self._state = state
        if self._changed and self._given_up is None:
            self._write_unless_taken()

    def is_due(self) -> bool:
        """Whether a change may be written now."""
        return self._monotonic() >= self._not_before

    @property
    def wake_at(self) -> float | None:
        """When `close` or `changed` would write what waits (on the monotonic clock); None while nothing waits."""
        return self._not_before if self._changed and self._given_up is None else None

    def content(self) -> dict[str, Any]:
        """The fields as they are written."""
        facts = self._state.facts
        return {
            "version": checkpoint_file.VERSION,
            "workflow_file": facts.workflow_file,
            "started_at": self._started_at or facts.datetime,
            "resumed_count": facts.resumed_count,
            "datetime_preserved": facts.datetime,
            "completed_tasks": list(self._completed),
            "failed_tasks": list(self._failed),
            "current_step_index": self._step_index(),
            "variables": facts.variables,
            "onward": {
                "run": facts.run,
                "journal": self._journal,
                "status": self._state.status.value,
                "progress": self._progress(),
                "updated_at": clock.local(clock.now()).isoformat(timespec="seconds"),
            },
        }

    def _progress(self) -> dict[str, int]:
        """Of the tasks that the file can list: how many there are, and how many need not run again."""
        total, done = len(self._names), len(self._passed)
        return {"total": total, "done": done, "percent": 100 * done // total if total else 100}

    # ------------------------------------------------------------ what events change

    def _take(self, event: ev.Event) -> bool:
        """Take in one event; True when the file has to be written whatever the clock says."""
        match event:
            case ev.NodeEnd(path=path) if path in self._names:
                self._note(path)
                self._changed = True
                return event.status is Status.FAILED
            case ev.TakeOver():
                self._changed = True
            case _ if isinstance(event, _RECOUNT):
                self._recount()
                self._changed = True
        return isinstance(event, _ALWAYS)

    def _recount(self) -> None:
        """Look at every top-level task: at the start, and when records were set aside."""
        self._completed, self._failed, self._passed, self._index = {}, {}, set(), 0
        found = [instance for name in self._names if (instance := self._state.get(name)) is not None]
        for instance in sorted((one for one in found if one.ended), key=lambda one: one.ended_seq):
            self._note(instance.path)

    def _note(self, name: str) -> None:
        self._completed.pop(name, None)
        self._failed.pop(name, None)
        instance = self._state.get(name)
        if instance is None or not instance.ended:
            return
        if instance.status.passed:
            self._completed[name] = None
            self._passed.add(name)
        elif instance.status is Status.FAILED:
            self._failed[name] = None
            if not stops(instance):
                self._passed.add(name)

    def _step_index(self) -> int:
        while self._index < len(self._steps) and all(name in self._passed for name in self._steps[self._index]):
            self._index += 1
        return self._index

    # ------------------------------------------------------------ writing

    def _write_unless_taken(self, *, name_later: bool = False) -> None:
        self._not_before = self._monotonic() + RETRY_AFTER_S
        owner = self._other_owner() if self._was_replaced() else None
        if owner is not None:
            self._given_up = owner
            self._tell_that_given_up()
        elif self._state.facts.end is not None:
            self._end()
        else:
            self._write(name_later=name_later)

    def _write(self, *, name_later: bool = False) -> None:
        before = self._monotonic()
        checkpoint_file.write(self.path, self.content(), name_later=name_later)
        self._stamp = _stamp_of(self.path)
        after = self._monotonic()
        large = len(self._completed) + len(self._failed) > EVERY_STEP_LIMIT
        self._not_before = after + (after - before) * (1 / SHARE_OF_TIME - 1) if large else after
        self._changed = False

    def _end(self) -> None:
        """The run has ended: the policy says whether the file stays."""
        end = self._state.facts.end
        success = end is Status.SUCCEEDED
        if success and self._policy != "never":
            remove = True
        else:
            remove = end is Status.FAILED and self._policy == "on-completion"
        if remove:
            checkpoint_file.remove(self.path)
            self._changed = False
        else:
            self._write()

    # ------------------------------------------------------------ whose file it is

    def _was_replaced(self) -> bool:
        """Whether the file is not the one that was written here last (a file that is gone is simply made again)."""
        found = _stamp_of(self.path)
        return found is not None and found != self._stamp

    def _other_owner(self) -> str | None:
        """Who else writes this file: a run id, or words; None when it is ours, or nobody's."""
        try:
            found = checkpoint_file.read(self.path)
        except WorkflowCheckpointError:
            return None  # rubbish belongs to nobody, and is made right by the next write
        if found is None:
            return None
        run = found.get("onward", {}).get("run")
        if run == self._state.facts.run:
            return None
        return f"the run {run}" if isinstance(run, str) else "another program"

    def _tell_that_given_up(self) -> None:
        if not self._told:
            self._told = True
            raise WorkflowCheckpointError(
                f"{self.path} now belongs to {self._given_up}; this run does not write it any more, and its journal is "
                "complete"
            )


def _remove_leftovers(path: str) -> None:
    folder = os.path.dirname(path) or "."
    if os.path.isdir(folder):
        try:
            files.remove_dead_temporaries(folder)
        except StoreError as error:
            raise WorkflowCheckpointError(error.message, help=error.help) from error


def _as_stored(journal: str | os.PathLike[str], state_file: str) -> str:
    """The journal relative to the folder of the state file, so that both can be moved together."""
    folder = os.path.realpath(os.path.dirname(state_file) or ".")
    target = os.path.realpath(journal)
    common = os.path.commonpath([folder, target])
    return target if common == os.path.sep else os.path.relpath(target, folder)


def _stamp_of(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
