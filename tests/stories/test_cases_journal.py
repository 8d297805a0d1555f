"""A01: damage to what a run has on disk is named, never cut away in silence, and costs no finished work."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from stories.accidents import damage, events, hold, journal, line_of, run_folder, sound
from stories.project import Project

STEPS = """
    checkpoint: {state-file: state.json, cleanup-policy: never}
    task:
      - s1: {run: 'echo s1 >> ledger.txt'}
      - s2: {run: 'echo s2 >> ledger.txt; echo result'}
      - s3: {run: 'echo s3 >> ledger.txt'}
      - s4: {run: 'echo s4 >> ledger.txt'}
      - s5: {env: {GOT: "{{s2.text}}"}, run: 'HOLD; echo "s5 $GOT" >> ledger.txt'}
""".replace("HOLD", hold("go5"))
ALL = ["s1", "s2", "s3", "s4", "s5 result"]


def killed_at_s5(project: Project) -> None:
    project.workflow(STEPS)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.kill_all(driver)
    project.touch("go5")


def paused_at_s5(project: Project) -> None:
    """Stopped in good order, so that the cache of the state is there."""
    project.workflow(STEPS)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.onward("pause", "r", "--now").check()
    assert driver.wait(20) == 3
    project.touch("go5")


def _cut(lines: list[bytes], at: int) -> None:
    lines[at] = lines[at][: len(lines[at]) // 2]


def _empty(lines: list[bytes], at: int) -> None:
    lines[at] = b""


def _rubbish(lines: list[bytes], at: int) -> None:
    lines[at] = b"\xff\xfe\x00\x80" * 10


def _other_json(lines: list[bytes], at: int) -> None:
    lines[at] = b'[1, {"seq": null}]'


def _unknown_type(lines: list[bytes], at: int) -> None:
    lines[at] = lines[at].replace(b'"node_end"', b'"node_ended"')


def _altered(lines: list[bytes], at: int) -> None:
    lines[at] = lines[at].replace(b'"succeeded"', b'"failed"   ')


def _gone(lines: list[bytes], at: int) -> None:
    del lines[at]


def _twice(lines: list[bytes], at: int) -> None:
    lines.insert(at, lines[at])


def _swapped(lines: list[bytes], at: int) -> None:
    lines[at - 1], lines[at] = lines[at], lines[at - 1]


def _joined(lines: list[bytes], at: int) -> None:
    lines[at : at + 2] = [lines[at] + lines[at + 1]]


def _zeros(lines: list[bytes], at: int) -> None:
    lines[at] = bytes(len(lines[at]))


@pytest.mark.parametrize(
    "change",
    [_cut, _empty, _rubbish, _other_json, _unknown_type, _altered, _gone, _twice, _swapped, _joined, _zeros],
)
def test_any_damage_in_the_middle_is_named_by_its_line_and_what_follows_it_is_kept(
    project: Project, change: Callable[[list[bytes], int], None]
):
    killed_at_s5(project)
    number = line_of(project, "node_end", "s2")
    damaged = damage(project, number, change)
    (run_folder(project) / "state.json").write_bytes(b"rubbish" * 6)
    refused = project.onward("resume", "r").check(3)
    assert any(f"line {n}" in refused.err for n in (number - 1, number, number + 1)), refused.err
    assert journal(project).read_bytes() == damaged
    assert project.ledger == ["s1", "s2", "s3", "s4"]
    said = project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert "damaged" in said.err
    assert project.counts["s2"] in (1, 2)
    assert {name: project.counts[name] for name in ALL if name != "s2"} == dict.fromkeys(
        (name for name in ALL if name != "s2"), 1
    )
    assert journal(project).read_bytes().startswith(damaged)


@pytest.mark.parametrize("type", ["attempt_start", "attempt_end", "node_end"])
@pytest.mark.parametrize("path", ["s1", "s4"])
def test_whichever_event_of_whichever_task_is_lost_only_that_task_may_run_again(
    project: Project, type: str, path: str
):
    killed_at_s5(project)
    damage(project, line_of(project, type, path), _cut)
    project.onward("resume", "r", "--yes").check(3)
    project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert project.counts[path] in (1, 2)
    assert {name: project.counts[name] for name in ALL if name != path} == dict.fromkeys(
        (name for name in ALL if name != path), 1
    )


def test_two_bad_lines_far_apart_are_both_named(project: Project):
    killed_at_s5(project)
    numbers = [line_of(project, "node_end", "s1"), line_of(project, "attempt_end", "s3")]
    for number in reversed(numbers):
        damage(project, number, _rubbish)
    refused = project.onward("resume", "r").check(3)
    for number in numbers:
        assert f"line {number}" in refused.err
    project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert (project.counts["s2"], project.counts["s4"], project.counts["s5 result"]) == (1, 1, 1)


def test_damage_that_was_accepted_once_is_asked_about_no_more_and_stays_in_the_journal(project: Project):
    killed_at_s5(project)
    (project.root / "go5").unlink()
    (project.root / "waits").unlink()
    damaged = damage(project, line_of(project, "node_end", "s2"), _cut)
    driver = project.start("resume", "r", "--yes", "--accept-damage")
    project.wait_for_file("waits")
    project.kill_all(driver)
    project.touch("go5")
    again = project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert project.counts["s2"] in (1, 2)
    assert {name: project.counts[name] for name in ("s1", "s3", "s4", "s5 result")} == dict.fromkeys(
        ("s1", "s3", "s4", "s5 result"), 1
    ), again.err
    assert journal(project).read_bytes().startswith(damaged)


def test_a_whole_last_line_that_cannot_be_read_is_damage_too(project: Project):
    killed_at_s5(project)
    with journal(project).open("ab") as file:
        file.write(b'{"type":"node_end","path":"s5"\n')
    refused = project.onward("resume", "r").check(3)
    assert "line " in refused.err
    assert "s5 result" not in project.ledger
    project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert project.ledger == ALL


@pytest.mark.parametrize("tail", [b'{"type":"node_end","pa', b"\0" * 4096, b"\xff\xfe", b"{"])
def test_a_write_that_was_cut_off_is_a_note_and_no_question(project: Project, tail: bytes):
    killed_at_s5(project)
    with journal(project).open("ab") as file:
        file.write(tail)
    project.onward("resume", "r").check()
    assert project.ledger == ALL
    sound(project, expect="succeeded")
    project.onward("verify", "r").check()


def test_a_record_that_was_cut_off_in_the_middle_of_its_line_is_made_again(project: Project):
    killed_at_s5(project)
    file = journal(project)
    whole = file.read_bytes()
    file.write_bytes(whole[: whole.rindex(b'"chain"') - 7])
    project.onward("resume", "r").check()
    assert project.counts == dict.fromkeys(ALL, 1)
    sound(project, expect="succeeded")


def test_the_cache_of_the_state_fills_what_the_damage_took(project: Project):
    paused_at_s5(project)
    damage(project, line_of(project, "node_end", "s2"), _cut)
    said = project.onward("resume", "r", "--yes")
    if said.code == 3:
        assert "line " in said.err
        project.onward("resume", "r", "--yes", "--accept-damage").check()
    assert project.counts["s3"] == project.counts["s4"] == project.counts["s5 result"] == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"rubbish" * 6, b"{}", b"null", b"\xff" * 40, b'{"version": 99}', b"[" * 100_000],
    ids=["empty", "rubbish", "object", "null", "no-text", "other-version", "deep"],
)
def test_a_broken_cache_of_the_state_is_built_again_from_the_journal(project: Project, content: bytes):
    paused_at_s5(project)
    cache = run_folder(project) / "state.json"
    assert cache.exists()
    cache.write_bytes(content)
    said = project.onward("resume", "r").check()
    assert "state cache is not used" in said.err
    assert project.ledger == ALL
    sound(project, expect="succeeded")


def test_a_cache_of_another_run_is_not_believed(project: Project):
    paused_at_s5(project)
    project.workflow("task: [{s1: {run: 'true'}}, {s9: {run: 'true'}}]", "other.yaml")
    project.onward("run", "other.yaml", "--id", "other").check()
    foreign = (run_folder(project, "other") / "state.json").read_bytes()
    (run_folder(project) / "state.json").write_bytes(foreign)
    project.onward("resume", "r").check()
    assert project.ledger == ALL


def test_a_cache_that_is_older_than_the_journal_loses_nothing(project: Project):
    paused_at_s5(project)
    old = (run_folder(project) / "state.json").read_bytes()
    (project.root / "go5").unlink()
    (project.root / "waits").unlink()
    driver = project.start("resume", "r")
    project.wait_for_file("waits")
    project.kill_all(driver)
    (run_folder(project) / "state.json").write_bytes(old)
    project.touch("go5")
    project.onward("resume", "r").check()
    assert project.ledger == ALL


@pytest.mark.parametrize("head", [b"", b"rubbish\n", None], ids=["empty", "rubbish", "gone"])
def test_a_journal_without_a_head_is_refused_in_words_and_the_state_file_goes_on(project: Project, head: bytes | None):
    killed_at_s5(project)
    kept = journal(project).read_bytes()
    if head is None:
        journal(project).unlink()
    else:
        journal(project).write_bytes(head + (kept.split(b"\n", 1)[1] if head else b""))
    refused = project.onward("resume", "r", "--yes")
    assert refused.code in (2, 3, 4), refused.err
    refused.check(refused.code)
    assert project.ledger == ["s1", "s2", "s3", "s4"]
    said = project.onward("run", "w.yaml", "--resume", "--rerun", "s2", "--id", "r2").check()
    assert project.counts["s1"] == project.counts["s3"] == project.counts["s4"] == 1, said.err
    assert project.ledger[-1] == "s5 result"


@pytest.mark.parametrize("command", ["status", "show", "logs", "runs", "verify", "cancel", "pause"])
def test_every_command_meets_a_damaged_journal_with_words(project: Project, command: str):
    killed_at_s5(project)
    damage(project, line_of(project, "node_end", "s2"), _rubbish)
    arguments = [command] if command == "runs" else [command, "r"]
    said = project.onward(*arguments)
    assert said.code in (0, 1, 2, 3, 4), said.err
    said.check(said.code)
    if command == "verify":
        assert said.code != 0
        assert "line " in said.out + said.err


@pytest.mark.parametrize("name", ["driver", "lock", "inbox", "spare"])
def test_small_files_of_a_run_may_be_gone_or_rubbish(project: Project, name: str):
    killed_at_s5(project)
    path = run_folder(project) / name
    if name == "inbox":
        for torn in ("0001.json", "rubbish", "pause-1.json"):
            (path / torn).write_bytes(b'{"kind": "pau')
    elif name == "driver":
        path.write_bytes(b'{"pid": ')
    else:
        path.unlink(missing_ok=True)
    project.onward("resume", "r").check()
    assert project.ledger == ALL
    sound(project, expect="succeeded")


def test_a_stored_plan_that_is_broken_is_an_error_with_a_way_on(project: Project):
    killed_at_s5(project)
    (run_folder(project) / "definition/plan.json").write_bytes(b'{"name": ')
    said = project.onward("resume", "r")
    assert said.code in (0, 4), said.err
    said.check(said.code)
    if said.code == 4:
        assert project.ledger == ["s1", "s2", "s3", "s4"]
        assert "onward run" in said.err


@pytest.mark.parametrize("record", [b"", b"{", b'{"code": "0"}', b"\0" * 60, b'{"code":0'])
def test_a_broken_record_of_an_exit_is_not_taken_for_success(project: Project, record: bytes):
    killed_at_s5(project)
    (run_folder(project) / "tasks/s5/1/exit.json").write_bytes(record)
    project.onward("resume", "r").check()
    assert project.ledger == ALL


def test_a_large_result_that_is_broken_is_not_handed_on(project: Project):
    project.workflow("""
        task:
          - big: {run: 'echo big >> ledger.txt; head -c 200000 /dev/zero | tr "\\\\0" x'}
          - use: {stdin: "{{big.text}}", run: 'wc -c > size.txt; test -e ok'}
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    values = [path for path in (run_folder(project) / "values").rglob("*") if path.is_file()]
    stored = [*values, run_folder(project) / "tasks/big/1/out"]
    damaged = False
    for path in stored:
        if path.exists() and path.stat().st_size >= 200_000:
            path.write_bytes(path.read_bytes()[:1000])
            damaged = True
    assert damaged
    project.touch("ok")
    said = project.onward("resume", "r", "--yes")
    assert project.read("size.txt").strip() == "200000", said.err
    said.check(said.code)
    if said.code == 0:
        assert project.counts["big"] == 2


def test_a_state_file_that_is_broken_is_made_again_by_a_resume(project: Project):
    killed_at_s5(project)
    (project.root / "state.json").write_bytes(b'{"version": "1.0", "comple')
    project.onward("resume", "r").check()
    state = json.loads(project.read("state.json"))
    assert state["completed_tasks"] == ["s1", "s2", "s3", "s4", "s5"]
    assert project.ledger == ALL


def test_a_broken_state_file_loses_nothing_while_the_journal_is_there(project: Project):
    killed_at_s5(project)
    (project.root / "state.json").write_bytes(b'{"version": "1.0", "comple')
    said = project.onward("run", "w.yaml", "--resume").check()
    assert "state.json" in said.err
    assert project.ledger == ALL
    assert [e["type"] for e in events(project)].count("workflow_start") == 1
