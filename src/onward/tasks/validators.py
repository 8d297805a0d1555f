"""The validators of an attempt that ended well -> how each went, and what the next attempt is told."""

from __future__ import annotations

from hashlib import sha256

from onward.model.events import CheckResult, Validation
from onward.state.instance import Instance
from onward.tasks.answers import Answer
from onward.tasks.commands import RunCommand
from onward.tasks.conditions import ask_one
from onward.tasks.feedback import write_feedback
from onward.tasks.surroundings import Surroundings

PURPOSE = "validators"


async def validate(around: Surroundings, leaf: Instance, attempt: int, run: RunCommand) -> Validation:
    """Ask all of them, also after one that does not hold: the next attempt should hear everything. Raises `Stopped`."""
    assert leaf.node is not None
    answers = [await ask_one(around, leaf, validator, PURPOSE, run) for validator in leaf.node.validators]
    checks = tuple(
        CheckResult(index=index, passed=answer.result and not answer.error, detail=answer.detail)
        for index, answer in enumerate(answers)
    )
    digest = None
    if not all(check.passed for check in checks):
        folder = around.context.attempt_folder(leaf.path, attempt)
        digest = sha256(write_feedback(folder, _feedback(answers)).encode()).hexdigest()
    return Validation(path=leaf.path, attempt=attempt, checks=checks, feedback_sha256=digest)


def _feedback(answers: list[Answer]) -> str:
    """Each that did not hold, with what it printed."""
    bad = [answer for answer in answers if answer.error or not answer.result]
    return "\n\n".join("\n".join(part for part in (answer.detail, answer.printed) if part) for answer in bad)
