"""Documents -> the skeleton of sites: names, kinds, places in the tree, included files and what they declare."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from msgspec import Struct

from onward.model.nodes import Kind
from onward.plan.declarations import Declarations
from onward.plan.report import Report, Where
from onward.plan.site import NO_STEPS, Section, Site, Steps, Workflow
from onward.plan.trees import entries, keys, scalar_text, scalars
from onward.spec.document import Document, Entry, Mapping, Scalar, Sequence, Tree

_KINDS = {str(kind): kind for kind in Kind}
_FROM_INCLUDED = ("on-failure", "timeout", "budget", "limit")


class Skeleton(Struct):
    """Builds the sites of a workflow and of all that it includes."""

    report: Report
    declarations: Declarations

    def root(self, document: Document, given: Iterable[str]) -> Site:
        """The site of the whole workflow."""
        file = self.declarations.workflow(document, given=frozenset(given))
        place = document.root.place
        root = Site(
            name="",
            path="",
            kind=Kind.TASK,
            key=Scalar(text="", place=place),
            fields=document.root.entries,
            file=file,
        )
        self._fill(root)
        return root

    def _fill(self, site: Site) -> None:
        """Add the nodes below a site that is no `include`."""
        body = site.get("task") or site.get("parallel")
        if body is not None:
            site.body = self._steps(body, site, Section.BODY, site.file, site.inner_depth + 1)
        self._fill_sections(site)

    def _fill_sections(self, site: Site) -> None:
        fields = site.fields
        if "merge" in fields:
            site.merge = self._steps(fields["merge"].value, site, Section.MERGE, site.file, site.depth + 2)
        if "on-failure" in fields:
            site.on_failure = self._failure_steps(fields["on-failure"].value, site, site.file, site.inner_depth + 2)
        if "finally" in fields:
            site.finally_ = self._steps(fields["finally"].value, site, Section.FINALLY, site.file, site.depth + 2)

    def _failure_steps(self, value: Tree, owner: Site, file: Workflow, depth: int) -> Steps:
        steps = value.get("task") if isinstance(value, Mapping) else None
        return NO_STEPS if steps is None else self._steps(steps, owner, Section.ON_FAILURE, file, depth)

    def _steps(self, tree: Tree, owner: Site, section: Section, file: Workflow, depth: int) -> Steps:
        names: dict[str, Site] = {}
        steps: list[tuple[Site, ...]] = []
        prefix = "/".join(part for part in (owner.path, section) if part)
        for order, group in enumerate(_groups(tree)):
            step = []
            for name, entry in group.entries.items():
                path = f"{prefix}/{name}" if prefix else name
                site = self._site(name, path, entry, owner, section, file, order, depth)
                names[name] = site
                step.append(site)
            steps.append(tuple(step))
        return Steps(tuple(steps), names)

    def _site(
        self, name: str, path: str, entry: Entry, owner: Site, section: Section, file: Workflow, order: int, depth: int
    ) -> Site:
        own = entry.value.entries if isinstance(entry.value, Mapping) else {}
        kind = next((_KINDS[key] for key in own if key in _KINDS), Kind.TASK)
        defaults = file.defaults.get(kind) if file.defaults else None
        site = Site(
            name=name,
            path=path,
            kind=kind,
            key=entry.key,
            fields=own if defaults is None else {**defaults.entries, **own},
            file=file,
            parent=owner,
            section=section,
            order=order,
            depth=depth,
        )
        file.sites.append(site)
        if "loop" in site.fields:
            _mark_loop(site, site.fields["loop"].value)
        if "needs" in site.fields:
            site.needs = tuple(scalar.text for scalar in scalars(site.fields["needs"].value))
        if kind is Kind.INCLUDE:
            self._include(site, own["include"].value)
        elif kind.leaf:
            self._fill_sections(site)
        else:
            self._fill(site)
        return site

    def _include(self, site: Site, value: Tree) -> None:
        """Put the nodes of the included file in place. What both files say about the node, the outer one decides."""
        own = site.fields
        self._fill_sections(site)
        document = site.file.document.includes.get(value.text) if isinstance(value, Scalar) else None
        if document is None:
            return
        site.inner = inner = self.declarations.workflow(
            document,
            shown=posixpath.normpath(posixpath.join(posixpath.dirname(site.file.shown), scalar_text(value))),
            given=frozenset(keys(site.get("with"))),
            typed=frozenset(_typed(site.get("with"))),
            outer=site.file,
        )
        theirs = document.root.entries
        site.fields = {**{key: theirs[key] for key in _FROM_INCLUDED if key in theirs}, **own}
        site.body = self._steps(theirs["task"].value, site, Section.BODY, inner, 1)
        if "on-failure" in theirs and "on-failure" not in own:
            site.on_failure = self._failure_steps(theirs["on-failure"].value, site, inner, 2)
        if "finally" in theirs:
            self._put_first(site, self._steps(theirs["finally"].value, site, Section.FINALLY, inner, 2))

    def _put_first(self, site: Site, theirs: Steps) -> None:
        """The final steps of an included file come before those of the node itself."""
        if site.looped:
            self.report.error(
                "finally-in-loop",
                f"the file that `{site.name}` includes has `finally`, which a loop runs once and not per iteration",
                Where(site.file.document, site.key, site),
                f"put the include into a task of its own: `{site.name}: {{loop: …, task: [- one: {{include: …}}]}}`",
            )
            return
        own = site.finally_
        for name in theirs.names.keys() & own.names.keys():
            self.report.error(
                "duplicate-task",
                f"the name `{name}` is used twice in `finally`: in the included file and here",
                Where(site.file.document, own.names[name].key, site),
                "rename one of them",
            )
        for each in own.names.values():
            each.order += len(theirs.steps)
        site.finally_ = Steps(theirs.steps + own.steps, {**theirs.names, **own.names})


def _groups(tree: Tree) -> Iterator[Mapping]:
    """The steps of a list; a `parallel` mapping is one step."""
    if isinstance(tree, Mapping):
        yield tree
    elif isinstance(tree, Sequence):
        yield from (item for item in tree.items if isinstance(item, Mapping))


def _mark_loop(site: Site, loop: Tree) -> None:
    if not isinstance(loop, Mapping):
        return
    site.looped = True
    site.counted = "while" in loop.entries or "until" in loop.entries
    if not site.counted:
        named = loop.get("as")
        site.item = named.text if isinstance(named, Scalar) else "item"


def _typed(given: Tree | None) -> Iterator[str]:
    """Names in `with` whose value is not certainly text."""
    for name, entry in entries(given):
        if not isinstance(entry.value, Scalar) or "{{" in entry.value.text:
            yield name
