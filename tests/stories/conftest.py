"""A project of its own for every story."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from stories.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    found = Project(tmp_path)
    yield found
    found.finish()
