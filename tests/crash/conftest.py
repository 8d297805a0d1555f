"""Crash tests run on a file system in memory where there is one: they make thousands of flushes."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

IN_MEMORY = Path("/dev/shm")


@pytest.fixture
def place() -> Iterator[Path]:
    """An empty folder, removed afterwards."""
    folder = tempfile.mkdtemp(prefix="onward-", dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None)
    yield Path(folder)
    shutil.rmtree(folder)
