"""Scalars -> `Text` and trees -> `Data` with every reference resolved (`format.md` 4.1 to 4.4)."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from onward.model.nodes import Kind
from onward.model.values import Data, Hole, Ref, Root, Template, Text
from onward.plan.explain import Fault, no_result, unknown
from onward.plan.report import Report, Where
from onward.plan.results import NoResult, Result, follow
from onward.plan.scope import RESERVED, Found, LoopRung, OwnRung, View, rungs, visible
from onward.plan.site import Shape, Site
from onward.plan.template import NearMiss, Reference, Scanned, Step, scan, scan_name
from onward.spec.document import Scalar, Sequence, TextFile, Tree
from onward.spec.scalars import free_value

_VARIABLE = re.compile(r"[a-z][a-z0-9_]*")
_GOES_ON_LIKE_A_REFERENCE = re.compile(r"[.\[]|[ \t]*[|+\-*/?]")

_TEXT_KINDS = (Kind.PROMPT, Kind.RUN)

Resolved = tuple[Ref, Shape]
At = tuple[str | int, ...]


class Use(NamedTuple):
    """A reference where it is used; `lenient`: a missing value is no surprise there."""

    reference: Reference
    origin: Scalar | TextFile
    view: View
    lenient: bool = False


class Resolver:
    """Resolves references and reports those that lead nowhere. Equal references to variables share one `Ref`."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self._variables: dict[tuple[str, int], Ref] = {}

    # --- texts and data -----------------------------------------------------------------------------------

    def text(self, origin: Scalar | TextFile, view: View) -> Text:
        """Text in which references stand for text."""
        if "{{" not in origin.text:
            return origin.text
        return self._filled(scan(origin.text), origin, view)

    def typed(self, origin: Scalar, view: View, *, lenient: bool = False) -> tuple[Any, Shape]:
        """A scalar of a field that takes any value: a reference alone keeps its type, of which the shape tells."""
        if "{{" not in origin.text:
            value = free_value(origin)
            return value, Shape.TEXT if isinstance(value, str) else Shape.ANY
        scanned = scan(origin.text)
        lone = scanned.lone
        if lone is None:
            return self._filled(scanned, origin, view), Shape.TEXT
        found = self.resolve(Use(lone, origin, view, lenient))
        return (origin.text, Shape.ANY) if found is None else (Template(parts=(found[0],)), found[1])

    def _filled(self, scanned: Scanned, origin: Scalar | TextFile, view: View) -> Text:
        parts: list[str | Ref] = []
        for part in scanned.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            found = self.resolve(Use(part, origin, view))
            if found is None:
                parts.append("{{" + part.source + "}}")
                continue
            ref, shape = found
            parts.append(ref)
            if shape is Shape.LIST or shape is Shape.MAPPING:
                self._no_text(part, shape, origin, view)
        for near in scanned.near:
            self._near_miss(near, origin, view)
        return _joined(parts)

    def data(self, tree: Tree, view: View, *, lenient: bool = False) -> Data:
        """Free-form data."""
        holes: list[Hole] = []
        value = self._value(tree, view, (), holes, lenient)
        return Data(value=value, holes=tuple(holes)) if holes else Data(value=value)

    def _value(self, tree: Tree, view: View, at: At, holes: list[Hole], lenient: bool) -> Any:
        if isinstance(tree, Scalar):
            value, _ = self.typed(tree, view, lenient=lenient)
            if not isinstance(value, Template):
                return value
            holes.append(Hole(at=at, template=value))
            return None
        if isinstance(tree, Sequence):
            return [self._value(item, view, (*at, i), holes, lenient) for i, item in enumerate(tree.items)]
        return {key: self._value(e.value, view, (*at, key), holes, lenient) for key, e in tree.entries.items()}

    def node(self, origin: Scalar, view: View) -> Ref:
        """The node that `succeeded` or `failed` names, without braces."""
        name = origin.text.strip()
        whole = "." in name and self._find(name, view) is not None
        reference = _named(name, name) if whole else scan_name(name)
        if reference is None:
            fault = Fault("bad-value", f"`{name}` is not the name of a node", "write the name alone, such as `check`")
            self._error(fault, origin, view, None)
            return _status_of(name)
        found = self.resolve(Use(_asking_for_status(reference), origin, view))
        return _status_of(name) if found is None else found[0]

    # --- references ---------------------------------------------------------------------------------------

    def resolve(self, use: Use) -> Resolved | None:
        """The reference with all that is known of it, or None after its mistake was reported."""
        head, view = use.reference.head, use.view
        if head in view.file.variables:
            return self._variable(use)
        if head in RESERVED:
            return self._reserved(use)
        if head == "self" and view.own:
            result = follow(view.site, use.reference.steps, "self", iteration=view.iteration)
            return self._result(use, Root.SELF, 0, "", result, None)
        found = self._find(head, view)
        match found:
            case Found():
                return self._node(use, found)
            case OwnRung():
                return self._around(use, found)
            case LoopRung():
                return self._loop(use, found)
            case None:
                return self._given(use)

    def knows(self, head: str, view: View) -> bool:
        """Whether a reference with this head means something here (or was meant to: a secret)."""
        file = view.file
        return (
            head in file.variables
            or head in file.undeclared
            or head in file.given
            or head in RESERVED
            or head in file.secrets
            or (head == "self" and view.own)
            or self._find(head, view) is not None
        )

    def _find(self, head: str, view: View) -> Found | OwnRung | LoopRung | None:
        for rung in rungs(view):
            if isinstance(rung, LoopRung):
                site = rung.site
                if head in (site.item, "index") or (head == "previous" and site.counted):
                    return rung
            elif isinstance(rung, OwnRung):
                if rung.site.name == head:
                    return rung
            elif head in rung.names:
                found = visible(rung, head, view.file)
                if found is not None:
                    return found
        return None

    def _variable(self, use: Use) -> Resolved | None:
        reference, view = use.reference, use.view
        typed = reference.head in view.file.typed
        if reference.steps and not typed:
            self._no_parts(use)
            return None
        key = (reference.source, view.depth)
        ref = self._variables.get(key)
        if ref is None:
            ref = self._variables[key] = _ref(Root.VARIABLE, reference, up=view.depth)
        if reference.head in view.file.optional:
            self._may_lack(use, ref, f"`{reference.head}` has no default and need not be given")
        return ref, _filtered(Shape.ANY if typed else Shape.TEXT, ref)

    def _reserved(self, use: Use) -> Resolved | None:
        if use.reference.steps:
            self._no_parts(use)
            return None
        return _ref(Root.RESERVED, use.reference), Shape.TEXT

    def _given(self, use: Use) -> Resolved | None:
        """Nothing of that name: perhaps a variable that the command line (or `with`) gives undeclared."""
        reference, view = use.reference, use.view
        file, head = view.file, reference.head
        if head in file.given or head in file.undeclared:
            return self._variable(use)
        fault = unknown(view, reference)
        if fault.strange and not (file.included or reference.steps) and _VARIABLE.fullmatch(head):
            file.undeclared[head] = Where(file.document, use.origin, view.site, reference.at)
            return self._variable(use)
        self._error(fault, use.origin, view, reference.at)
        return None

    def _node(self, use: Use, found: Found) -> Resolved | None:
        head = use.reference.head
        result = follow(found.site, use.reference.steps, _shown(head))
        lacks = f"`{head}` may not have run by then" if found.may_lack else None
        if lacks is None and found.site.skippable:
            lacks = f"`{head}` has `skip-if`"
        return self._result(use, Root.NODE, found.up, found.node, result, lacks)

    def _around(self, use: Use, rung: OwnRung) -> Resolved | None:
        """The node around a section, named from inside the section."""
        steps, shown = use.reference.steps, _shown(use.reference.head)
        if rung.self_up is not None:
            return self._result(use, Root.SELF, rung.self_up, "", follow(rung.site, steps, shown, iteration=True), None)
        result = follow(rung.site, steps, shown, ended=rung.ended)
        return self._result(use, Root.NODE, rung.up, rung.site.name, result, None)

    def _loop(self, use: Use, rung: LoopRung) -> Resolved | None:
        reference, site = use.reference, rung.site
        if reference.head == "previous":
            result = follow(site, reference.steps, "previous", iteration=True)
            return self._result(use, Root.PREVIOUS, rung.up, "", result, "the first round has no `previous`")
        is_index = reference.head == "index"
        if reference.steps and (is_index or site.item_shape is Shape.TEXT):
            self._no_parts(use)
            return None
        ref = _ref(Root.LOOP, reference, up=rung.up)
        return ref, _filtered(Shape.ANY if is_index or reference.steps else site.item_shape, ref)

    def _result(
        self, use: Use, root: Root, up: int, start: str, result: Result | NoResult, lacks: str | None
    ) -> Resolved | None:
        reference = use.reference
        if isinstance(result, NoResult):
            self._error(no_result(result), use.origin, use.view, reference.at)
            return None
        _mark(result)
        ref = Ref(
            root=root,
            up=up,
            node=_below(start, result.node),
            field=result.field,
            within=result.within,
            filters=reference.filters,
            source=reference.source,
        )
        lacks = lacks or result.lacks
        if lacks is not None and result.field != "status" and root is not Root.SELF:
            self._may_lack(use, ref, lacks)
        return ref, _filtered(result.shape, ref)

    # --- words --------------------------------------------------------------------------------------------

    def _may_lack(self, use: Use, ref: Ref, reason: str) -> None:
        if not use.lenient and ref.default is None:
            source = use.reference.source
            message = f"`{{{{{source}}}}}` may have no value: {reason}"
            help = f'say what to use then: {{{{{source} | default "…"}}}}'
            self.report.warn("may-be-missing", message, self._where(use.origin, use.view, use.reference.at), help)

    def _no_text(self, reference: Reference, shape: Shape, origin: Scalar | TextFile, view: View) -> None:
        message = f"`{{{{{reference.source}}}}}` is {shape}, which has no place in text"
        self._error(Fault("needs-json", message, _with_json(reference)), origin, view, reference.at)

    def _no_parts(self, use: Use) -> None:
        head = _shown(use.reference.head)
        what = "a number" if use.reference.head == "index" else "text"
        message = f"`{head}` is {what}, so it has no part `{use.reference.steps[0].value}`"
        self._error(Fault("unknown-field", message, f"write `{{{{{head}}}}}`"), use.origin, use.view, use.reference.at)

    def _near_miss(self, near: NearMiss, origin: Scalar | TextFile, view: View) -> None:
        rest = near.source[len(near.head) :] if near.source.startswith(near.head) else "."
        if _GOES_ON_LIKE_A_REFERENCE.match(rest) and self.knows(near.head, view):
            message = f"`{{{{{near.source}}}}}` names `{near.head}` but is no reference, so it stays as it is"
            help = 'a name is followed by `.part` or `["key"]`, then `| json`, `| path`, `| fence` or `| default "…"`'
            self.report.warn("not-a-reference", message, self._where(origin, view, near.at), help)

    def _error(self, fault: Fault, origin: Scalar | TextFile, view: View, at: int | None) -> None:
        self.report.error(fault.code, fault.message, self._where(origin, view, at), fault.help)

    def _where(self, origin: Scalar | TextFile, view: View, at: int | None) -> Where:
        return Where(view.file.document, origin, view.site, at)


def _ref(root: Root, reference: Reference, up: int = 0) -> Ref:
    within = tuple(step.value for step in reference.steps)
    filters, source = reference.filters, reference.source
    return Ref(root=root, name=reference.head, up=up, within=within, filters=filters, source=source)


def _status_of(name: str) -> Ref:
    return Ref(root=Root.NODE, field="status", source=name)


def _named(head: str, source: str) -> Reference:
    return Reference(head=head, steps=(), filters=(), source=source, at=0)


def _asking_for_status(reference: Reference) -> Reference:
    steps = (*reference.steps, Step("status"))
    return Reference(head=reference.head, steps=steps, filters=(), source=reference.source, at=0)


def _mark(result: Result) -> None:
    """Note on the nodes that a reference uses their results."""
    site = result.site
    if result.field == "json" and site.kind in _TEXT_KINDS:
        site.wants_json = True
    if result.field == "results":
        _mark_results(site, result.within)
    elif result.field != "status":
        site.referenced = True


def _mark_results(site: Site, within: tuple[str | int, ...]) -> None:
    """`results` has something of every member or iteration, of one alone, or the JSON of one."""
    site.referenced = True
    members = [site] if site.looped else [m for name, m in site.body.names.items() if not within or name == within[0]]
    for member in members:
        member.referenced = True
        if within[1:2] == ("json",) and member.kind in _TEXT_KINDS:
            member.wants_json = True


def _joined(parts: list[str | Ref]) -> Text:
    texts = [part for part in parts if isinstance(part, str)]
    return Template(parts=tuple(parts)) if len(texts) < len(parts) else "".join(texts)


def _filtered(shape: Shape, ref: Ref) -> Shape:
    if not ref.filters:
        return shape
    return Shape.TEXT if any(each.name in ("json", "path") for each in ref.filters) else shape


def _with_json(reference: Reference) -> str:
    path, bar, filters = reference.source.partition("|")
    return f"write `{{{{{path.strip()} | json{' |' + filters if bar else ''}}}}}`"


def _below(start: str, node: str) -> str:
    if not start or not node or node.startswith("["):
        return start + node
    return f"{start}/{node}"


def _shown(head: str) -> str:
    return head if "." not in head else f'["{head}"]'
