"""YAML is read as the format says: text as written, places in characters, anchors and merge keys, bounded."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import yaml

from onward.spec import read as reading
from onward.spec.document import Mapping, Scalar, Sequence, Tree
from onward.spec.read import DEEPEST, LARGEST_FILE, MOST_FROM_ALIASES, Unreadable, lines_of, read, text_of
from onward.spec.scalars import data


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = yaml.CBaseLoader if request.param == "libyaml" else yaml.BaseLoader
    monkeypatch.setattr(reading, "_LOADER", loader)


def tree_of(text: str) -> Mapping:
    tree, problems, _ = read(text, "w.yaml")
    assert problems == []
    assert isinstance(tree, Mapping)
    return tree


def codes_of(text: str) -> list[str]:
    try:
        return [problem.code for problem in read(text, "w.yaml").problems]
    except Unreadable as unreadable:
        return [unreadable.problem.code]


def at(tree: Tree, *keys: str | int) -> Tree:
    for key in keys:
        if isinstance(key, int):
            assert isinstance(tree, Sequence)
            tree = tree.items[key]
        else:
            assert isinstance(tree, Mapping)
            tree = tree.entries[key].value
    return tree


@pytest.mark.parametrize("text", ["3.10", "007", "no", "on", "~", "null", "2024-01-02", "12:30", "0x1F", "1e3", ".inf"])
def test_a_scalar_is_text_as_written(text: str) -> None:
    assert at(tree_of(f"a: {text}\n{text}: b\n"), "a") == Scalar(
        text=text, place=at(tree_of(f"a: {text}\n"), "a").place, plain=True
    )


def test_nothing_after_a_colon_is_empty_plain_text() -> None:
    value = at(tree_of("a:\nb: ''\n"), "a")
    assert isinstance(value, Scalar)
    assert (value.text, value.plain) == ("", True)


@pytest.mark.parametrize(("written", "plain"), [("x", True), ("'x'", False), ('"x"', False), ("|\n  x", False)])
def test_a_scalar_tells_whether_it_was_plain(written: str, plain: bool) -> None:
    value = at(tree_of(f"a: {written}\n"), "a")
    assert isinstance(value, Scalar)
    assert value.plain is plain


def test_places_count_characters_and_lines_from_one() -> None:
    tree = tree_of("é: 1\n長い: [a, 😀😀, b]\n")
    assert [str(item.place) for item in at(tree, "長い").items] == ["w.yaml:2:6", "w.yaml:2:9", "w.yaml:2:13"]
    assert str(tree.entries["長い"].key.place) == "w.yaml:2:1"


def test_byte_order_mark_and_windows_line_ends_are_read() -> None:
    text = text_of(b"\xef\xbb\xbfa: |\r\n  one\r\n  two\r\nb: 2\r\n", "w.yaml")
    tree = tree_of(text)
    assert data(tree) == {"a": "one\ntwo\n", "b": 2}
    assert str(at(tree, "b").place) == "w.yaml:4:4"
    assert lines_of(text)[3] == "b: 2"


@pytest.mark.parametrize("end", ["\x85", "\u2028", "\u2029", "\r"])
def test_other_line_ends_of_yaml_keep_excerpts_at_their_lines(end: str) -> None:
    text = f"a: 1{end}b: [x\n"
    with pytest.raises(Unreadable) as caught:
        read(text, "w.yaml")
    place = caught.value.problem.place
    assert place.line in (2, 3)
    assert lines_of(text)[1] == "b: [x"


def test_a_tab_after_text_is_no_mistake(request: pytest.FixtureRequest) -> None:
    assert data(tree_of("d: |\n  x\n  \ty\n")) == {"d": "x\n\ty\n"}
    if "python" in request.node.name:
        return  # PyYAML's own parser takes fewer tabs than libyaml, and says so
    assert data(tree_of("a: b\t# comment\nc:\td\nd: |\n  x\n  \ty\n")) == {"a": "b", "c": "d", "d": "x\n\ty\n"}


def test_aliases_share_the_tree_of_their_anchor() -> None:
    tree = tree_of("a: &x {b: [1, 2]}\nc: *x\nd: [*x]\n")
    assert at(tree, "c") is at(tree, "a")
    assert at(tree, "d", 0) is at(tree, "a")


def test_own_keys_win_over_merged_ones_and_the_first_source_over_later_ones() -> None:
    tree = tree_of(
        "one: &one {a: 1, b: 1, c: 1}\n"
        "two: &two {b: 2, c: 2, d: 2}\n"
        "both: {<<: [*one, *two], c: own}\n"
        "before: {c: own, <<: *one}\n"
        "inline: {<<: {e: 1}}\n"
    )
    assert data(at(tree, "both")) == {"a": 1, "b": 1, "c": "own", "d": 2}
    assert data(at(tree, "before")) == {"c": "own", "a": 1, "b": 1}
    assert data(at(tree, "inline")) == {"e": 1}


def test_a_merge_of_a_merge_brings_all_keys() -> None:
    tree = tree_of("a: &a {x: 1}\nb: &b {<<: *a, y: 2}\nc: {<<: *b, x: 3}\n")
    assert data(at(tree, "c")) == {"x": 3, "y": 2}


def test_a_quoted_merge_key_is_an_ordinary_key() -> None:
    assert list(tree_of("a: {'<<': x}\n").entries["a"].value.entries) == ["<<"]  # type: ignore[union-attr]


def test_a_later_anchor_of_the_same_name_counts_from_there() -> None:
    assert data(tree_of("a: &x 1\nb: *x\nc: &x 2\nd: *x\n")) == {"a": 1, "b": 1, "c": 2, "d": 2}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: &a [*a]\n", "recursive-alias"),
        ("a: &a {b: {<<: *a}}\n", "recursive-alias"),
        ("a: *b\n", "unknown-alias"),
        ("a: !!int 5\n", "tag"),
        ("a: !x [1]\n", "tag"),
        ("a: ! x\n", "tag"),
        ("a: 1\na: 2\n", "duplicate-key"),
        ("a: {b: 1, b: 2}\n", "duplicate-key"),
        ("{a: 1}: b\n", "bad-key"),
        ("? [a]\n: b\n", "bad-key"),
        ("a: {{x}}\n", "unquoted-reference"),
        ("- {{x}}: y\n", "unquoted-reference"),
        ("", "empty-file"),
        ("---\n", "empty-file"),
        ("---\n ", "empty-file"),
        ("...\n", "yaml"),
        ("a: 1\n--- \nb: 2\n", "yaml"),
        ("%YAML 3.0\n---\na: b\n", "yaml"),
    ],
)
def test_what_the_format_does_not_take_is_refused(text: str, code: str) -> None:
    assert codes_of(text) == [code]


def test_a_chain_of_aliases_that_would_unfold_without_end_is_refused() -> None:
    text = "l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    assert codes_of(text) == ["too-big"]


def test_aliases_may_add_as_many_values_as_are_allowed_and_no_more() -> None:
    size = 1000
    base = f"a: &a [{', '.join('x' * (size - 1))}]\n"
    fits = base + "b: [" + ", ".join(["*a"] * (MOST_FROM_ALIASES // size)) + "]\n"
    assert codes_of(fits) == []
    assert codes_of(fits + "c: *a\n") == ["too-big"]


def test_a_plain_file_may_have_more_values_than_aliases_may_add() -> None:
    tree, problems, size = read("a: [" + "x, " * (MOST_FROM_ALIASES + 10) + "x]\n", "w.yaml")
    assert problems == []
    assert size > MOST_FROM_ALIASES
    assert len(at(tree, "a").items) == MOST_FROM_ALIASES + 11  # type: ignore[union-attr]


def test_more_values_than_allowed_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_NODES", 100)
    assert codes_of("a: [" + "x, " * 97 + "x]\n") == ["too-big"]
    assert codes_of("a: [" + "x, " * 96 + "x]\n") == []


def test_a_file_larger_than_allowed_is_refused() -> None:
    text_of(b"a" * LARGEST_FILE, "w.yaml")
    with pytest.raises(Unreadable) as caught:
        text_of(b"a" * (LARGEST_FILE + 1), "w.yaml")
    assert caught.value.problem.code == "too-big"


def test_nesting_is_allowed_up_to_the_limit() -> None:
    assert codes_of("[" * DEEPEST + "]" * DEEPEST) == []
    assert codes_of("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)) == ["too-deep"]


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "? " * 100_000, "a: &a [" * 5000])
def test_endless_nesting_ends_early(text: str) -> None:
    assert codes_of(text)[0] in ("too-deep", "yaml")


def test_aliases_cannot_nest_deeper_than_the_limit() -> None:
    half = DEEPEST // 2
    text = "a: &a " + "[" * half + "]" * half + "\nb: " + "[" * half + "*a" + "]" * half + "\n"
    assert codes_of(text) == ["too-deep"]


def test_the_trail_of_a_mistake_in_yaml_names_the_nodes_only() -> None:
    text = (
        "task:\n  - review:\n      parallel:\n        security:\n          skip-if: [{a: 1, a: 2}]\n"
        "      merge: [{join: {b: 1, b: 2}}]\n"
    )
    trails = [problem.trail for problem in read(text, "w.yaml").problems]
    assert trails == [("review", "security"), ("review", "merge", "join")]


def test_loading_leaves_garbage_collection_as_it_was(tmp_path: Path) -> None:
    from onward.spec.load import load

    path = tmp_path / "w.yaml"
    path.write_text("task: [{a: {run: make}}]\n")
    load(path)
    assert gc.isenabled()
    gc.disable()
    try:
        load(path)
        assert not gc.isenabled()
    finally:
        gc.enable()
