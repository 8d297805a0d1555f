"""`agents`: an agent program of one's own, whose session goes on after a refusal, after a kill and within a budget."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.workshop import Workshop

RUN = ("run", "agents.yaml")
OUTLINE = "# Outline\n\n- ropes.md: Ropes\n- ropes.md: Knots\n- sails.md: Sails\n"


@pytest.fixture
def shop(tmp_path: Path):
    found = Workshop(tmp_path / "example", "agents", stand_ins=())
    yield found
    found.finish()


def sessions(shop: Workshop) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in sorted((shop.root / ".sessions").glob("*.json"))]


def check_products(shop: Workshop) -> None:
    assert shop.read("OUTLINE.md") == OUTLINE
    assert json.loads(shop.read("words.json")) == {"ropes.md": 18, "sails.md": 4}
    assert shop.ends() == {"survey": 1, "outline": 1, "check": 1}
    assert shop.onward("logs", "check").check().out.strip() == "3"
    kept = sessions(shop)
    assert len(kept) == 2, "one conversation for each prompt, whatever happened"
    assert sorted(session["done"] for session in kept) == [1, 3]
    assert all(len(session["asked"]) == session["done"] for session in kept), "nothing was asked for twice"


def test_what_the_validator_says_reaches_the_same_session(shop: Workshop):
    checked = shop.onward("check", "agents.yaml").check()
    assert "warning[" not in checked.out + checked.err
    shop.onward(*RUN).check()
    check_products(shop)
    starts = [event for event in shop.events("attempt_start") if event["path"] == "outline"]
    ends = [event for event in shop.events("attempt_end") if event["path"] == "outline"]
    assert len(starts) == len(ends) == 2
    assert ends[0]["session"] == ends[1]["session"] == starts[1]["session"]
    assert [end["usage"]["usd"] for end in ends] == [0.5, 0.25]
    assert ends[0]["usage"]["output_tokens"] == 10


def done_lines(shop: Workshop) -> list[int]:
    return sorted(json.loads(path.read_text())["done"] for path in (shop.root / ".sessions").glob("*.json"))


@pytest.mark.parametrize("point", [[0], [0, 1], [1, 1], [1, 2]], ids=["early", "in the outline", "half-way", "late"])
def test_killed_the_session_goes_on_and_does_no_line_twice(shop: Workshop, point: list[int]):
    driver = shop.start(*RUN, "--var", "pace=1.5")
    assert shop.drives_until(driver, f"the sessions have done {point}", lambda: done_lines(shop) == point)
    shop.kill_all(driver)
    shop.wait("nothing of it is left", lambda: not shop.tasks())
    shop.to_the_end("resume", "--yes", "--var", "pace=0")
    check_products(shop)


def test_a_budget_that_is_used_up_pauses_the_run_until_it_is_raised(shop: Workshop):
    path = shop.root / "agents.yaml"
    path.write_text(path.read_text().replace("budget: {usd: 2}", "budget: {usd: 0.5}"))
    shop.onward(*RUN).check(3)
    assert "budget" in shop.onward("status").check().out
    shop.onward("resume", "--yes", "--budget", "usd=2").check()
    check_products(shop)
