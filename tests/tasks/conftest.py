"""A run in a folder of its own for each test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.world import World

MakeWorld = Callable[..., World]


@pytest.fixture
def world(tmp_path: Path) -> MakeWorld:
    def make(text: str, **more: Any) -> World:
        return World(tmp_path, text, **more)

    return make
