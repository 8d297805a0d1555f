"""What a person wants done otherwise at a resume → the events that say so (`format.md` 5.3).

Paths are checked first; an error changes nothing. `rerun` also takes in everything that used a result of what is done
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from onward.errors import UsageError
from onward.model.events import Override
from onward.recovery.reruns import dependents
from onward.recovery.skips import skips_for
from onward.recovery.standing import is_edited, stale_paths
from onward.recovery.targets import check_place
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState, steps_of


class Choices(Struct, frozen=True, kw_only=True):
    """The flags of `onward resume` that set records aside or in place."""

    rerun: tuple[str, ...] = ()
    rerun_from: tuple[str, ...] = ()
    rerun_changed: bool = False
    rerun_stale: bool = False
    skip: tuple[str, ...] = ()
    done: tuple[str, ...] = ()
    refresh: tuple[str, ...] = ()
    variables: dict[str, str] = {}
    """new values of variables, which make what used the old ones stale"""

    def __bool__(self) -> bool:
        lists = (self.rerun, self.rerun_from, self.skip, self.done, self.refresh)
        return self.rerun_changed or self.rerun_stale or any(lists)


def overrides_for(state: RunState, choices: Choices, by: str) -> list[Override]:
    """The events, in the order in which they are to be recorded. Raises `UsageError` for a path that is none."""
    _refuse_contradictions(choices)
    events = [*_reruns(state, choices, by), *skips_for(state, choices.skip, by), *_done(state, choices.done, by)]
    asked = dict.fromkeys(choices.refresh)
    for path in asked:
        _check_loop(state, path)
        events.append(Override(path=path, action="refresh", by=by, reason="--refresh"))
    return events + [event for event in _refreshed_by_the_file(state) if event.path not in asked]


def _reruns(state: RunState, choices: Choices, by: str) -> Iterator[Override]:
    wanted: dict[str, str] = {}
    for path in choices.rerun:
        check_place(state, path)
        wanted.setdefault(path, "--rerun")
    for path in choices.rerun_from:
        check_place(state, path)
        for each in _from(state, path):
            wanted.setdefault(each, "--rerun-from" if each == path else f"it comes after `{path}`")
    if choices.rerun_changed:
        for instance in state.instances.values():
            if is_edited(instance) and instance.role is not Role.SECTION and instance is not state.root:
                wanted.setdefault(instance.path, "edited since it finished")
    if choices.rerun_stale:
        for path in sorted(stale_paths(state, choices.variables)):
            wanted.setdefault(path, "it used a result that was made again later")
    for path, reason in wanted.items():
        yield Override(path=path, action="rerun", by=by, reason=reason)
    for path, cause in dependents(state, set(wanted)) if wanted else ():
        yield Override(path=path, action="rerun", by=by, reason=f"it used the result of `{cause}`")


def _from(state: RunState, path: str) -> Iterator[str]:
    """The node, and all that was reached after it: later steps, later iterations, around it too."""
    yield path
    place = state.get(path)
    while place is not None and place.parent is not None:
        for later in _later(place, place.parent):
            if later in state.instances:
                yield later
        place = place.parent


def _later(child: Instance, parent: Instance) -> Iterator[str]:
    """Paths of what comes after `child` in the same list."""
    if child.role is Role.SECTION:
        return
    if child.role is Role.ITERATION:
        keys = [key for key, _ in parent.items or ()]
        if parent.items is None:  # rounds of a `while` or `until` loop are counted
            number = int(child.key)
            keys = [str(number + 1 + n) for n in range(parent.cursor + 1)]
        else:
            keys = keys[keys.index(child.key) + 1 :] if child.key in keys else []
        yield from (f"{parent.path}[{key}]" for key in keys)
        return
    prefix = f"{parent.path}/" if parent.path else ""
    found = False
    for step in steps_of(parent):
        if found:
            yield from (prefix + node.name for node in step)
        found = found or any(prefix + node.name == child.path for node in step)


def _done(state: RunState, paths: Iterable[str], by: str) -> Iterator[Override]:
    for path in dict.fromkeys(paths):
        check_place(state, path)
        instance = state.get(path)
        if instance is not None and instance.ended and instance.status.passed:
            raise UsageError(f"`{path}` is done already", help="`--rerun` does it again")
        yield Override(path=path, action="done", by=by, reason="--done")


def _refreshed_by_the_file(state: RunState) -> Iterator[Override]:
    """Loops with `refresh: true` that are not over read their items once more at every resume."""
    for instance in state.instances.values():
        loop = instance.node.loop if instance.role is Role.LOOP and instance.node is not None else None
        over = instance.ended and instance.status.passed
        if loop is not None and loop.refresh and instance.items is not None and not over:
            yield Override(path=instance.path, action="refresh", by="workflow", reason="refresh: true")


def _refuse_contradictions(choices: Choices) -> None:
    """A node is either left out, or done already, or read again; a later flag does not silently win."""
    asked = {"--skip": choices.skip, "--done": choices.done, "--refresh": choices.refresh, "--rerun": choices.rerun}
    asked["--rerun-from"] = choices.rerun_from
    for one, other in _EXCLUDE:
        for path in asked[one]:
            if path in asked[other]:
                raise UsageError(f"`{path}`: {one} and {other} cannot both be done", help="give one of them")


_EXCLUDE = (
    ("--skip", "--done"),
    ("--skip", "--refresh"),
    ("--done", "--refresh"),
    ("--rerun", "--done"),
    ("--rerun-from", "--done"),
    ("--rerun", "--skip"),
    ("--rerun-from", "--skip"),
)


def _check_loop(state: RunState, path: str) -> None:
    check_place(state, path)
    instance = state.get(path)
    node = state.index.get(path) if instance is None else instance.node if instance.role is Role.LOOP else None
    if node is None or node.loop is None or node.loop.counted:
        raise UsageError(f"`{path}` is no loop over a list of items", help="`onward show` lists the nodes")
