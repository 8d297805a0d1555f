"""Two plans of one workflow -> what was edited (`format.md` 5.4).

Nodes are the same when they have the same path, or a `was` that leads to the old one. Of a subtree that is new, gone or
moved only the topmost node is told.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum

from onward.model.events import Change
from onward.model.nodes import Node, Plan

Steps = tuple[tuple[Node, ...], ...]


class Edit(StrEnum):
    """What can have happened to a node; the words of `Change.change`."""

    EDITED = "edited"
    """its definition hash differs"""
    ADDED = "added"
    """no node of that path was there"""
    REMOVED = "removed"
    """no node of that path is there any more; `path` is the old one"""
    MOVED = "moved"
    """it stands before or after another one than it did"""
    RENAMED = "renamed"
    """`was` names the old one; `path` is the new one"""


def compare(old: Plan, new: Plan) -> list[Change]:
    """Every difference, in the order of the new file; what was removed comes last of its list."""
    return [_change(new, path, edit) for path, edit in _node(old.root, new.root)]


def _change(new: Plan, path: str, edit: Edit) -> Change:
    if edit is not Edit.RENAMED:
        return Change(path=path, change=edit.value)
    above, _, _ = path.rpartition("/")
    was = next(node.was for node in new.root.walk() if node.path == path)
    return Change(path=path, change=edit.value, former=f"{above}/{was}" if above else was or "")


def renames(old: Plan, new: Plan) -> dict[str, str]:
    """New path -> old path of every node that `was` keeps, and of all below it that are still there."""
    return {b.path: a.path for a, b in _pairs(old.root, new.root) if a.path != b.path}


def _node(old: Node, new: Node) -> Iterator[tuple[str, Edit]]:
    if old.digest != new.digest:
        yield new.path, Edit.EDITED
    for before, after in _lists(old, new):
        yield from _list(before, after)


def _list(old: Steps, new: Steps) -> Iterator[tuple[str, Edit]]:
    kept = _kept(old, new)
    moved = _moved(old, new, kept)
    for node in _nodes(new):
        former = kept.get(node.name)
        if former is None:
            yield node.path, Edit.ADDED
            continue
        if former.name != node.name:
            yield node.path, Edit.RENAMED
        if node.name in moved:
            yield node.path, Edit.MOVED
        yield from _node(former, node)
    still_there = {former.name for former in kept.values()}
    for former in _nodes(old):
        if former.name not in still_there:
            yield former.path, Edit.REMOVED


def _pairs(old: Node, new: Node) -> Iterator[tuple[Node, Node]]:
    """The nodes that are the same in both."""
    yield old, new
    for before, after in _lists(old, new):
        kept = _kept(before, after)
        for node in _nodes(after):
            if node.name in kept:
                yield from _pairs(kept[node.name], node)


def _lists(old: Node, new: Node) -> Iterator[tuple[Steps, Steps]]:
    """The lists below two nodes; steps and members are the same list when a sequence became a group."""
    yield _body(old), _body(new)
    yield old.merge, new.merge
    yield old.on_failure_steps, new.on_failure_steps
    yield old.finally_steps, new.finally_steps


def _body(node: Node) -> Steps:
    return node.steps or ((node.members,) if node.members else ())


def _nodes(steps: Steps) -> Iterator[Node]:
    for step in steps:
        yield from step


def _kept(old: Steps, new: Steps) -> dict[str, Node]:
    """Name in the new list -> the old node it goes on from."""
    before = {node.name: node for node in _nodes(old)}
    after = {node.name for node in _nodes(new)}
    kept = {name: before[name] for name in after if name in before}
    for node in _nodes(new):
        was = node.was
        if node.name not in kept and was is not None and was in before and was not in after:
            kept[node.name] = before[was]
    return kept


def _moved(old: Steps, new: Steps, kept: dict[str, Node]) -> set[str]:
    """The fewest nodes whose moving explains the new order; the order inside a group means nothing."""
    old_place = {node.name: place for place, step in enumerate(old) for node in step}
    names: list[str] = []
    for step in new:
        names.extend(sorted((n.name for n in step if n.name in kept), key=lambda name: old_place[kept[name].name]))
    places = [old_place[kept[name].name] for name in names]
    return set(names) - {names[i] for i in _longest_ascent(places)}


def _longest_ascent(places: list[int]) -> list[int]:
    """Indexes of a longest subsequence that never falls."""
    ends: list[int] = []
    tails: list[int] = []
    before: list[int] = []
    for i, place in enumerate(places):
        at = bisect_right(ends, place)
        before.append(tails[at - 1] if at else -1)
        ends[at : at + 1] = [place]
        tails[at : at + 1] = [i]
    found: list[int] = []
    i = tails[-1] if tails else -1
    while i >= 0:
        found.append(i)
        i = before[i]
    return found[::-1]
