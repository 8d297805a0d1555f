"""Names that may not meet (`format.md` 3.3, `settled.md` 38), and what `needs` names."""

from __future__ import annotations

from onward.model.nodes import Kind
from onward.plan.report import Report, Where
from onward.plan.scope import TAKEN, LoopRung, Rung, View, rungs, visible
from onward.plan.site import Site
from onward.plan.suggest import nearest
from onward.plan.trees import items
from onward.spec.document import Entry, Mapping, Scalar

_TAKEN = frozenset(TAKEN)
_TAKEN_BELOW = frozenset({"results", "status", "hand-off"})


def check_names(report: Report, root: Site) -> None:
    """Report every task, loop variable and `needs` whose name clashes, hides another, or names nothing."""
    for site in root.walk():
        if site.name:
            _check_task(report, site)
        if site.item is not None:
            _check_loop_variable(report, site)
        if site.kind is Kind.PARALLEL and any(member.needs for member in site.body.names.values()):
            _check_needs(report, site)


def check_output_name(report: Report, name: str, entry: Entry, site: Site) -> None:
    """Outputs and nodes of a container are addressed in the same way."""
    child = site.body.names.get(name) or site.merge.names.get(name)
    if child is not None and site.name:
        message = f"`{{{{{site.name}.{name}}}}}` could be the output or the task `{name}` (line {child.line})"
        report.error("name-clash", message, Where(site.file.document, entry.key, site), "rename one of them")


def _check_task(report: Report, site: Site) -> None:
    name = site.name
    if name in _TAKEN:
        _clash(report, site, f"`{name}` is a word of the format, so no task can be called that")
    elif name in site.file.variables:
        _clash(report, site, f"`{name}` is both a task and a variable, so a reference could mean either")
    elif name in _TAKEN_BELOW and site.parent is not None and site.parent.name:
        _clash(report, site, f"`{{{{{site.parent.name}.{name}}}}}` is a part of every result")
    elif site.parent is not None and (site.parent.name or site.section):
        _check_hiding(report, site)


def _check_hiding(report: Report, site: Site) -> None:
    """A task below others has the name of one that it can see."""
    siblings = True
    for rung in rungs(View(site, site.file, iteration=False)):
        if isinstance(rung, LoopRung):
            if rung.site.item == site.name:
                _shadow(report, site, f"the loop variable of `{rung.site.name}`", rung.site.line)
                return
        elif not isinstance(rung, Rung):
            if rung.site.name == site.name:
                _shadow(report, site, "the task around it", rung.site.line)
                return
        elif siblings:
            siblings = False
        else:
            found = visible(rung, site.name, site.file)
            if found is not None:
                _shadow(report, site, "another task that is visible here", found.site.line)
                return


def _check_loop_variable(report: Report, site: Site) -> None:
    name = site.item or ""
    loop = site.get("loop")
    named = loop.get("as") if isinstance(loop, Mapping) else None
    where = Where(site.file.document, site.key if named is None else named, site)
    help = "choose another name with `as`"
    if name in _TAKEN:
        report.error("name-clash", f"`{name}` is a word of the format, so no variable can be called that", where, help)
    elif name in site.file.variables:
        report.error("shadow", f"the loop variable `{name}` hides the variable `{name}`", where, help)
    else:
        hidden = _hidden_by_loop(site, name)
        if hidden is not None:
            report.error("shadow", f"the loop variable `{name}` hides {hidden}", where, help)


def _hidden_by_loop(site: Site, name: str) -> str | None:
    for rung in rungs(View(site, site.file, iteration=False)):
        if isinstance(rung, LoopRung):
            if rung.site.item == name:
                return f"that of `{rung.site.name}` (line {rung.site.line})"
        elif isinstance(rung, Rung):
            found = visible(rung, name, site.file)
            if found is not None:
                return f"the task `{name}` (line {found.site.line})"
    return None


def _clash(report: Report, site: Site, message: str) -> None:
    report.error("name-clash", message, Where(site.file.document, site.key, site), "rename the task")


def _shadow(report: Report, site: Site, what: str, line: int) -> None:
    message = f"`{site.name}` hides {what} (line {line})"
    report.error("shadow", message, Where(site.file.document, site.key, site), "rename one of them")


# --- needs --------------------------------------------------------------------------------------------------------


def _check_needs(report: Report, group: Site) -> None:
    members = group.body.names
    for member in members.values():
        for scalar in items(member.get("needs")):
            if isinstance(scalar, Scalar) and scalar.text not in members:
                _unknown_need(report, member, scalar, members)
    cycle = _cycle(members)
    if cycle:
        first = members[cycle[0]]
        where = Where(first.file.document, first.fields["needs"].value, first)
        chain = " → ".join(f"`{name}`" for name in (*cycle, cycle[0]))
        report.error("needs-cycle", f"these wait for each other for ever: {chain}", where, "remove one of the `needs`")


def _unknown_need(report: Report, member: Site, scalar: Scalar, members: dict[str, Site]) -> None:
    near = nearest(scalar.text, (name for name in members if name != member.name))
    help = f"did you mean `{near}`?" if near else f"its members are {', '.join(f'`{name}`' for name in members)}"
    message = f"`{member.name}` needs `{scalar.text}`, and the group has no member of that name"
    report.error("unknown-name", message, Where(member.file.document, scalar, member), help)


def _cycle(members: dict[str, Site]) -> list[str]:
    """Names of which each needs the next, and the last the first; empty when there is no such ring."""
    from graphlib import CycleError, TopologicalSorter

    graph = {name: [each for each in site.needs if each in members] for name, site in members.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        ring: list[str] = error.args[1]
        return ring[:0:-1]
    return []
