"""`onward rewind` and `onward fork`: back in a run, and a second one from a point of the first."""

from __future__ import annotations

import json
import shutil

import pytest

from recovery.conftest import fingerprint
from stories.project import Project

LINE = """
    variables: {word: one}
    checkpoint: {state-file: state.json, cleanup-policy: never}
    task:
      - first: {run: 'echo first >> ledger.txt; echo 42'}
      - group:
          parallel:
            a: {run: 'echo a >> ledger.txt; echo a > a.md', artifacts: [a.md]}
            b: {run: 'echo b >> ledger.txt'}
          merge: [{join: {run: 'echo join >> ledger.txt'}}]
      - each:
          loop: {for-each: [x, y], as: letter}
          run: 'echo each-$letter >> ledger.txt'
      - last: {run: [sh, -c, 'echo "last $0 $1" >> ledger.txt', "{{word}}", "{{first.text}}"]}
"""
WHOLE = ["first", "a", "b", "join", "each-x", "each-y", "last one 42"]


@pytest.fixture
def done(project: Project) -> Project:
    project.workflow(LINE)
    project.onward("run", "w.yaml", "--id", "r").check()
    assert sorted(project.ledger) == sorted(WHOLE)
    return project


def test_a_rewind_does_again_from_there_and_keeps_history(done: Project):
    before = done.read(".onward/runs/r/journal.jsonl")
    said = done.onward("rewind", "r", "--to", "group").check()
    assert "will be done again: group/a, group/b, group/@merge/join, each[x], each[y], last" in said.err
    assert "a.md" in said.err
    assert done.status("r")["status"] == "paused"
    assert done.read(".onward/runs/r/journal.jsonl").startswith(before), "history stays"
    done.onward("resume", "r").check()
    assert done.counts == {name: 1 if name == "first" else 2 for name in WHOLE}
    assert done.onward("verify", "r").check()


def test_a_rewind_into_a_group_leaves_its_other_members(done: Project):
    done.onward("rewind", "r", "--to", "group/a").check()
    done.onward("resume", "r").check()
    assert done.counts == {name: 1 if name in ("first", "b") else 2 for name in WHOLE}


def test_a_look_at_a_rewind_changes_nothing(done: Project):
    before = fingerprint(done.root)
    said = json.loads(done.onward("rewind", "r", "--to", "last", "--dry-run", "--json").check().out)
    assert said["again"] == ["last"]
    assert said["repeated"] == ["last"]
    assert fingerprint(done.root) == before


@pytest.mark.parametrize("words", [["rewind", "r", "--to", "lsat"], ["fork", "r", "--from", "lsat"]], ids=" ".join)
def test_a_path_that_is_not_there_is_told_and_changes_nothing(done: Project, words: list[str]):
    before = fingerprint(done.root)
    assert "did you mean `last`" in done.onward(*words).check(2).err
    assert fingerprint(done.root) == before


def test_a_fork_keeps_what_lies_before_and_leaves_the_old_run_alone(done: Project):
    old = fingerprint(done.root / ".onward/runs/r")
    done.onward("fork", "r", "--from", "each", "--id", "r2", "--var", "word=two").check()
    expected = dict.fromkeys(WHOLE, 1) | {"each-x": 2, "each-y": 2, "last two 42": 1}
    assert done.counts == expected
    assert fingerprint(done.root / ".onward/runs/r") == old
    view = done.status("r2")
    assert view["status"] == "succeeded"
    assert view["variables"] == {"word": "two"}
    done.onward("verify", "r2").check()
    assert done.onward("logs", "r2", "first").check().out == "42\n"


def test_a_fork_lives_without_the_run_that_it_came_from(done: Project):
    done.onward("fork", "r", "--from", "last", "--id", "r2").check()
    shutil.rmtree(done.root / ".onward/runs/r")
    done.onward("rewind", "r2", "--to", "last").check()
    done.onward("resume", "r2").check()
    assert done.counts["last one 42"] == 3
    assert done.counts["first"] == 1


def test_a_fork_of_an_interrupted_run_leaves_its_running_task_to_it(project: Project):
    project.workflow("""
        task:
          - one: {run: 'echo one >> ledger.txt'}
          - two: {run: 'touch began; until test -e go; do sleep 0.05; done; echo two >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.kill_driver(driver)
    project.touch("go")
    project.onward("fork", "r", "--from", "two", "--id", "r2").check()
    project.onward("resume", "r", "--yes").check()
    assert project.counts == {"one": 1, "two": 2}
