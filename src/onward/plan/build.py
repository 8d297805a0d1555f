"""The skeleton of sites -> the nodes of the plan.

Every field of every node is read first, so that all references are known; then the frozen nodes are made from the
inside to the outside.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from onward.model.nodes import Included, Kind, Node
from onward.model.values import Text
from onward.plan.conditions import Conditions
from onward.plan.declarations import Declarations
from onward.plan.digest import definition_digest, rest_digest
from onward.plan.fields import Fields
from onward.plan.leaves import Leaves
from onward.plan.loops import Loops
from onward.plan.programs import Programs
from onward.plan.report import Report
from onward.plan.resolver import Resolver
from onward.plan.scope import View
from onward.plan.site import Site, Steps, Workflow
from onward.plan.trees import scalar_text

_NO_ENV: dict[str, Text] = {}
_NO_WITH: dict[str, Any] = {}
_ROOT_FIELDS = ("env", "outputs", "on-failure", "timeout", "budget")

NodeSteps = tuple[tuple[Node, ...], ...]


class Builder(Struct):
    """Reads sites and makes nodes. `digests` gathers one line per node for the digest of the plan."""

    fields: Fields
    leaves: Leaves
    programs: Programs
    digests: list[str] = field(default_factory=list)

    def root(self, site: Site) -> Node:
        """The root node with all that lies below it."""
        self._read_root(site)
        self.programs.settle()
        return self._node(site)

    # --- reading ------------------------------------------------------------------------------------------

    def _read_root(self, site: Site) -> None:
        document_fields = site.fields
        site.fields = {key: document_fields[key] for key in _ROOT_FIELDS if key in document_fields}
        site.read = self.fields.read(site)
        self._read_below(site)

    def _read(self, site: Site) -> None:
        site.read = read = self.fields.read(site)
        work = self.leaves.work(site, View(site, site.file))
        if work is not None:
            read["work"] = work
        elif site.inner is not None:
            self._read_include(site, site.inner, read)
        self._read_below(site)

    def _read_below(self, site: Site) -> None:
        for section in site.sections():
            for step in section.steps:
                for child in step:
                    self._read(child)

    def _read_include(self, site: Site, inner: Workflow, read: dict[str, Any]) -> None:
        """What the included file says about its `include` node is seen from inside that file."""
        root = inner.document.root
        view = View(site, inner, inside=True)
        self.fields.given(site, inner, read)
        values = self.fields.values(root.get("outputs"), view)
        if values:
            read["values"] = values
        title = scalar_text(root.get("title"))
        if title and "title" not in read and "{{" not in title:
            read["title"] = title
        read["included"] = Included(
            file=inner.shown,
            name=scalar_text(root.get("name")) or stem(inner.document.path),
            variables=tuple(inner.variables.values()),
            directory=scalar_text(root.get("directory")) or ".",
            env=self.fields.environment(root.get("env"), View(site, inner)),
        )

    # --- making -------------------------------------------------------------------------------------------

    def _node(self, site: Site) -> Node:
        read = site.read
        assert read is not None
        digest = self._digest(site, read)
        if site.wants_json:
            read["wants_json"] = True
        if site.referenced:
            read["referenced"] = True
        self._add_children(site, read)
        # Two empty mappings are made for every node that brings none; a plan of many nodes shares them instead.
        read.setdefault("env", _NO_ENV)
        read.setdefault("with_", _NO_WITH)
        site.read = None
        return Node(
            name=site.name,
            path=site.path,
            kind=site.kind,
            digest=digest,
            line=site.line,
            file=site.file.shown,
            **read,
        )

    def _digest(self, site: Site, read: dict[str, Any]) -> str:
        hashed = read
        included: Included | None = read.get("included")
        if included is not None:
            path = scalar_text(site.get("include"))
            hashed = {**read, "include": path, "included_env": included.env}
            del hashed["included"]
        digest = definition_digest(site.kind, hashed)
        self.digests.append(f"{site.path}\0{site.order}\0{digest}\0{rest_digest(hashed)}")
        return digest

    def _add_children(self, site: Site, read: dict[str, Any]) -> None:
        if site.kind is Kind.PARALLEL:
            read["members"] = tuple(self._node(member) for step in site.body.steps for member in step)
        elif site.body:
            read["steps"] = self._steps(site.body)
        if site.merge:
            read["merge"] = self._steps(site.merge)
        if site.on_failure:
            read["on_failure_steps"] = self._steps(site.on_failure)
        if site.finally_:
            read["finally_steps"] = self._steps(site.finally_)

    def _steps(self, steps: Steps) -> NodeSteps:
        return tuple(tuple(self._node(site) for site in step) for step in steps.steps)


def builder(report: Report, declarations: Declarations) -> Builder:
    """A builder with all the readers it needs."""
    resolver = Resolver(report)
    programs = Programs(resolver)
    conditions = Conditions(resolver, programs, declarations)
    fields = Fields(resolver, conditions, Loops(resolver, programs, conditions))
    return Builder(fields, Leaves(resolver, programs, declarations), programs)


def stem(path: str) -> str:
    """A file's name without its ending."""
    name = path.rpartition("/")[2]
    return name.rpartition(".")[0] or name
