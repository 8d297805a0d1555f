"""A state file of requirement 1 → what a new run keeps of it: tasks that are done, variables, the first datetime.

The names of the tasks decide. What contradicts them, and a file that was written for another workflow, is told in
warnings. A file that `onward` wrote leads to its journal (`journal_of`), which knows everything; what is here serves
files of agent-yaml, and runs whose journal is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from onward.errors import WorkflowCheckpointError
from onward.journal.packed import is_packed
from onward.mirrors import checkpoint_file
from onward.model.conditions import Failed, Succeeded
from onward.model.events import Override
from onward.model.nodes import Node, Plan
from onward.model.status import Then
from onward.model.values import Ref, Root

NOT_CONFIGURED = "--resume specified but no checkpoint.state-file configured"

_RESERVED = frozenset({"datetime", "run_id", "workflow_file", "workflow_name"})


def not_found(path: str | os.PathLike[str]) -> str:
    """The warning for `--resume` without a state file."""
    return f"--resume specified but the state file {os.fspath(path)} does not exist; starting from the beginning"


class Imported(Struct, frozen=True, kw_only=True):
    """What a new run takes over. `overrides` go into its journal right after `workflow_start`."""

    source: str
    overrides: tuple[Override, ...] = ()
    variables: dict[str, str] = {}
    datetime: str
    started_at: str
    resumed_count: int
    warnings: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    """names in the file that this workflow does not have"""

    @property
    def facts(self) -> dict[str, Any]:
        """For `WorkflowStart.imported`."""
        return {
            "kind": "state-file",
            "file": self.source,
            "started_at": self.started_at,
            "resumed_count": self.resumed_count,
            "done": [override.path for override in self.overrides],
        }


def journal_of(state: Mapping[str, Any], path: str | os.PathLike[str]) -> str | None:
    """The journal that a state file of ours names, if it is still there."""
    named = state.get("onward", {}).get("journal")
    if not isinstance(named, str) or "\0" in named:
        return None
    found = os.path.join(os.path.dirname(os.path.realpath(path)), named)
    return os.path.normpath(found) if os.path.isfile(found) or is_packed(found) else None


def run_of(state: Mapping[str, Any]) -> str | None:
    """The run that wrote a state file of ours."""
    named = state.get("onward", {}).get("run")
    return named if isinstance(named, str) else None


def take_over(
    state: Mapping[str, Any],
    plan: Plan,
    path: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    rerun: Iterable[str] = (),
) -> Imported:
    """What to keep of a checked state. `folder` is the caller's, `directory` the one in which tasks work.

    Raises `WorkflowCheckpointError` when a task that is not done needs the result of one that is: the file holds
    no results. Naming that one in `rerun` makes it run again.
    """
    again = frozenset(rerun)
    kept, unmatched, doubts = _names_that_count(state, plan, again)
    _require_results(plan, kept)
    warnings = [
        *_other_workflow(state, plan, os.fspath(folder), os.fspath(directory)),
        *_unmatched(unmatched, matched=bool(kept), any_listed=bool(state["completed_tasks"])),
        *doubts,
        *([] if again else _index_doubts(state, plan, kept)),
    ]
    source = os.path.basename(os.fspath(path))
    reason = f"listed as completed in {source}"
    return Imported(
        source=os.fspath(path),
        overrides=tuple(Override(path=name, action="done", by="state file", reason=reason) for name in kept),
        variables={k: _as_text(v) for k, v in state["variables"].items() if k not in _RESERVED},
        datetime=state["datetime_preserved"],
        started_at=state["started_at"],
        resumed_count=state["resumed_count"] + 1,
        warnings=tuple(warnings),
        unmatched=tuple(unmatched),
    )


# ---------------------------------------------------------------- names


def _names_that_count(
    state: Mapping[str, Any], plan: Plan, again: frozenset[str]
) -> tuple[list[str], list[str], list[str]]:
    """Completed names to keep in their order, names without a task, and contradictions in words."""
    by_name = _names_of_today(plan)
    failed = set(state["failed_tasks"])
    listed = dict.fromkeys(state["completed_tasks"])
    both = [name for name in listed if name in failed and name not in again]
    kept = [by_name[name] for name in listed if name in by_name and name not in failed and name not in again]
    unmatched = [name for name in (*listed, *state["failed_tasks"]) if name not in by_name]
    doubts = [f"the state file lists `{name}` as completed and as failed; it runs again" for name in both]
    return kept, list(dict.fromkeys(unmatched)), doubts


def _names_of_today(plan: Plan) -> dict[str, str]:
    """Names that the file may use → top-level names; a renamed task is found by its former name (`was`)."""
    nodes = [node for step in plan.root.steps for node in step]
    former = {node.was: node.name for node in nodes if node.was is not None}
    return former | {node.name: node.name for node in nodes}


def _unmatched(names: list[str], *, matched: bool, any_listed: bool) -> Iterator[str]:
    if not names:
        return
    shown = ", ".join(f"`{name}`" for name in names)
    yield f"the state file names tasks that this workflow does not have: {shown}"
    if any_listed and not matched:
        yield "none of its completed tasks is in this workflow, so everything runs"


def _index_doubts(state: Mapping[str, Any], plan: Plan, kept: list[str]) -> Iterator[str]:
    done = set(kept)
    listed = state["current_step_index"]
    passed_over = done | {
        node.name
        for step in plan.root.steps
        for node in step
        if node.name in state["failed_tasks"] and node.on_failure is Then.CONTINUE
    }
    by_names = _first_open(plan, done)
    if listed not in (by_names, _first_open(plan, passed_over)):
        yield (
            f"the state file says that step {listed} is next (counted from 0); by the names of its completed tasks "
            f"it is step {by_names}; names decide"
        )


def _first_open(plan: Plan, done: set[str]) -> int:
    for index, step in enumerate(plan.root.steps):
        if not all(node.name in done for node in step):
            return index
    return len(plan.root.steps)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


# ---------------------------------------------------------------- which workflow


def _other_workflow(state: Mapping[str, Any], plan: Plan, folder: str, directory: str) -> Iterator[str]:
    named, here = state["workflow_file"], os.path.realpath(plan.file)
    if any(_real(base, named) == here for base in (folder, directory)):
        return
    if os.path.basename(named) == os.path.basename(plan.file) and not _exists(folder, directory, named):
        return  # the project was moved: the name is all there is to compare
    yield f"the state file was written for {named!r}, and this workflow is {plan.file!r}; the names of tasks decide"


def _real(base: str, named: str) -> str | None:
    try:
        return os.path.realpath(os.path.join(base, named))
    except ValueError:  # a NUL in a name
        return None


def _exists(folder: str, directory: str, named: str) -> bool:
    return any(os.path.exists(os.path.join(base, named)) for base in (folder, directory))


# ---------------------------------------------------------------- results that nobody kept


def _require_results(plan: Plan, kept: list[str]) -> None:
    done = set(kept)
    needs = [f"`{user}` needs {{{{{ref.source}}}}}" for user, ref in _needed(plan, done)]
    if not needs:
        return
    names = dict.fromkeys(_top(ref) for _, ref in _needed(plan, done))
    raise WorkflowCheckpointError(
        "the state file tells that tasks are done, but not their results: " + "; ".join(dict.fromkeys(needs)),
        help="run them again: " + " ".join(f"--rerun {name}" for name in names),
    )


def _needed(plan: Plan, done: set[str]) -> Iterator[tuple[str, Ref]]:
    """References of tasks that still run to results of tasks that do not."""
    for user, depths, ref in _references(plan.root, done):
        if ref.root is Root.NODE and ref.up in depths and _top(ref) in done and _is_of_result(ref):
            yield user, ref


def needed_results(plan: Plan, done: set[str], handing: set[str]) -> dict[str, list[str]]:
    """Done top-level tasks whose results are needed and unknown, with who needs them; of `handing` the hand-off is.

    What is done again may need others in its turn, so it is looked at until nothing is added.
    """
    found: dict[str, list[str]] = {}
    while True:
        more: dict[str, list[str]] = {}
        for user, ref in _needed(plan, done - set(found)):
            if ref.field != "hand-off" or _top(ref) not in handing:
                more.setdefault(_top(ref), []).append(f"`{user}`")
        if not more:
            return found
        found |= {name: list(dict.fromkeys(users)) for name, users in more.items()}


def _is_of_result(ref: Ref) -> bool:
    return ref.default is None and not (ref.field == "status" and "/" not in ref.node)


def _top(ref: Ref) -> str:
    return ref.node.partition("/")[0].partition("[")[0]


def _references(root: Node, done: set[str]) -> Iterator[tuple[str, tuple[int, ...], Ref]]:
    """Each reference with its user and how many levels it is to the root (see `onward.plan.site`)."""
    yield from _own(root, (0,))
    for child in root.children():
        if child.name not in done:
            section = child.path.startswith("@")
            yield from _below(child, 2 if section else 1)


def _below(node: Node, depth: int) -> Iterator[tuple[str, tuple[int, ...], Ref]]:
    inner = depth + 1 if node.loop is not None else depth
    yield from _own(node, (depth, inner))
    for step in node.steps:
        for child in step:
            yield from _below(child, inner + 1)
    for child in node.members:
        yield from _below(child, inner + 1)
    for steps, base in ((node.merge, depth), (node.on_failure_steps, inner), (node.finally_steps, depth)):
        for step in steps:
            for child in step:
                yield from _below(child, base + 2)


_CHILDREN = frozenset({"steps", "members", "merge", "on_failure_steps", "finally_steps"})


def _own(node: Node, depths: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...], Ref]]:
    for name in node.__struct_fields__:
        if name not in _CHILDREN:
            for ref in _refs_in(getattr(node, name)):
                yield node.path or "the workflow's outputs", depths, ref


def _refs_in(thing: object) -> Iterator[Ref]:
    match thing:
        case Ref():
            yield thing
        case Succeeded() | Failed():
            return
        case Struct():
            for name in thing.__struct_fields__:
                yield from _refs_in(getattr(thing, name))
        case tuple() | list():
            for one in thing:
                yield from _refs_in(one)
        case dict():
            for one in thing.values():
                yield from _refs_in(one)


def load(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The checked fields of a state file; None where there is none. Raises `WorkflowCheckpointError`."""
    return checkpoint_file.read(path)
