"""Checks of mappings with known keys: which are there, which are missing, which do not belong."""

from __future__ import annotations

from onward.spec.conditions import CONDITIONS, JUDGE
from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree
from onward.spec.excerpts import quoted
from onward.spec.forms import Conditions, Field, File, JsonSchema, Record, Regex, both, either
from onward.spec.json_schemas import schema_faults
from onward.spec.records import LOOP
from onward.spec.scene import At, FileUse, Scene, checks, empty, own_keys, visit
from onward.spec.suggest import meant, suggest


@checks(Record)
def check_record(scene: Scene, form: Record, tree: Tree, at: At) -> None:
    if not isinstance(tree, Mapping):
        help = f"for example `{form.example}`" if form.example else None
        scene.must_be("a mapping", tree, at, help=help)
        return
    own_keys(tree)
    header = _header(scene, form, tree, at)
    for entry in tree.entries.values():
        _check_entry(scene, form, header, entry, at)
    _check_required(scene, form, tree, at)
    if form is LOOP:
        _check_bound(scene, tree, header, at)


def _header(scene: Scene, form: Record, tree: Mapping, at: At) -> str | None:
    """The one key of `one_of` that is there; None after a report, or when the record has no such rule."""
    found = [key for key in tree.entries if key in form.one_of]
    if not form.one_of or len(found) == 1:
        return found[0] if found else None
    wanted = both(form.one_of)
    if found:
        message = f"{form.title} has both {quoted(found[0])} and {quoted(found[1])}; it takes exactly one of {wanted}"
        scene.report("bad-value", message, tree.entries[found[1]].key.place, at, help="remove one")
    elif not any(_meant(form, key, entry, list(form.one_of)) for key, entry in tree.entries.items()):
        message = f"{form.title} needs one of {wanted}"
        help = f"for example `{form.example}`" if form.example else None
        scene.report("missing-key", message, at.place, at, help=help)
    return None


def _check_entry(scene: Scene, form: Record, header: str | None, entry: Entry, at: At) -> None:
    key = entry.key
    field = form.field(key.text)
    if field is None:
        help = suggest(form.title, key.text, entry.value, [each.key for each in form.fields])
        scene.report("unknown-key", f"{quoted(key.text)} is not a field of {form.title}", key.place, at, help=help)
    elif field.only and header is not None and header not in field.only:
        message = f"{quoted(key.text)} is not a field of {_with_article(header)} {form.title.strip('`')}"
        help = f"it belongs to {either([quoted(each) for each in field.only])}"
        scene.report("unknown-key", message, key.place, at, help=help)
    else:
        check_field(scene, field, entry, at)


def _with_article(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {quoted(word)}"


def check_field(scene: Scene, field: Field, entry: Entry, at: At) -> None:
    """Check one field's value, and note the feature it stands for."""
    if field.feature:
        scene.use(field.feature, field.key, entry.key.place, at)
    visit(
        scene,
        field.form,
        entry.value,
        At(key=field.key, place=entry.key.place, trail=at.trail, example=field.example),
    )


def _check_required(scene: Scene, form: Record, tree: Mapping, at: At) -> None:
    for field in form.fields:
        if not field.required or field.key in tree.entries:
            continue
        if any(_meant(form, key, entry, [field.key]) for key, entry in tree.entries.items()):
            continue
        message = f"{form.title} needs {quoted(field.key)}"
        help = f"add `{field.key}: {field.example}`" if field.example else None
        scene.report("missing-key", message, at.place, at, help=help)


def _meant(form: Record, key: str, entry: Entry, keys: list[str]) -> bool:
    """Whether the report of an unknown key already proposes one of these."""
    return form.field(key) is None and meant(form.title, key, entry.value, keys) is not None


def _check_bound(scene: Scene, tree: Mapping, header: str | None, at: At) -> None:
    if header in ("until", "while") and "max" not in tree.entries:
        message = f"{_with_article(header)} loop needs `max`, so that it always ends"
        scene.report("no-limit", message, tree.place, at, help="add `max: 10`")


@checks(Conditions)
def check_conditions(scene: Scene, form: Conditions, tree: Tree, at: At) -> None:
    if isinstance(tree, Sequence) and tree.items:
        for item in tree.items:
            _check_condition(scene, form, item, At(key=at.key, place=item.place, trail=at.trail, example=at.example))
    elif isinstance(tree, Mapping):
        _check_condition(scene, form, tree, at)
    else:
        scene.must_be(form.words, tree, at, help=_condition_help(tree, at))


def _condition_help(tree: Tree, at: At) -> str | None:
    if isinstance(tree, Scalar) and any(sign in tree.text for sign in ("==", "!=", "{{", "&&", "||")):
        return f'conditions are written in YAML, such as `{at.key}: {{equals: ["{{{{name}}}}", value]}}`'
    if isinstance(tree, Sequence):
        return "an empty list always holds; remove it"
    return None if at.example else f"for example `{at.key}: {{file-exists: report.md}}`"


def _check_condition(scene: Scene, form: Conditions, tree: Tree, at: At) -> None:
    if not isinstance(tree, Mapping):
        scene.must_be("a condition", tree, at, help=_condition_help(tree, at) or "for example `file-exists: report.md`")
        return
    own_keys(tree)
    if form.judge and "prompt" in tree.entries:
        check_record(scene, JUDGE, tree, at)
        return
    known = [entry for key, entry in tree.entries.items() if key in _BY_KEY]
    for key, entry in tree.entries.items():
        if key not in _BY_KEY:
            _unknown_condition(scene, key, entry, at)
    if len(known) > 1:
        first, second = known[0].key, known[1].key
        message = f"a condition has exactly one key; this one has {quoted(first.text)} and {quoted(second.text)}"
        help = "make a list of them: all must hold; or use `any: […]`"
        scene.report("two-conditions", message, second.place, at, help=help)
    elif not tree.entries:
        scene.report("bad-value", "a condition is empty", tree.place, at, help="for example `file-exists: report.md`")
    for entry in known:
        _check_one(scene, entry, at)


def _unknown_condition(scene: Scene, key: str, entry: Entry, at: At) -> None:
    help = suggest("a condition", key, entry.value, _BY_KEY) or f"the conditions are {both(list(_BY_KEY))}"
    scene.report("unknown-key", f"{quoted(key)} is not a condition", entry.key.place, at, help=help)


def _check_one(scene: Scene, entry: Entry, at: At) -> None:
    field = _BY_KEY[entry.key.text]
    check_field(scene, field, entry, at)
    value = entry.value
    if field.key == "matches" and isinstance(value, Sequence) and len(value.items) == 2:
        regex = value.items[1]
        if isinstance(regex, Scalar):
            visit(scene, Regex(), regex, At(key=field.key, place=regex.place, trail=at.trail))


_BY_KEY = {field.key: field for field in CONDITIONS}


@checks(JsonSchema)
def check_json_schema(scene: Scene, _form: JsonSchema, tree: Tree, at: At) -> None:
    if isinstance(tree, Mapping):
        if list(tree.entries) == ["file"]:
            check_field(scene, _SCHEMA_FILE, tree.entries["file"], at)
            return
        for fault in schema_faults(tree):
            scene.report("bad-value", fault.message, fault.place, at, help=fault.help)
    elif not isinstance(tree, Scalar) or tree.text not in ("true", "false"):
        file = isinstance(tree, Scalar) and not empty(tree)
        help = f"write `schema: {{file: {tree.text}}}`" if file and isinstance(tree, Scalar) else None
        scene.must_be("a mapping (a JSON Schema) or {file: path}", tree, at, help=help)


_SCHEMA_FILE = Field(key="file", form=File(as_="schema"), says="", example="result.schema.json")


@checks(File)
def check_file(scene: Scene, form: File, tree: Tree, at: At) -> None:
    from onward.spec.check_values import refuse_reference

    if not isinstance(tree, Scalar) or not tree.text.strip() or "\n" in tree.text.strip("\n"):
        scene.must_be(form.words, tree, at)
    elif not refuse_reference(scene, tree, at):
        scene.files.append(FileUse(as_=form.as_, scalar=tree, trail=at.trail))
