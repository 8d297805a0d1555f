"""Artifacts of finished nodes → what a resume does about those that are gone or changed (`settled.md` 99).

Missing: the node is made again, and that is told. Different from what was recorded: a person may have edited the
file, so it is a choice; `--yes` keeps it and records that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from onward.errors import OnwardError
from onward.model.events import Note, Override
from onward.model.status import Status
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.tasks.artifacts import Found, check

Tell = Callable[[str, str], None]


class ArtifactsChanged(OnwardError):
    """Artifacts of finished tasks are not what was recorded; nothing was run."""

    code = "artifacts-changed"
    exit_code = 3


class Report(Struct, kw_only=True):
    """How many artifacts of finished nodes there are and are intact; the others by the path of their node."""

    total: int = 0
    intact: int = 0
    missing: dict[str, list[str]] = field(default_factory=dict)
    different: dict[str, list[str]] = field(default_factory=dict)


def look(state: RunState, directory: Path, again: frozenset[str] = frozenset()) -> Report:
    """A look at every artifact of the nodes that ended well, but for those that are done again anyway."""
    report = Report()
    for instance in list(state.instances.values()):
        if not _counts(instance) or instance.path in again:
            continue
        for artifact in instance.artifacts:
            report.total += 1
            match check(artifact, os.fspath(directory)):
                case Found.INTACT:
                    report.intact += 1
                case Found.MISSING:
                    report.missing.setdefault(instance.path, []).append(artifact.path)
                case _:
                    report.different.setdefault(instance.path, []).append(artifact.path)
    return report


def check_artifacts(
    state: RunState, directory: Path, run_id: str, tell: Tell, *, keep_different: bool, again: frozenset[str]
) -> list[Override | Note]:
    """The events that follow from a look at every artifact. Raises `ArtifactsChanged` when a choice is needed."""
    report = look(state, directory, again)
    if report.total:
        tell("note", f"{report.intact} of {report.total} artifacts are intact")
    events: list[Override | Note] = [_again(path, names, tell) for path, names in report.missing.items()]
    return events + _kept(report.different, run_id, tell, keep_different=keep_different)


def _counts(instance: Instance) -> bool:
    return instance.ended and instance.status is Status.SUCCEEDED and bool(instance.artifacts)


def _again(path: str, names: list[str], tell: Tell) -> Override:
    reason = f"{', '.join(names)} is gone" if len(names) == 1 else f"{', '.join(names)} are gone"
    tell("warning", f"`{path}` is done again: {reason}")
    return Override(path=path, action="rerun", reason=reason)


def _kept(different: dict[str, list[str]], run_id: str, tell: Tell, *, keep_different: bool) -> list[Override | Note]:
    if not different:
        return []
    listed = [f"  {name} (made by `{path}`)" for path, names in different.items() for name in names]
    if not keep_different:
        reruns = " ".join(f"--rerun {path}" for path in different)
        raise ArtifactsChanged(
            "these files are not what was recorded when their task ended:\n" + "\n".join(listed),
            help=f"`onward resume {run_id} --yes` keeps them as they are; "
            f"`onward resume {run_id} {reruns}` makes them again",
        )
    events: list[Override | Note] = []
    for path, names in different.items():
        text = f"kept although changed since `{path}` made it: {', '.join(names)}"
        tell("warning", text)
        events.append(Note(text=text, level="warning", path=path))
    return events
