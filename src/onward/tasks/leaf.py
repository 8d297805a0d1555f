"""Everything a driver asks about a leaf or another node of one run, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onward.errors import TaskError
from onward.model.conditions import Condition
from onward.model.events import AttemptEnd
from onward.model.nodes import Kind, Prompt
from onward.model.status import Where
from onward.model.values import Artifact, Value
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState
from onward.tasks import artifacts
from onward.tasks.adapters import adapter_for
from onward.tasks.attempt_folder import Exit
from onward.tasks.collect import collect
from onward.tasks.conditions import Answer, Conditions, RunCommand
from onward.tasks.context import RunContext
from onward.tasks.directory import Directories
from onward.tasks.environment import Environments, marker_of
from onward.tasks.prepare import Prepared, Preparer
from onward.tasks.resolve import Resolver


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What was collected at the end of a node."""

    artifacts: tuple[Artifact, ...] = ()
    outputs: dict[str, Value]
    hand_off: str | None = None


class Leaves:
    """The nodes of a run, from the side of the work."""

    def __init__(self, state: RunState, context: RunContext) -> None:
        self._context = context
        self._resolver = Resolver(state, context)
        self._directories = Directories(self._resolver)
        environments = Environments(self._resolver)
        self._preparer = Preparer(self._resolver, environments, self._directories)
        self._conditions = Conditions(self._resolver, environments, self._directories)

    def prepare(self, instance: Instance, attempt: int) -> Prepared:
        """What an attempt is given, with the values of this moment. Raises `TaskError`."""
        return self._preparer.prepare(instance, attempt)

    def marker(self, instance: Instance) -> str:
        """The mark of the present attempt, which an earlier driver began."""
        return marker_of(self._context.run, instance.path, instance.attempt)

    def collect(self, instance: Instance, exit: Exit, stopped: str | None) -> AttemptEnd:
        """What the present attempt left. Raises `StateError` when a value cannot be stored."""
        node = instance.node
        assert node is not None
        adapter = None
        if isinstance(node.work, Prompt):
            try:
                adapter = adapter_for(node.work, self._context)
            except TaskError:
                adapter = None  # the file was edited meanwhile: what was printed is the reply
        folder = self._context.attempt_folder(instance.path, instance.attempt)
        return collect(
            instance, instance.attempt, folder, exit, self._context.values, adapter=adapter, stopped=stopped
        )

    async def ask(
        self, instance: Instance, where: Where, conditions: Sequence[Condition], run: RunCommand
    ) -> Answer:
        """Whether all of these conditions hold for a node."""
        return await self._conditions.ask(conditions, instance, where.value, run)

    def gather(self, instance: Instance) -> Gathered:
        """Artifacts and outputs at the end of a node. Raises `TaskError` when one is missing."""
        node = instance.node
        assert node is not None
        found: tuple[Artifact, ...] = ()
        if node.artifacts and instance.role is not Role.LOOP:
            folder = self._directories.of(instance)
            found = artifacts.gather(self._resolver, instance, node.artifacts, folder)
        outputs = {}
        if not node.kind.leaf:
            for output in node.values:
                value = self._resolver.data(instance, output.value)
                form = "text" if isinstance(value, str) else "json"
                outputs[output.name] = self._context.values.to_value(form, value)
        return Gathered(artifacts=found, outputs=outputs)

    @staticmethod
    def is_call(instance: Instance) -> bool:
        """Whether a worker does its work."""
        return instance.node is not None and instance.node.kind is Kind.CALL
