"""The parts of a diagnosis: age, fields of configuration files, watched files, the commit of a checkout, retelling."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onward.journal import reader
from onward.model.nodes import Plan
from onward.model.status import Status
from onward.recovery.age import DAY_S, WEEK_S, Freshness, age_of
from onward.recovery.fields import HIDDEN, FieldChange, Unreadable, changed_fields
from onward.recovery.levels import Level
from onward.recovery.retelling import retell, unstamped
from onward.recovery.revision import revision_of
from onward.recovery.watching import Drift, look
from onward.state.fold import fold
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from recovery.aging import age_journal
from recovery.scenes import let_through
from stories.project import Project

Scene = Callable[[Level], Project]


# --- age ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, Freshness.FRESH),
        (DAY_S - 1, Freshness.FRESH),
        (DAY_S, Freshness.AGED),
        (WEEK_S - 1, Freshness.AGED),
        (WEEK_S, Freshness.OLD),
        (400 * DAY_S, Freshness.OLD),
        (-3600, Freshness.FRESH),
    ],
)
def test_exactly_a_day_and_a_week_are_the_older_class(seconds: float, expected: Freshness):
    assert age_of(1_000_000_000.0, 1_000_000_000.0 + seconds).freshness is expected


def test_a_clock_that_went_back_is_told_and_a_little_difference_is_not():
    assert age_of(1000.0, 400.0).ahead_s == 600.0
    assert age_of(1000.0, 998.0).ahead_s == 0.0


@pytest.mark.parametrize(
    ("days", "words"),
    [(0.5, None), (2, "it was left 2 days ago; things may have changed"), (8, "a fresh start is recommended")],
)
def test_a_resume_without_a_terminal_says_how_old_a_run_is_and_goes_on(scene: Scene, days: float, words: str | None):
    project = scene(Level.FAILED)
    age_journal(RunFolder(project.root / ".onward/runs/r"), days=days)
    let_through(project)
    said = project.onward("resume", "r").check().err
    assert (words in said) if words else ("it was left" not in said)


def test_a_run_of_the_future_goes_on_and_says_so(scene: Scene):
    project = scene(Level.FAILED)
    age_journal(RunFolder(project.root / ".onward/runs/r"), days=-1 / 12)
    let_through(project)
    said = project.onward("resume", "r").check().err
    assert "in the future: the clock went back" in said


# --- configuration ------------------------------------------------------------------------------------------------


def test_fields_are_compared_at_every_depth_and_lists_by_place():
    before = {"a": {"b": 1, "gone": True}, "list": [1, 2], "same": "x", "empty": {}}
    after = {"a": {"b": 2}, "list": [1, 3, 4], "same": "x", "empty": {}}
    found = changed_fields("c.json", json.dumps(before).encode(), json.dumps(after).encode())
    assert found == [
        FieldChange(name="a.b", before="1", after="2"),
        FieldChange(name="a.gone", before="true", after=None),
        FieldChange(name="list[1]", before="2", after="3"),
        FieldChange(name="list[2]", before=None, after="4"),
    ]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("c.json", '{"a": 1, "b": 2}', '{ "b": 2,\n "a": 1 }'),
        ("c.yaml", "a: 1\nb: 2\n", "# a comment\nb: 2\na: 1\n"),
        ("c.toml", "a = 1\nb = 2\n", "b = 2\na = 1\n"),
    ],
)
def test_another_order_is_no_change(name: str, before: str, after: str):
    assert changed_fields(name, before.encode(), after.encode()) == []


def test_what_may_be_a_secret_is_not_shown():
    [change] = changed_fields("c.yaml", b"db: {password: one}", b"db: {password: two}") or []
    assert (change.before, change.after) == (HIDDEN, HIDDEN)


def test_what_has_no_fields_and_what_is_broken():
    assert changed_fields("notes.txt", b"a", b"b") is None
    with pytest.raises(Unreadable, match="it is no JSON"):
        changed_fields("c.json", b"{}", b"{")


def test_watched_files_are_found_by_name_and_by_glob(tmp_path: Path):
    (tmp_path / "[id].json").write_text("{}")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "b.yaml").write_text("b")
    (tmp_path / "rules" / "a.yaml").write_text("a")
    found = look(tmp_path, ["[id].json", "gone.json", "rules/*.yaml"])
    assert list(found.digests) == ["[id].json", "gone.json", "rules/a.yaml", "rules/b.yaml"]
    assert found.digests["gone.json"] is None
    assert found.contents["rules/a.yaml"] == b"a"


WATCHING = """
    watch: {config.json: warn, "rules/*.yaml": fresh-start, later.json: warn, rewritten.json: warn}
    task: [{a: {run: test -e go}}]
"""


def watched(project: Project) -> None:
    project.write("config.json", '{"retries": 1}')
    project.write("rewritten.json", '{"a": 1}')
    project.write("rules/one.yaml", "level: low")
    project.workflow(WATCHING)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.write("config.json", '{"retries": 3}')
    project.write("rewritten.json", '{ "a": 1 }')
    project.write("rules/two.yaml", "level: high")
    (project.root / "rules/one.yaml").unlink()
    project.write("later.json", "{}")


def test_every_kind_of_change_is_told_and_nothing_is_blocked(project: Project):
    watched(project)
    view = json.loads(project.onward("resume", "r", "--plan", "--json").check().out)
    assert {one["path"]: one["drift"] for one in view["watch"]} == {
        "config.json": Drift.CHANGED,
        "rewritten.json": Drift.REWRITTEN,
        "rules/one.yaml": Drift.REMOVED,
        "rules/two.yaml": Drift.ADDED,
        "later.json": Drift.ADDED,
    }
    assert view["fresh_is_better"]
    project.touch("go")
    said = project.onward("resume", "r").check().err
    assert "`config.json` has changed since the start: retries: 1 → 3" in said
    assert "`rewritten.json` was rewritten; no value in it changed" in said
    assert "onward resume r --fresh" in said


def test_the_original_files_are_laid_out_beside_and_nothing_is_replaced(project: Project):
    watched(project)
    project.touch("go")
    project.onward("resume", "r", "--original").check()
    assert project.read(".onward/runs/r/watch/config.json") == '{"retries": 1}'
    assert project.read(".onward/runs/r/watch/rules/one.yaml") == "level: low"
    assert project.read("config.json") == '{"retries": 3}'


# --- the checkout -------------------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def test_the_commit_is_read_as_git_tells_it(tmp_path: Path):
    assert revision_of(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert revision_of(tmp_path) is None, "there is no commit yet"
    (tmp_path / "a").write_text("a")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    assert revision_of(tmp_path) == git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "pack-refs", "--all")
    assert revision_of(tmp_path) == git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "worktree", "add", "-q", "tree")
    assert revision_of(tmp_path / "tree") == git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "checkout", "-q", "--detach")
    assert revision_of(tmp_path) == git(tmp_path, "rev-parse", "HEAD")


def test_another_commit_and_uncommitted_files_are_told(project: Project):
    git(project.root, "init", "-q")
    project.workflow("task: [{a: {run: test -e go}}]")
    git(project.root, "add", "w.yaml")
    git(project.root, "commit", "-qm", "first")
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.write("new.txt", "x")
    git(project.root, "commit", "-q", "--allow-empty", "-m", "second")
    said = project.onward("resume", "r", "--plan").check().out
    assert "the checkout stands at another commit than at the start" in said
    assert "1 file of the checkout is not committed" in said


# --- retelling ----------------------------------------------------------------------------------------------------

_SAME = ("stage", "status", "attempt", "digest", "outputs", "artifacts", "items", "session")


def facts_of(state: RunState) -> dict[str, tuple[object, ...]]:
    def of(instance: Instance) -> tuple[object, ...]:
        return tuple(getattr(instance, name) for name in _SAME)

    return {path: of(one) for path, one in state.instances.items() if path and one.status is not Status.PENDING}


@pytest.mark.parametrize("level", Level)
def test_a_state_that_is_told_again_is_the_same_state(scene: Scene, level: Level):
    folder = RunFolder(scene(level).root / ".onward/runs/r")
    plan = msgspec.json.decode(folder.plan.read_bytes(), type=Plan)
    events = reader.read(folder.journal).all()
    state = RunState(plan)
    for event in events:
        fold(state, event)
    again = RunState(plan)
    for event in [unstamped(events[0]), *retell(state)]:
        fold(again, event)
    assert facts_of(again) == facts_of(state)
    assert list(again.gates) == list(state.gates)
    assert again.facts.end == state.facts.end


def test_a_look_needs_no_right_to_write(scene: Scene):
    project = scene(Level.RERUN)
    folder = project.root / ".onward/runs/r"
    before = sorted(os.listdir(folder))
    project.onward("resume", "r", "--plan").check()
    project.onward("resume", "r", "--view").check()
    assert sorted(os.listdir(folder)) == before
