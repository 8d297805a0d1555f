"""A question to a person -> what is shown: the words, the files with their digests, the answers that are allowed."""

from __future__ import annotations

import datetime as dt

from onward import clock
from onward.model.events import GateOpen
from onward.model.nodes import Approve, ArtifactRule
from onward.state.instance import Instance
from onward.tasks.artifacts import gather
from onward.tasks.surroundings import Surroundings

APPROVE, ON_FAILURE, ON_RESUME = "approve", "on-failure", "on-resume"

_AFTER_FAILURE = ("retry", "skip", "stop")
_AFTER_INTERRUPTION = ("retry", "done", "stop")


def gate_of(around: Surroundings, user: Instance, purpose: str) -> GateOpen:
    """The gate to open. Raises `TaskError` when the question cannot be put."""
    if purpose == ON_FAILURE:
        reason = around.context.secrets.masked(user.reason or "")
        question = f"`{user.path}` failed{f' ({reason})' if reason else ''}. What now?"
        return GateOpen(path=user.path, purpose=purpose, question=question, choices=_AFTER_FAILURE)
    if purpose == ON_RESUME:
        question = f"`{user.path}` was interrupted, and what it does may already have happened. What now?"
        return GateOpen(path=user.path, purpose=purpose, question=question, choices=_AFTER_INTERRUPTION)
    return _approval(around, user)


def _approval(around: Surroundings, user: Instance) -> GateOpen:
    node = user.node
    assert node is not None
    work = node.work
    assert isinstance(work, Approve)
    expires = None if node.timeout_s is None else clock.now() + dt.timedelta(seconds=node.timeout_s)
    shown = [ArtifactRule(path=path) for path in work.show]
    return GateOpen(
        path=user.path,
        purpose=APPROVE,
        question=around.context.secrets.masked(around.resolver.text(user, work.question)),
        show=gather(around.resolver, user, shown, around.directories.of(user)) if shown else (),
        choices=work.choices,
        fields=work.fields,
        expires_at=expires,
    )
