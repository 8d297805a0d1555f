"""What the tests of planning share."""

from pathlib import Path

import pytest

from plan.planning import Workshop


@pytest.fixture
def w(tmp_path: Path) -> Workshop:
    """A folder in which workflows are written and planned."""
    return Workshop(tmp_path)
