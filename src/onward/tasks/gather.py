"""The end of a node → what is collected at it: artifacts, and the outputs and hand-off of a container."""

from __future__ import annotations

from msgspec import Struct

from onward.model.values import Artifact, Value
from onward.state.instance import Instance, Role
from onward.tasks import artifacts
from onward.tasks.containers import hand_off_of, outputs_of
from onward.tasks.surroundings import Surroundings


class Gathered(Struct, frozen=True, kw_only=True):
    """What was collected. `hand_off` is the path of the hand-off document, relative to the run's folder."""

    artifacts: tuple[Artifact, ...] = ()
    outputs: dict[str, Value]
    hand_off: str | None = None


NOTHING = Gathered(outputs={})


def gather(around: Surroundings, instance: Instance) -> Gathered:
    """Raises `TaskError` when an artifact or a value is missing."""
    node = instance.node
    assert node is not None
    found: tuple[Artifact, ...] = ()
    if node.artifacts and instance.role is not Role.LOOP:
        folder = around.directories.of(instance)
        found = artifacts.gather(around.resolver, instance, node.artifacts, folder)
    if node.kind.leaf:
        return Gathered(artifacts=found, outputs={})
    outputs = outputs_of(around, instance) if instance.role is not Role.LOOP else {}
    passed_on = hand_off_of(around, instance, found)
    if passed_on is None:
        return Gathered(artifacts=found, outputs=outputs)
    value, file = passed_on
    return Gathered(artifacts=found, outputs={**outputs, "hand-off": value}, hand_off=file)
