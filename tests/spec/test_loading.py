"""A workflow file is loaded with the files that it names, and holds what was written."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from onward.errors import Problems
from onward.spec.document import Document, Mapping, Scalar, Sequence, Tree
from onward.spec.load import DEEPEST_INCLUDE, load
from onward.spec.scalars import data
from onward.spec.variables_file import read_variables
from spec.recorded import WORKFLOWS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is its own real path."""
    return tmp_path.resolve()


def write(folder: Path, **files: str) -> Path:
    """Files by their names, with `__` for a dot; the first one is the workflow."""
    paths = [folder / name.replace("__", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths[0]


def codes(path: Path) -> list[str]:
    with pytest.raises(Problems) as caught:
        load(path)
    return [problem.code for problem in caught.value.problems]


def at(tree: Tree, *keys: str | int) -> Tree:
    for key in keys:
        if isinstance(key, int):
            assert isinstance(tree, Sequence)
            tree = tree.items[key]
        else:
            assert isinstance(tree, Mapping)
            tree = tree.entries[key].value
    return tree


def text_at(tree: Tree, *keys: str | int) -> str:
    found = at(tree, *keys)
    assert isinstance(found, Scalar)
    return found.text


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_workflows_of_the_tests_load_without_warnings(path: Path) -> None:
    document = load(path, shown=path.name)
    assert (document.path, document.shown, document.warnings) == (str(path.resolve()), path.name, [])
    assert document.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert "\n".join(document.lines) == path.read_text(encoding="utf-8")


def test_values_that_yaml_would_retype_arrive_as_written() -> None:
    root = load(WORKFLOWS / "typing.yaml").root
    assert {name: text_at(root, "variables", name) for name in at(root, "variables").entries} == {  # type: ignore[union-attr]
        "account": "998877665544332211009988776655",
        "zip": "02134",
        "version": "1.10",
        "country": "no",
        "day": "2024-01-02",
        "at": "12:30",
        "mask": "0x1F",
        "nothing": "",
    }
    assert [next(iter(step.entries)) for step in at(root, "task").items] == ["on", "yes", "1"]  # type: ignore[union-attr]
    assert data(at(root, "task", 2, "1", "with")) == {
        "account": "998877665544332211009988776655",
        "zip": "02134",
        "version": "1.10",
        "country": "no",
        "day": "2024-01-02",
        "at": "12:30",
        "mask": "0x1F",
        "nothing": None,
        "whole": 42,
        "fraction": 2.5,
        "big": "1e3",
        "minus": -7,
        "word": True,
        "quoted": "42",
    }


@pytest.mark.parametrize("name", ["ACCOUNT", "On", "1", "pr-number"])
def test_a_variable_with_another_spelling_is_refused_and_not_renamed(name: str, folder: Path) -> None:
    assert codes(write(folder, w__yaml=f"variables: {{{name}: x}}\ntask: [{{a: {{run: make}}}}]\n")) == ["bad-name"]


def test_signs_of_shells_and_templates_in_a_value_stay() -> None:
    root = load(WORKFLOWS / "dollars.yaml").root
    assert text_at(root, "variables", "note") == "costs $5, $NOPE and ${NOPE}, `id`, $(id), {braces}, 100%"


def test_keys_that_start_with_x_are_left_out_where_keys_are_words_and_kept_in_data() -> None:
    root = load(WORKFLOWS / "everything.yaml").root
    assert "x-shared" not in root.entries
    members = at(root, "task", 1, "review", "parallel")
    assert "x-note" not in at(members, "correctness").entries  # type: ignore[union-attr]
    assert "x-note" not in at(members, "security").entries  # type: ignore[union-attr]
    assert data(at(root, "task", 1, "review", "merge", 0, "combine", "with", "deep")) == {"x-kept": 1}
    assert data(at(root, "task", 3, "each", "hand-off", "data")) == {"x-ray": 1, "list": [1, 2]}
    assert data(at(root, "watch")) == {"x-files.json": "warn", "conf.*": "fresh-start"}


def test_the_schema_key_of_editors_is_left_out() -> None:
    assert "$schema" not in load(WORKFLOWS / "everything.yaml").root.entries


def test_files_that_the_definition_names_come_with_it() -> None:
    document = load(WORKFLOWS / "everything.yaml")
    assert set(document.files) == {"review.md", "findings.schema.json"}
    prompt = document.files["review.md"]
    assert (prompt.text, prompt.path, prompt.data) == (
        "Review {{target}}.\n",
        str((WORKFLOWS / "review.md").resolve()),
        None,
    )
    schema = document.files["findings.schema.json"]
    assert schema.data["properties"] == {"count": {"type": "integer", "minimum": 1}}


def test_a_schema_file_may_be_yaml_or_true_and_is_found_beside_the_file_that_names_it(folder: Path) -> None:
    inner = folder / "inner"
    inner.mkdir()
    write(inner, s__yaml="type: object\nproperties: {a: {const: 1.10}}\n", t__json="true")
    write(
        inner, b__yaml="task:\n  - b: {run: make, schema: {file: s.yaml}}\n  - c: {run: make, schema: {file: t.json}}\n"
    )
    document = load(write(folder, a__yaml="task: [{a: {include: inner/b.yaml}}]\n"))
    included = document.includes["inner/b.yaml"]
    assert included.files["s.yaml"].data == {"type": "object", "properties": {"a": {"const": "1.10"}}}
    assert included.files["t.json"].data is True


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("s.json", "[1]", "bad-value"),
        ("s.json", '{"type": "objekt"}', "bad-value"),
        ("s.json", "{", "not-json"),
        ("s.json", "NaN", "not-json"),
        ("s.json", "[" * 5000 + "]" * 5000, "too-deep"),
        ("s.json", "[" * 100_000, "not-json"),
        ("s.json", '{"a":' * 200 + "1" + "}" * 200, "too-deep"),
        ("s.yaml", "a: b: c", "yaml"),
        ("s.yaml", "just words", "bad-value"),
        ("s.yaml", "", "empty-file"),
        ("s.yaml", "a: 1\na: 2", "duplicate-key"),
    ],
)
def test_a_schema_file_that_is_none_is_told(name: str, text: str, code: str, folder: Path) -> None:
    (folder / name).write_text(text)
    found = codes(write(folder, w__yaml=f"task:\n  - a: {{run: make, schema: {{file: {name}}}}}\n"))
    assert found in ([code], ["not-json"] if code == "too-deep" else [code])


def test_numbers_of_a_json_schema_that_cannot_be_stored_exactly_become_fractions(folder: Path) -> None:
    write(folder, s__json='{"maximum": ' + "9" * 30 + "}")
    document = load(write(folder, w__yaml="task:\n  - a: {run: make, schema: {file: s.json}}\n"))
    assert document.files["s.json"].data == {"maximum": 1e30}


def test_a_prompt_file_may_hold_what_yaml_may_not_but_must_be_text(folder: Path) -> None:
    main = write(folder, w__yaml="task:\n  - a: {prompt: {file: p.txt}}\n", p__txt="\x1b[0m{{a}}\f")
    assert load(main).files["p.txt"].text == "\x1b[0m{{a}}\f"
    (folder / "p.txt").write_bytes(b"a\x00b")
    assert codes(main) == ["not-text"]
    (folder / "p.txt").write_bytes(b"a\nb\xff")
    with pytest.raises(Problems, match=r"p\.txt:2:2: error\[not-text\]"):
        load(main)


def test_one_file_as_prompt_and_as_schema_has_both(folder: Path) -> None:
    main = write(
        folder, w__yaml="task:\n  - a: {prompt: {file: s.json}, schema: {file: s.json}}\n", s__json='{"type": "object"}'
    )
    file = load(main).files["s.json"]
    assert (file.text, file.data) == ('{"type": "object"}', {"type": "object"})


def test_one_included_file_is_read_once(folder: Path) -> None:
    main = write(
        folder,
        a__yaml="task:\n  - b: {include: b.yaml}\n  - c: {include: ./b.yaml}\n",
        b__yaml="task: [{x: {run: make}}]\n",
    )
    document = load(main)
    assert document.includes["b.yaml"] is document.includes["./b.yaml"]


def test_a_circle_of_includes_is_told_with_its_files(folder: Path) -> None:
    main = write(
        folder,
        a__yaml="task: [{b: {include: b.yaml}}]\n",
        b__yaml="task: [{c: {include: c.yaml}}]\n",
        c__yaml="task: [{b: {include: b.yaml}}]\n",
    )
    with pytest.raises(Problems, match=r"c\.yaml:1:22: error\[include-cycle\].*b\.yaml → .*c\.yaml → .*b\.yaml"):
        load(main)


def chain(folder: Path, length: int) -> Path:
    """`length` files of which each includes the next."""
    for number in range(length):
        last = number == length - 1
        work = "run: make" if last else f"include: w{number + 1}.yaml"
        (folder / f"w{number}.yaml").write_text(f"task: [{{a: {{{work}}}}}]\n")
    return folder / "w0.yaml"


def test_includes_may_be_as_deep_as_allowed_and_no_deeper(folder: Path) -> None:
    load(chain(folder, DEEPEST_INCLUDE + 1))
    assert codes(chain(folder, DEEPEST_INCLUDE + 2)) == ["include-depth"]


def test_the_depth_of_a_file_that_was_read_before_counts(folder: Path) -> None:
    chain(folder, DEEPEST_INCLUDE + 1)
    main = write(folder, a__yaml="task:\n  - last: {include: w9.yaml}\n  - first: {include: w0.yaml}\n")
    assert codes(main) == ["include-depth"]


def test_includes_that_multiply_beyond_all_bounds_are_refused(folder: Path) -> None:
    for number in range(12):
        steps = "".join(f"  - s{n}: {{include: w{number + 1}.yaml}}\n" for n in range(10))
        (folder / f"w{number}.yaml").write_text(f"task:\n{steps}")
    (folder / "w12.yaml").write_text("task: [{a: {run: make}}]\n")
    assert set(codes(folder / "w0.yaml")) == {"too-big"}


def test_a_file_behind_a_link_finds_its_files_beside_itself(folder: Path) -> None:
    real, links = folder / "real", folder / "links"
    real.mkdir()
    links.mkdir()
    write(real, w__yaml="task: [{a: {prompt: {file: p.md}}}]\n", p__md="Text.")
    (links / "w.yaml").symlink_to(real / "w.yaml")
    document = load(links / "w.yaml", shown="links/w.yaml")
    assert (document.path, document.files["p.md"].path) == (str(real / "w.yaml"), str(real / "p.md"))


def test_links_in_a_circle_are_no_file(folder: Path) -> None:
    (folder / "w.yaml").symlink_to(folder / "v.yaml")
    (folder / "v.yaml").symlink_to(folder / "w.yaml")
    assert codes(folder / "w.yaml") == ["no-file"]


@pytest.mark.parametrize("name", ['"a\\0b"', "x" * 300, "a/" * 3000 + "b", '"\\ud83d"'])
def test_names_that_no_file_can_have_are_told(name: str, folder: Path) -> None:
    assert codes(write(folder, w__yaml=f"task:\n  - a:\n      include: {name}\n"))[0] in (
        "include-missing",
        "not-text",
        "yaml",
    )


def test_a_name_that_resembles_a_file_is_proposed(folder: Path) -> None:
    write(folder, release__yaml="")
    with pytest.raises(Problems, match=r"help: did you mean `release\.yaml`\?"):
        load(folder / "relase.yaml")


def test_files_are_shown_relative_to_the_name_that_was_given(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "flows").mkdir()
    write(folder / "flows", a__yaml="task: [{b: {include: ../b.yaml}}]\n")
    write(folder, b__yaml="task: []\n")
    monkeypatch.chdir(folder)
    with pytest.raises(Problems, match=r"^b\.yaml:1:1: error\[empty-task\]"):
        load(os.path.join("flows", "a.yaml"))


def test_a_file_that_only_warns_is_loaded(folder: Path) -> None:
    document = load(write(folder, w__yaml="task: [{x-ray: {run: make}, a: {run: make}}]\n"))
    assert isinstance(document, Document)
    assert [warning.code for warning in document.warnings] == ["ignored"]


def test_variables_of_a_file_are_text_as_written(folder: Path) -> None:
    path = write(folder, v__yaml="zip: 02134\nversion: 1.10\nnote: |\n  two\n  lines\nnothing:\n")
    assert read_variables(path) == {"zip": "02134", "version": "1.10", "note": "two\nlines\n", "nothing": ""}
    assert read_variables(write(folder, v__json='{"zip": "02134", "count": 3, "flag": true}')) == {
        "zip": "02134",
        "count": "3",
        "flag": "true",
    }


@pytest.mark.parametrize(
    ("text", "code"),
    [("[1]", "bad-value"), ("a: [1]", "bad-value"), ("A: 1", "bad-name"), ("a: 1\na: 2", "duplicate-key")],
)
def test_a_file_of_variables_with_mistakes_is_refused(text: str, code: str, folder: Path) -> None:
    with pytest.raises(Problems, match=rf"v\.yaml:\d+:\d+: error\[{code}\]"):
        read_variables(write(folder, v__yaml=text))


def test_a_missing_file_of_variables_is_told(folder: Path) -> None:
    with pytest.raises(Problems, match="no-file"):
        read_variables(folder / "none.yaml")
