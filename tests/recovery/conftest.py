"""Projects that were interrupted, made once for all tests and copied for each."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onward.recovery.levels import Level
from recovery.scenes import interrupt
from stories.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    found = Project(tmp_path)
    yield found
    found.finish()


@pytest.fixture(scope="session")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Level], Path]:
    """The folder of a project that was interrupted at a point; not to be changed."""
    made: dict[Level, Path] = {}

    def get(level: Level) -> Path:
        if level not in made:
            root = tmp_path_factory.mktemp(level.value)
            found = interrupt(level, root)
            found.finish()
            made[level] = root
        return made[level]

    return get


@pytest.fixture
def scene(interrupted: Callable[[Level], Path], tmp_path: Path) -> Iterator[Callable[[Level], Project]]:
    """A copy of such a project, for one test."""
    found: list[Project] = []

    def get(level: Level) -> Project:
        root = tmp_path / "shop"
        shutil.copytree(interrupted(level), root)
        found.append(Project(root))
        return found[-1]

    yield get
    for one in found:
        one.finish()


def fingerprint(folder: Path) -> dict[str, str]:
    """Every file below a folder by its content, to see whether anything was changed."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
