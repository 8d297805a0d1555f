"""Checks of steps and nodes: names, kinds, fields of the kind, and what was indented too little."""

from __future__ import annotations

from msgspec.structs import replace

from onward.spec import names
from onward.spec.check_records import check_field
from onward.spec.check_values import name_is_good
from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree
from onward.spec.excerpts import quoted
from onward.spec.forms import Field, Members, Steps, both, either
from onward.spec.grammar import any_fields, fields_of, kinds_with
from onward.spec.names import Rule
from onward.spec.node_fields import CONTAINERS, KINDS
from onward.spec.records import FAILURE, LOOP
from onward.spec.scene import At, Scene, checks, empty, own_keys
from onward.spec.suggest import kind_meant, meant

_KINDS = both(KINDS).replace(" and ", ", ")
_ONE_KIND = f"a task has exactly one of {_KINDS}"
_COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")
_IN_PLACE_OF_NAMES = ("name", "id", "uses", "if")

SEQUENCE = "sequence"
TOGETHER = "together"
PARALLEL = "parallel"


@checks(Steps)
def check_steps(scene: Scene, _form: Steps, tree: Tree, at: At) -> None:
    inner = at if at.key == "task" else replace(at, trail=(*at.trail, at.key))
    seen: dict[str, Scalar] = {}
    match tree:
        case Sequence() if tree.items:
            for item in tree.items:
                _check_step(scene, item, inner, seen)
        case Mapping() if tree.entries:
            help = f"put `- ` before {quoted(next(iter(tree.entries)))}"
            message = f"{at.key} must be a list: each step begins with a dash"
            scene.report("task-not-list", message, tree.place, at, help=help)
            _check_members(scene, tree, inner, seen, SEQUENCE)
        case Scalar() if not empty(tree):
            message = f"{at.key} must be a list of steps, not {quoted(tree.text)}"
            scene.report("task-not-list", message, tree.place, at, help=_example_step(at.key))
        case _:
            scene.report("empty-task", f"{at.key} has no steps", at.place, at, help=_example_step(at.key))


def _example_step(key: str) -> str:
    return f"for example `{key}: [{{build: {{run: make}}}}]`"


@checks(Members)
def check_members(scene: Scene, _form: Members, tree: Tree, at: At) -> None:
    if isinstance(tree, Mapping) and tree.entries:
        _warn_ignored(scene, own_keys(tree), at)
        _check_members(scene, tree, at, {}, PARALLEL)
    elif isinstance(tree, Mapping) or empty(tree):
        example = "for example `parallel: {lint: {run: make lint}, test: {run: make test}}`"
        scene.report("empty-task", "parallel has no members", at.place, at, help=example)
    else:
        help = "take the dashes away: members are names" if isinstance(tree, Sequence) else None
        scene.must_be("a mapping of names to tasks", tree, at, help=help)


def _check_step(scene: Scene, item: Tree, at: At, seen: dict[str, Scalar]) -> None:
    if not isinstance(item, Mapping):
        if empty(item):
            scene.report("empty-task", "nothing stands after this dash", item.place, at, help="remove it")
        else:
            help = "write `- name:` and the task below it, indented"
            scene.must_be("a list of steps, each a name with a task", item, at, help=help)
        return
    ignored = own_keys(item)
    _warn_ignored(scene, ignored, at)
    if not item.entries:
        if not ignored:
            scene.report("empty-task", "this step has no task", item.place, at, help="remove it")
        return
    _check_members(scene, item, at, seen, TOGETHER if len(item.entries) > 1 else SEQUENCE)


def _warn_ignored(scene: Scene, ignored: list[Scalar], at: At) -> None:
    for key in ignored:
        message = f"{quoted(key.text)} is not run: keys that start with `x-` are ignored"
        scene.report("ignored", message, key.place, at, help="rename it if it is a task", warning=True)


def _check_members(scene: Scene, tree: Mapping, at: At, seen: dict[str, Scalar], inside: str) -> None:
    """The nodes of one step or group; `seen` are the names of the list so far, by how they fold."""
    entries = list(tree.entries.values())
    displaced = _displaced(scene, entries, at)
    for entry in entries:
        if entry.key.text not in displaced:
            _check_name(scene, entry.key, at, seen)
            check_node(scene, entry, at, inside)


def _check_name(scene: Scene, key: Scalar, at: At, seen: dict[str, Scalar]) -> None:
    if not name_is_good(scene, Rule.TASK, key, at):
        return
    first = seen.setdefault(names.fold(key.text), key)
    if first is key:
        return
    if first.text == key.text:
        what = f"the name {quoted(key.text)} is used twice (first on line {first.place.line})"
    else:
        what = f"the names {quoted(first.text)} (line {first.place.line}) and {quoted(key.text)} are too much alike"
    message = f"{what}; names identify tasks on resume"
    scene.report("duplicate-task", message, key.place, at, help="rename one of them")


def _displaced(scene: Scene, entries: list[Entry], at: At) -> set[str]:
    """Keys that are fields of a task and stand where names stand; the first is reported."""
    owner: Entry | None = None
    displaced: set[str] = set()
    for entry in entries:
        if not _looks_like_field(entry, owner):
            owner = entry
            continue
        if not displaced:
            _report_displaced(scene, entry, owner, at)
        displaced.add(entry.key.text)
        if owner is not None and empty(owner.value):
            displaced.add(owner.key.text)
    return displaced


def _looks_like_field(entry: Entry, owner: Entry | None) -> bool:
    key = entry.key.text
    if key not in any_fields() and not (owner is None and key in _IN_PLACE_OF_NAMES):
        return False
    if isinstance(entry.value, Mapping):
        return (owner is not None or key in KINDS) and not any(kind in entry.value.entries for kind in KINDS)
    return not (empty(entry.value) and owner is None)


def _report_displaced(scene: Scene, entry: Entry, owner: Entry | None, at: At) -> None:
    key = entry.key
    if owner is None:
        message = f"the step has no name: {quoted(key.text)} stands where the name of the task belongs"
        written = isinstance(entry.value, Scalar) and key.text in ("name", "id")
        near = names.suggestion(Rule.TASK, entry.value.text) if written and isinstance(entry.value, Scalar) else None
        name = near or (entry.value.text if written and isinstance(entry.value, Scalar) else "build")
        help = f"write `- {name}:` and put the rest below it, indented"
        scene.report("missing-name", message, key.place, at, help=help)
        return
    message = f"{quoted(key.text)} stands beside {quoted(owner.key.text)}, so it would be a second task"
    scene.report("not-indented", message, key.place, at, help=_indent_help(key, owner))


def _indent_help(key: Scalar, owner: Entry) -> str:
    name = quoted(owner.key.text)
    if owner.key.place.line == key.place.line:
        return f"put it inside the braces of {name}: it belongs to {name}"
    spaces = 2
    if isinstance(owner.value, Mapping) and owner.value.entries:
        first = next(iter(owner.value.entries.values())).key.place
        spaces = max(first.column - key.place.column, 1) if first.line > owner.key.place.line else 2
    count = _COUNTS[spaces] if spaces < len(_COUNTS) else str(spaces)
    return f"indent {quoted(key.text)} by {count} more space{'s' if spaces > 1 else ''}: it belongs to {name}"


def check_node(scene: Scene, entry: Entry, at: At, inside: str) -> None:
    """One node: `inside` tells what it is a member of."""
    name, node = entry.key, entry.value
    inner = At(key=name.text, place=name.place, trail=(*at.trail, name.text))
    if not isinstance(node, Mapping):
        _no_mapping(scene, name, node, inner)
        return
    own_keys(node)
    kinds = [key for key in node.entries if key in KINDS]
    if not kinds:
        _missing_kind(scene, name, node, inner)
    for extra in kinds[1:]:
        _second_kind(scene, name, node, kinds[0], extra, inner)
    for field in node.entries.values():
        _check_node_field(scene, node, kinds, field, inner, inside)
    if kinds == ["approve"]:
        _check_gate(scene, node, inner)


def _no_mapping(scene: Scene, name: Scalar, node: Tree, at: At) -> None:
    if empty(node):
        message = f"{quoted(name.text)} has nothing below it; {_ONE_KIND}"
        help = "indent what belongs to it" if not isinstance(node, Sequence) else None
        scene.report("missing-kind", message, name.place, at, help=help)
    elif isinstance(node, Sequence):
        help = f"write `{name.text}: {{task: [...]}}` for steps one after the other"
        scene.report("bad-value", f"{quoted(name.text)} must be a mapping, not a list", node.place, at, help=help)
    else:
        help = f"did you mean `{name.text}: {{run: …}}`? {_ONE_KIND}"
        scene.must_be("a mapping with one kind of task", node, at, help=help)


def _missing_kind(scene: Scene, name: Scalar, node: Mapping, at: At) -> None:
    if any(key not in any_fields() and kind_meant(key) in KINDS for key in node.entries):
        return
    message = f"{quoted(name.text)} has no kind; {_ONE_KIND}"
    scene.report("missing-kind", message, name.place, at, help="add one, for example `run: make`")


def _second_kind(scene: Scene, name: Scalar, node: Mapping, first: str, extra: str, at: At) -> None:
    line = node.entries[first].key.place.line
    message = f"{quoted(name.text)} already has {quoted(first)} (line {line}); {_ONE_KIND}"
    help = "make two tasks, one after the other"
    scene.report("two-kinds", message, node.entries[extra].key.place, at, help=help)


def _check_node_field(scene: Scene, node: Mapping, kinds: list[str], entry: Entry, at: At, inside: str) -> None:
    field = _field_for(entry.key.text, kinds)
    if field is None:
        _unknown_field(scene, kinds, entry, at)
        return
    wrong = _misplaced(field, kinds, node, inside)
    if wrong is not None:
        message, help = wrong
        scene.report("unknown-key", message, entry.key.place, at, help=help)
    elif field.key == "merge" and kinds == ["parallel"] and "loop" in node.entries:
        message = "`merge` could belong to `parallel` or to `loop`"
        help = "put the `parallel` into a `task` of its own"
        scene.report("ambiguous-merge", message, entry.key.place, at, help=help)
    else:
        _check_value(scene, field, entry, at)


def _check_value(scene: Scene, field: Field, entry: Entry, at: At) -> None:
    if field.form is FAILURE and isinstance(entry.value, Mapping):
        at = replace(at, trail=(*at.trail, "on-failure"))
    check_field(scene, field, entry, at)


def _field_for(key: str, kinds: list[str]) -> Field | None:
    """The field of this key for a node of these kinds: none, one, or by mistake several."""
    if not kinds:
        return any_fields().get(key)
    if len(kinds) == 1:
        return fields_of(kinds[0]).get(key)
    return next((found for kind in kinds if (found := fields_of(kind).get(key)) is not None), None)


def _misplaced(field: Field, kinds: list[str], node: Mapping, inside: str) -> tuple[str, str] | None:
    """Message and help when the node's place or its lack of a loop rules the field out."""
    if field.inside == "parallel" and inside != PARALLEL:
        return f"{quoted(field.key)} is a field of members of a `parallel`", _NEEDS_HELP
    looped = "loop" in node.entries
    if field.inside == "together" and inside == SEQUENCE and not looped:
        message = f"{quoted(field.key)} is for nodes that run beside others, or in a loop"
        return message, "remove it: this node runs alone"
    if field.looped and kinds and not looped and not any(kind in field.only for kind in kinds):
        message = f"{quoted(field.key)} is not a field of {_owner(kinds)}"
        return message, f"it belongs to {either([*map(quoted, field.only), 'a node with `loop`'])}"
    return None


_NEEDS_HELP = "order is the list: put the task in a later step, or both into one `parallel`"


def _owner(kinds: list[str]) -> str:
    if not kinds:
        return "a task"
    kind = kinds[0]
    a = "an" if kind[0] in "aeiou" else "a"
    return f"{a} {quoted(kind)}" if kind in CONTAINERS else f"{a} {quoted(kind)} task"


def _unknown_field(scene: Scene, kinds: list[str], entry: Entry, at: At) -> None:
    key = entry.key.text
    known = list(fields_of(kinds[0])) if kinds else list(any_fields())
    scene.report(
        "unknown-key",
        f"{quoted(key)} is not a field of {_owner(kinds)}",
        entry.key.place,
        at,
        help=_elsewhere(key, kinds) or meant("node", key, entry.value, known) or _loop_field(key),
    )


def _elsewhere(key: str, kinds: list[str]) -> str | None:
    """Help for a field that other kinds have."""
    if key == "outputs" and kinds == ["approve"]:
        return "what an `approve` asks for is named by `fields`"
    if key in ("retry", "on-resume", "validators", "schema") and kinds and kinds[0] in CONTAINERS:
        return f"{quoted(key)} belongs to the tasks inside"
    owners = kinds_with(key)
    return f"{quoted(key)} belongs to {either([quoted(kind) for kind in owners])}" if owners else None


def _loop_field(key: str) -> str | None:
    return f"it belongs into `loop: {{{key}: …}}`" if LOOP.field(key) is not None else None


def _check_gate(scene: Scene, node: Mapping, at: At) -> None:
    """`on-timeout` names a choice that the gate offers; both may come from `defaults`."""
    chosen = node.get("on-timeout") or scene.usual("approve", "on-timeout")
    choices = node.get("choices") or scene.usual("approve", "choices")
    offered = {"pause", "reject", "approve"}
    if isinstance(choices, Sequence):
        offered = {"pause", "reject"} | {item.text for item in choices.items if isinstance(item, Scalar)}
    if isinstance(chosen, Scalar) and chosen.text and chosen.text not in offered:
        scene.must_be(either(sorted(offered)), chosen, replace(at, key="on-timeout"))
