"""The grammar → a JSON Schema (draft 2020-12), for editors and for `onward schema`.

It says what one file can say about itself: what needs two places of the file (names used twice, names that must be
known) only the loader finds.
"""

from __future__ import annotations

import json
from typing import Any

from onward.spec.conditions import CONDITIONS, JUDGE
from onward.spec.forms import (
    Braces,
    Choice,
    Conditions,
    Data,
    Duration,
    Each,
    Either,
    Field,
    File,
    Flag,
    Form,
    JsonSchema,
    Members,
    Name,
    Names,
    NodeName,
    Number,
    Path,
    Pattern,
    Record,
    Reference,
    Regex,
    Steps,
    Text,
    Whole,
)
from onward.spec.grammar import SCHEMA_KEY, WORKFLOW, fields_of
from onward.spec.json_schemas import TYPES
from onward.spec.names import PATTERNS, Rule
from onward.spec.node_fields import KINDS
from onward.spec.records import LOOP

Schema = dict[str, Any]

_X: Schema = {"^x-": True}
_WRITTEN = ["string", "number", "boolean"]
_FIXED = r"^(?=[\s\S]*\S)(?:(?!\{\{)[\s\S])*$"


def schema() -> Schema:
    """The JSON Schema of a workflow file."""
    made = _Definitions()
    root = made.record(WORKFLOW)
    root["properties"][SCHEMA_KEY] = {"type": "string", "description": "Where this schema is; for editors."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "onward workflow",
        "description": "A workflow file of onward.",
        **root,
        "$defs": dict(sorted(made.definitions.items())),
    }


def schema_text() -> str:
    """The JSON Schema as indented JSON text."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def described(field: Field) -> str:
    """The words of a field with its default and example, as an editor shows them."""
    parts = [field.says]
    if field.default:
        parts.append(f"Default: {field.default}.")
    if field.example:
        parts.append(f"Example: {field.example}")
    return "\n\n".join(parts)


class _Definitions:
    """Makes schemas of forms; what is used in many places goes into `$defs` once."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}

    def of(self, form: Form) -> Schema:
        match form:
            case Text() | Path() | File() | Regex() | NodeName() | Reference() | Pattern() | Name():
                return _text(form)
            case Choice() | Flag() | Duration() | Whole() | Number() | Data():
                return _scalar(form)
            case Each():
                return self.each(form)
            case Names():
                return self.names(form)
            case Record():
                return self.record(form)
            case Either():
                forms = [each for each in (form.scalar, form.sequence, form.mapping) if each is not None]
                return {"anyOf": [self.of(each) for each in forms]}
            case Conditions():
                return self.conditions(form)
            case Steps():
                return {"type": "array", "minItems": 1, "items": self.shared("step", self.step)}
            case Members():
                return _object({PATTERNS[Rule.TASK]: self.node("member"), **_X}, least=1)
            case JsonSchema():
                return _json_schema()

    def shared(self, name: str, make: Any) -> Schema:
        """A reference to a definition, which is made at its first use."""
        if name not in self.definitions:
            self.definitions[name] = {}
            self.definitions[name].update(make())
        return {"$ref": f"#/$defs/{name}"}

    def each(self, form: Each) -> Schema:
        items: Schema = {"type": "array", "items": self.of(form.form)}
        if form.least:
            items["minItems"] = form.least
        if form.most is not None:
            items["maxItems"] = form.most
        if form.distinct:
            items["uniqueItems"] = True
        return {"anyOf": [self.of(form.form), items]} if form.single else items

    def names(self, form: Names) -> Schema:
        if form.keys is None:
            return {"type": "object", "additionalProperties": self.of(form.form)}
        return _object({PATTERNS[form.keys]: self.of(form.form), **(_X if form.ignores_x else {})})

    def record(self, form: Record) -> Schema:
        if form.one_of and any(field.only for field in form.fields):
            return {"type": "object", "oneOf": [self.variant(form, header) for header in form.one_of]}
        made = self.plain_record(form.fields)
        if form.one_of:
            made["oneOf"] = [{"required": [key]} for key in form.one_of]
        return made

    def variant(self, form: Record, header: str) -> Schema:
        """The record with one of the keys that exclude each other."""
        others = set(form.one_of) - {header}
        fields = [f for f in form.fields if f.key not in others and (not f.only or header in f.only)]
        made = self.plain_record(tuple(fields))
        bound = ["max"] if form is LOOP and header != "for-each" else []
        made["required"] = [*made.get("required", []), header, *bound]
        return made

    def plain_record(self, fields: tuple[Field, ...]) -> Schema:
        made = _object(_X)
        made["properties"] = {field.key: self.field(field) for field in fields}
        required = [field.key for field in fields if field.required]
        if required:
            made["required"] = required
        return made

    def field(self, field: Field) -> Schema:
        return {"description": described(field), **self.of(field.form)}

    def step(self) -> Schema:
        words = "A step: a name with a task below it. Several names in one step run side by side."
        return {"description": words, **_object({PATTERNS[Rule.TASK]: self.node("node"), **_X}, least=1)}

    def node(self, place: str) -> Schema:
        """A node of any kind; as a `member` of a parallel it may have `needs`."""

        def kinds() -> Schema:
            each = [self.shared(f"{place}-{kind}", lambda kind=kind: self.node_of(kind, place)) for kind in KINDS]
            return {"type": "object", "oneOf": each}

        return self.shared(place, kinds)

    def node_of(self, kind: str, place: str) -> Schema:
        made = _object(_X)
        fields = [f for f in fields_of(kind).values() if f.inside != "parallel" or place == "member"]
        made["properties"] = {field.key: self.node_field(field) for field in fields}
        made["required"] = [kind]
        looped = {field.key: ["loop"] for field in fields if field.looped and kind not in field.only}
        if looped:
            made["dependentRequired"] = looped
        if kind == "parallel":
            made["not"] = {"required": ["merge", "loop"]}
        return made

    def node_field(self, field: Field) -> Schema:
        several = field.key in ("outputs", "with")
        name = f"{field.key}-of-{field.only[0]}" if several else f"field-{field.key}"
        return self.shared(name, lambda: self.field(field))

    def conditions(self, form: Conditions) -> Schema:
        name = "validator" if form.judge else "condition"
        one = self.shared(name, lambda: self.condition(form.judge))
        return {"anyOf": [one, {"type": "array", "minItems": 1, "items": one}]}

    def condition(self, judge: bool) -> Schema:
        each = [self.singleton(field) for field in CONDITIONS]
        if judge:
            each.append(self.plain_record(JUDGE.fields))
        return {"type": "object", "oneOf": each}

    def singleton(self, field: Field) -> Schema:
        made = _object(_X)
        made["properties"] = {field.key: self.shared(f"condition-{field.key}", lambda: self.field(field))}
        made["required"] = [field.key]
        return made


def _object(patterns: Schema, *, least: int = 0) -> Schema:
    made: Schema = {"type": "object", "patternProperties": patterns, "additionalProperties": False}
    if least:
        made["minProperties"] = least
    return made


def _text(form: Text | Path | File | Regex | NodeName | Reference | Pattern | Name) -> Schema:
    match form:
        case Text():
            return _free_text(form)
        case Path():
            return {"type": _WRITTEN, "pattern": _FIXED if form.braces is Braces.REFUSED else r"\S"}
        case File():
            return {"type": "string", "pattern": _FIXED}
        case Regex():
            return {"type": _WRITTEN}
        case NodeName():
            return {"type": _WRITTEN, "pattern": r"^[^{}\s|][^{}|]*$"}
        case Reference():
            return {"type": "string", "pattern": r"^\s*\{\{[\s\S]+\}\}\s*$"}
        case Pattern():
            return {"type": "string", "pattern": form.regex}
        case Name():
            return {"type": _WRITTEN, "pattern": PATTERNS[form.rule]}


def _free_text(form: Text) -> Schema:
    made: Schema = {"type": [*_WRITTEN, "null"] if form.blank else _WRITTEN}
    if form.braces is Braces.REFUSED:
        made["pattern"] = _FIXED
    elif not form.blank:
        made["pattern"] = r"\S"
    if form.longest is not None:
        made["maxLength"] = form.longest
    return made


def _scalar(form: Choice | Flag | Duration | Whole | Number | Data) -> Schema:
    match form:
        case Choice():
            return {"enum": [*form.options, *(int(word) for word in form.options if word.isdecimal())]}
        case Flag():
            return {"type": "boolean"}
        case Duration():
            return {"type": "string", "pattern": r"^[0-9]{1,12}[smhd]$" if form.zero else r"^0*[1-9][0-9]{0,11}[smhd]$"}
        case Whole():
            return {"type": "integer", "minimum": form.least, "maximum": form.most}
        case Number():
            return {"type": "number", "minimum": form.least}
        case Data():
            number: Schema = {"type": "string", "pattern": r"\{\{|^-?[0-9]+(\.[0-9]+)?$"}
            return {"anyOf": [{"type": "number"}, number]} if form.numeric else {}


def _json_schema() -> Schema:
    types: Schema = {"enum": list(TYPES)}
    return {
        "type": ["object", "boolean"],
        "properties": {
            "file": {"description": "A file with the JSON Schema, relative to this workflow file."},
            "type": {"anyOf": [types, {"type": "array", "items": types}]},
            "properties": {"type": "object"},
            "required": {"type": "array", "items": {"type": "string"}},
        },
    }
