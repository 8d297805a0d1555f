"""`artifacts:` rules → the files that are there, with size and SHA-256, on the disk; and whether they still are."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Sequence
from enum import StrEnum

from onward import files
from onward.model.nodes import ArtifactRule
from onward.model.values import Artifact
from onward.state.instance import Instance
from onward.tasks.failures import Failure
from onward.tasks.resolve import Resolver

_MAGIC = "*?["


class Found(StrEnum):
    """How a recorded artifact is found later."""

    INTACT = "intact"
    MISSING = "missing"
    DIFFERENT = "different"


def gather(resolver: Resolver, user: Instance, rules: Sequence[ArtifactRule], folder: str) -> tuple[Artifact, ...]:
    """Every file that the rules name, in order and once, flushed. `folder` is the node's. Raises `Failure`."""
    root = os.path.realpath(resolver.context.directory)
    found: dict[str, str] = {}
    for rule in rules:
        pattern = resolver.path_text(user, rule.path)
        paths = _matching(os.path.join(folder, pattern))
        if not paths and not rule.optional:
            raise Failure("artifact-missing", f"the artifact {pattern} is not there")
        for path in paths:
            found[path] = _shown(path, root)
    return tuple(_recorded(path, name) for path, name in found.items())


def check(artifact: Artifact, directory: str) -> Found:
    """Whether the file still is what was recorded."""
    path = os.path.join(directory, artifact.path)
    try:
        if os.stat(path).st_size != artifact.bytes:
            return Found.DIFFERENT
        return Found.INTACT if _digest(path) == artifact.sha256 else Found.DIFFERENT
    except OSError:
        return Found.MISSING


def _matching(pattern: str) -> list[str]:
    """Files by path or pattern, sorted by bytes; a folder stands for the files in it."""
    if any(sign in pattern for sign in _MAGIC) and not os.path.lexists(pattern):
        names = glob.glob(pattern, recursive=True, include_hidden=True)
    else:
        names = [pattern] if os.path.exists(pattern) else []
    paths: list[str] = []
    for name in sorted(names, key=os.fsencode):
        if not os.path.isdir(name):
            paths.append(os.path.normpath(name))
            continue
        for base, folders, inside in os.walk(name):
            folders.sort()
            paths += [os.path.normpath(os.path.join(base, file)) for file in sorted(inside)]
    return paths


def _shown(path: str, root: str) -> str:
    """The path relative to the run's directory; what lies elsewhere (or is linked there) is refused."""
    if os.path.commonpath([os.path.realpath(path), root]) != root:
        raise Failure(
            "outside-directory",
            f"the artifact {path} lies outside the workflow's directory {root}",
            help="artifacts are files that the workflow made in its own directory",
        )
    return os.path.relpath(path, root) if os.path.isabs(path) and path.startswith(root) else path


def _recorded(path: str, name: str) -> Artifact:
    try:
        with open(path, "rb") as file:
            files.flush(file.fileno(), path)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return Artifact(path=name, bytes=file.tell(), sha256=digest)
    except OSError as error:
        raise Failure("artifact-missing", f"the artifact {name} cannot be read: {error.strerror}") from error


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
