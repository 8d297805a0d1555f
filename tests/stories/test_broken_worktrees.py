"""Worktrees that were half made, or taken apart by hand; and what cannot have one says so."""

import shutil
import subprocess

import pytest

from stories.project import Project

WORK = """
    task:
      - g:
          loop: {for-each: [x], as: item}
          worktree: true
          run: 'cat f; test -e "$OK"'
          env: {OK: "%s/ok"}
"""


def git(project: Project, *arguments: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", "-C", str(project.root), *name, *arguments], check=True, capture_output=True, timeout=30)


@pytest.fixture
def repository(project: Project) -> Project:
    git(project, "init", "-q")
    project.write(".gitignore", ".onward\nok\n")
    project.write("f", "1\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "first")
    return project


@pytest.fixture
def failed(repository: Project) -> Project:
    repository.workflow(WORK % repository.root)
    assert repository.onward("run", "w.yaml").code == 1
    repository.touch("ok")
    return repository


def test_one_that_was_half_made_when_git_was_killed_is_made_anew(failed: Project):
    record = next((failed.root / ".git/worktrees").iterdir())
    (record / "locked").write_text("initializing")
    (record / "index").unlink()
    place = next((failed.root / ".onward/runs").glob("*/worktrees/*"))
    (place / "f").unlink()
    failed.onward("resume", "--yes").check()


def test_one_that_git_believes_to_be_half_made_and_whose_folder_is_gone_is_made_anew(failed: Project):
    (next((failed.root / ".git/worktrees").iterdir()) / "locked").write_text("initializing")
    shutil.rmtree(next((failed.root / ".onward/runs").glob("*/worktrees")))
    failed.onward("resume", "--yes").check()


def test_one_that_git_does_not_know_any_more_is_told(failed: Project):
    shutil.rmtree(failed.root / ".git/worktrees")
    said = failed.onward("resume", "--yes").check(1)
    assert "is unknown to git by now" in said.out + said.err


def test_a_repository_without_a_commit_is_told(project: Project):
    git(project, "init", "-q")
    project.workflow(WORK % project.root)
    said = project.onward("run", "w.yaml").check(1)
    assert "has no commit yet" in said.out + said.err


def test_a_worktree_in_a_worktree_is_refused_in_words(repository: Project):
    repository.workflow(
        """
        task:
          - a:
              parallel:
                b: {worktree: true, parallel: {c: {worktree: true, run: 'true'}}}
        """
    )
    said = repository.onward("run", "w.yaml").check(1)
    assert "`a/b` has a worktree" in said.out + said.err
