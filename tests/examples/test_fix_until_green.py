"""`fix-until-green`: rounds of a loop that are killed in the middle of one, and are not repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.workshop import Workshop

RUN = ("run", "fix-until-green.yaml")
ROUNDS = {"fix 1": 1, "fix 2": 1, "fix 3": 1, "pytest": 3, "preview-state": 2}


def opened(root: Path) -> Workshop:
    shop = Workshop(root, "fix-until-green", stand_ins=("claude", "python"))
    shop.note_program("bin/preview-state")
    path = shop.root / "fix-until-green.yaml"
    path.write_text(path.read_text().replace("delay: 30s", "delay: 1s"))
    return shop


@pytest.fixture
def shop(tmp_path: Path):
    found = opened(tmp_path / "example")
    yield found
    found.finish()


def check_products(shop: Workshop) -> None:
    text = shop.read("prices.py")
    assert ("net + net" in text, "/ 100\n" in text, "price < most" in text) == (True, True, True)
    report = shop.onward("logs", "repair[3]/check").check().out
    assert "0 failed, 3 passed" in report
    assert shop.onward("logs", "wait-for-preview[2]").check().out.strip() == "ready"
    assert all(count == 1 for count in shop.ends().values()), shop.ends()


def test_it_repairs_round_by_round_until_the_tests_pass(shop: Workshop):
    shop.to_the_end(*RUN)
    assert shop.did() == ROUNDS
    check_products(shop)
    first, second, third, _ = shop.read("prompts/fix").split("\n=== end of prompt\n")
    assert "none yet" in first
    assert "3 failed, 0 passed" not in third
    assert "2 failed, 1 passed" in second
    assert "1 failed, 2 passed" in third


@pytest.mark.parametrize("point", ["fix 1", "pytest#3", "preview-state#2"])
def test_killed_in_a_round_it_repeats_no_round_before(shop: Workshop, point: str):
    shop.killed_at(point, *RUN)
    before = shop.did()
    shop.to_the_end("resume", "--yes")
    assert shop.did() == ROUNDS
    assert all(shop.did("begin")[name] == ROUNDS[name] for name in before if name != point.partition("#")[0])
    check_products(shop)


def test_killed_in_round_3_its_prompt_still_has_the_report_of_round_2(shop: Workshop):
    shop.killed_at("fix 3", *RUN)
    shop.to_the_end("resume", "--yes")
    assert shop.did() == ROUNDS
    check_products(shop)
    prompts = shop.read("prompts/fix").split("\n=== end of prompt\n")[:-1]
    third = [prompt for prompt in prompts if prompt.startswith("Round 3.")]
    assert len(third) == 2
    assert third[0] == third[1]
    assert "1 failed, 2 passed" in third[0]
    assert "test_nobody_pays_more_than_the_most" in third[0]


def test_killed_while_it_waits_it_waits_only_for_what_is_left(shop: Workshop):
    driver = shop.start(*RUN)
    waits = lambda: shop.did()["preview-state"] == 1 and bool(shop.events("loop_delay"))  # noqa: E731
    assert shop.drives_until(driver, "it waits for the preview", waits)
    shop.kill_all(driver)
    shop.to_the_end("resume", "--yes")
    assert shop.did() == ROUNDS
    check_products(shop)
