"""The heart of it: a run that is killed in any way goes on without losing or repeating what is done."""

from __future__ import annotations

import random

import pytest

from stories.project import Project

TWENTY = """
    name: twenty
    checkpoint: {state-file: state.json, cleanup-policy: never}
    task:
""" + "".join(f"      - s{n}: {{run: 'sleep 0.1; echo s{n} >> ledger.txt'}}\n" for n in range(8)) + """
      - p1: {run: 'sleep 0.4; echo p1 >> ledger.txt'}
        p2: {run: 'sleep 0.3; echo p2 >> ledger.txt'}
        p3: {run: 'sleep 0.2; echo p3 >> ledger.txt'}
""" + "".join(f"      - t{n}: {{run: 'sleep 0.1; echo t{n} >> ledger.txt'}}\n" for n in range(9))  # fmt: skip

NAMES = [f"s{n}" for n in range(8)] + ["p1", "p2", "p3"] + [f"t{n}" for n in range(9)]


@pytest.mark.parametrize("seed", range(3))
def test_a_run_whose_driver_is_killed_at_random_moments_does_every_task_exactly_once(project: Project, seed: int):
    project.workflow(TWENTY)
    luck = random.Random(seed)
    driver = project.start("run", "w.yaml", "--id", "r")
    for _ in range(4):
        project.wait_for_file(".onward/runs/r/journal.jsonl")
        try:
            driver.wait(0.3 + luck.random() * 0.6)
        except Exception:
            project.kill_driver(driver)
        driver = project.start("resume", "r", "--yes")
    driver.wait(30)
    project.onward("resume", "r", "--yes").check()
    assert project.counts == dict.fromkeys(NAMES, 1)
    assert project.status("r")["status"] == "succeeded"


@pytest.mark.parametrize("seed", range(2))
def test_a_run_of_which_everything_is_killed_repeats_only_what_was_interrupted(project: Project, seed: int):
    project.workflow(TWENTY)
    luck = random.Random(seed)
    driver = project.start("run", "w.yaml", "--id", "r")
    kills = 0
    for _ in range(3):
        project.wait_for_file(".onward/runs/r/journal.jsonl")
        try:
            driver.wait(0.4 + luck.random() * 0.6)
        except Exception:
            project.kill_all(driver)
            kills += 1
        driver = project.start("resume", "r", "--yes")
    driver.wait(30)
    project.onward("resume", "r", "--yes").check()
    assert set(project.counts) == set(NAMES)
    assert kills
    assert sum(count - 1 for count in project.counts.values()) <= 3 * kills


def test_what_still_runs_is_waited_for_and_not_started_again(project: Project):
    project.workflow("""
        task:
          - long:
              run: 'echo start >> ledger.txt; touch began; sleep 1.5; echo 42 > result.txt; echo end >> ledger.txt'
          - use: {run: 'cat result.txt > used.txt; echo use >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml")
    project.wait_for_file("began")
    project.kill_driver(driver)
    said = project.onward("resume", "--yes").check()
    assert project.ledger == ["start", "end", "use"]
    assert project.read("used.txt") == "42\n"
    assert "still runs" in said.err


def test_what_ended_while_nobody_drove_is_taken_as_it_ended(project: Project):
    project.workflow("""
        task:
          - a: {run: 'touch began; until [ -e go ]; do sleep 0.05; done; echo a >> ledger.txt; echo out; touch done'}
          - b: {env: {GOT: "{{a.text}}"}, run: 'echo "b $GOT" >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml")
    project.wait_for_file("began")
    project.kill_driver(driver)
    project.touch("go")
    project.wait_for_file("done")
    project.onward("resume", "--yes").check()
    assert project.ledger == ["a", "b out"]


def test_a_second_driver_is_refused_with_who_drives_and_how_to_take_over(project: Project):
    project.workflow("task: [{a: {run: 'touch began; sleep 20'}}]")
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    said = project.onward("resume", "r", "--yes").check(2)
    assert str(driver.pid) in said.err
    assert "--take-over" in said.err


def test_taking_over_kills_the_driver_and_keeps_its_work(project: Project):
    project.workflow("""
        task: [{a: {run: 'echo a >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done'}},
               {b: {run: 'echo b >> ledger.txt'}}]
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    other = project.start("resume", "r", "--yes", "--take-over")
    project.wait("the first driver is gone", lambda: driver.poll() is not None)
    project.touch("go")
    assert other.wait(30) == 0
    assert project.ledger == ["a", "b"]


def test_a_pause_by_ctrl_c_ends_cleanly_and_goes_on(project: Project):
    import signal

    project.workflow("""
        grace: 5s
        task:
          - a: {run: 'touch began; sleep 0.5; echo a >> ledger.txt'}
          - b: {run: 'echo b >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    driver.send_signal(signal.SIGINT)
    assert driver.wait(20) == 3
    assert project.ledger == ["a"]
    assert project.status("r")["status"] == "paused"
    project.onward("resume", "r").check()
    assert project.ledger == ["a", "b"]


def test_sigterm_ends_within_the_grace_even_what_does_not_listen(project: Project):
    import signal

    project.workflow("""
        grace: 6s
        task:
          - a: {run: 'trap "" TERM; touch began; while :; do sleep 0.1; done'}
          - b: {run: 'echo b >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(20) == 3
    assert project.tasks() == []
    status = project.status("r")
    assert status["status"] == "paused"
    assert project.ledger == []


def test_cancel_from_another_process_stops_the_work_and_runs_finally(project: Project):
    project.workflow("""
        task:
          - a: {run: 'touch began; sleep 60'}
        finally:
          - tidy: {run: 'echo tidy >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.onward("cancel", "r", "--reason", "wrong branch").check()
    assert driver.wait(20) == 130
    assert project.ledger == ["tidy"]
    assert project.status("r")["status"] == "cancelled"
    assert project.tasks() == []


def test_a_failed_run_goes_on_at_the_failed_task(project: Project):
    project.workflow("""
        task:
          - a: {run: 'echo a >> ledger.txt'}
          - b: {run: 'echo b >> ledger.txt; test -e ok'}
          - c: {run: 'echo c >> ledger.txt'}
    """)
    said = project.onward("run", "w.yaml").check(1)
    assert "onward resume" in said.err
    project.touch("ok")
    project.onward("resume", "--yes").check()
    assert project.ledger == ["a", "b", "b", "c"]


def test_resuming_a_run_that_succeeded_does_nothing(project: Project):
    project.workflow("task: [{a: {run: 'echo a >> ledger.txt'}}]")
    project.onward("run", "w.yaml").check()
    said = project.onward("resume").check()
    assert "nothing to do" in said.err
    assert project.ledger == ["a"]


def test_a_killed_keeper_is_replaced_and_what_it_kept_is_done_again(project: Project):
    project.workflow("""
        task:
          - a: {run: 'echo a >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done; echo end >> ledger.txt'}
          - b: {call: "work:note"}
          - c: {run: 'echo c >> ledger.txt'}
    """)
    project.write("work.py", "def note():\n    open('ledger.txt', 'a').write('b\\n')\n")
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    (keeper,) = project.keepers(driver.pid)
    import os
    import signal

    os.kill(keeper, signal.SIGKILL)
    project.wait("the task runs again", lambda: project.counts["a"] == 2)
    project.touch("go")
    assert driver.wait(30) == 0
    assert project.ledger == ["a", "a", "end", "b", "c"]
    assert project.tasks() == []


def test_a_task_whose_keeper_is_killed_twice_has_failed_and_the_resume_tries_it_again(project: Project):
    import os
    import signal

    project.workflow("""
        task:
          - a: {run: 'echo a >> ledger.txt; until [ -e go ]; do sleep 0.05; done'}
          - b: {run: 'echo b >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    for times in (1, 2):
        project.wait("the task runs", lambda times=times: project.counts["a"] == times)
        for pid in project.keepers(driver.pid):
            os.kill(pid, signal.SIGKILL)
    assert driver.wait(30) == 1
    assert "killed twice" in project.node("a")["reason"]
    project.touch("go")
    project.onward("resume", "r", "--yes").check()
    assert project.ledger == ["a", "a", "a", "b"]


def test_a_rerun_does_what_used_the_result_again_and_nothing_else(project: Project):
    project.workflow("""
        task:
          - a: {run: 'echo a >> ledger.txt; cat input.txt'}
          - b: {env: {A: "{{a.text}}"}, run: 'echo b >> ledger.txt; echo "<$A>"'}
          - c: {run: 'echo c >> ledger.txt'}
          - d: {run: [tee, -a, d.txt], stdin: "{{b.text}} "}
    """)
    project.write("input.txt", "one\n")
    project.onward("run", "w.yaml", "--id", "r").check()
    project.write("input.txt", "two\n")
    said = project.onward("resume", "r", "--rerun", "a", "--yes").check()
    assert project.ledger == ["a", "b", "c", "a", "b"]
    assert project.read("d.txt") == "<one> <two> "
    assert "`b` is done again: it used the result of `a`" in said.err
    assert "did you mean `a`" in project.onward("resume", "r", "--rerun", "aa").check(2).err


def test_a_resume_with_nothing_to_do_tidies_what_a_driver_killed_at_the_very_end_left(project: Project):
    project.workflow("""
        checkpoint: {state-file: state.json}
        task: [{a: {run: 'echo a >> ledger.txt'}}]
    """)
    project.onward("run", "w.yaml", "--id", "r").check()
    assert not (project.root / "state.json").exists()
    left = project.root / ".state.json.999999999-1.onward-tmp"
    left.write_text("{")
    project.onward("resume", "r").check()
    assert not left.exists()
    assert not (project.root / "state.json").exists()
    assert project.ledger == ["a"]
