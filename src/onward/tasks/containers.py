"""A container whose body is done -> its outputs and what it passes on (`hand-off`)."""

from __future__ import annotations

import os
from typing import Any

import msgspec

from onward import files
from onward.model.nodes import HandOff
from onward.model.values import Artifact, Value
from onward.state.instance import Instance, Role
from onward.tasks.surroundings import Surroundings


def outputs_of(around: Surroundings, container: Instance) -> dict[str, Value]:
    """The declared outputs with the values they have now. Raises `TaskError`."""
    node = container.node
    assert node is not None
    found = {}
    for output in node.values:
        value = around.resolver.data(container, output.value)
        found[output.name] = around.context.values.to_value("text" if isinstance(value, str) else "json", value)
    return found


def hand_off_of(
    around: Surroundings, container: Instance, artifacts: tuple[Artifact, ...]
) -> tuple[Value, str] | None:
    """The hand-off as a value, and the file it was written to (relative to the run's folder)."""
    node = container.node
    assert node is not None
    if node.hand_off is None or container.role is Role.ITERATION:
        return None
    document = _document(around, container, node.hand_off, artifacts)
    return around.context.values.to_value("json", document), _write(around, container, document)


def _document(
    around: Surroundings, container: Instance, rules: HandOff, artifacts: tuple[Artifact, ...]
) -> dict[str, Any]:
    resolver, secrets = around.resolver, around.context.secrets
    paths = dict.fromkeys(artifact.path for artifact in artifacts)
    paths.update(dict.fromkeys(_artifacts_below(around, container)))
    return {
        "phase": container.path,
        "summary": secrets.masked(resolver.text(container, rules.summary)),
        "data": None if rules.data is None else secrets.masked_value(resolver.data(container, rules.data)),
        "report": {"artifacts": list(paths)},
    }


def _artifacts_below(around: Surroundings, container: Instance) -> list[str]:
    below = (f"{container.path}/", f"{container.path}[")
    return [
        artifact.path
        for path, instance in around.state.instances.items()
        if instance.artifacts and path.startswith(below)
        for artifact in instance.artifacts
    ]


def _write(around: Surroundings, container: Instance, document: dict[str, Any]) -> str:
    context = around.context
    name = os.path.relpath(context.node_folder(container.path), f"{context.folder}/tasks").replace("/", ".")
    files.make_folder(context.hand_offs)
    text = msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"
    files.write_atomic(f"{context.hand_offs}/{name}.json", text)
    return f"{os.path.basename(context.hand_offs)}/{name}.json"
