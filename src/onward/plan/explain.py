"""A reference that resolves to nothing -> what is wrong with it and what to write instead."""

from __future__ import annotations

from msgspec import Struct

from onward.plan.results import NoResult, written
from onward.plan.scope import OwnRung, Rung, View, rungs, visible, words_in_sight
from onward.plan.site import Section, Site, Workflow
from onward.plan.suggest import nearest
from onward.plan.template import Reference, literal

_MOST_SUGGESTIONS = 100


class Fault(Struct, frozen=True):
    """A mistake in words. `strange` tells that the name is like nothing there is."""

    code: str
    message: str
    help: str | None = None
    strange: bool = False


def no_result(fault: NoResult) -> Fault:
    """A node is there, but not the part of it that is asked for."""
    return Fault("unknown-field", fault.message, fault.help)


def unknown(view: View, reference: Reference) -> Fault:
    """The head of the reference names nothing that is visible."""
    head = reference.head
    return (
        _secret(view, head)
        or _misplaced_word(head)
        or _not_yet(view, reference)
        or _whole_loop(view, head)
        or _dotted(view, reference)
        or _misspelt(view, reference)
        or _elsewhere(view, reference)
        or Fault("unknown-name", _nothing(head), _literally(reference), strange=True)
    )


def resembling(view: View, reference: Reference) -> tuple[str, str] | None:
    """The visible name that the head looks like, with the word for what it is. A task is never meant without more."""
    words = {name: word for word, name in words_in_sight(view)}
    name = nearest(reference.head, words)
    if name is not None:
        return words[name], name
    task = nearest_task(view.file, reference.head) if reference.steps else None
    return ("task", task) if task is not None and _sees(view, task) else None


def nearest_task(file: Workflow, head: str) -> str | None:
    """The task of the file that the head looks like. Thousands of mistakes need no suggestion each."""
    if head not in file.slips and len(file.slips) < _MOST_SUGGESTIONS:
        file.slips[head] = nearest(head, file.names())
    return file.slips.get(head)


def _sees(view: View, name: str) -> bool:
    return any(
        visible(rung, name, view.file) is not None
        if isinstance(rung, Rung)
        else isinstance(rung, OwnRung) and rung.site.name == name
        for rung in rungs(view)
    )


def _secret(view: View, head: str) -> Fault | None:
    if head not in view.file.secrets:
        return None
    help = f"release it with `secrets: [{head}]`; the task finds it in its environment"
    return Fault("secret-in-text", f"the secret `{head}` cannot be put into text", help)


def _misplaced_word(head: str) -> Fault | None:
    if head == "self":
        return Fault(
            "unknown-name",
            "`self` is the node's own result, which does not exist here",
            "use it in `validators`, `ensure.after`, `outputs`, `hand-off`, or a loop's `until` or `while`",
        )
    if head == "previous":
        return Fault(
            "unknown-name",
            "`previous` is the last round of a `while` or `until` loop, and there is none around this",
            "name the task itself, or wrap the node in such a loop",
        )
    if head == "index":
        return Fault("unknown-name", "`index` is the number of an iteration, and there is no loop around this", None)
    return None


def _not_yet(view: View, reference: Reference) -> Fault | None:
    """The node exists and runs later, at the same time, or is the one around."""
    head = reference.head
    for rung in rungs(view):
        if isinstance(rung, Rung) and rung.before is not None:
            site = rung.names.get(head)
            if site is rung.before:
                return _itself(view, site)
            if site is not None and site.file is view.file:
                return _later(site, rung.before)
        elif isinstance(rung, OwnRung) and rung.site.name == head:
            return None
    return None


def _itself(view: View, site: Site) -> Fault:
    if site is view.site:
        message = f"`{site.name}` has not ended here, so it has no result yet"
        help = "`{{self.…}}` is its own result: in `validators`, `ensure.after`, `outputs`, `until` and `while`"
        return Fault("not-yet", message, help)
    return Fault(
        "not-yet",
        f"`{site.name}` is around this node and has not ended, so it has no result yet",
        "inside it, name its nodes directly",
    )


def _later(site: Site, before: Site) -> Fault:
    together = "tasks under one dash run together and cannot see each other"
    if site.order == before.order:
        message = f"`{site.name}` runs at the same time as `{before.name}` (line {site.line})"
        way = f"give `{before.name}` a `needs: [{site.name}]`" if _in_parallel(site) else "give it a dash of its own"
        return Fault("not-yet", f"{message}, so its result does not exist yet", f"{way} ({together})")
    return Fault(
        "not-yet",
        f"`{site.name}` runs later than `{before.name}` (line {site.line}), so its result does not exist yet",
        f"move `{before.name}` after `{site.name}` ({together})",
    )


def _in_parallel(site: Site) -> bool:
    return site.section is Section.BODY and site.parent is not None and site.parent.kind == "parallel"


def _whole_loop(view: View, head: str) -> Fault | None:
    site = view.site
    if view.iteration or not site.looped or head not in (site.item, "index", "previous"):
        return None
    return Fault(
        "unknown-name",
        f"`{head}` differs from iteration to iteration, and this field belongs to the whole loop",
        "use it in the other fields of the node, or in the nodes inside",
    )


def _dotted(view: View, reference: Reference) -> Fault | None:
    """`{{T1.3.text}}` where a task is called `T1.3`."""
    name = reference.head
    for i, step in enumerate(reference.steps):
        name = f"{name}.{step.value}"
        if view.file.called(name) and _sees(view, name):
            rest = written(reference.steps[i + 1 :])
            return Fault("unknown-name", _nothing(reference.head), f'write `{{{{["{name}"]{rest}}}}}`')
    return None


def _misspelt(view: View, reference: Reference) -> Fault | None:
    found = resembling(view, reference)
    if found is None:
        return None
    word, name = found
    help = f"did you mean the {word} `{name}`? {_literally(reference)}"
    return Fault("unknown-name", _nothing(reference.head), help)


def _elsewhere(view: View, reference: Reference) -> Fault | None:
    """A node of that name lies inside a container that can be seen."""
    for site in view.file.called(reference.head):
        path = [site.name]
        around = site.parent
        while around is not None and around.file is view.file and around.name:
            path.insert(0, around.name)
            if _sees(view, around.name):
                return _inside_other(around, ".".join(path), reference)
            around = around.parent
    return None


def _inside_other(site: Site, path: str, reference: Reference) -> Fault:
    message = f"{_nothing(reference.head)}: it lies inside `{site.name}` (line {site.line})"
    if site.looped:
        return Fault("unknown-name", message, f"what a loop leaves behind is `{{{{{site.name}.results}}}}`")
    return Fault("unknown-name", message, f"write `{{{{{path}{written(reference.steps)}}}}}`")


def _nothing(head: str) -> str:
    return f"nothing called `{head}` is visible here"


def _literally(reference: Reference) -> str:
    return f"For literal text write {literal('{{' + reference.source + '}}')}"
