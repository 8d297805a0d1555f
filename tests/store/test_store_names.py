"""Paths of nodes become folders that no two of them share."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.store.names import file_of, folder_of, parts_of


@pytest.mark.parametrize(
    "path", ["fetch-data", "T1.3", "review/security", "a" * 60, "requirements/gather/deep/er", "x_1", "-", "...", "v1"]
)
def test_a_plain_path_is_its_own_folder(path: str) -> None:
    assert folder_of(path) == path


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("per-test[login]/write", r"per-test-login~[0-9a-f]{16}/write"),
        ("per-test[a/b c]/write", r"per-test-a-b-c~[0-9a-f]{16}/write"),
        ("review/@merge/combine", r"review/merge~[0-9a-f]{16}/combine"),
        ("größe", r"gr-e~[0-9a-f]{16}|gr-.*~[0-9a-f]{16}"),
        ("日本", r"~[0-9a-f]{16}"),
        ("a" * 61, r"a{40}~[0-9a-f]{16}"),
        (".", r"~[0-9a-f]{16}"),
        ("..", r"~[0-9a-f]{16}"),
        ("a/../b", r"a/~[0-9a-f]{16}/b"),
        ("", "~"),
    ],
)
def test_what_is_not_plain_gets_a_hash(path: str, form: str) -> None:
    assert re.fullmatch(form, folder_of(path))


def test_a_child_named_like_an_attempt_does_not_get_its_folder() -> None:
    assert folder_of("x/1") != "x/1"
    assert folder_of("x") + "/1" == "x/1"


def test_a_slash_in_a_key_divides_nothing() -> None:
    assert parts_of("each[a/b]/write") == ["each[a/b]", "write"]
    assert parts_of("o[k/1]/i[x/y/z]/w") == ["o[k/1]", "i[x/y/z]", "w"]


names = st.text(st.sampled_from("ab1.-~/[]@é _") | st.characters(), min_size=1, max_size=70)


@given(one=names, other=names)
def test_no_two_paths_share_a_folder_and_none_leaves_it(one: str, other: str) -> None:
    folder = folder_of(one)
    if parts_of(one) != parts_of(other):
        assert folder != folder_of(other)
        # Not even where a file system does not tell capitals apart, for what has a hash.
        assert "~" not in folder or folder.lower() != folder_of(other).lower()
    for part in folder.split("/"):
        assert re.fullmatch(r"[A-Za-z0-9._~-]{1,60}", part)
        assert part not in (".", "..")


@pytest.mark.parametrize("name", ["flow.yaml", "parts/one.yaml", "prompts/…/x.md", "a b"])
def test_a_definition_file_keeps_its_name(name: str) -> None:
    assert file_of(name) == name


@pytest.mark.parametrize("name", ["../shared/one.yaml", "/etc/flow.yaml", "a/../../x", "a//b", "./x", "."])
def test_a_definition_file_from_elsewhere_is_kept_inside(name: str) -> None:
    assert re.fullmatch(r"~outside/[A-Za-z0-9._-]*~[0-9a-f]{16}", file_of(name))
