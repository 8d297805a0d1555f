"""This machine, its store and what is installed → what works, what is worth knowing, and what has to be mended.

Programs are looked for and not started, but for agents: they are asked for their version, and nothing else.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from onward import clock, files
from onward.errors import OnwardError, StoreError
from onward.store.runs import Store
from onward.tasks.agents.agent import Agent
from onward.tasks.agents.table import AGENTS, DEFAULT
from onward.tasks.agents.versions import place_of, versions_of
from onward.views import words

GOOD, NOTE, BAD = "ok", "note", "bad"

EXTRAS = {
    "schema": ("jsonschema", "checks results against a `schema`"),
    "crypto": ("cryptography", "encrypts exported snapshots"),
    "temporal": ("temporalio", "runs on a Temporal server"),
}
OLDEST_PYTHON = (3, 11)
LITTLE_BYTES, TOO_LITTLE_BYTES = 500 * 10**6, 20 * 10**6


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was looked at: `status` is `ok`, `note` or `bad`; `help` says what to do."""

    name: str
    status: str
    text: str
    help: str | None = None


def examine(store: Store | OnwardError, adapter: str | None) -> Iterator[Check]:
    """Everything, one after the other. `adapter` is the one that prompts without their own get."""
    yield python()
    yield shell()
    yield from agents(adapter)
    if isinstance(store, OnwardError):
        yield Check(name="store", status=BAD, text=store.message, help=store.help)
    else:
        yield from store_checks(store)
    yield from extras()


# ---------------------------------------------------------------- programs


def python() -> Check:
    """The Python that runs this."""
    text = f"Python {platform.python_version()} at {sys.executable} on {platform.system()}"
    if sys.version_info[:2] < OLDEST_PYTHON:
        return Check(name="python", status=BAD, text=text, help="onward needs Python 3.11 or newer")
    return Check(name="python", status=GOOD, text=text)


def shell() -> Check:
    """The shell that scripts are run by."""
    bash, sh = shutil.which("bash"), shutil.which("sh")
    if bash is not None:
        return Check(name="shell", status=GOOD, text=f"bash at {bash}")
    if sh is None:
        help = "install bash, or give tasks as lists of arguments"
        return Check(name="shell", status=BAD, text="neither bash nor sh is on the PATH", help=help)
    help = "install bash, or say `shell: sh` (for all tasks: `defaults: {run: {shell: sh}}`)"
    return Check(name="shell", status=NOTE, text=f"there is no bash on the PATH; sh is at {sh}", help=help)


def agents(adapter: str | None) -> Iterator[Check]:
    """The agent programs on the PATH with their versions, and the one that prompts would get."""
    programs = {name: agent for name, agent in AGENTS.items() if agent.version}
    found = {name: place for name, agent in programs.items() if (place := place_of(agent)) is not None}
    if not found:
        yield Check(name="agents", status=NOTE, text=f"none of {', '.join(programs)} is on the PATH")
    for name, version in versions_of(programs[name] for name in found).items():
        yield _agent(programs[name], found[name], version)
    wanted = adapter or DEFAULT
    if adapter is not None and wanted in programs and wanted not in found:
        help = f"install `{programs[wanted].program[0]}`, or choose another adapter"
        yield Check(name="adapter", status=NOTE, text=f"`{wanted}` is chosen and is not on the PATH", help=help)
    elif adapter is not None and wanted not in AGENTS:
        text = f"`{wanted}` is chosen: a workflow has to declare it under `adapters:`"
        yield Check(name="adapter", status=NOTE, text=text)


def _agent(agent: Agent, place: str, version: str | None) -> Check:
    """One that is installed: whether what onward knows of it was found out with this version."""
    name = f"agent {agent.name}"
    if version is None:
        help = f"see what `{agent.program[0]} {' '.join(agent.version)}` says"
        return Check(name=name, status=NOTE, text=f"at {place}; it does not tell its version", help=help)
    if agent.knows(version):
        return Check(name=name, status=GOOD, text=f"{version} at {place}, a version that is known")
    known = ", ".join(agent.known) or "none"
    text = f"{version} at {place}; known: {known}"
    return Check(name=name, status=NOTE, text=text, help="try it with a small prompt before you rely on it")


# ---------------------------------------------------------------- the store


def store_checks(store: Store) -> Iterator[Check]:
    """Whether runs can be kept there: writing, locking, room."""
    folder = _nearest(store.root)
    there = folder == store.root
    where = f"{store.root}" if there else f"{store.root} (made by the first run)"
    try:
        locks = _try_out(folder)
    except StoreError as error:
        yield Check(name="store", status=BAD, text=f"{where}: {error.message}", help=error.help)
        return
    count = f", {words.amount(len(store.runs()), 'run')}" if there else ""
    yield Check(name="store", status=GOOD, text=f"{where} can be written{count}")
    yield _lock_check(folder, locks)
    yield _room(folder)


def _nearest(path: Path) -> Path:
    """The folder itself, or the first above it that is there."""
    return next(place for place in (path, *path.parents) if place.is_dir())


def _try_out(folder: Path) -> bool:
    """Write a file and lock it. Returns whether a second lock was refused, as it must be. Raises `StoreError`."""
    probe = folder / f".onward-doctor-{os.getpid()}-{clock.token_hex(4)}"
    files.write_atomic(probe, b"onward doctor was here\n")
    try:
        with open(probe, "rb") as first, open(probe, "rb") as second:
            return _lock(first.fileno()) and not _lock(second.fileno())
    finally:
        files.remove(probe)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by the other, or not known to this file system
        return False
    return True


def _lock_check(folder: Path, locks: bool) -> Check:
    if locks:
        return Check(name="locks", status=GOOD, text="files there can be locked, so no run gets two drivers")
    text = f"the file system of {folder} does not lock files: two drivers could work on one run"
    return Check(name="locks", status=BAD, text=text, help="keep runs on another one, with --store DIR")


def _room(folder: Path) -> Check:
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize
    text = f"{words.size(free)} free for the store"
    if free >= LITTLE_BYTES:
        return Check(name="disk", status=GOOD, text=text)
    help = "`onward clean` removes ended runs"
    return Check(name="disk", status=BAD if free < TOO_LITTLE_BYTES else NOTE, text=text, help=help)


# ---------------------------------------------------------------- what is installed


def extras() -> Iterator[Check]:
    """The optional parts, and what they are for."""
    for name, (module, purpose) in EXTRAS.items():
        if find_spec(module) is not None:
            yield Check(name=f"extra {name}", status=GOOD, text=f"{module} {metadata.version(module)}: {purpose}")
        else:
            text, help = f"not installed: {purpose}", f"pip install 'onward[{name}]'"
            yield Check(name=f"extra {name}", status=NOTE, text=text, help=help)
