"""Recorded histories of earlier releases are replayed by today's workflow: what is in flight survives a deploy.

`python tests/engines/record.py` records them anew; a new release adds its own and leaves the older ones.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))


def test_there_are_recorded_histories():
    assert HISTORIES


@pytest.mark.parametrize("path", HISTORIES, ids=lambda path: path.stem)
def test_a_recorded_history_is_replayed_to_the_same_commands(path: Path):
    pytest.importorskip("temporalio", reason="the package temporalio is not installed")
    from temporalio.client import WorkflowHistory
    from temporalio.worker import Replayer

    from onward.engine.temporal.worker import runner
    from onward.engine.temporal.workflow import OnwardRun

    recorded = json.loads(path.read_text("utf-8"))
    history = WorkflowHistory.from_json(recorded["workflow_id"], recorded["history"])
    replayer = Replayer(workflows=[OnwardRun], workflow_runner=runner())
    result = asyncio.run(replayer.replay_workflow(history, raise_on_replay_failure=False))
    assert result.replay_failure is None, repr(result.replay_failure)
