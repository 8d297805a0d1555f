"""`worktree`: members and iterations work side by side in git worktrees and on branches of their own."""

import subprocess

import pytest

from stories.project import Project

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
COMMIT = "git -c user.name=t -c user.email=t@example.org commit -qam"


def git(project: Project, *arguments: str) -> str:
    return subprocess.run([*GIT, *arguments], cwd=project.root, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(project: Project) -> Project:
    project.write("a.txt", "a\n")
    project.write("b.txt", "b\n")
    project.write("sub/c.txt", "c\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "begin")
    return project


MEMBERS = f"""
    task:
      - both:
          parallel:
            one: {{worktree: true, run: 'echo one >> a.txt; {COMMIT} one; pwd'}}
            two: {{worktree: true, run: 'echo two >> b.txt; {COMMIT} two; pwd'}}
          merge:
            - join:
                run: 'git -c user.name=t -c user.email=t@example.org merge -q -m all "$x" "$y"'
                env: {{x: "{{{{one.branch}}}}", y: "{{{{two.branch}}}}"}}
"""


def branches(project: Project) -> list[str]:
    return git(project, "branch", "--format", "%(refname:short)").split()


def test_members_commit_on_branches_of_their_own_and_a_merge_brings_them_together(repository: Project):
    repository.workflow(MEMBERS)
    said = repository.onward("run", "w.yaml")
    assert said.code == 0, said.err
    assert repository.read("a.txt") == "a\none\n"
    assert repository.read("b.txt") == "b\ntwo\n"
    assert branches(repository) == ["main"], "merged branches go with their worktrees"
    assert git(repository, "worktree", "list").count("\n") == 1


def test_what_was_not_merged_or_not_committed_stays_and_is_told(repository: Project):
    repository.workflow(
        f"""
        task:
          - both:
              parallel:
                one: {{worktree: true, run: 'echo one >> a.txt; {COMMIT} one'}}
                two: {{worktree: true, run: 'echo two >> b.txt'}}
        """
    )
    said = repository.onward("run", "w.yaml")
    assert said.code == 0, said.err
    assert "was not merged" in said.err
    assert "not committed" in said.err
    [place] = [line.split()[0] for line in git(repository, "worktree", "list").splitlines()[1:]]
    assert (repository.root / place / "b.txt").read_text() == "b\ntwo\n"
    assert repository.read("b.txt") == "b\n"


def test_a_resume_finds_the_same_worktree_again(repository: Project):
    repository.workflow(
        f"""
        task:
          - g:
              parallel:
                one:
                  worktree: true
                  task:
                    - first: {{run: 'echo first >> a.txt'}}
                    - then: {{run: 'test -e "$ok" && echo then >> a.txt && {COMMIT} done', env: {{ok: "{{{{ok}}}}"}}}}
              merge:
                - join: {{run: 'git merge -q "$b"', env: {{b: "{{{{one.branch}}}}"}}}}
        variables: {{ok: ""}}
        """
    )
    assert repository.onward("run", "w.yaml", "--var", f"ok={repository.root / 'ok'}").code == 1
    repository.touch("ok")
    said = repository.onward("resume", "--yes")
    assert said.code == 0, said.err
    assert repository.read("a.txt") == "a\nfirst\nthen\n"


def test_iterations_have_worktrees_whatever_their_keys_are(repository: Project):
    repository.workflow(
        f"""
        task:
          - each:
              loop: {{for-each: ["x y", "..", "a:b", "q.lock"], as: n, limit: 4}}
              worktree: true
              run: 'echo "$n" > "new-$$"; git add .; {COMMIT} "new"; git rev-parse --abbrev-ref HEAD'
          - tell:
              run: 'cat "$results"'
              env: {{results: "{{{{each.results | path}}}}"}}
        """
    )
    said = repository.onward("run", "w.yaml")
    assert said.code == 0, said.err
    own = [name for name in branches(repository) if name != "main"]
    assert len(own) == 4
    assert all(name.startswith("onward/") for name in own)
    assert git(repository, "status", "--porcelain", "--untracked-files=no") == ""
    for name in own:
        assert name in repository.onward("logs").out


def test_a_directory_is_inside_the_worktree(repository: Project):
    repository.workflow(
        """
        task:
          - g:
              parallel:
                one: {worktree: true, directory: sub, run: 'cat c.txt; pwd; echo more >> c.txt'}
        """
    )
    said = repository.onward("run", "w.yaml")
    assert said.code == 0, said.err
    assert repository.read("sub/c.txt") == "c\n"
    assert "/worktrees/" in repository.onward("logs").out


def test_a_workflow_in_a_folder_of_the_repository_works_in_the_same_folder_of_the_worktree(repository: Project):
    repository.workflow(
        "task:\n  - g: {parallel: {one: {worktree: true, run: 'cat c.txt; echo more >> c.txt'}}}\n", "sub/w.yaml"
    )
    said = repository.onward("run", "sub/w.yaml")
    assert said.code == 0, said.err
    assert repository.read("sub/c.txt") == "c\n"


def test_outside_of_a_repository_it_is_an_error_of_the_file(project: Project):
    project.workflow("task:\n  - g: {parallel: {one: {worktree: true, run: ls}}}\n")
    for command in ("check", "run"):
        said = project.onward(command, "w.yaml")
        assert said.code == 2, said.err
        assert "git repository" in said.out + said.err
        assert "w.yaml:2" in said.out + said.err


def test_before_the_first_commit_the_task_fails_in_words(project: Project):
    git(project, "init", "-q")
    project.workflow("task:\n  - g: {parallel: {one: {worktree: true, run: ls}}}\n")
    said = project.onward("run", "w.yaml")
    assert said.code == 1
    assert "git worktree" in said.err


def test_killed_in_the_middle_the_worktree_and_its_work_are_kept(repository: Project):
    repository.workflow(
        f"""
        task:
          - g:
              parallel:
                one: {{worktree: true, run: 'echo half >> a.txt; touch "$w"; sleep 30', env: {{w: "{{{{w}}}}"}}}}
        variables: {{w: "{repository.root / "waits"}"}}
        """
    )
    driver = repository.start("run", "w.yaml")
    repository.wait_for_file("waits")
    repository.kill_all(driver)
    repository.workflow(repository.read("w.yaml").replace("sleep 30", f"{COMMIT} half"))
    said = repository.onward("resume", "--yes")
    assert said.code == 0, said.err
    [own] = [name for name in branches(repository) if name != "main"]
    assert git(repository, "show", f"{own}:a.txt") == "a\nhalf\nhalf\n"
