"""A run and today's plan → what a resume would do with each node: kept, edited and kept, done again, waited for."""

from __future__ import annotations

from collections.abc import Callable

from onward.model.nodes import Node, Plan
from onward.model.status import OnResume, Status
from onward.recovery.fate import Fate
from onward.state.advance import stops
from onward.state.instance import Instance, Role, Stage
from onward.state.run_state import RunState
from onward.tasks.artifacts import Found, check
from onward.views import words

MOST_NAMED = 5

FateOf = Callable[[str, int], Fate]


class Forecast:
    """`fate` tells what became of attempts whose end is not recorded; `directory` is that of the run."""

    def __init__(self, state: RunState, today: Plan, fate: FateOf, directory: str) -> None:
        self._fate = fate
        self._directory = directory
        self._today = {node.path: node for node in today.root.walk()}
        self._instances: dict[str, list[Instance]] = {}
        for instance in state.instances.values():
            if instance.node is not None and instance.role in (Role.NODE, Role.ITERATION) and instance.path:
                self._instances.setdefault(instance.node.path, []).append(instance)

    def of(self, node: Node) -> list[str]:
        """Sentences about one node; of a loop's nodes one for each kind of thing that happens to iterations."""
        instances = self._instances.get(node.path, [])
        if not instances:
            return [_ONLY_AFTER_A_FAILURE if "@on-failure/" in node.path else _NOT_REACHED]
        if len(instances) == 1 and "[" not in instances[0].path:
            return [self._one(instances[0], node)]
        same: dict[str, list[str]] = {}
        for instance in instances:
            same.setdefault(self._one(instance, node), []).append(instance.path)
        return [f"{_named(paths)}: {sentence}" for sentence, paths in same.items()]

    def gone(self) -> list[str]:
        """Nodes of the run that today's file does not have."""
        return [path for path in self._instances if path not in self._today]

    def _one(self, instance: Instance, node: Node) -> str:
        if instance.ended:
            return self._ended(instance, node)
        if not instance.is_leaf:
            return "begun: it goes on where it stopped"
        match instance.stage:
            case Stage.RUNNING:
                return _FATES[self._fate(instance.path, instance.attempt)] or _interrupted(node)
            case Stage.GATE:
                return "its question is asked again, with the same deadline"
            case Stage.WAITING if instance.until is not None:
                due = words.moment(words.at_time(instance.until))
                return f"attempt {instance.attempt + 1} begins at {due}, or at once if that has passed"
            case Stage.WORKED | Stage.VALID | Stage.SURE:
                return "its work is done: only what checks it is left"
            case _:
                return "again: it was interrupted" if instance.attempt else "not begun yet: it runs"

    def _ended(self, instance: Instance, node: Node) -> str:
        if instance.status is Status.CANCELLED or (instance.status is Status.FAILED and stops(instance)):
            return _again(instance)
        missing, different = self._artifacts(instance)
        if missing:
            return f"again: {_named(missing)} is gone"
        kept = {Status.SKIPPED: "kept: it was skipped", Status.FAILED: "kept: it failed, and the run went on"}
        sentence = kept.get(instance.status, "kept") + _unless(instance.path)
        if different:
            return f"a choice: {_named(different)} is not what was recorded (--yes keeps it, --rerun makes it again)"
        if instance.digest and node.digest != instance.digest:
            return f"{sentence}, although edited since (`--rerun {instance.path}` does it again)"
        return sentence

    def _artifacts(self, instance: Instance) -> tuple[list[str], list[str]]:
        missing, different = [], []
        if instance.status is Status.SUCCEEDED:
            for artifact in instance.artifacts:
                match check(artifact, self._directory):
                    case Found.MISSING:
                        missing.append(artifact.path)
                    case Found.DIFFERENT:
                        different.append(artifact.path)
        return missing, different


_NOT_REACHED = "not reached yet: it runs"
_ONLY_AFTER_A_FAILURE = "not reached: it runs when what it belongs to fails"
_FATES = {
    Fate.LIVES: "it still runs: waited for",
    Fate.ENDED: "it ended meanwhile: its result is used",
    Fate.LOST: "",
}


def _again(instance: Instance) -> str:
    if not instance.is_leaf:
        return "goes on at what did not succeed in it"
    return "again: it failed" if instance.status is Status.FAILED else "again: it was cancelled"


def _unless(path: str) -> str:
    """Sections that start over when work before them runs."""
    if "@finally/" in path:
        return ", unless work before it runs"
    return ", unless a member runs again" if "@merge/" in path else ""


def _interrupted(node: Node) -> str:
    match node.on_resume:
        case OnResume.ASK:
            return "interrupted: somebody is asked whether it is done again (`on-resume: ask`)"
        case OnResume.CHECK if node.after:
            return "interrupted: done if `ensure.after` holds, else again (`on-resume: check`)"
        case _:
            return "again: it was interrupted"


def _named(paths: list[str]) -> str:
    rest = len(paths) - MOST_NAMED
    return ", ".join(f"`{path}`" for path in paths[:MOST_NAMED]) + (f" and {rest:,} more" if rest > 0 else "")
