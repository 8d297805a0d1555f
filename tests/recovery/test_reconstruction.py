"""Six points × state intact, damaged, missing × journal intact, torn, cut to its last fifty lines: nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onward.journal import reader
from onward.model.nodes import Plan
from onward.recovery.levels import Level
from onward.state.cache import encode_state
from onward.state.fold import fold
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from recovery.scenes import DONE_BEFORE, LEFT_TO_DO, PREPARED, finish, let_through
from stories.project import Project

Scene = Callable[[Level], Project]
RUBBISH = b'{"format":1,"position":{"off\x00\xff half a state'


def folder_of(project: Project) -> RunFolder:
    return RunFolder(project.root / ".onward/runs/r")


def save_state(folder: RunFolder) -> None:
    """As a driver does after some thousand events."""
    state = RunState(msgspec.json.decode(folder.plan.read_bytes(), type=Plan))
    reading = reader.read(folder.journal)
    for event in reading:
        fold(state, event)
    folder.write_cache(reading.position, encode_state(state))


def harm_state(folder: RunFolder, how: str) -> None:
    save_state(folder)
    if how == "damaged":
        folder.state.write_bytes(RUBBISH)
    elif how == "missing":
        folder.state.unlink()


def harm_journal(folder: RunFolder, how: str) -> bytes:
    data = folder.journal.read_bytes()
    if how == "torn":
        data += b'{"type":"node_end","seq":99999,"at":"2026-'
    elif how == "cut":
        lines = data.splitlines(keepends=True)
        assert len(lines) > 60, "the cut takes the beginning away"
        data = b"".join(lines[-50:])
    folder.journal.write_bytes(data)
    return data


@pytest.mark.parametrize("journal", ["intact", "torn", "cut"])
@pytest.mark.parametrize("state", ["intact", "damaged", "missing"])
@pytest.mark.parametrize("level", Level)
def test_a_run_whose_records_were_harmed_goes_on_without_losing_or_repeating(
    scene: Scene, level: Level, state: str, journal: str
):
    project = scene(level)
    folder = folder_of(project)
    harm_state(folder, state)
    left = harm_journal(folder, journal)
    let_through(project)
    if journal == "cut":
        refused = project.onward("resume", "r", "--yes").check(3)
        assert "--accept-damage" in refused.err
        assert folder.journal.read_bytes() == left, "nothing is changed before somebody has chosen"
    said = project.onward("resume", "r", "--yes", "--accept-damage").check(3 if level is Level.CHECKPOINT else 0)
    finish(project, level)
    done = [*PREPARED, *DONE_BEFORE.get(level, []), *LEFT_TO_DO[level]]
    assert project.counts == dict.fromkeys(done, 1)
    view = project.status("r")
    assert view["status"] == "succeeded"
    assert view["variables"] == {"feature": "Login page"}
    _is_kept(folder, said.err, state, journal, left)
    project.onward("verify", "r").check()


def _is_kept(folder: RunFolder, said: str, state: str, journal: str, left: bytes) -> None:
    """What could not be read lies beside what took its place, and was spoken of."""
    if state == "damaged":
        assert folder.state.with_name("state.json.bak").read_bytes() == RUBBISH
        assert "Verify before resuming" in said
    if journal == "cut":
        assert folder.journal.with_name("journal.jsonl.bak").read_bytes() == left
        assert "put together again" in said
    if journal == "torn":
        assert [path.name for path in folder.root.glob("journal.torn-*")] == ["journal.torn-1"]


def test_a_look_at_a_run_without_a_head_foretells_what_is_kept(scene: Scene):
    project = scene(Level.PARALLEL)
    harm_journal(folder_of(project), "cut")
    said = project.onward("resume", "r", "--plan").check(3)
    assert "22 kept" in said.out
    assert "do again  code/search" in said.out


def test_results_and_hand_offs_from_before_the_cut_are_still_known(project: Project):
    steps = "".join(f"          - s{n:02}: {{run: 'echo s{n:02} >> ledger.txt'}}\n" for n in range(20))
    project.workflow(f"""
        task:
          - first: {{run: 'echo first >> ledger.txt; echo 42'}}
          - phase:
              hand-off: {{summary: seven tests}}
              task: [{{inner: {{run: 'echo inner >> ledger.txt; echo deep'}}}}]
{steps}
          - use:
              env: {{A: "{{{{first.text}}}}", B: "{{{{phase.hand-off.summary}}}}"}}
              run: test -e go && echo "$A $B" > used.txt
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    harm_journal(folder_of(project), "cut")
    let_through(project)
    project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert project.read("used.txt") == "42 seven tests\n"
    assert set(project.counts.values()) == {1}


def test_nothing_is_deleted_when_the_same_run_is_rebuilt_twice(scene: Scene):
    project = scene(Level.FAILED)
    folder = folder_of(project)
    first = harm_journal(folder, "cut")
    project.onward("resume", "r", "--yes", "--accept-damage").check(1)
    second = b"rubbish\n" + folder.journal.read_bytes().split(b"\n", 1)[1]
    folder.journal.write_bytes(second)
    let_through(project)
    project.onward("resume", "r", "--yes", "--accept-damage").check()
    kept = {Path(path).read_bytes() for path in folder.root.glob("journal.jsonl.bak*")}
    assert kept == {first, second}
    assert project.counts == dict.fromkeys([*PREPARED, "write", "publish"], 1)


@pytest.mark.parametrize("state", ["intact", "missing"])
@pytest.mark.parametrize("level", Level)
def test_a_run_whose_journal_is_gone_goes_on_from_what_is_left(scene: Scene, level: Level, state: str):
    project = scene(level)
    folder = folder_of(project)
    harm_state(folder, state)
    folder.journal.unlink()
    let_through(project)
    assert "is gone" in project.onward("resume", "r", "--yes").check(3).err
    assert "kept" in project.onward("resume", "r", "--plan").check(3).out
    assert not folder.journal.exists()
    project.onward("resume", "r", "--yes", "--accept-damage")
    if project.status("r")["status"] == "waiting":  # an answer that only the journal knew is asked for again
        project.onward("approve", "r", "review").check()
        project.onward("resume", "r", "--yes").check()
    assert project.status("r")["status"] == "succeeded"
    assert project.counts == dict.fromkeys([*PREPARED, *DONE_BEFORE.get(level, []), *LEFT_TO_DO[level]], 1)
