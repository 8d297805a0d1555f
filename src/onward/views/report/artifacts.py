"""The files that nodes made → whether they still are what was recorded; very much of them is compared by size alone."""

from __future__ import annotations

import os
from enum import StrEnum

from msgspec import Struct

from onward.model.values import Artifact
from onward.state.run_state import RunState
from onward.tasks.artifacts import Found, check
from onward.views.source import Source

MOST_READ_BYTES = 256 << 20
MOST_FILES = 20_000


class Now(StrEnum):
    """How a file stands beside its record."""

    INTACT = "as recorded"
    SAME_SIZE = "size as recorded"
    """it would have taken too long to read it"""
    DIFFERENT = "changed since"
    MISSING = "missing"

    @property
    def troubled(self) -> bool:
        """Whether it is not what was recorded."""
        return self in (Now.DIFFERENT, Now.MISSING)


class Kept(Struct, frozen=True, kw_only=True):
    """How the files stand, by node and name, as far as they were looked at."""

    found: dict[tuple[str, str], Now]
    total: int

    def of(self, node: str, name: str) -> Now | None:
        """How one file stands; None: it was not looked at."""
        return self.found.get((node, name))

    @property
    def troubled(self) -> list[tuple[str, str, Now]]:
        """Node, name and standing of all that are not what was recorded."""
        return [(node, name, now) for (node, name), now in self.found.items() if now.troubled]


def kept_artifacts(source: Source) -> Kept:
    """Look at the artifacts of every node that has ended."""
    made = _made(source.state)
    directory = source.place(source.state.facts.directory) if source.state.facts.directory else str(source.base)
    found, left = {}, MOST_READ_BYTES
    for node, artifact in made[:MOST_FILES]:
        found[node, artifact.path] = _now(artifact, directory, read=artifact.bytes <= left)
        left = max(0, left - artifact.bytes)
    return Kept(found=found, total=len(made))


def _made(state: RunState) -> list[tuple[str, Artifact]]:
    ended = (instance for instance in state.instances.values() if instance.ended)
    return [(instance.path, artifact) for instance in ended for artifact in instance.artifacts]


def _now(artifact: Artifact, directory: str, *, read: bool) -> Now:
    if read:
        found = check(artifact, directory)
        return {Found.INTACT: Now.INTACT, Found.MISSING: Now.MISSING}.get(found, Now.DIFFERENT)
    try:
        size = os.stat(os.path.join(directory, artifact.path)).st_size
    except OSError:
        return Now.MISSING
    return Now.SAME_SIZE if size == artifact.bytes else Now.DIFFERENT
