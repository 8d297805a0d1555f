"""Texts of workflow files -> plans and problems, and a small interpreter that lays out the instances of a plan."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct

from onward.errors import Problem, Problems
from onward.model.nodes import Included, Kind, Loop, Node, Plan
from onward.model.values import Ref, Template
from onward.plan.make import make_plan
from onward.spec.load import load


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder in which workflow files are written and planned; the main one is `w.yaml`."""

    folder: Path

    def both(
        self, text: str, files: dict[str, str] | None = None, given: Iterable[str] = ()
    ) -> tuple[Plan, list[Problem]]:
        for name, content in {"w.yaml": text, **(files or {})}.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(content), encoding="utf-8")
        return make_plan(load(self.folder / "w.yaml", shown="w.yaml"), given)

    def plan(self, text: str, files: dict[str, str] | None = None, given: Iterable[str] = ()) -> Plan:
        return self.both(text, files, given)[0]

    def warnings(self, text: str, files: dict[str, str] | None = None, given: Iterable[str] = ()) -> list[Problem]:
        return self.both(text, files, given)[1]

    def problems(self, text: str, files: dict[str, str] | None = None, given: Iterable[str] = ()) -> list[Problem]:
        try:
            self.both(text, files, given)
        except Problems as problems:
            return problems.problems
        return []

    def problem(self, text: str, files: dict[str, str] | None = None, given: Iterable[str] = ()) -> Problem:
        found = self.problems(text, files, given)
        assert len(found) == 1, [str(each) for each in found]
        return found[0]

    def codes(self, text: str, files: dict[str, str] | None = None, given: Iterable[str] = ()) -> list[str]:
        return [problem.code for problem in self.problems(text, files, given)]


def without_marker(problem: Problem) -> str:
    """The problem as `format.md` 7 shows it: without marker line and trail."""
    lines = str(problem).splitlines()
    return "\n".join(line for line in lines if line.strip() != "^" and not line.startswith("    in task "))


def node_at(plan: Plan, path: str) -> Node:
    """The node of a static path."""
    return next(node for node in plan.root.walk() if node.path == path)


def refs_in(thing: Any) -> Iterator[Ref]:
    """Every reference in fields of the plan, children of nodes left out."""
    if isinstance(thing, Ref):
        yield thing
    elif isinstance(thing, Template):
        yield from (part for part in thing.parts if isinstance(part, Ref))
    elif isinstance(thing, Struct):
        for name in thing.__struct_fields__:
            yield from refs_in(getattr(thing, name))
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from refs_in(value)
    elif isinstance(thing, tuple | list):
        for value in thing:
            yield from refs_in(value)


# --- instances ----------------------------------------------------------------------------------------------------

WHOLE_LOOP = ("title", "hand_off")
_SECTIONS = {"merge": "@merge", "on_failure_steps": "@on-failure", "finally_steps": "@finally"}
_CHILDREN = ("steps", "members", "merge", "on_failure_steps", "finally_steps", "included", "values", "loop")


class Instances:
    """All instances of a plan by path, as `onward.plan.site` draws them; every loop has the iterations `keys`."""

    def __init__(self, plan: Plan, keys: tuple[str, ...] = ("1", "2")) -> None:
        self.keys = keys
        self.parents: dict[str, str | None] = {"": None}
        self.uses: list[tuple[str, Ref]] = []
        """from which instance each reference counts"""
        self.variables: set[str] = {""}
        """instances that hold variables"""
        self._inside(plan.root, "", "")

    def climb(self, path: str, levels: int) -> str:
        for _ in range(levels):
            parent = self.parents[path]
            assert parent is not None, f"{path} has no {levels} levels above"
            path = parent
        return path

    def target(self, user: str, ref: Ref) -> str:
        """The path that a NODE reference names, as an engine would find it."""
        base = self.climb(user, ref.up)
        if not base or not ref.node:
            return base + ref.node
        return base + ref.node if ref.node.startswith("[") else f"{base}/{ref.node}"

    def _add(self, path: str, parent: str) -> str:
        self.parents[path] = parent
        return path

    def _node(self, node: Node, parent: str) -> None:
        outer = self._add(f"{parent}/{node.name}" if parent else node.name, parent)
        if node.loop is None:
            self._inside(node, outer, outer)
            return
        self._use_loop(node.loop, outer, outer)
        for key in self.keys:
            inner = self._add(f"{outer}[{key}]", outer)
            self._use_loop(node.loop, outer, inner)
            self._inside(node, outer, inner)

    def _use_loop(self, loop: Loop, outer: str, inner: str) -> None:
        if outer == inner:
            self.uses += [(outer, ref) for ref in refs_in((loop.items, loop.glob, loop.command))]
        else:
            self.uses += [(inner, ref) for ref in refs_in((loop.until, loop.while_, loop.key))]

    def _inside(self, node: Node, outer: str, inner: str) -> None:
        self._use_fields(node, outer, inner)
        if node.kind is Kind.INCLUDE:
            self.variables.add(inner)
        for child in (*(c for step in node.steps for c in step), *node.members):
            self._node(child, inner)
        for field, name in _SECTIONS.items():
            steps = getattr(node, field)
            owner = inner if field == "on_failure_steps" else outer
            if steps:
                section = self._add(f"{owner}/{name}" if owner else name, owner)
                for step in steps:
                    for child in step:
                        self._node(child, section)

    def _use_fields(self, node: Node, outer: str, inner: str) -> None:
        for name in node.__struct_fields__:
            if name not in _CHILDREN:
                place = outer if name in WHOLE_LOOP else inner
                self.uses += [(place, ref) for ref in refs_in(getattr(node, name))]
        included: Included | None = node.included
        self.uses += [(inner, ref) for ref in refs_in((node.values, None if included is None else included.env))]
