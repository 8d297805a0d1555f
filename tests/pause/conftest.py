"""A project of its own for every test that runs a workflow."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stories.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty folder; whatever a test leaves running in it is ended."""
    found = Project(tmp_path)
    yield found
    found.finish()
