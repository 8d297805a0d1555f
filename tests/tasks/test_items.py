"""The items of a `for-each` loop, from wherever they come, and the keys that identify them."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.model.events import LoopItems
from onward.tasks.failures import Failure
from onward.tasks.items import iteration_key, read_items
from tasks.conftest import MakeWorld
from tasks.world import World


def read(made: World, path: str = "each") -> LoopItems:
    return asyncio.run(read_items(made.around, made.at(path), made.command))


def loop(world: MakeWorld, source: str, more: str = "") -> World:
    return world(f"""
variables: {{v: x}}
task:
  - one: {{call: "m:f"}}
  - each: {{loop: {{for-each: {source}{more}}}, run: "true"}}
""")


def keys(event: LoopItems) -> list[str]:
    return [item.key for item in event.items]


def test_a_list_keeps_the_types_of_its_items(world: MakeWorld) -> None:
    made = loop(world, "[a, '{{v}}', 3, {n: '{{v}}'}]")
    event = read(made)
    assert keys(event) == ["a", "x", "3", "4"]
    assert [None if i.value is None else made.values.load(i.value) for i in event.items] == [None, None, 3, {"n": "x"}]


def test_a_reference_may_give_the_list(world: MakeWorld) -> None:
    made = loop(world, '"{{one.json.files}}"')
    made.ended("one", json={"files": ["b", "a"]})
    event = read(made)
    assert keys(event) == ["b", "a"]
    assert event.source == "`{{one.json.files}}`"
    made.ended("one", json={"files": "b a"})
    with pytest.raises(Failure, match="needs a list"):
        read(made)


def test_files_are_sorted_by_their_bytes_and_named_from_the_folder(world: MakeWorld, tmp_path: Path) -> None:
    for name in ("in/b.md", "in/Z.md", "in/ä.md", "in/sub/c.md", "in/no.txt", "in/.hidden.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert keys(read(loop(world, '{glob: "*.md", in: in}'))) == ["Z.md", "b.md", "ä.md"]
    assert keys(read(loop(world, '{glob: "**/*.md", in: in}'))) == ["Z.md", "b.md", "sub/c.md", "ä.md"]
    with pytest.raises(Failure, match="does not exist"):
        read(loop(world, '{glob: "*.md", in: gone}'))


def test_a_file_name_that_is_no_text_is_told(world: MakeWorld, tmp_path: Path) -> None:
    with open(os.path.join(os.fsencode(tmp_path), b"\xff.md"), "wb"):
        pass
    with pytest.raises(Failure, match="no UTF-8 text"):
        read(loop(world, '{glob: "*.md"}'))


def test_a_command_gives_its_lines_that_are_not_empty(world: MakeWorld) -> None:
    assert keys(read(loop(world, "{command: 'printf \"$v\\n\\nb c\\n\"'}"))) == ["x", "b c"]
    with pytest.raises(Failure, match="exit code 3: why"):
        read(loop(world, "{command: 'echo why >&2; exit 3'}"))


@pytest.mark.parametrize("more", ["", ", on-empty: fail"])
def test_an_empty_list_is_fine_unless_it_is_said_otherwise(world: MakeWorld, more: str) -> None:
    made = loop(world, "{command: 'true'}", more)
    if more:
        with pytest.raises(Failure, match="is empty"):
            read(made)
    else:
        assert read(made).items == ()


def test_more_than_the_limit_fails_before_the_first_begins(world: MakeWorld) -> None:
    with pytest.raises(Failure) as caught:
        read(loop(world, "[a, b, c]", ", max: 2"))
    assert "3 items; the limit is 2" in str(caught.value)


def test_equal_keys_are_an_error_that_names_them(world: MakeWorld) -> None:
    with pytest.raises(Failure) as caught:
        read(loop(world, "[a, b, a, '{{v}}', x]"))
    assert caught.value.code == "duplicate-item"
    assert "`a`, `x`" in str(caught.value)


def test_a_key_may_be_made_of_the_item(world: MakeWorld) -> None:
    made = loop(world, "[{id: p, n: 1}, {id: q, n: 2}]", ', as: row, key: "{{row.id}}-{{index}}"')
    event = read(made)
    assert keys(event) == ["p-1", "q-2"]
    assert all(item.value is not None for item in event.items)


def test_a_large_item_lies_in_the_store(world: MakeWorld) -> None:
    made = loop(world, '"{{one.json}}"')
    made.ended("one", json=["x" * 9000])
    (item,) = read(made).items
    assert len(item.key) == 12
    assert item.value is not None
    assert item.value.sha256 is not None
    assert made.values.load(item.value) == "x" * 9000


def test_what_was_read_is_found_again_in_the_iteration(world: MakeWorld) -> None:
    made = world("""
task:
  - one: {call: "m:f"}
  - each: {loop: {for-each: "{{one.json}}", as: row}, prompt: "{{row.n}}/{{index}}"}
""")
    made.ended("one", json=[{"n": 5}, {"n": 6}])
    event = read(made)
    made.tell(event)
    for position, item in enumerate(event.items):
        made.at(f"each[{item.key}]").position = position
    assert made.text("each[2]") == "6/2"


@given(st.text())
def test_a_key_is_short_and_has_no_brackets_or_control_characters(text: str) -> None:
    key = iteration_key(text)
    assert 0 < len(key) <= 80
    assert not set(key) & set("[]\n\t\x00\x7f")
    plain = len(text) <= 80 and text and not any(c in "[]\x7f" or ord(c) < 32 for c in text)
    assert (key == text) == bool(plain)
