"""The page of errors has every code that the source can give, and messages that files really give."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from codes_in_source import Use, uses
from error_codes import COMMANDS, FAILURES
from error_page import MEANINGS, classes, example, page

from onward.spec.supported import NOT_YET

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "errors.md"
NO_CODES_OF_ERRORS = {"Exit", "Outcome"}  # exit codes of processes
FROM_A_TABLE = {"NoFile"}  # `spec.files._REASONS`, whose codes are also given elsewhere


@cache
def found() -> list[Use]:
    return [use for use in uses() if use.callee not in NO_CODES_OF_ERRORS]


def test_no_code_in_the_source_escapes_the_search():
    assert [use for use in found() if use.code is None and use.callee not in FROM_A_TABLE] == []


def test_every_code_of_a_task_has_a_row_and_no_row_lacks_its_code():
    assert {use.code for use in found() if use.callee == "Failure"} == set(FAILURES)


def test_every_class_of_errors_has_a_row_and_no_row_lacks_its_class():
    assert set(classes()) == set(COMMANDS) == {use.code for use in found() if use.callee == "class"}


def test_every_code_of_workflow_files_has_a_row_and_no_row_lacks_its_code():
    assert {use.code for use in found() if use.callee not in {"Failure", "class"}} - {None} == set(MEANINGS)


@pytest.mark.parametrize("code", sorted(set(MEANINGS) - ({"not-yet-supported"} if not NOT_YET else set())))
def test_a_small_file_really_gives_the_code(code):
    assert f"[{code}]: " in example(code)


def test_the_page_is_made_from_the_code():
    assert PAGE.read_text("utf-8") == page(), "python tests/docs/error_page.py > docs/reference/errors.md"
