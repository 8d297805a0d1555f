"""`Document` -> `Plan`: every name resolved, every mistake of meaning reported together."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from onward.errors import Problem
from onward.model.nodes import Checkpoint, DefinitionFile, Node, Plan
from onward.model.values import Text
from onward.plan.build import Builder, builder, stem
from onward.plan.declarations import Declarations
from onward.plan.digest import plan_digest
from onward.plan.names import check_names
from onward.plan.report import Report
from onward.plan.scope import View
from onward.plan.site import Site
from onward.plan.skeleton import Skeleton
from onward.plan.trees import entries, scalar_text
from onward.spec.document import Document, Scalar
from onward.spec.scalars import duration_s, whole

_DEFAULT_LIMIT = 8
_DEFAULT_GRACE_S = 25.0


def make_plan(document: Document, given: Iterable[str] = ()) -> tuple[Plan, list[Problem]]:
    """The plan of a workflow and the warnings about it.

    `given` are names of variables that the start gives: they need no declaration and no warning. Raises `Problems`
    with every mistake in any of the files.
    """
    # Looking for cycles again and again among all that a large workflow brings would take a quarter of the time.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _make_plan(document, given)
    finally:
        if collecting:
            gc.enable()


def _make_plan(document: Document, given: Iterable[str]) -> tuple[Plan, list[Problem]]:
    report = Report()
    declarations = Declarations(report)
    site = Skeleton(report, declarations).root(document, given)
    check_names(report, site)
    build = builder(report, declarations)
    title = _title(site, build)
    root = build.root(site)
    _tell_of_undeclared(report, site)
    report.collector.raise_if_any()
    plan = _plan(site, root, title, declarations)
    warnings = [*_load_warnings(document), *report.collector.warnings]
    return replace(plan, digest=plan_digest(plan, build.digests)), warnings


def _plan(site: Site, root: Node, title: Text | None, declarations: Declarations) -> Plan:
    file = site.file
    document, top = file.document, file.document.root
    mirror = {name: scalar_text(entry.value) for name, entry in entries(top.get("mirror"))}
    limit, grace = scalar_text(top.get("limit")), scalar_text(top.get("grace"))
    return Plan(
        name=scalar_text(top.get("name")) or stem(document.path),
        file=document.path,
        root=root,
        digest="",
        files=tuple(_files(document)),
        title=title,
        description=scalar_text(top.get("description")),
        directory=scalar_text(top.get("directory")) or ".",
        checkpoint=_checkpoint(document),
        variables=tuple(file.variables.values()),
        secrets=tuple(declarations.secrets.values()),
        adapters=tuple(declarations.adapters.values()),
        limit=whole(limit) if limit else _DEFAULT_LIMIT,
        grace_s=duration_s(grace) if grace else _DEFAULT_GRACE_S,
        watch={path: scalar_text(entry.value) for path, entry in entries(top.get("watch"))},
        mirror_snapshots=mirror.get("snapshots"),
        mirror_sparq=mirror.get("sparq"),
        undeclared=tuple(sorted({*file.undeclared})),
    )


def _title(site: Site, build: Builder) -> Text | None:
    title = site.get("title")
    return build.fields.resolver.text(title, View(site, site.file)) if isinstance(title, Scalar) else None


def _checkpoint(document: Document) -> Checkpoint | None:
    found = {key: scalar_text(entry.value) for key, entry in entries(document.root.get("checkpoint"))}
    if not found:
        return None
    return Checkpoint(state_file=found["state-file"], cleanup_policy=found.get("cleanup-policy", "on-success"))


def _files(document: Document) -> Iterator[DefinitionFile]:
    """Every file of the definition once, the main file first."""
    home = os.path.dirname(document.path)
    seen: set[str] = set()
    for path, sha256 in _hashed(document):
        if path not in seen:
            seen.add(path)
            yield DefinitionFile(path=os.path.relpath(path, home), sha256=sha256)


def _hashed(document: Document) -> Iterator[tuple[str, str]]:
    yield document.path, document.sha256
    for file in document.files.values():
        yield file.path, hashlib.sha256(file.text.encode()).hexdigest()
    for included in document.includes.values():
        yield from _hashed(included)


def _load_warnings(document: Document) -> list[Problem]:
    found = {(each.place, each.message): each for each in _all_warnings(document)}
    return list(found.values())


def _all_warnings(document: Document) -> Iterator[Problem]:
    yield from document.warnings
    for included in document.includes.values():
        yield from _all_warnings(included)


def _tell_of_undeclared(report: Report, site: Site) -> None:
    for name, where in site.file.undeclared.items():
        message = f"`{name}` is used and nowhere declared, so every start has to give it"
        help = f"give it with `--var {name}=…`, or declare it: `variables: {{{name}: {{required: true}}}}`"
        report.warn("undeclared", message, where, help)
