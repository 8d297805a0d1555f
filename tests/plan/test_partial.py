"""Mistakes of form do not hide mistakes of meaning."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.engine.definition import load_plan
from onward.errors import Problems


def codes(tmp_path: Path, text: str) -> list[str]:
    file = tmp_path / "w.yaml"
    file.write_text(text)
    with pytest.raises(Problems) as caught:
        load_plan(file)
    return [problem.code for problem in caught.value.problems]


def test_both_kinds_of_mistakes_are_told_together(tmp_path):
    text = """\
variables: {pr: "1", pr_number: "2"}
task:
  - a: {run: 'echo "{{pr}}"'}
  - b: {run: make, retries: 3}
  - c: {prompt: "Review {{pr_numer}}."}
  - d: {prompt: "Extend {{e.text}}."}
  - e: {run: [bash, -c, "x {{pr}}"], timeout: 30}
"""
    assert codes(tmp_path, text) == [
        "template-in-script",
        "unknown-key",
        "unknown-name",
        "not-yet",
        "interpreter-template",
        "duration",
    ]


def test_what_could_follow_from_a_mistake_of_form_is_not_told(tmp_path):
    text = """\
task:
  - setup:
    prompt: Read the code.
  - use: {prompt: "Go on with {{setup.text}}."}
"""
    assert codes(tmp_path, text) == ["not-indented"]


@pytest.mark.parametrize("text", ["task: 3\n", "task: [[1]]\n", "task: [{a: }]\nvariables: [1]\n", "- a\n", "{}\n"])
def test_a_tree_that_is_no_workflow_at_all_gives_problems_only(tmp_path, text):
    assert codes(tmp_path, text)
