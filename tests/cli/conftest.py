"""A shop for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.runs_on_disk import Shop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """An empty folder with a store to be."""
    found = Shop(tmp_path)
    yield found
    for lock in found.locks:
        lock.release()
