"""A project interrupted at each of the six points, by what really interrupts: kills, failures, open questions.

`ledger.txt` has a line for every task that was done. All scenes share a first phase of twenty tasks, so that their
journals are longer than the fifty lines that the last resort reads.
"""

from __future__ import annotations

from pathlib import Path

from onward.recovery.levels import Level
from stories.project import Project

PREPARED = [f"p{n:02}" for n in range(20)]

_HEAD = """\
name: shop-tests
title: Tests for {{feature}}
description: Generate E2E tests from requirements.
variables: {feature: Login page}
task:
  - prepare:
      title: Requirements gathered
      hand-off: {summary: Twenty requirements for the login page}
      task:
""" + "".join(
    f"        - {name}: {{run: 'echo {name} >> ledger.txt; echo {name} > req-{name}.md', artifacts: [req-{name}.md]}}\n"
    if name in ("p03", "p17")
    else f"        - {name}: {{run: 'echo {name} >> ledger.txt'}}\n"
    for name in PREPARED
)
_GATE = "touch {0}.began; until test -e go; do sleep 0.05; done; echo {0} >> ledger.txt"
_TAIL = """\
  - publish:
      title: Report written
      run: echo publish >> ledger.txt
"""

_MIDDLE: dict[Level, str] = {
    Level.RERUN: f"""\
  - write:
      title: E2E code generation
      run: '{_GATE.format("write")}'
""",
    Level.PARALLEL: f"""\
  - code:
      title: E2E code generation
      parallel:
        login: {{run: 'echo login >> ledger.txt'}}
        logout: {{run: 'echo logout >> ledger.txt'}}
        search: {{title: Search test, run: '{_GATE.format("search")}'}}
""",
    Level.MERGE: f"""\
  - code:
      title: E2E code generation
      parallel:
        login: {{run: 'echo login >> ledger.txt'}}
        logout: {{run: 'echo logout >> ledger.txt'}}
      merge:
        - collect: {{run: 'echo collect >> ledger.txt'}}
        - combine: {{title: Results combined, run: '{_GATE.format("combine")}'}}
""",
    Level.CHECKPOINT: """\
  - review:
      title: Review of the tests
      approve: Are these tests good enough?
""",
    Level.NEXT: """\
  - review:
      title: Review of the tests
      approve: Are these tests good enough?
""",
    Level.FAILED: """\
  - write:
      title: E2E code generation
      run: 'test -e go; echo write >> ledger.txt'
""",
}

LEFT_TO_DO: dict[Level, list[str]] = {
    Level.RERUN: ["write", "publish"],
    Level.PARALLEL: ["search", "publish"],
    Level.MERGE: ["combine", "publish"],
    Level.CHECKPOINT: ["publish"],
    Level.NEXT: ["publish"],
    Level.FAILED: ["write", "publish"],
}
"""what the ledger gets when the work goes on and is let through to its end"""

DONE_BEFORE: dict[Level, list[str]] = {
    Level.PARALLEL: ["login", "logout"],
    Level.MERGE: ["login", "logout", "collect"],
}

_BEGAN = {Level.RERUN: "write", Level.PARALLEL: "search", Level.MERGE: "combine"}


def workflow(level: Level) -> str:
    """The workflow of a scene."""
    return _HEAD + _MIDDLE[level] + _TAIL


def interrupt(level: Level, root: Path) -> Project:
    """Run the workflow of a scene to its point, and interrupt it there."""
    project = Project(root)
    (root / "w.yaml").write_text(workflow(level))
    match level:
        case Level.FAILED:
            project.onward("run", "w.yaml", "--id", "r").check(1)
        case Level.CHECKPOINT | Level.NEXT:
            project.onward("run", "w.yaml", "--id", "r").check(3)
            if level is Level.NEXT:
                project.onward("approve", "r", "review").check()
        case _:
            _kill_at(project, f"{_BEGAN[level]}.began", DONE_BEFORE.get(level, []))
    return project


def _kill_at(project: Project, mark: str, done: list[str]) -> None:
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file(mark)
    journal = project.root / ".onward/runs/r/journal.jsonl"
    for name in done:
        project.wait(f"{name} has ended", lambda n=name: f'/{n}","status":"succeeded"' in journal.read_text())
    project.kill_all(driver)


def let_through(project: Project) -> None:
    """Whatever held the work up is out of its way."""
    project.touch("go")


def finish(project: Project, level: Level) -> None:
    """Answer what is open, until the run has succeeded."""
    if level is Level.CHECKPOINT and project.status("r")["status"] == "waiting":
        project.onward("approve", "r", "review").check()
        project.onward("resume", "r", "--yes").check()
