"""Compressed journals that were damaged: the run says so, and the other runs of the store are not hidden by it."""

import json
from pathlib import Path

import pytest

from stories.project import Project

ITEMS = ", ".join(f"i{n}" for n in range(40))
WORK = f"""
    task:
      - many: {{loop: {{for-each: [{ITEMS}], limit: 8}}, run: echo again >> ledger.txt}}
      - last: {{run: test -e ok}}
"""


@pytest.fixture
def packed(project: Project) -> Project:
    project.workflow(WORK)
    assert project.onward("run", "w.yaml").code == 1
    project.onward("clean", "--compress", "--status", "failed").check()
    assert journal(project).exists()
    return project


def journal(project: Project) -> Path:
    return next((project.root / ".onward/runs").iterdir()) / "journal.jsonl.gz"


def test_a_compressed_journal_is_not_taken_for_one_that_is_gone(packed: Project):
    packed.touch("ok")
    packed.onward("resume", "--yes").check()
    assert len(packed.ledger) == 40


@pytest.mark.parametrize("damage", [b"no gzip at all", b""])
def test_one_that_cannot_be_read_at_all_hides_no_other_run(packed: Project, damage: bytes):
    packed.workflow("task:\n  - one: {run: 'true'}\n", "other.yaml")
    packed.onward("run", "other.yaml").check()
    at = next((packed.root / ".onward/runs").glob("*/journal.jsonl.gz"))
    at.write_bytes(damage)
    runs = json.loads(packed.onward("runs", "--json").check().out)
    assert len(runs["runs"]) == 2
    packed.onward("verify", at.parent.name).check(4)
    packed.onward("resume", "--yes", at.parent.name).check(3)
    packed.touch("ok")
    packed.onward("resume", "--yes", "--accept-damage", at.parent.name).check()
    assert len(packed.ledger) == 40


def test_one_that_was_cut_off_is_asked_about(packed: Project):
    at = journal(packed)
    at.write_bytes(at.read_bytes()[: at.stat().st_size // 2])
    said = packed.onward("resume", "--yes").check(3)
    assert "--accept-damage" in said.err
    assert len(packed.ledger) == 40
