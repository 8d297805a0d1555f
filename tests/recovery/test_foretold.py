"""A run of every kind of container, killed at random moments: the plan of the resume and the resume itself agree."""

from __future__ import annotations

import json
import random

import pytest

from recovery.test_plan import plan_of, started
from stories.project import Project

RICH = """
    task:
      - one: {run: 'echo one >> ledger.txt'}
      - group:
          parallel:
            a: {run: 'sleep 0.2; echo a >> ledger.txt'}
            b:
              task:
                - b1: {run: 'sleep 0.1; echo b1 >> ledger.txt'}
                - b2: {run: 'sleep 0.2; echo b2 >> ledger.txt'}
            c: {run: 'sleep 0.3; echo c >> ledger.txt', needs: [a]}
          merge: [{join: {run: 'sleep 0.1; echo join >> ledger.txt'}}]
      - each:
          loop: {for-each: [x, y, z, "odd/key"], as: letter, limit: 2}
          task:
            - first: {run: 'sleep 0.1; echo "first $letter" >> ledger.txt'}
            - second: {run: 'sleep 0.1; echo "second $letter" >> ledger.txt'}
      - rounds:
          loop: {until: {file-exists: enough}, max: 3}
          run: 'sleep 0.1; echo round >> ledger.txt; test "$(grep -c round ledger.txt)" -lt 3 || touch enough'
      - flaky: {run: 'sleep 0.1; echo flaky >> ledger.txt; test -e mended', retry: {attempts: 2}}
      - last: {run: 'echo last >> ledger.txt'}
    finally: [{tidy: {run: 'echo tidy >> ledger.txt'}}]
"""


@pytest.mark.parametrize("seed", range(5))
def test_the_plan_and_the_resume_agree_wherever_the_run_was_killed(project: Project, seed: int):
    project.workflow(RICH)
    luck = random.Random(seed)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file(".onward/runs/r/journal.jsonl")
    try:
        driver.wait(0.2 + luck.random() * 1.8)
    except Exception:
        project.kill_all(driver)
    project.touch("mended")
    foretold = {node["path"]: node["verdict"] for node in plan_of(project)["nodes"]}
    project.onward("resume", "r", "--yes").check()
    began = started(project)
    kept = {path for path, verdict in foretold.items() if verdict == "keep"}
    again = {path for path, verdict in foretold.items() if verdict == "do again"}
    assert not began & kept, f"kept, and begun: {began & kept}"
    assert again <= began, f"to be done again, and not begun: {again - began}"
    assert project.status("r")["status"] == "succeeded"
    lines = [json.loads(line) for line in project.read(".onward/runs/r/journal.jsonl").splitlines()]
    assert lines[-1]["type"] == "workflow_end"


def test_a_finally_that_has_run_is_foretold_to_start_over(project: Project):
    project.workflow("""
        task: [{a: {run: test -e go}}]
        finally: [{tidy: {run: 'echo tidy >> ledger.txt'}}]
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    foretold = {node["path"]: node["verdict"] for node in plan_of(project)["nodes"]}
    assert foretold == {"a": "do again", "@finally/tidy": "do again"}
    project.touch("go")
    project.onward("resume", "r").check()
    assert project.counts["tidy"] == 2
