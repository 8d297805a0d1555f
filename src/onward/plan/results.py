"""What a node leaves behind: accessors of a reference -> the part of a result, its shape, and what may be missing."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from onward.model.nodes import Kind
from onward.plan.site import Section, Shape, Site
from onward.plan.template import Step
from onward.plan.trees import keys
from onward.spec.document import Mapping, Scalar, Sequence, Tree

MAIN = frozenset({"text", "lines", "json", "choice", "note", "by", "at", "status", "branch", "results", "hand-off"})
"""names that outputs and fields of a question may not take (`settled.md` 38)"""

_UNFIT_KEY = re.compile(r"[\[\]\x00-\x1f\x7f]")
_LONGEST_KEY = 80
_HAND_OFF = ("summary", "data", "report", "phase")


class Result(NamedTuple):
    """A part of a result: `node` below the start, `field`, the keys `within`; `lacks` tells why it may be missing."""

    site: Site
    node: str
    field: str
    within: tuple[str | int, ...] = ()
    shape: Shape = Shape.ANY
    lacks: str | None = None


class NoResult(NamedTuple):
    """There is no such part: words for the mistake and for what to do."""

    message: str
    help: str


def key_part(key: str) -> str:
    """How the key of an iteration is written in a path (`format.md` 3.3)."""
    if len(key) <= _LONGEST_KEY and not _UNFIT_KEY.search(key):
        return key
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def follow(
    site: Site, steps: tuple[Step, ...], shown: str, *, node: str = "", iteration: bool = False, ended: bool = True
) -> Result | NoResult:
    """Go from a node along accessors. `iteration` begins inside an iteration, `ended=False` allows only what is below.

    `shown` is how the way so far is written, for messages.
    """
    lacks: str | None = None
    while True:
        whole_loop = site.looped and not iteration
        if not steps:
            return _no_field(site, whole_loop, shown)
        first, rest = steps[0], steps[1:]
        if whole_loop and first.bracket:
            node, iteration = f"{node}[{key_part(str(first.value))}]", True
            shown, steps = f"{shown}{_written(first)}", rest
            continue
        child = None if whole_loop and first.value not in site.merge.names else _child(site, str(first.value))
        if child is None:
            break
        part = f"{Section.MERGE}/{child.name}" if child.section is Section.MERGE else child.name
        node = f"{node}/{part}" if node else part
        shown = f"{shown}{_written(first)}"
        site, steps, iteration, ended = child, rest, False, True
        if child.skippable:
            lacks = f"`{child.name}` has `skip-if`"
    if not ended and first.value != "results":
        return NoResult(f"`{shown}` has not ended here, so only what lies below it can be used", _below(site, shown))
    return _field(site, whole_loop, node, steps, shown, lacks)


def _child(site: Site, name: str) -> Site | None:
    if site.inner is not None:
        return None
    return site.body.names.get(name) or site.merge.names.get(name)


def _field(
    site: Site, whole_loop: bool, node: str, steps: tuple[Step, ...], shown: str, lacks: str | None
) -> Result | NoResult:
    field, within = str(steps[0].value), steps[1:]
    shape = _shape_of(site, whole_loop, field)
    if shape is None:
        return _unknown_field(site, whole_loop, field, shown)
    for step in within:
        inner = _within(shape, step, field)
        if inner is None:
            written = f"{shown}.{field}"
            help = "leave out what follows" if shape is Shape.TEXT else f"write `{{{{{written}[0]}}}}`"
            return NoResult(f"`{written}` is {shape}, so it has no part `{step.value}`", help)
        shape = inner
    if lacks is None and site.failable and field not in ("text", "lines", "status", "results"):
        lacks = f"`{site.name}` may fail and the run goes on"
    inside = tuple([step.value for step in within]) if within else ()
    return Result(site, node, field, inside, shape, lacks if field != "status" else None)


def _within(shape: Shape, step: Step, field: str) -> Shape | None:
    match shape:
        case Shape.TEXT:
            return None
        case Shape.LIST:
            return (Shape.TEXT if field == "lines" else Shape.ANY) if isinstance(step.value, int) else None
        case Shape.MAPPING if field == "hand-off":
            return {"summary": Shape.TEXT, "phase": Shape.TEXT}.get(
                str(step.value), Shape.ANY if step.value in _HAND_OFF else None
            )
        case Shape.MAPPING | Shape.ANY:
            return Shape.ANY


def _shape_of(site: Site, whole_loop: bool, field: str) -> Shape | None:
    # Most references ask for the text of a leaf; the whole table need not be made for them.
    if field == "status" or (field == "text" and not whole_loop and site.kind in (Kind.PROMPT, Kind.RUN)):
        return Shape.TEXT
    return fields_of(site, whole_loop).get(field)


def fields_of(site: Site, whole_loop: bool = False) -> dict[str, Shape]:
    """The parts of a node's result with their shapes."""
    fields = {} if whole_loop else {**_main_results(site), **_declared(site)}
    if whole_loop or site.kind is Kind.PARALLEL:
        fields["results"] = Shape.MAPPING
    if "hand-off" in site.fields and (whole_loop or not site.looped):
        fields["hand-off"] = Shape.MAPPING
    if "worktree" in site.fields and not whole_loop:
        fields["branch"] = Shape.TEXT
    fields["status"] = Shape.TEXT
    return fields


def _main_results(site: Site) -> dict[str, Shape]:
    match site.kind:
        case Kind.PROMPT | Kind.RUN:
            return {"text": Shape.TEXT, "lines": Shape.LIST, "json": _json_shape(site)}
        case Kind.CALL:
            return {"json": _json_shape(site)}
        case Kind.APPROVE:
            return dict.fromkeys(("choice", "note", "by", "at"), Shape.TEXT)
        case _:
            return {}


def _declared(site: Site) -> dict[str, Shape]:
    outputs = site.get("outputs") if site.inner is None else site.inner.document.root.get("outputs")
    fields = site.get("fields") if site.kind is Kind.APPROVE else None
    found = dict.fromkeys(keys(fields), Shape.TEXT)
    if isinstance(outputs, Mapping):
        for name, entry in outputs.entries.items():
            found[name] = _form(entry.value) if site.kind.leaf else _value_shape(entry.value)
    return found


def _form(form: Tree) -> Shape:
    forms = {"text": Shape.TEXT, "lines": Shape.LIST}
    return forms.get(form.text, Shape.ANY) if isinstance(form, Scalar) else Shape.ANY


def _value_shape(value: Tree) -> Shape:
    if isinstance(value, Sequence):
        return Shape.LIST
    return Shape.MAPPING if isinstance(value, Mapping) else Shape.ANY


def _json_shape(site: Site) -> Shape:
    schema = site.get("schema")
    if not isinstance(schema, Mapping):
        return Shape.ANY
    kind: object = None
    file = schema.get("file")
    if len(schema.entries) == 1 and isinstance(file, Scalar):
        known = site.file.document.files.get(file.text)
        kind = known.data.get("type") if known is not None and isinstance(known.data, dict) else None
    else:
        named = schema.get("type")
        kind = named.text if isinstance(named, Scalar) else None
    return {"array": Shape.LIST, "object": Shape.MAPPING}.get(str(kind), Shape.ANY)


def _unknown_field(site: Site, whole_loop: bool, field: str, shown: str) -> NoResult:
    if whole_loop and (field in fields_of(site) or _child(site, field) is not None):
        message = f"`{shown}` is a loop, so `{field}` exists once per iteration"
        return NoResult(message, f'write `{{{{{shown}["key"].{field}}}}}` or use `{{{{{shown}.results}}}}`')
    if site.inner is not None and field in site.body.names:
        message = f"`{field}` lies inside the included file, and only its `outputs` are visible here"
        return NoResult(message, f"add it to `outputs` of {site.inner.document.shown}")
    if field == "hand-off":
        return NoResult(f"`{shown}` has no hand-off", "add `hand-off: {summary: …}` to it")
    if field == "results":
        return NoResult(f"`{shown}` has no `results`: it is neither a `parallel` nor a loop", _has(site, whole_loop))
    return NoResult(f"`{shown}` has no result `{field}`", _has(site, whole_loop))


def _no_field(site: Site, whole_loop: bool, shown: str) -> NoResult:
    known = fields_of(site, whole_loop)
    first = next((f"`{{{{{shown}.{name}}}}}`" for name in known if name != "status"), None)
    help = f"write {first}" if first is not None else _has(site, whole_loop)
    return NoResult(f"`{shown}` is a task; say which of its results is meant", help)


def _has(site: Site, whole_loop: bool) -> str:
    what = "a loop" if whole_loop else f"{'an' if site.kind[0] in 'ai' else 'a'} `{site.kind}` node"
    names = [*fields_of(site, whole_loop)]
    if not whole_loop and site.inner is None:
        names += [*site.body.names, *site.merge.names]
    return f"{what} has {', '.join(names[:12])}{' …' if len(names) > 12 else ''}"


def _below(site: Site, shown: str) -> str:
    if site.looped or site.kind is Kind.PARALLEL:
        return f"write `{{{{{shown}.results}}}}`"
    return _has(site, False)


def written(steps: tuple[Step, ...]) -> str:
    """Accessors as they are written."""
    return "".join(_written(step) for step in steps)


def _written(step: Step) -> str:
    if isinstance(step.value, int):
        return f"[{step.value}]"
    return f'["{step.value}"]' if step.bracket else f".{step.value}"
