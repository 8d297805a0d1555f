"""Checkpoints of a workflow in a state file (version 1.0), for programs of your own.

    checkpoint = WorkflowCheckpoint(".agent-yaml/state.json")
    state = checkpoint.load_state() or create_initial_state("workflow.yaml", {"pr_number": "123"})
    for index, step in enumerate(workflow["task"]):
        if step_all_completed(step, state["completed_tasks"]):
            continue
        ...
        state = checkpoint.mark_completed(*get_all_task_names(step), state=state, next_step=index + 1)
    if checkpoint.should_cleanup(success=True):
        checkpoint.cleanup()

`onward run` writes the same file for workflows with `checkpoint:`, and reads it with `--resume`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from onward import clock
from onward.errors import WorkflowCheckpointError
from onward.mirrors import checkpoint_file
from onward.mirrors.checkpoint_file import FIELDS, VERSION

__all__ = [
    "FIELDS",
    "VERSION",
    "CleanupPolicy",
    "WorkflowCheckpoint",
    "WorkflowCheckpointError",
    "create_initial_state",
    "get_all_task_names",
    "get_step_name",
    "step_all_completed",
]

State = dict[str, Any]


class CleanupPolicy(StrEnum):
    """When the state file is removed. A pause or a crash is no completion, and always keeps it."""

    ON_SUCCESS = "on-success"
    """after the workflow succeeded"""
    ON_COMPLETION = "on-completion"
    """after it succeeded or failed"""
    NEVER = "never"
    """it is kept"""


class WorkflowCheckpoint:
    """The state file of one workflow."""

    def __init__(self, state_file: str | os.PathLike[str], cleanup_policy: str = CleanupPolicy.ON_SUCCESS) -> None:
        self.state_file = os.fspath(state_file)
        self.cleanup_policy = cleanup_policy

    @property
    def cleanup_policy(self) -> CleanupPolicy:
        """`on-success`, `on-completion` or `never`."""
        return self._cleanup_policy

    @cleanup_policy.setter
    def cleanup_policy(self, policy: str) -> None:
        try:
            self._cleanup_policy = CleanupPolicy(policy)
        except ValueError:
            raise WorkflowCheckpointError(
                f"cleanup-policy must be on-success, on-completion or never, not `{policy}`"
            ) from None

    def exists(self) -> bool:
        """Whether there is something at that path."""
        return os.path.exists(self.state_file)

    def load_state(self) -> State | None:
        """The checked fields, and any others that are in the file; None where there is no file.

        Raises `WorkflowCheckpointError` where it cannot be used: no JSON, a field missing or of a wrong type,
        another version, a folder, not readable.
        """
        return checkpoint_file.read(self.state_file)

    def save_state(self, state: Mapping[str, Any]) -> None:
        """Write the state so that the file is whole at every moment; missing folders are made.

        Raises `WorkflowCheckpointError` where the state lacks a field (the file then stays as it was), or the
        file cannot be written.
        """
        checkpoint_file.write(self.state_file, state)

    def mark_completed(self, *names: str, state: State | None = None, next_step: int | None = None) -> State:
        """Tasks ended well: list them, and save. `next_step` is the index of the first step not fully done.

        Works on `state`, or without it on what the file holds. Returns the state that was saved.
        """
        state = self._at_hand(state)
        state["completed_tasks"] = _with(state["completed_tasks"], names)
        state["failed_tasks"] = _without(state["failed_tasks"], names)
        if next_step is not None:
            state["current_step_index"] = next_step
        self.save_state(state)
        return state

    def mark_failed(self, *names: str, state: State | None = None) -> State:
        """Tasks failed: list them, and save. A resume runs them again."""
        state = self._at_hand(state)
        state["failed_tasks"] = _with(state["failed_tasks"], names)
        state["completed_tasks"] = _without(state["completed_tasks"], names)
        self.save_state(state)
        return state

    def mark_resumed(self, *, state: State | None = None) -> State:
        """The workflow goes on: count it, and save."""
        state = self._at_hand(state)
        state["resumed_count"] += 1
        self.save_state(state)
        return state

    def should_cleanup(self, success: bool) -> bool:
        """Whether the policy wants the file removed, now that the workflow has ended."""
        match self.cleanup_policy:
            case CleanupPolicy.ON_SUCCESS:
                return success
            case CleanupPolicy.ON_COMPLETION:
                return True
            case _:
                return False

    def cleanup(self) -> bool:
        """Remove the file (ask `should_cleanup` first); False when there was none."""
        return checkpoint_file.remove(self.state_file)

    def _at_hand(self, state: State | None) -> State:
        found = state if state is not None else self.load_state()
        if found is None:
            raise WorkflowCheckpointError(
                f"there is no state file {self.state_file} to mark anything in",
                help="save `create_initial_state(…)` first",
            )
        checkpoint_file.check(found, self.state_file)
        return dict(found)


def create_initial_state(
    workflow_file: str | os.PathLike[str],
    variables: Mapping[str, Any] | None = None,
    *,
    started_at: str | None = None,
) -> State:
    """The state of a workflow in which nothing is done. `started_at` is ISO 8601 with an offset (now)."""
    moment = started_at or clock.local(clock.now()).isoformat(timespec="seconds")
    return {
        "version": VERSION,
        "workflow_file": os.fspath(workflow_file),
        "started_at": moment,
        "resumed_count": 0,
        "datetime_preserved": moment,
        "completed_tasks": [],
        "failed_tasks": [],
        "current_step_index": 0,
        "variables": dict(variables or {}),
    }


def get_all_task_names(step: Mapping[str, Any]) -> list[str]:
    """The names of the tasks that run in a step, in the order of the file; several run in parallel."""
    return list(_checked(step))


def get_step_name(step: Mapping[str, Any]) -> str:
    """What a step is called: the name of its task, or the names with commas between them."""
    return ", ".join(_checked(step))


def step_all_completed(step: Mapping[str, Any], completed: Iterable[str]) -> bool:
    """Whether every task of the step is among `completed`. A step without tasks never is."""
    done = set(completed)
    names = get_all_task_names(step)
    return bool(names) and all(name in done for name in names)


def _checked(step: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(step, Mapping):
        raise WorkflowCheckpointError(f"a step is a mapping of task names, not {type(step).__name__}")
    return step


def _with(names: Iterable[str], more: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*names, *more]))


def _without(names: Iterable[str], fewer: tuple[str, ...]) -> list[str]:
    return [name for name in names if name not in fewer]
