"""`e2e-from-requirements`: phases, hand-offs, decisions, a loop with several at once and its merge; killed in each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from examples.workshop import Workshop

FILE = "workflows/e2e-from-requirements.yaml"
RUN = ("run", FILE, "--var", "feature=Log in")
CASES = ("lock-out.md", "log-in.md", "log-out.md")
ONCE = ["gather", *(f"generate {case}" for case in CASES), *(f"tsc {case}.spec.ts" for case in CASES)]
DONE = dict.fromkeys([*ONCE, "fixtures", "playwright --list", "kill-all"], 1) | {"design": 2}
REPORT = """# End-to-end tests

Risky: R3

| case | status |
|---|---|
| lock-out.md | succeeded |
| log-in.md | succeeded |
| log-out.md | succeeded |

3 files in the suite
"""


class Pipeline(Workshop):
    def to_the_end(self, *command: str) -> None:
        """As ever; but the second question has a deadline, so a driver stays with it and hears the answer."""
        driver = self.start(*command)
        while not self.drives_until(driver, "the last question", self.asked_last):
            self.answer()
            driver = self.start("resume", "--yes")
        self.answer()
        _, err = driver.communicate(timeout=30)
        assert driver.returncode == 0, err

    def asked_last(self) -> bool:
        runs = list((self.root / ".onward" / "runs").glob("*/journal.jsonl"))
        return bool(runs) and "report/release" in {event["path"] for event in self.events("gate_open")}


@pytest.fixture
def shop(tmp_path: Path):
    found = Pipeline(tmp_path / "example", "e2e-from-requirements", stand_ins=("claude", "npx"))
    found.environment["ONWARD_STORE"] = str(found.root / ".onward")
    yield found
    found.finish()


def check_products(shop: Workshop) -> None:
    assert shop.did() == DONE
    assert shop.read("qa/report.md") == REPORT
    assert shop.read("e2e/suite.txt").split() == [f"{case}.spec.ts" for case in CASES]
    assert shop.read("e2e/fixtures.ts").count("\n") == len(CASES)
    assert len(shop.events("gate_decision")) == 2
    assert all(count == 1 for count in shop.ends().values()), shop.ends()
    state = json.loads(shop.read(".sparq/state/current-task.json"))
    assert state["phaseStatus"] == "completed"
    assert len(state["completedPhases"]) == 4
    assert (shop.root / ".sparq/onward.json").exists(), "cleanup-policy: never"


def test_it_goes_from_requirements_to_a_report(shop: Workshop):
    checked = shop.onward("check", FILE).check()
    assert "warning[" not in checked.out + checked.err
    shop.to_the_end(*RUN)
    check_products(shop)


POINTS = {
    "gather": (),
    "tsc log-in.md.spec.ts": ("e2e-code/write-tests[lock-out.md]", "e2e-code/write-tests[log-out.md]"),
    "fixtures": (),
    "playwright --list": (),
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_it_does_nothing_twice_that_had_ended(shop: Workshop, point: str):
    shop.killed_at(point, *RUN, after=POINTS[point])
    before = shop.did()
    shop.to_the_end("resume", "--yes")
    check_products(shop)
    assert all(shop.did("begin")[name] == DONE[name] for name in before if name != "kill-all")
