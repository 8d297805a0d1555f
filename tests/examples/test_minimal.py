"""`agent-yaml-minimal`: run, killed in its first, a middle and its last task, and carried on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.workshop import Workshop

RUN = ("run", "workflow.yaml", "--var", "pr_number=123")
STATE = Path(".agent-yaml/state.json")
TASKS = {f"minimal {words}" for words in ("Prepare", "Collect", "Summarize the code", "Summarize the discussion")}


@pytest.fixture
def shop(tmp_path: Path):
    found = Workshop(tmp_path / "example", "agent-yaml-minimal", stand_ins=("claude",))
    yield found
    found.finish()


def prompts(shop: Workshop) -> list[str]:
    return shop.read("prompts/minimal").split("\n=== end of prompt\n")


def test_it_runs_as_it_is_and_leaves_no_state_file(shop: Workshop):
    checked = shop.onward("check", "workflow.yaml").check()
    assert checked.err.count("warning[") + checked.out.count("warning[") == 1
    shop.to_the_end(*RUN)
    assert shop.did() == dict.fromkeys(TASKS, 1)
    assert any("pull request 123" in prompt for prompt in prompts(shop))
    assert not (shop.root / STATE).exists()


def test_it_runs_without_any_agent(shop: Workshop):
    shop.onward(*RUN, "--adapter", "echo").check()
    assert shop.onward("logs", "fetch-data").check().out.strip() == "Collect the discussion of pull request 123."


@pytest.mark.parametrize("point", ["minimal Prepare", "minimal Collect", "minimal Summarize the discussion"])
def test_killed_it_goes_on_with_what_is_left(shop: Workshop, point: str):
    shop.killed_at(point, *RUN, after=("task-a",) if point.endswith("discussion") else ())
    shop.onward("run", "workflow.yaml", "--resume", "--var", "pr_number=123").check()
    assert shop.did() == dict.fromkeys(TASKS, 1)
    assert shop.did("begin")[point] == 2
    began = {prompt for prompt in prompts(shop) if "This run began at" in prompt}
    assert len(began) == 1, "the time of the first start"


def test_killed_in_the_last_task_the_state_file_says_what_the_readme_does(shop: Workshop):
    driver = shop.start(*RUN, STAND_IN_HOLDS="minimal Summarize the discussion")
    path = shop.root / STATE
    ready = lambda: shop.held() and path.exists() and "task-a" in path.read_text()  # noqa: E731
    assert shop.drives_until(driver, "task-a is done and task-b works", ready)
    shop.kill_all(driver)
    state = json.loads(shop.read(str(STATE)))
    assert state["completed_tasks"] == ["setup", "fetch-data", "task-a"]
    assert state["current_step_index"] == 2
    shop.onward("resume", "--yes").check()
    assert shop.did() == dict.fromkeys(TASKS, 1)
