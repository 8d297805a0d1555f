"""What is visible where (`format.md` 4.1), and how many instance levels lead there (see `onward.plan.site`).

A node sees variables, loop variables, earlier siblings, and earlier siblings of its ancestors. Some fields and lists
see more, because they come after the nodes below: `merge`, `on-failure`, `finally`, `outputs`, `hand-off`,
`ensure.after` and the condition of a `while` or `until` loop see the nodes inside. An `include` is a closed scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onward.model.nodes import Kind
from onward.plan.site import Section, Site, Steps, Workflow

RESERVED = ("datetime", "run_id", "workflow_file", "workflow_name", "attempt")
"""what every place sees"""
TAKEN = (*RESERVED, "self", "index", "previous")
"""no task, variable or loop variable has these names"""


class View(NamedTuple):
    """From where a field looks: its node, and whether it belongs to each iteration or to the loop as a whole.

    `inside` fields see the nodes below, `own` fields the node's own result (`self`). `file` is the workflow whose
    names count: for what an included file says about its `include` node that is the included one.
    """

    site: Site
    file: Workflow
    iteration: bool = True
    inside: bool = False
    own: bool = False

    @property
    def depth(self) -> int:
        """Instance levels up to the one that holds the variables."""
        if self.file is not self.site.file:
            return 0
        return self.site.inner_depth if self.iteration else self.site.depth


class Rung(NamedTuple):
    """One list of names on the way up. `before` is the node one comes from: later ones are not visible.

    `prefix` leads from the instance `up` levels above to the list. `ended` tells that the list may have been left
    early, so that a node in it may have no result.
    """

    up: int
    names: dict[str, Site]
    before: Site | None = None
    prefix: str = ""
    may_lack: bool = False


class LoopRung(NamedTuple):
    """A surrounding loop, `up` leads to its iteration."""

    up: int
    site: Site


class OwnRung(NamedTuple):
    """The node around a section, by its own name: `up` leads to the instance above it (or to itself: `self_up`).

    Before it has ended (in `merge`) only what lies below it can be asked for.
    """

    up: int
    site: Site
    ended: bool
    self_up: int | None = None


def rungs(view: View) -> Iterator[Rung | LoopRung | OwnRung]:
    """All that a view sees, from the inside to the outside."""
    site, up = view.site, 0
    in_iteration = view.iteration or not site.looped
    if view.inside and in_iteration:
        yield from _inside(site, view.file, 0)
    if view.file is not site.file:
        return
    while True:
        if site.looped and in_iteration:
            yield LoopRung(up, site)
            up += 1
        parent = site.parent
        if parent is None:
            return
        up += 1
        if site.section:
            yield Rung(up, _of(parent, site.section).names, before=site)
            up += 1
            in_iteration = site.section is Section.ON_FAILURE or not parent.looped
            yield from _around_section(site, parent, up, in_iteration)
        else:
            yield Rung(up, parent.body.names, before=site)
            in_iteration = True
        if parent.file is not site.file:
            return
        site = parent


def _around_section(site: Site, parent: Site, up: int, in_iteration: bool) -> Iterator[Rung | OwnRung]:
    may_lack = site.section is not Section.MERGE
    if in_iteration:
        yield from _inside(parent, site.file, up, may_lack=may_lack, merged=may_lack)
    if parent.name and parent.file is site.file:
        # The iteration that failed has no name that is known before the run; `self`, seen from below, means it.
        self_up = up if parent.looped and in_iteration else None
        above = up + 1 + (parent.looped and in_iteration)
        yield OwnRung(above, parent, ended=may_lack, self_up=self_up)


def _inside(site: Site, file: Workflow, up: int, *, may_lack: bool = False, merged: bool = True) -> Iterator[Rung]:
    """The nodes below a node, unless they are those of another file."""
    if site.inner is None or site.inner is file:
        yield Rung(up, site.body.names, may_lack=may_lack)
    if merged and site.merge and not site.looped:
        yield Rung(up, site.merge.names, prefix=Section.MERGE, may_lack=may_lack)


def _of(site: Site, section: Section) -> Steps:
    match section:
        case Section.BODY:
            return site.body
        case Section.MERGE:
            return site.merge
        case Section.ON_FAILURE:
            return site.on_failure
        case Section.FINALLY:
            return site.finally_


class Found(NamedTuple):
    """A visible node: `up` levels above, `node` is its path from there."""

    up: int
    node: str
    site: Site
    may_lack: bool = False


def visible(rung: Rung, name: str, file: Workflow) -> Found | None:
    """The node of that name on the rung, if it has ended by then."""
    site = rung.names.get(name)
    if site is None or site.file is not file or not comes_before(site, rung.before):
        return None
    node = f"{rung.prefix}/{name}" if rung.prefix else name
    return Found(rung.up, node, site, rung.may_lack)


def comes_before(site: Site, other: Site | None) -> bool:
    """Whether `site` has ended when `other`, of the same list, begins."""
    if other is None or site.order < other.order:
        return True
    return site.order == other.order and site is not other and site.name in needed(other)


def needed(site: Site) -> set[str]:
    """The members that a member of a `parallel` waits for, directly or through others."""
    if not site.needs or site.parent is None or site.parent.kind is not Kind.PARALLEL:
        return set()
    members = site.parent.body.names
    found: set[str] = set()
    waiting = list(site.needs)
    while waiting:
        name = waiting.pop()
        if name not in found and name in members:
            found.add(name)
            waiting.extend(members[name].needs)
    return found


def words_in_sight(view: View) -> Iterator[tuple[str, str]]:
    """Every visible name but those of tasks, after the word for what it is."""
    for name in view.file.variables:
        yield "variable", name
    for rung in rungs(view):
        if isinstance(rung, LoopRung):
            if rung.site.item:
                yield "loop variable", rung.site.item
            yield "name", "index"
            if rung.site.counted:
                yield "name", "previous"
    for name in RESERVED:
        yield "name", name
    if view.own:
        yield "name", "self"
