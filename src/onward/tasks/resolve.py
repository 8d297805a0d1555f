"""References of a node -> the values they have now: texts filled in, data with its types, paths, and their digest.

A value is inserted once and never looked at again: what it holds is not scanned for references.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import file_digest, sha256
from typing import Any

from onward.errors import ValueMissing
from onward.model.nodes import Kind, Node
from onward.model.status import Status
from onward.model.values import Data, Filter, Ref, Root, Template, Text, Value
from onward.state.instance import Instance, Role
from onward.state.lookup import (
    Found,
    Missing,
    Plain,
    ResultsOf,
    climb,
    join,
    look_up,
    members_of,
    result_of,
    target_of,
)
from onward.state.run_state import RunState
from onward.tasks.context import RunContext
from onward.tasks.failures import Failure
from onward.tasks.included import brings_a_file, given_variables
from onward.tasks.insertion import as_text, fenced, lines_of
from onward.tasks.json_text import from_json, from_reply, to_json
from onward.tasks.logged import logged_text
from onward.tasks.references import Used, used_by
from onward.tasks.worktrees import branch_of, has_own

_MAIN = frozenset(("text", "json", "hand-off"))
_PARSED_AT_MOST = 8


class Resolver:
    """Finds values in a state. `user` is always the instance whose field holds the reference."""

    def __init__(self, state: RunState, context: RunContext) -> None:
        self.state = state
        self.context = context
        self._parsed: dict[tuple[str, bool], Any] = {}
        self._used: dict[str, tuple[Used, ...]] = {}
        self._included: dict[tuple[str, int], Mapping[str, Any]] = {}
        self._includes = any(node.included is not None for node in state.index.values())
        self._beginning: tuple[Instance | None, int] = (None, 0)

    def begin(self, instance: Instance, attempt: int) -> None:
        """From here on `{{attempt}}` of that leaf is the attempt that is being prepared."""
        self._beginning = (instance, attempt)

    # --- fields of a node ---------------------------------------------------------------------------------

    def text(self, user: Instance, text: Text) -> str:
        """The text with every reference filled in. Raises `ValueMissing` or another `TaskError`."""
        if isinstance(text, str):
            return text
        return "".join([part if isinstance(part, str) else self.inserted(user, part) for part in text.parts])

    def inserted(self, user: Instance, ref: Ref) -> str:
        """The value of one reference, as text."""
        return as_text(self.value(user, ref), ref.source)

    def data(self, user: Instance, data: Data) -> Any:
        """A JSON value; a hole that is one reference alone keeps the type of its value. Not to be changed."""
        if not data.holes:
            return data.value
        if not data.holes[0].at:
            return self.typed(user, data.holes[0].template)
        filled = _copy(data.value)
        for hole in data.holes:
            _put(filled, hole.at, self.typed(user, hole.template))
        return filled

    def typed(self, user: Instance, text: Text) -> Any:
        """The value of a text that is one reference alone, with its type; else the text."""
        if isinstance(text, Template) and len(text.parts) == 1 and isinstance(text.parts[0], Ref):
            return self.value(user, text.parts[0])
        return self.text(user, text)

    def path_text(self, user: Instance, text: Text) -> str:
        """A path as the author wrote it. One that holds a value must stay inside `directory` (`format.md` 3.2)."""
        if isinstance(text, str):
            return text
        path = self.text(user, text)
        if not path or "\0" in path:
            raise Failure("bad-path", f"the path `{written(text)}` became {path!r}, which is no path")
        if os.path.isabs(path) or ".." in path.split("/"):
            raise Failure(
                "outside-directory",
                f"the path `{written(text)}` became {path!r}, which may lead out of `directory`",
                help="a path that holds a value is relative and has no `..`",
            )
        return path

    # --- one reference ------------------------------------------------------------------------------------

    def value(self, user: Instance, ref: Ref) -> Any:
        """The value, filters applied. Raises `ValueMissing` if there is none and no `default`."""
        filters = ref.filters
        found = None
        if filters and filters[0].name == "path":
            found = self.file_of(user, ref)
        if found is not None:
            filters = filters[1:]
        else:
            found = self._unfiltered(user, ref)
        for each in filters:
            if isinstance(found, Missing):
                if each.name == "default":
                    found = each.argument or ""
            else:
                found = self._filtered(ref, each, found)
        if isinstance(found, Missing):
            raise ValueMissing(
                f"`{{{{{ref.source}}}}}` has no value: {found.why}",
                help=f'say what to use then: {{{{{ref.source} | default "…"}}}}',
            )
        return found

    def found(self, user: Instance, ref: Ref) -> Found:
        """What the state knows: a stored value, a plain one, or why there is none."""
        if ref.root is Root.VARIABLE:
            return self._variable(user, ref)
        if ref.root is Root.RESERVED and ref.name == "attempt" and user is self._beginning[0]:
            return Plain(self._beginning[1])
        if ref.root is Root.SELF and (ref.up or ref.node):
            return self._of_a_node_around(user, ref)
        if ref.field == "branch" and (branch := self._branch(user, ref)) is not None:
            return Plain(branch)
        found = look_up(self.state, user, ref)
        if isinstance(found, Missing) and ref.root is Root.NODE:
            return self._of_a_node_that_ends(user, ref) or found
        return found

    def _branch(self, user: Instance, ref: Ref) -> str | None:
        target = self.target(user, ref) if ref.root is Root.NODE else None
        if target is None or not target.ended or not has_own(target):
            return None
        return branch_of(self.context.run, target.path)

    def target(self, user: Instance, ref: Ref) -> Instance | None:
        """The instance whose result a reference names, if it was ever reached."""
        if ref.root is Root.SELF and (ref.up or ref.node):
            base = climb(user, ref.up)
            return self.state.get(join(base.path, ref.node)) if ref.node else base
        return target_of(self.state, user, ref)

    def variables(self, user: Instance) -> Mapping[str, Any]:
        """The variables visible at an instance: those of the file in which its node stands."""
        if self._includes:
            place = user.parent
            while place is not None:
                if brings_a_file(place):
                    return self._of_included(place)
                place = place.parent
        return self.state.facts.variables

    def _variable(self, user: Instance, ref: Ref) -> Found:
        # What an included file says about its `include` node is seen from inside: there the node itself is the scope.
        scope = climb(user, ref.up)
        inside = self._includes and brings_a_file(scope) and (ref.up > 0 or scope is user)
        variables = self._of_included(scope) if inside else self.variables(user)
        if ref.name not in variables:
            return Missing(f"the variable `{ref.name}` has no value")
        return Plain(variables[ref.name])

    def _of_included(self, place: Instance) -> Mapping[str, Any]:
        """The variables of an included file: what `with` gives, then its defaults."""
        key = (place.path, place.generation)
        variables = self._included.get(key)
        if variables is None:
            variables = self._included[key] = given_variables(place, self.data)
        return variables

    def _of_a_node_around(self, user: Instance, ref: Ref) -> Found:
        target = self.target(user, ref)
        if target is None or (ref.node and not target.ended):
            return Missing(f"`{ref.node}` has no result")
        return result_of(target, ref.field)

    def _of_a_node_that_ends(self, user: Instance, ref: Ref) -> Found | None:
        """Its work is over, and its `on-failure` or `finally` steps ask for what it left."""
        target = target_of(self.state, user, ref)
        if target is None or target.ended or target.result is None:
            return None
        return Plain(target.result.value) if ref.field == "status" else result_of(target, ref.field)

    def _unfiltered(self, user: Instance, ref: Ref) -> Any:
        found = self.found(user, ref)
        if isinstance(found, Missing):
            text = self._logged(user, ref)
            if text is None:
                return found
            found = text
        value = self._loaded(user, ref, found)
        return _below(value, ref) if ref.within and not isinstance(value, Missing) else value

    def _loaded(self, user: Instance, ref: Ref, found: Value | Plain) -> Any:
        if isinstance(found, Plain):
            if isinstance(found.value, ResultsOf):
                return self._results(found.value, ref)
            return found.value
        if ref.field == "json" and found.type == "text":
            return self._parsed_text(found, self._is_reply(user, ref), f"`{ref.source}`")
        value = self.load(found)
        if ref.field == "lines" and found.type == "text":
            return lines_of(value)
        if ref.field == "text" and found.type != "text":
            return value if isinstance(value, str) else to_json(value)
        return value

    def _logged(self, user: Instance, ref: Ref) -> Value | None:
        """The text of a `run` whose result nothing used when it ended: an edited workflow may want it after all."""
        target = self.target(user, ref) if ref.field in ("text", "lines", "json") else None
        if target is None or target.node is None or target.node.kind is not Kind.RUN or not target.attempt:
            return None
        if target.status is not Status.SUCCEEDED or (target.outputs and target.outputs.keys() & _MAIN):
            return None
        return logged_text(self.context.attempt_folder(target.path, target.attempt))

    def _is_reply(self, user: Instance, ref: Ref) -> bool:
        target = self.target(user, ref)
        return target is not None and target.node is not None and target.node.kind is Kind.PROMPT

    def load(self, value: Value) -> Any:
        """A stored value, with its type."""
        return self.context.values.load(value)

    def _parsed_text(self, value: Value, reply: bool, what: str) -> Any:
        """Large texts are parsed once, not for each of the tasks that use a part of them."""
        key = (value.sha256 or "", reply)
        if value.sha256 is not None and key in self._parsed:
            return self._parsed[key]
        text = self.load(value)
        parsed = from_reply(text, what) if reply else from_json(text, what)
        if value.sha256 is not None:
            if len(self._parsed) >= _PARSED_AT_MOST:
                self._parsed.pop(next(iter(self._parsed)))
            self._parsed[key] = parsed
        return parsed

    # --- filters ------------------------------------------------------------------------------------------

    def _filtered(self, ref: Ref, each: Filter, value: Any) -> Any:
        match each.name:
            case "json":
                return to_json(value)
            case "fence":
                return fenced(as_text(value, ref.source))
            case "path":
                return self.stored(value)
            case "default":
                return value if value is not None else each.argument or ""
            case name:
                raise Failure("bad-filter", f"`{{{{{ref.source}}}}}` has the unknown filter `{name}`")

    def lone_file(self, user: Instance, text: Text) -> str | None:
        """The file that holds exactly this text, where it is one result that lies in the store."""
        if isinstance(text, Template) and len(text.parts) == 1 and isinstance(text.parts[0], Ref):
            ref = text.parts[0]
            found = self.found(user, ref) if not ref.filters else None
            return self.file_of(user, ref) if isinstance(found, Value) and found.type == "text" else None
        return None

    def file_of(self, user: Instance, ref: Ref) -> str | None:
        """The file of a result that lies in the store as it is asked for, so that large ones are never read whole."""
        found = self.found(user, ref)
        if not isinstance(found, Value) or found.sha256 is None or ref.within:
            return None
        if ref.field in ("text", "lines", "json") and ref.field != found.type:
            return None
        path = self.context.values.path(found.sha256)
        return path if _has_digest(path, found.sha256) else None

    def stored(self, value: Any) -> str:
        """The absolute path of a file that holds the value: text as it is, anything else as JSON."""
        values = self.context.values
        digest = values.put((value if isinstance(value, str) else to_json(value)).encode())
        values.flush()
        return values.path(digest)

    # --- results of members and iterations ----------------------------------------------------------------

    def _results(self, place: ResultsOf, ref: Ref) -> dict[str, Any]:
        """`{status, text, json?, outputs}` of each; of the one alone that the reference goes on into."""
        container = self.state.get(place.path)
        members = [] if container is None else members_of(self.state, container)
        only = str(ref.within[0]) if ref.within else None
        return {name: self.record(each) for name, each in members if only is None or name == only}

    def record(self, instance: Instance) -> dict[str, Any]:
        """What `results` says about one member or iteration."""
        outputs, node = instance.outputs or {}, instance.node
        record: dict[str, Any] = {"status": instance.status.value}
        if has_own(instance):
            record["branch"] = branch_of(self.context.run, instance.path)
        text = outputs.get("text")
        if text is not None:
            record["text"] = self.load(text)
        if "json" in outputs:
            record["json"] = self.load(outputs["json"])
        elif text is not None and node is not None and (node.wants_json or node.schema is not None):
            self._add_json(record, text, node)
        record["outputs"] = {name: self.load(value) for name, value in outputs.items() if name not in _MAIN}
        return record

    def _add_json(self, record: dict[str, Any], text: Value, node: Node) -> None:
        try:
            record["json"] = self._parsed_text(text, node.kind is Kind.PROMPT, "`results`")
        except Failure:
            return  # it failed for that reason, and its record says so

    # --- all references of a node -------------------------------------------------------------------------

    def inputs_digest(self, instance: Instance) -> str | None:
        """SHA-256 over the values that the references of a node have now (`format.md` 5.1); None without any."""
        used = self._used_by(instance)
        if not used:
            return None
        digest = sha256()
        for level, ref in used:
            fingerprint = self._fingerprint(climb(instance, level), ref)
            digest.update(f"{ref.source}\0{fingerprint}\0".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _used_by(self, instance: Instance) -> tuple[Used, ...]:
        node = instance.node
        if node is None:
            return ()
        key = f"[]{node.path}" if instance.role is Role.LOOP else node.path
        used = self._used.get(key)
        if used is None:
            used = self._used[key] = used_by(instance)
        return used

    def _fingerprint(self, user: Instance, ref: Ref) -> str:
        found = self.found(user, ref)
        if isinstance(found, Missing):
            return "missing"
        if isinstance(found, Value) and found.sha256 is not None and not ref.within:
            return found.sha256
        try:
            value = self._unfiltered(user, ref)
        except Failure as error:
            return error.code
        if isinstance(value, Missing):
            return "missing"
        written_down = value if isinstance(value, str) else to_json(value)
        return sha256(written_down.encode("utf-8", "surrogatepass")).hexdigest()


def written(text: Text) -> str:
    """A text as it stands in the file, for messages."""
    if isinstance(text, str):
        return text
    return "".join(part if isinstance(part, str) else f"{{{{{part.source}}}}}" for part in text.parts)


def _has_digest(path: str, digest: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file_digest(file, "sha256").hexdigest() == digest
    except OSError:  # not there yet, or gone: the store says which
        return False


def _below(value: Any, ref: Ref) -> Any:
    for key in ref.within:
        value = _part(value, key)
        if isinstance(value, Missing):
            return value
    return value


def _part(value: Any, key: str | int) -> Any:
    if isinstance(value, dict):
        found = value.get(key if isinstance(key, str) else str(key), Missing)
        return Missing(f"there is no `{key}` in it") if found is Missing else found
    if isinstance(value, list):
        if isinstance(key, str) and not key.isdecimal():
            return Missing(f"it is a list, which has no `{key}`")
        at = int(key)
        return value[at] if at < len(value) else Missing(f"the list has {len(value)} items, so there is no [{key}]")
    kind = "null" if value is None else "text" if isinstance(value, str) else "a single value"
    return Missing(f"it is {kind}, which has no part `{key}`")


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(each) for key, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def _put(into: Any, at: tuple[str | int, ...], value: Any) -> None:
    for key in at[:-1]:
        into = into[key]
    into[at[-1]] = value

