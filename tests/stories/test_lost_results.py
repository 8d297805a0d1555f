"""A stored result that is gone is foretold by `--plan`, and its task is done again before what uses it."""

import shutil

from stories.project import Project

WORK = """
    task:
      - big: {run: 'echo big >> ledger.txt; head -c 200000 /dev/zero | tr "\\0" x'}
      - small: {run: echo small >> ledger.txt}
      - last: {run: 'test -e ok && wc -c < "$f" >> ledger.txt', env: {f: "{{big.text | path}}"}}
"""


def test_its_task_is_done_again_and_nothing_else(project: Project):
    project.workflow(WORK)
    assert project.onward("run", "w.yaml").code == 1
    shutil.rmtree(next((project.root / ".onward/runs").iterdir()) / "values")
    project.touch("ok")
    plan = project.onward("resume", "--plan")
    assert plan.code == 0, plan.err
    assert "its stored result is gone" in plan.out
    said = project.onward("resume", "--yes")
    assert said.code == 0, said.err
    assert "`big` is done again: its stored result is gone" in said.err
    assert project.ledger == ["big", "small", "big", "200000"]
