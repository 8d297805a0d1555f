"""Flags of a resume that name what is not there, or contradict each other: refused in words, nothing is changed."""

import pytest

from stories.project import Project

LOOP = """
    task:
      - a: {run: echo a >> ledger.txt}
      - g:
          loop: {for-each: [x, y], as: item}
          task:
            - b: {run: 'echo "b$item" >> ledger.txt'}
            - c: {run: 'echo "c$item" >> ledger.txt; test -e ok'}
      - last: {run: echo last >> ledger.txt}
"""


@pytest.fixture
def failed(project: Project) -> Project:
    project.workflow(LOOP)
    assert project.onward("run", "w.yaml").code == 1
    return project


def test_the_run_as_a_whole_cannot_be_left_out(failed: Project):
    said = failed.onward("resume", "--yes", "--skip", "").check(2)
    assert "the path is empty" in said.err
    assert failed.status()["progress"] == {"total": 6, "done": 2, "percent": 33}


@pytest.mark.parametrize("flag", ["--skip", "--done", "--rerun", "--rerun-from"])
def test_a_task_in_a_loop_needs_its_iteration(failed: Project, flag: str):
    for extra in ([], ["--plan"]):
        said = failed.onward("resume", "--yes", flag, "g/c", *extra).check(2)
        assert "say in which iteration" in said.err
        assert "`g[x]/c`" in said.err
    assert failed.ledger == ["a", "bx", "cx"]


def test_what_was_not_reached_yet_can_be_left_out(failed: Project):
    failed.onward("resume", "--yes", "--done", "g[x]/c", "--skip", "g[y]/c").check()
    assert failed.ledger == ["a", "bx", "cx", "by", "last"]
    assert failed.status()["progress"] == {"total": 6, "done": 6, "percent": 100}


def test_an_iteration_that_the_loop_does_not_have_is_refused(failed: Project):
    assert "no node `g[z]`" in failed.onward("resume", "--yes", "--skip", "g[z]").check(2).err


@pytest.mark.parametrize(("one", "other"), [("--skip", "--done"), ("--skip", "--refresh"), ("--rerun", "--skip")])
def test_flags_that_contradict_each_other_are_refused(failed: Project, one: str, other: str):
    said = failed.onward("resume", "--yes", one, "g", other, "g").check(2)
    assert "cannot both be done" in said.err
    assert failed.ledger == ["a", "bx", "cx"]
