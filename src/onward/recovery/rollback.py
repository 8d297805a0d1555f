"""A run as it stands, and as it stood at a snapshot → what has to be done again to go back there (`settled.md` 82).

History stays. Each node that has moved since the snapshot is set aside by an `override`, so it is done again when the
run goes on; its effects may then happen a second time, which is why `repeated` names them.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from onward.errors import OnwardError
from onward.journal.reader import read
from onward.model.events import Override
from onward.model.nodes import Plan
from onward.state.fold import fold
from onward.state.instance import Instance, Role, Stage
from onward.state.run_state import RunState
from onward.store.folder import RunFolder


class NotOfThisRun(OnwardError):
    """A snapshot that does not fit the journal of the run."""

    code = "snapshot-of-another-run"


class Rollback(Struct, frozen=True, kw_only=True):
    """What goes into the journal, the tasks that run a second time, and the variables as they were."""

    overrides: tuple[Override, ...]
    repeated: tuple[str, ...]
    lost: tuple[str, ...]
    """tasks that were done at the snapshot and are not any more: their results cannot be brought back"""
    variables: dict[str, str]


def rollback_to(folder: RunFolder, state: RunState, *, seq: int, chain: str, name: str, by: str) -> Rollback:
    """How to bring a run back to event `seq`, whose line ends with `chain`. Raises `NotOfThisRun`."""
    then = state_at(folder, state.plan, seq, chain, name)
    paths = list(moved(state, then))
    reason = f"rolled back to {name}"
    return Rollback(
        overrides=tuple(Override(path=path, action="rerun", by=by, reason=reason) for path in paths),
        repeated=tuple(_repeated(state, paths)),
        lost=tuple(_lost(state, then)),
        variables=then.facts.variables,
    )


def state_at(folder: RunFolder, plan: Plan, seq: int, chain: str, name: str) -> RunState:
    """The state after event `seq`. The chain proves that the snapshot is of this journal."""
    state = RunState(plan)
    for event in read(folder.journal):
        if event.seq > seq:
            break
        fold(state, event)
    found = _chain_of(folder, seq)
    if state.facts.seq != seq or (chain and found != chain):
        raise NotOfThisRun(
            f"{name} does not fit the journal of run `{folder.run_id}`: it was taken of another event {seq}",
            help="choose another snapshot: `onward snapshot list`",
        )
    return state


def _chain_of(folder: RunFolder, seq: int) -> str:
    mark, ending = f'"seq":{seq},'.encode(), b'"chain":"'
    with open(folder.journal, "rb") as file:
        for line in file:
            if mark in line[:120]:
                return line.rpartition(ending)[2].partition(b'"')[0].decode("ascii", "replace")
    return ""


# ---------------------------------------------------------------- what has moved


def moved(now: RunState, then: RunState) -> Iterator[str]:
    """Paths of nodes to be done again; none of them lies below another."""
    chosen: list[str] = []
    for instance in sorted(now.instances.values(), key=lambda one: one.path.count("/")):
        if not instance.path or instance.role is Role.SECTION or _covered(instance.path, chosen):
            continue
        if _has_moved(instance, then.get(instance.path)):
            chosen.append(instance.path)
    order = {path: number for number, path in enumerate(now.instances)}
    yield from sorted(chosen, key=lambda path: order[path])


def _has_moved(now: Instance, then: Instance | None) -> bool:
    if not _is_touched(now):
        return False
    if then is None or not _is_touched(then):
        return True
    if now.role is Role.LOOP or not now.is_leaf:
        return then.items is None and now.items is not None
    return now.ended_seq != then.ended_seq or now.attempt != then.attempt


def _is_touched(instance: Instance) -> bool:
    """Whether an event was about the node since it was last set aside."""
    if instance.role is Role.ITERATION and instance.asked:
        return True
    return instance.stage is not Stage.NEW


def _covered(path: str, chosen: list[str]) -> bool:
    return any(path.startswith((f"{other}/", f"{other}[")) for other in chosen)


def _repeated(now: RunState, paths: list[str]) -> Iterator[str]:
    """Tasks that have run already and will run again."""
    for instance in now.instances.values():
        has_run = instance.works and instance.attempt and instance.ended
        if has_run and (instance.path in paths or _covered(instance.path, paths)):
            yield instance.path


def _lost(now: RunState, then: RunState) -> Iterator[str]:
    for instance in then.instances.values():
        if instance.is_leaf and instance.ended and instance.status.passed:
            present = now.get(instance.path)
            if present is None or present.stage is Stage.NEW or present.ended_seq != instance.ended_seq:
                yield instance.path
