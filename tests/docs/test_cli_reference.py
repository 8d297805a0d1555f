"""The reference of the command line is what the commands themselves say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onward.cli import main
from onward.cli.reference import EXIT_CODES, reference
from onward.engine.embedded.launch import EXIT_CODES as OF_RUNS
from onward.errors import OnwardError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "cli.md"


def test_the_page_is_made_from_the_commands():
    assert PAGE.read_text("utf-8") == reference(), "python -m onward.cli.reference > docs/reference/cli.md"


def test_every_width_of_a_terminal_gives_the_same_page(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert reference() == PAGE.read_text("utf-8")


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_option_that_help_shows_is_on_the_page(name):
    command = main.cli.get_command(main.click.Context(main.cli), name)
    shown = command.get_help(main.click.Context(command, info_name=name))
    flags = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", shown)) - {"--help"}
    page = PAGE.read_text("utf-8")
    common = page[page.index("## Options of every command") : page.index("## onward run")]
    section = re.split(r"^## ", page, flags=re.MULTILINE)
    [own] = [part for part in section if part.startswith(f"onward {name}\n")]
    assert {flag for flag in flags if f"`{flag}" not in own + common and flag not in own} == set()


def test_every_exit_code_in_the_code_is_in_the_table():
    constants = {value for key, value in vars(main).items() if key.startswith("EXIT_")}
    errors = {error.exit_code for error in _subclasses(OnwardError)}
    assert constants | errors | set(OF_RUNS.values()) | {0} == set(EXIT_CODES)


def test_the_readme_has_the_same_exit_codes_but_that_of_a_closed_pipe():
    readme = (ROOT / "README.md").read_text("utf-8")
    table = readme[readme.index("## Exit codes") :]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == set(EXIT_CODES) - {141}


def _subclasses(cls: type[OnwardError]) -> set[type[OnwardError]]:
    found = {cls}
    for each in cls.__subclasses__():
        found |= _subclasses(each)
    return found
