"""`onward resume --plan` and `--view`: what a resume would do, and what there is so far. Nothing is changed."""

from __future__ import annotations

import shlex

import msgspec

from onward.cli.common import Common
from onward.cli.drawing import draw
from onward.cli.target import print_json
from onward.engine.embedded.launch import ResumeOptions
from onward.engine.embedded.looking import Ahead, look_ahead
from onward.model.status import Status
from onward.recovery.findings import directory_of
from onward.recovery.made import made_so_far
from onward.views.recovery_data import plan_view
from onward.views.recovery_made import made_lines
from onward.views.recovery_plan import plan_lines
from onward.views.table import Line


def show_plan(options: ResumeOptions, common: Common, at: str) -> int:
    """Ends with 3 when a resume with the same flags would wait for a choice."""
    ahead = look_ahead(options)
    next = None if ahead.ended is not None else _command(options, at)
    if common.json:
        print_json(plan_view(ahead.diagnosis, next, at))
    elif ahead.ended is not None:
        draw([Line(f"run {options.run.run_id} has {_ENDED[ahead.ended]}: a resume has nothing to do")], common)
    else:
        draw(plan_lines(ahead.diagnosis, next, at), common)
    return 3 if _waits(ahead, options) else 0


_ENDED = {Status.SUCCEEDED: "succeeded", Status.CANCELLED: "been cancelled"}


def _waits(ahead: Ahead, options: ResumeOptions) -> bool:
    """Whether a finding is not answered by the flags that were given."""
    given = {
        "accept-damage": options.accept_damage,
        "keep": options.yes,
        "original": options.original,
        "take-over": options.take_over,
    }
    return any(not any(given.get(choice.id, False) for choice in one.choices) for one in ahead.diagnosis.waits)


def _command(options: ResumeOptions, at: str) -> str:
    """The same command without `--plan`."""
    flags = [f"--{name}" for name in ("yes", "accept-damage", "original", "take-over") if _is_set(options, name)]
    flags += [word for name in ("rerun", "skip") for path in getattr(options, name) for word in (f"--{name}", path)]
    flags += [word for name, value in options.variables.items() for word in ("--var", f"{name}={value}")]
    return "onward resume " + " ".join(shlex.quote(word) for word in (options.run.run_id, *flags)) + at


def _is_set(options: ResumeOptions, name: str) -> bool:
    return bool(getattr(options, name.replace("-", "_")))


def show_made(options: ResumeOptions, common: Common) -> int:
    """What the run has made so far."""
    ahead = look_ahead(options, git=False)
    seen = ahead.seen
    made = made_so_far(seen.folder, seen.state, directory_of(seen.plan))
    if common.json:
        counts = ahead.diagnosis.counts
        print_json({"schema": 1, "run": seen.folder.run_id, "made": msgspec.to_builtins(made), "counts": counts})
    else:
        draw(made_lines(seen.state, ahead.diagnosis, made), common)
    return 0
