"""Validators: all are asked, and the next attempt hears of each that did not hold."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from onward.model.events import Validation
from onward.tasks.commands import Stopped
from onward.tasks.validators import validate
from tasks.conftest import MakeWorld
from tasks.world import World


def validated(made: World, attempt: int = 1) -> Validation:
    return asyncio.run(validate(made.around, made.at("one"), attempt, made.command))


def test_all_are_asked_and_what_failed_is_told_with_what_it_printed(world: MakeWorld) -> None:
    made = world("""
task:
  - one:
      run: "echo 5"
      validators:
        - at-least: ["{{self.text}}", 10]
        - command: 'echo line 1; echo line 2 >&2; exit 1'
        - equals: ["{{self.text}}", 5]
""")
    made.attempt("one")
    event = validated(made)
    assert [(check.index, check.passed) for check in event.checks] == [(0, False), (1, False), (2, True)]
    told = (Path(made.context.attempt_folder("one", 1)) / "feedback").read_text()
    assert told.startswith("5 is not at least 10\n\n")
    assert told.endswith("line 1\nline 2")
    assert event.feedback_sha256 is not None
    assert "5 is not at least 10" in made.prepare("one", 2).files["feedback-given"].decode()


def test_when_all_hold_nothing_is_told(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true', validators: [{file-exists: w.yaml}]}\n")
    made.attempt("one")
    event = validated(made)
    assert event.checks[0].passed
    assert event.feedback_sha256 is None
    assert made.prepare("one", 2).files == {}


def test_one_that_cannot_be_worked_out_does_not_pass(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'echo x', validators: [{at-least: ['{{self.text}}', 1]}]}\n")
    made.attempt("one")
    event = validated(made)
    assert not event.checks[0].passed
    assert "is no number" in event.checks[0].detail


JUDGE = """
adapters: {{judge: {{command: [sh, -c, '{script}']}}}}
task:
  - one: {{run: 'echo work', validators: [{{prompt: 'Is "{{{{self.text}}}}" good?', adapter: judge}}]}}
"""


@pytest.mark.parametrize(
    ("script", "passed", "words"),
    [
        ("cat > asked; echo it is fine; echo PASS", True, "the judge said PASS"),
        ("echo PASS at first, but then; echo **FAIL**.", False, "the judge said FAIL"),
        ("echo I cannot say", False, "does not end with PASS or FAIL"),
        ("echo PASS; exit 2", False, "the judge did not answer: exit code 2"),
    ],
)
def test_a_judge_must_end_with_a_verdict(world: MakeWorld, script: str, passed: bool, words: str) -> None:
    made = world(JUDGE.format(script=script))
    made.attempt("one")
    check = validated(made).checks[0]
    assert check.passed is passed
    assert words in check.detail
    if passed:
        asked = (made.folder / "asked").read_text()
        assert asked.startswith('Is "work" good?')
        assert "PASS or FAIL" in asked


def test_a_pause_in_the_middle_leaves_the_question_open(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true', validators: [{command: 'true'}]}\n")
    made.attempt("one")

    async def stopped(request):  # type: ignore[no-untyped-def]
        from tasks.world import exit_of

        return exit_of(None, signal="SIGTERM", ended_by="stop")

    with pytest.raises(Stopped):
        asyncio.run(validate(made.around, made.at("one"), 1, stopped))
