"""The one table is complete, says what it means, and JSON Schema and reference say the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from onward.errors import Place
from onward.spec import check as _registers_checks  # noqa: F401
from onward.spec import records
from onward.spec.conditions import CONDITIONS, JUDGE
from onward.spec.forms import Each, Either, Field, Form, Names, Record
from onward.spec.grammar import WORKFLOW, any_fields
from onward.spec.node_fields import KINDS, NODE_FIELDS
from onward.spec.read import Unreadable, read
from onward.spec.reference import reference
from onward.spec.scalars import data
from onward.spec.scene import At, Scene, visit
from onward.spec.schema import schema, schema_text
from onward.spec.supported import NOT_YET
from spec.recorded import MISTAKES, WORKFLOWS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "format.md"

# What needs two places of the file, other files, or Python's own rules: the schema cannot see it.
UNSEEN = {
    "duplicate-task", "env-reserved", "include-cycle", "include-missing", "is-directory", "no-file", "not-json",
    "bad-regex",
}  # fmt: skip


def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema())


def fields_in(form: Form) -> Iterator[Field]:
    """Every field that can stand below a form."""
    match form:
        case Record():
            yield from form.fields
            for field in form.fields:
                yield from fields_in(field.form)
        case Either():
            for each in (form.scalar, form.sequence, form.mapping):
                if each is not None:
                    yield from fields_in(each)
        case Each() | Names():
            yield from fields_in(form.form)


def all_fields() -> list[Field]:
    tops = [*WORKFLOW.fields, *NODE_FIELDS, *CONDITIONS, *JUDGE.fields]
    return tops + [inner for field in tops for inner in fields_in(field.form)]


@pytest.mark.parametrize("field", all_fields(), ids=lambda field: field.key)
def test_a_field_says_in_a_sentence_what_it_does(field: Field) -> None:
    assert field.says[:1].isupper() or field.says.startswith("`")
    assert field.says.endswith((".", "?"))


@pytest.mark.parametrize("field", [field for field in all_fields() if field.example], ids=lambda field: field.key)
def test_the_example_of_a_field_is_a_value_that_it_takes(field: Field) -> None:
    text = field.example if field.example.startswith(f"{field.key}:") else f"{field.key}: {field.example}"
    tree, problems, _ = read(text + "\n", "example")
    scene = Scene(lines=[text], problems=list(problems))
    visit(scene, field.form, tree.entries[field.key].value, At(key=field.key, place=Place(file="example")))  # type: ignore[union-attr]
    assert [str(problem) for problem in scene.problems] == []


@pytest.mark.parametrize("record", [v for v in vars(records).values() if isinstance(v, Record)], ids=lambda r: r.title)
def test_the_example_of_a_mapping_is_one_that_it_takes(record: Record) -> None:
    if not record.example:
        return
    tree, _, _ = read(record.example, "example")
    scene = Scene(lines=[record.example])
    [entry] = tree.entries.values()  # type: ignore[union-attr]
    visit(scene, record, entry.value, At(key=entry.key.text, place=Place(file="example")))
    assert [str(problem) for problem in scene.problems] == []


def test_every_feature_of_a_field_is_a_switch() -> None:
    features = {field.feature for field in all_fields() if field.feature} | {
        feature
        for field in all_fields()
        for form in (field.form, getattr(field.form, "scalar", None))
        for _, feature in getattr(form, "features", ())
    }
    assert set(NOT_YET) <= features


def test_the_file_with_everything_uses_every_key_of_the_table() -> None:
    written = (WORKFLOWS / "everything.yaml").read_text(encoding="utf-8")
    assert {field.key for field in all_fields() if f"{field.key}:" not in written} == set()


def test_every_kind_is_a_field_of_nodes() -> None:
    assert set(KINDS) <= set(any_fields())


def test_the_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(schema_text()) == schema()


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_schema_takes_what_the_loader_takes(path: Path) -> None:
    value = data(read(path.read_text(encoding="utf-8"), path.name).tree)
    assert [error.message for error in validator().iter_errors(value)] == []


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_the_schema_refuses_what_the_loader_refuses(path: Path) -> None:
    try:
        tree, problems, _ = read(path.read_text(encoding="utf-8"), path.name)
    except Unreadable:
        return
    if problems or path.stem.partition("--")[0] in UNSEEN:
        return
    assert not validator().is_valid(data(tree))


def test_the_schema_tells_editors_what_a_key_means() -> None:
    made = schema()
    assert made["properties"]["limit"]["description"].startswith("Most tasks at once")
    run: dict[str, Any] = made["$defs"]["node-run"]["properties"]
    timeout = made["$defs"][run["timeout"]["$ref"].rpartition("/")[2]]
    assert "Example: 20m" in timeout["description"]


def test_members_of_a_parallel_have_needs_and_other_nodes_have_not() -> None:
    definitions = schema()["$defs"]
    for kind in KINDS:
        assert "needs" in definitions[f"member-{kind}"]["properties"]
        assert "needs" not in definitions[f"node-{kind}"]["properties"]


def test_the_reference_is_current() -> None:
    """`python -m onward.spec.reference > docs/reference/format.md` makes it so."""
    assert REFERENCE.read_text(encoding="utf-8") == reference()


def test_the_reference_names_every_key() -> None:
    page = reference()
    keys = {field.key for field in (*WORKFLOW.fields, *NODE_FIELDS, *CONDITIONS)}
    assert {key for key in keys if f"`{key}`" not in page} == set()
