"""`onward clean --compress`: the journals of ended runs get small, and every command goes on as before."""

import json
from pathlib import Path

import pytest

from stories.project import Project

WORK = """
    checkpoint: {state-file: .state/w.json, cleanup-policy: never}
    task:
      - many:
          loop: {for-each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], as: n}
          run: echo $n >> ledger.txt
      - last: {run: test -e ok && echo last >> ledger.txt}
"""


def run_folder(project: Project) -> Path:
    return next((project.root / ".onward/runs").iterdir())


@pytest.fixture
def compressed(project: Project) -> Project:
    project.workflow(WORK)
    assert project.onward("run", "w.yaml").code == 1
    said = project.onward("clean", "--compress")
    assert said.code == 0, said.err
    assert "compressed 1 run" in said.out
    assert not (run_folder(project) / "journal.jsonl").exists()
    return project


@pytest.mark.parametrize(
    "command", ["status", "runs", "logs", "show", "verify", "status --json", "show many[3]", "graph RUN"]
)
def test_every_reading_command_says_the_same(project: Project, command: str):
    project.workflow(WORK)
    project.onward("run", "w.yaml")
    run = run_folder(project).name
    words = [run if word == "RUN" else word for word in command.split()]
    before = project.onward(*words)
    project.onward("clean", "--compress")
    after = project.onward(*words)
    assert (after.code, _timeless(after.out)) == (before.code, _timeless(before.out))


def _timeless(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if " ago" not in line and "just now" not in line)


def test_a_resume_unpacks_it_and_repeats_nothing(compressed: Project):
    compressed.touch("ok")
    said = compressed.onward("resume", "--yes")
    assert said.code == 0, said.err
    assert compressed.ledger == [*map(str, range(1, 13)), "last"]
    assert (run_folder(compressed) / "journal.jsonl").exists()
    assert not (run_folder(compressed) / "journal.jsonl.gz").exists()
    assert compressed.onward("verify").code == 0


def test_the_state_file_still_leads_to_it(compressed: Project):
    compressed.touch("ok")
    said = compressed.onward("run", "w.yaml", "--resume")
    assert said.code == 0, said.err
    assert len(list((compressed.root / ".onward/runs").iterdir())) == 1
    assert compressed.counts["5"] == 1


def test_a_second_time_there_is_nothing_to_do_and_a_try_changes_nothing(project: Project):
    project.workflow(WORK)
    project.onward("run", "w.yaml")
    would = json.loads(project.onward("clean", "--compress", "--dry-run", "--json").out)
    assert would["compressed"][0]["run"] == run_folder(project).name
    assert (run_folder(project) / "journal.jsonl").exists()
    project.onward("clean", "--compress")
    assert "no run to compress" in project.onward("clean", "--compress").out


def test_a_paused_run_is_left_alone(project: Project):
    project.workflow("task:\n  - gate: {approve: Go on?}\n")
    project.onward("run", "w.yaml")
    assert "no run to compress" in project.onward("clean", "--compress").out
