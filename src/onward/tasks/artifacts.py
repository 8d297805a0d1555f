"""`artifacts` of a node -> the files that are there, with size and SHA-256; and later: whether they still are.

A folder stands for the files below it. A link counts as what it leads to. An empty file is a file: what a task really
made is accepted, and a half-written one is never recorded, because only attempts that ended well get here.
"""

from __future__ import annotations

import glob
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from onward import files
from onward.errors import StoreError
from onward.model.nodes import ArtifactRule
from onward.model.values import Artifact
from onward.state.instance import Instance
from onward.tasks.failures import Failure
from onward.tasks.globs import Pattern
from onward.tasks.resolve import Resolver

_NOTHING = hashlib.sha256().hexdigest()


class Found(StrEnum):
    """How a recorded artifact is found later."""

    INTACT = "intact"
    MISSING = "missing"
    DIFFERENT = "different"


class Wanted(Struct, frozen=True):
    """One rule with its values: where to look, and what for."""

    folder: str
    pattern: Pattern
    optional: bool


def gather(resolver: Resolver, user: Instance, rules: Sequence[ArtifactRule], folder: str) -> tuple[Artifact, ...]:
    """What the rules of a node name now, flushed. `folder` is the node's. Raises `TaskError` when one is missing."""
    return record(wanted(resolver, user, rules, folder), resolver.context.directory)


def wanted(resolver: Resolver, user: Instance, rules: Sequence[ArtifactRule], folder: str) -> list[Wanted]:
    """What the rules of a node mean now. Raises `TaskError`."""
    return [Wanted(folder, Pattern.of(resolver, user, rule.path), rule.optional) for rule in rules]


def record(rules: Iterable[Wanted], directory: str) -> tuple[Artifact, ...]:
    """Find, hash and flush them; paths are relative to `directory`. Raises `TaskError` when one is missing.

    Looks at files alone, so it may run in a thread.
    """
    found: dict[str, Artifact] = {}
    missing = []
    for rule in rules:
        places = _places(rule)
        if not places and not rule.optional:
            missing.append(rule.pattern.path)
        for place in places:
            for path in _files_at(place):
                name = _name(path, rule, directory)
                if name not in found:
                    found[name] = _recorded(path, name)
    if missing:
        named = ", ".join(f"`{path}`" for path in missing)
        raise Failure(
            "artifact-missing",
            f"{named} {'does' if len(missing) == 1 else 'do'} not exist",
            help="it is declared under `artifacts`; where it need not exist, write `{path: …, optional: true}`",
        )
    _flush(found.values(), directory)
    return tuple(found[name] for name in sorted(found))


def check(artifact: Artifact, directory: str) -> Found:
    """Whether it still is what was recorded."""
    path = os.path.join(directory, artifact.path)
    if artifact.path.endswith("/"):
        return Found.INTACT if os.path.isdir(path) else Found.MISSING
    try:
        facts = os.stat(path)
        if facts.st_size != artifact.bytes or not stat.S_ISREG(facts.st_mode):
            return Found.DIFFERENT
        return Found.INTACT if _hashed(path)[1] == artifact.sha256 else Found.DIFFERENT
    except (FileNotFoundError, NotADirectoryError):
        return Found.MISSING
    except OSError:  # it is there and cannot be read: not what was recorded
        return Found.DIFFERENT


# --- finding ------------------------------------------------------------------------------------------------------


def _places(rule: Wanted) -> list[str]:
    """Whatever is literally there comes first: `[id].tsx` is a name before it is a pattern."""
    literal = os.path.normpath(os.path.join(rule.folder, rule.pattern.path))
    if os.path.exists(literal):
        return [literal]
    if not rule.pattern.magic:
        return []
    matches = glob.glob(rule.pattern.text, root_dir=rule.folder, recursive=True)
    return [os.path.normpath(os.path.join(rule.folder, match)) for match in sorted(matches, key=os.fsencode)]


def _files_at(place: str) -> Iterator[str]:
    """The file, or every file below the folder; an empty folder stands for itself, with a `/` behind its name."""
    if not os.path.isdir(place):
        yield place
        return
    empty = True
    for folder, folders, names in os.walk(place):
        folders.sort(key=os.fsencode)
        for name in sorted(names, key=os.fsencode):
            empty = False
            yield os.path.join(folder, name)
    if empty:
        yield f"{place}/"


def _name(path: str, rule: Wanted, directory: str) -> str:
    """Its path below `directory`. An author may let a node work elsewhere; then it must lie below that folder."""
    if not _is_below(path, directory) and not _is_below(path, rule.folder):
        raise Failure(
            "outside-directory",
            f"the artifact `{rule.pattern.path}` lies outside of {directory}",
            help="artifacts lie in the workflow's `directory`, or in that of their node",
        )
    name = os.path.relpath(path, directory) + ("/" if path.endswith("/") else "")
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise Failure("not-text", f"an artifact has a name that is no UTF-8 text: {name!r}") from error
    return name


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# --- looking ------------------------------------------------------------------------------------------------------


def _recorded(path: str, name: str) -> Artifact:
    if path.endswith("/"):
        return Artifact(path=name, bytes=0, sha256=_NOTHING)
    try:
        size, digest = _hashed(path)
    except OSError as error:
        raise Failure("cannot-read", f"the artifact {name} cannot be read: {error.strerror}") from error
    return Artifact(path=name, bytes=size, sha256=digest)


def _hashed(path: str) -> tuple[int, str]:
    """Size and SHA-256, never waiting for a pipe that nobody writes to."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb", buffering=0) as file:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise Failure("not-a-file", f"{path} is neither a file nor a folder, so it cannot be an artifact")
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return file.tell(), digest


# --- keeping ------------------------------------------------------------------------------------------------------


def _flush_one(path: str) -> None:
    try:
        with open(path, "rb") as file:
            files.flush(file.fileno(), path)
    except FileNotFoundError as error:
        raise Failure("artifact-missing", f"the artifact {path} was removed while it was recorded") from error
    except OSError as error:
        raise files.trouble(error, "flush the artifact", path, StoreError) from error


def _flush(artifacts: Iterable[Artifact], directory: str) -> None:
    """What is recorded is on the disk: the files, and the names in their folders."""
    folders = set()
    for artifact in artifacts:
        path = os.path.join(directory, artifact.path)
        folders.add(os.path.dirname(path.rstrip("/")))
        if not artifact.path.endswith("/"):
            _flush_one(path)
    for folder in sorted(folders):
        files.flush_folder(folder)
