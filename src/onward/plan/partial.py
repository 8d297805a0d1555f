"""A document with mistakes of form → the mistakes of meaning that can be told all the same.

So that a person sees everything that is wrong with a file at once. What a mistake of form is about is left out of the
tree; should what remains still not be what planning may rely on, a stage stops there, and what it found until then
counts, unless it could follow from a mistake of form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from onward.errors import Place, Problem
from onward.plan.build import builder
from onward.plan.declarations import Declarations
from onward.plan.names import check_names
from onward.plan.report import Report
from onward.plan.skeleton import Skeleton
from onward.spec.document import Document, Entry, Mapping, Sequence, Tree

_TOLD = frozenset(
    {
        "template-in-script",
        "template-in-program",
        "interpreter-template",
        "unknown-name",
        "not-yet",
        "secret-in-text",
        "outside-directory",
        "env-reserved",
        "name-clash",
        "shadow",
    }
)
"""mistakes that stand by themselves; others may be echoes of a field that could not be read"""

_STUMBLES = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


def problems_of_meaning(
    document: Document, known: Iterable[Problem], given: Iterable[str] = ()
) -> list[Problem]:
    """Errors beyond those that are `known`. Never raises for what the document holds."""
    known = list(known)
    places = {problem.place for problem in known}
    pruned = _without(document.root, places)
    if not isinstance(pruned, Mapping):
        return []
    document = replace(document, root=pruned)
    report = Report()
    declarations = Declarations(report)
    sites: list[object] = []
    _as_far_as_possible(lambda: sites.append(Skeleton(report, declarations).root(document, given)))
    for site in sites:
        _as_far_as_possible(lambda site=site: check_names(report, site))  # type: ignore[misc]
        _as_far_as_possible(lambda site=site: builder(report, declarations).root(site))  # type: ignore[misc]
    said = " ".join(problem.message for problem in known)
    return [
        problem
        for problem in report.collector.errors
        if problem.code in _TOLD
        and problem.place not in places
        and not _is_echo(problem, said)
    ]


def _without(tree: Tree, places: set[Place]) -> Tree | None:
    """The tree without every key, value and item that stands at one of the places; None when all of it does."""
    if tree.place in places:
        return None
    if isinstance(tree, Sequence):
        items = (_without(item, places) for item in tree.items)
        return Sequence(items=tuple(item for item in items if item is not None), place=tree.place)
    if not isinstance(tree, Mapping):
        return tree
    entries = {}
    for name, entry in tree.entries.items():
        value = None if entry.key.place in places else _without(entry.value, places)
        if value is not None:
            entries[name] = Entry(key=entry.key, value=value)
    return Mapping(entries=entries, place=tree.place)


def _as_far_as_possible(stage: Callable[[], object]) -> None:
    try:
        stage()
    except _STUMBLES:
        return  # the mistakes of form are told, and they are why


def _is_echo(problem: Problem, said: str) -> bool:
    """Whether it is about a name that a mistake of form is about."""
    name = problem.message.partition("`")[2].partition("`")[0].strip("{} ").partition(".")[0]
    return bool(name) and f"`{name}`" in said
