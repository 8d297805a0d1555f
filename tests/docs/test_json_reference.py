"""The page of the JSON has every command that prints JSON, and what it says is what they print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from json_page import ASKED, answers, page

from onward.cli.main import COMMANDS, cli

pytestmark = pytest.mark.slow  # every command is asked

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


def with_json(command: click.Command, name: str) -> Iterator[str]:
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for each in command.list_commands(ctx):
            inner = command.get_command(ctx, each)
            assert inner is not None
            yield from with_json(inner, f"{name} {each}")
    elif any(option.name == "json" for option in command.params):
        yield name


def test_every_command_that_prints_json_is_on_the_page():
    names = [name for each in COMMANDS for name in with_json(cli.get_command(click.Context(cli), each), each)]
    assert [name for name in names if not any(f"{asked.words} ".startswith(f"{name} ") for asked in ASKED)] == []


def test_the_page_is_made_from_classes_and_real_answers():
    assert PAGE.read_text("utf-8") == page(), "python tests/docs/json_page.py > docs/reference/json.md"


@pytest.mark.parametrize("asked", [one for one in ASKED if one.cls is not None], ids=lambda one: one.words)
def test_a_real_answer_has_the_fields_of_its_class(asked):
    answer = answers()[asked.words]
    items = answer[asked.inside.removesuffix("[]")] if asked.inside else [answer]
    assert items
    for item in items:
        assert set(item) == {field.encode_name for field in msgspec.structs.fields(asked.cls)}
        msgspec.convert(item, asked.cls)


@pytest.mark.parametrize("asked", ASKED, ids=lambda one: one.words)
def test_every_answer_states_its_schema(asked):
    if not asked.words.startswith("snapshot show"):  # a snapshot is a file of another format
        assert answers()[asked.words]["schema"] == 1
