"""`on-resume: always`: what prepares later tasks is done again by every resume, before them."""

from __future__ import annotations

import pytest

from stories.project import Project

WORKFLOW = """
    task:
      - early:
          task: [{token: {run: 'echo token >> ledger.txt', on-resume: always}}]
      - login: {run: 'sleep 0.2; echo login >> ledger.txt', on-resume: always}
      - keep: {run: 'echo keep >> ledger.txt'}
      - work: {run: 'touch began; %s; echo work >> ledger.txt'}
      - last: {run: 'echo last >> ledger.txt'}
"""
FIRST = ["token", "login", "keep"]


def test_after_a_failure_it_runs_first(project: Project):
    project.workflow(WORKFLOW % "test -e go")
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.touch("go")
    foretold = project.onward("resume", "r", "--plan").check().out
    assert "do again  login: on-resume: always" in foretold
    project.onward("resume", "r").check()
    assert project.ledger == [*FIRST, "login", "work", "last"], "what is over needs no token any more"


@pytest.mark.parametrize("kill", ["kill_all", "kill_driver"])
def test_after_a_kill_it_runs_before_what_was_interrupted(project: Project, kill: str):
    project.workflow(WORKFLOW % "until test -e go; do sleep 0.05; done")
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    getattr(project, kill)(driver)
    project.touch("go")
    project.onward("resume", "r", "--yes").check()
    assert project.counts == {"token": 1, "login": 2, "keep": 1, "work": 1, "last": 1}
    if kill == "kill_all":
        assert project.ledger[-3:] == ["login", "work", "last"]
    assert project.ledger[-1] == "last"


def test_an_ended_run_does_not_do_it_again(project: Project):
    project.workflow(WORKFLOW % "true")
    project.onward("run", "w.yaml", "--id", "r").check()
    project.onward("resume", "r").check()
    project.onward("resume", "r", "--rerun", "last").check()
    assert project.counts["login"] == 1


def test_what_is_made_again_is_there_before_an_interrupted_task_that_reads_it_starts_again(project: Project):
    project.workflow("""
        task:
          - make: {run: 'sleep 0.3; echo made > made.txt; echo make >> ledger.txt', artifacts: [made.txt]}
          - use:
              run: |
                cat made.txt > used.txt; touch began
                until test -e go; do sleep 0.05; done; echo use >> ledger.txt
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.kill_all(driver)
    (project.root / "made.txt").unlink()
    project.touch("go")
    project.onward("resume", "r", "--yes").check()
    assert project.ledger == ["make", "make", "use"]
    assert project.read("used.txt") == "made\n"
