"""A plan → for each node in plain words: where its values come from, its environment, its folder, its hash.

Nothing has to run for that: instances are made as a run would make them, with `*` for the key of every iteration, and
references are followed through these.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from onward.model.nodes import Included, Kind, Node, Plan, Run, Variable
from onward.model.values import Ref, Root, Template, Text
from onward.plan.digest import IN, LOOP_IN
from onward.state.instance import Instance, Role
from onward.state.lookup import climb, join
from onward.state.run_state import RunState
from onward.tasks.chain import Link, chain_of
from onward.tasks.context import OF_ONE_TASK
from onward.views.secrets import origin_of
from onward.views.words import plain

VariableLines = Mapping[tuple[str, str], int]
"""(file, empty for the main one; name of a variable) -> the line that declares it"""

_ITERATION = re.compile(r"\[[^\]]*\]")
_CHILDREN = ("steps", "members", "merge", "on_failure_steps", "finally_steps", "included")
_OF_THE_WHOLE = ("title", "hand_off")
_HEADER = ("items", "glob", "command")
_WORDS = {
    "with_": "with", "skip_if": "skip-if", "before": "ensure.before", "after": "ensure.after",
    "values": "outputs", "hand_off": "hand-off",
}  # fmt: skip
_WORK_WORDS = {
    "adapter": "adapter", "model": "model", "keep_session": "session", "shell": "shell", "stdin": "stdin",
    "permission": "permission", "arguments": "with", "show": "show", "choices": "choices", "fields": "fields",
}  # fmt: skip
"""fields of the work of a node; the others are the value of its kind"""
_RESERVED = {
    "datetime": "when the run began; the same on every resume",
    "run_id": "the id of the run",
    "workflow_file": "the workflow file as it was given",
    "workflow_name": "the name of the workflow",
    "attempt": "the number of the attempt",
}


class Reference(Struct, frozen=True, kw_only=True):
    """A reference, the field that holds it, and what it leads to; `line` is 0 where that stands nowhere."""

    field: str
    written: str
    kind: str
    leads_to: str
    line: int = 0
    file: str = ""


class Named(Struct, frozen=True, kw_only=True):
    """A name in the environment of a task, and what puts it there."""

    name: str
    source: str


class Explanation(Struct, frozen=True, kw_only=True):
    """One node. `environment` goes from the weakest to the strongest, each name once."""

    path: str
    kind: str
    line: int
    file: str
    references: list[Reference]
    environment: list[Named]
    directory: list[str]
    hash: str
    hashed: list[str]
    agent_calls: list[str]


def explain(plan: Plan, lines: VariableLines, given: Iterable[str] = ()) -> Iterator[Explanation]:
    """Every node, in the order of the file. `given`: names of variables that the start gives."""
    explainer = _Explainer(plan, lines, tuple(given))
    for node, path in places(plan.root, ""):
        if node.path:
            yield explainer.node(node, path)


def places(node: Node, path: str) -> Iterator[tuple[Node, str]]:
    """Every node with the path of its instance, `[*]` for iterations: `each[*]/write`, `each/@merge/sum`."""
    yield node, path
    inner = f"{path}[*]" if node.loop is not None else path
    for base, steps in (
        (inner, (*node.steps, node.members)),
        (_section(path, "@merge"), node.merge),
        (_section(inner, "@on-failure"), node.on_failure_steps),
        (_section(path, "@finally"), node.finally_steps),
    ):
        for step in steps:
            for child in step:
                yield from places(child, f"{base}/{child.name}" if base else child.name)


def _section(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


class _Explainer:
    def __init__(self, plan: Plan, lines: VariableLines, given: tuple[str, ...]) -> None:
        self._given = given
        self._plan = plan
        self._lines = lines
        self._state = RunState(plan)

    def node(self, node: Node, path: str) -> Explanation:
        whole = self._state.ensure(path)
        user = self._state.ensure(f"{path}[*]") if node.loop is not None else whole
        links = chain_of(user)
        environment = self._environment(user, links) if node.kind.leaf and node.kind is not Kind.APPROVE else []
        return Explanation(
            path=node.path,
            kind=node.kind.value,
            line=node.line,
            file=node.file,
            references=[*self._references(node, whole, user), *_in_script(node, environment)],
            environment=environment,
            directory=list(self._directory(links)),
            hash=node.digest,
            hashed=list(hashed_fields(node)),
            agent_calls=list(_agent_calls(node)),
        )

    # --- references ---------------------------------------------------------------------------------------

    def _references(self, node: Node, whole: Instance, user: Instance) -> Iterator[Reference]:
        for name in node.__struct_fields__:
            if name in _CHILDREN or name == "loop":
                continue
            at = whole if name in _OF_THE_WHOLE else user
            if name == "work" and node.work is not None:
                for part in node.work.__struct_fields__:
                    yield from self._in_field(at, _work_word(part, node), getattr(node.work, part))
            else:
                yield from self._in_field(at, _WORDS.get(name, name), getattr(node, name))
        if node.loop is not None:
            for name in node.loop.__struct_fields__:
                at = whole if name in _HEADER else user
                yield from self._in_field(at, f"loop.{_loop_word(name)}", getattr(node.loop, name))

    def _in_field(self, user: Instance, field: str, value: Any) -> Iterator[Reference]:
        seen = set()
        for field_in, ref in _refs(field, value):
            if (field_in, ref) not in seen:
                seen.add((field_in, ref))
                yield self._reference(user, field_in, ref)

    def _reference(self, user: Instance, field: str, ref: Ref) -> Reference:
        match ref.root:
            case Root.VARIABLE:
                return self._variable(user, field, ref)
            case Root.RESERVED:
                return _made(field, ref, "reserved", _RESERVED.get(ref.name, "set by onward"))
            case Root.LOOP:
                loop = climb(user, ref.up).node
                what = "the number of the iteration" if ref.name == "index" else f"the loop variable `{ref.name}`"
                return _at(field, ref, "loop", f"{what} of {_name(loop)}", loop)
            case Root.SELF:
                node = self._node_at(user, ref)
                whose = f"its own {_part(ref)}" if node is user.node else f"{_part(ref)} of {_name(node)}"
                return _at(field, ref, "self", whose, node)
            case Root.PREVIOUS:
                node = self._node_at(user, ref)
                return _at(field, ref, "previous round", f"{_part(ref)} of {_name(node)} in the round before", node)
            case _:
                node = self._node_at(user, ref)
                return _at(field, ref, "node", f"{_part(ref)} of {_name(node)}", node)

    def _node_at(self, user: Instance, ref: Ref) -> Node | None:
        base = climb(user, ref.up)
        static = _ITERATION.sub("", join(base.path, ref.node)).lstrip("/")
        return self._state.index.get(static)

    def _variable(self, user: Instance, field: str, ref: Ref) -> Reference:
        scope = climb(user, ref.up).node
        included = scope.included if scope is not None else None
        declared = included.variables if included is not None else self._plan.variables
        file = included.file if included is not None else ""
        known = next((each for each in declared if each.name == ref.name), None)
        given = included is not None and scope is not None and ref.name in scope.with_
        source = f"given by `with` of `{scope.path}`" if given and scope is not None else _source(known)
        line = self._lines.get((file, ref.name), 0)
        return _made(field, ref, "variable", f"the variable `{ref.name}`: {source}", line, file)

    # --- environment --------------------------------------------------------------------------------------

    def _environment(self, user: Instance, links: list[Link]) -> list[Named]:
        found: dict[str, str] = {}
        included = self._included_around(user)
        for variable in included.variables if included is not None else self._plan.variables:
            found[variable.name] = "variable"
        for name in (*self._plan.undeclared, *self._given) if included is None else ():
            found.setdefault(name, "variable, given with --var")
        for node in _loops_around(user):
            assert node.loop is not None
            if not node.loop.counted:
                found[node.loop.item] = f"loop variable of {_name(node)}"
        for link in links:
            self._add_env(found, link)
        origins = {secret.name: origin_of(secret) for secret in self._plan.secrets}
        for link in links:
            for name in link.node.secrets:
                found[name] = f"secret from {origins.get(name, 'nowhere')}, released by {_name(link.node)}"
        found |= dict.fromkeys(OF_ONE_TASK, "onward")
        return [Named(name=name, source=source) for name, source in found.items()]

    def _add_env(self, found: dict[str, str], link: Link) -> None:
        node, place = link.node, _name(link.node)
        for name, text in node.env.items():
            if isinstance(text, str) or not link.whole:
                found.pop(name, None)
                found[name] = f"`env` of {place}{_value(text)}"
        if node.included is not None and link.level:
            for name, text in node.included.env.items():
                found.pop(name, None)
                found[name] = f"`env` of {node.included.file}{_value(text)}"

    def _included_around(self, user: Instance) -> Included | None:
        place = user.parent
        while place is not None:
            if place.node is not None and place.node.included is not None and place.role is not Role.LOOP:
                return place.node.included
            place = place.parent
        return None

    # --- directory ----------------------------------------------------------------------------------------

    def _directory(self, links: list[Link]) -> Iterator[str]:
        """The folder as far as it is known, then what led there."""
        home = os.path.dirname(self._plan.file)
        folder = os.path.normpath(os.path.join(home, self._plan.directory))
        why = [f"`directory: {self._plan.directory}` of the workflow"]
        for link in links:
            node = link.node
            if node.directory is not None and (isinstance(node.directory, str) or not link.whole):
                folder = os.path.normpath(os.path.join(folder, plain(node.directory)))
                why.append(f"`directory: {plain(node.directory)}` of {_name(node)}")
            elif node.included is not None and link.level:
                place = os.path.dirname(os.path.join(home, node.included.file))
                folder = os.path.normpath(os.path.join(place, node.included.directory))
                why = [f"`directory: {node.included.directory}` of {node.included.file}"]
        yield folder
        yield from why


def hashed_fields(node: Node) -> Iterator[str]:
    """The fields that make up the definition hash, as they are called in a file."""
    names = [node.kind.value]
    if node.work is not None:
        names += [_work_word(name, node) for name in _set_fields(node.work) if name != "on_timeout"]
    names += [_WORDS.get(name, name) for name in _set_fields(node) if name in IN and name != "work"]
    if node.loop is not None:
        names += [f"loop.{_loop_word(name)}" for name in _set_fields(node.loop) if name in LOOP_IN]
    yield from dict.fromkeys(names)


def _set_fields(value: Struct) -> Iterator[str]:
    """The fields that do not have their default."""
    for field in fields(value):
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        if getattr(value, field.name) != default:
            yield field.name


# ---------------------------------------------------------------- words


def _refs(field: str, value: Any) -> Iterator[tuple[str, Ref]]:
    """Every reference in a part of a plan, with the name of the field; of `env` and the like with the key, too."""
    if isinstance(value, Ref):
        yield field, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _refs(f"{field}.{key}", each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _refs(field, each)
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _refs(field, getattr(value, name))


def _in_script(node: Node, environment: list[Named]) -> Iterator[Reference]:
    """The names of its environment that a script uses; what onward itself says need not be explained."""
    script = node.work.script if isinstance(node.work, Run) else None
    for named in environment if script is not None else []:
        if named.name not in OF_ONE_TASK and re.search(rf"\$\{{?{re.escape(named.name)}\b", script or ""):
            yield Reference(field="run", written=f"${named.name}", kind="environment", leads_to=named.source)


def _work_word(name: str, node: Node) -> str:
    return _WORK_WORDS.get(name, node.kind.value)


def _loop_word(name: str) -> str:
    return {"items": "for-each", "glob": "for-each", "command": "for-each", "item": "as"}.get(name, name.rstrip("_"))


def _loops_around(user: Instance) -> list[Node]:
    """Outermost first."""
    found = []
    place: Instance | None = user
    while place is not None:
        if place.role is Role.ITERATION and place.node is not None:
            found.append(place.node)
        place = place.parent
    return found[::-1]


def _agent_calls(node: Node) -> Iterator[str]:
    """What costs a call of an agent for each attempt."""
    if node.kind is Kind.PROMPT:
        yield "its prompt"
    judges = sum(one.__struct_config__.tag == "judge" for one in node.validators)
    if judges:
        yield f"{judges} of its validators (a judge agent)"


def _source(variable: Variable | None) -> str:
    if variable is None:
        return "declared nowhere; given with --var"
    if variable.default is not None:
        return f"default `{variable.default}`, or --var"
    return "required; given with --var" if variable.required else "no default; given with --var"


def _value(text: Text) -> str:
    return f": {plain(text)}" if isinstance(text, Template) else ""


def _name(node: Node | None) -> str:
    if node is None:
        return "a node that is not in the plan"
    return f"`{node.path}`" if node.path else "the workflow"


def _part(ref: Ref) -> str:
    within = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in ref.within)
    return f"`{ref.field or 'result'}{within}`"


def _at(field: str, ref: Ref, kind: str, leads_to: str, node: Node | None) -> Reference:
    if node is None:
        return _made(field, ref, kind, leads_to)
    return _made(field, ref, kind, leads_to, node.line, node.file)


def _made(field: str, ref: Ref, kind: str, leads_to: str, line: int = 0, file: str = "") -> Reference:
    filters = "".join(
        f" | {each.name}" + (f' "{each.argument}"' if each.argument is not None else "") for each in ref.filters
    )
    written = ref.source if "|" in ref.source or not filters else ref.source + filters
    return Reference(field=field, written=f"{{{{{written}}}}}", kind=kind, leads_to=leads_to, line=line, file=file)
