"""Pausing runs: every odd request has an answer, decisions are told, many runs are paused at once."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
from collections import Counter
from typing import Any

import pytest

from stories.project import Project

HOLD = """
    grace: 60s
    task:
      - first: {run: echo first >> ledger.txt}
      - hold: {run: "echo hold >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done"}
      - after: {run: echo after >> ledger.txt}
"""


def driven(project: Project) -> subprocess.Popen[str]:
    project.workflow(HOLD)
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    return driver


def events(project: Project, kind: str, run: str = "r1") -> list[dict[str, Any]]:
    lines = project.read(f".onward/runs/{run}/journal.jsonl").splitlines()
    return [event for event in map(json.loads, lines) if event["type"] == kind]


def decisions(project: Project, *more: str) -> list[dict[str, Any]]:
    return list(json.loads(project.onward("show", "--decisions", "--json", *more).check().out)["decisions"])


# ---------------------------------------------------------------- defined answers


def test_a_second_pause_with_a_longer_grace_changes_nothing(project: Project) -> None:
    driver = driven(project)
    project.onward("pause", "--wait", "0s", "--reason", "one").check(1)
    project.onward("pause", "--wait", "0s", "--reason", "two", "--grace", "5m").check(1)
    project.wait("both are in the journal", lambda: len(events(project, "pause_request")) == 2)
    assert driver.poll() is None, "what runs goes on in its grace"
    project.touch("go")
    assert driver.wait(30) == 3
    assert project.counts == {"first": 1, "hold": 1}
    assert "one" in project.status()["reason"]
    assert [one["reason"] for one in decisions(project) if one["what"] == "paused"] == ["one", "two"]
    assert [event["file"] for event in events(project, "snapshot")] == [
        "snapshots/s1.snapshot.json", "snapshots/s2.snapshot.json",
    ]  # fmt: skip


def test_a_second_pause_with_a_shorter_grace_ends_what_runs(project: Project) -> None:
    driver = driven(project)
    project.onward("pause", "--wait", "0s").check(1)
    project.onward("pause", "--now").check()
    assert driver.wait(30) == 3
    [attempt] = events(project, "attempt_end")[1:]
    assert (attempt["path"], attempt["outcome"]) == ("hold", "interrupted")


def test_a_pause_of_a_paused_run_is_no_error_and_adds_nothing(project: Project) -> None:
    driver = driven(project)
    project.onward("pause", "--now", "--reason", "one").check()
    driver.wait(30)
    before = project.read(".onward/runs/r1/journal.jsonl")
    project.onward("pause", "--reason", "two").check()
    assert project.read(".onward/runs/r1/journal.jsonl") == before


def test_a_person_makes_a_pause_by_a_shutdown_their_own(project: Project) -> None:
    driver = driven(project)
    project.write("w.yaml", HOLD.replace("60s", "6s"))
    driver.send_signal(signal.SIGTERM)
    project.onward("pause", "--now", "--reason", "mine").check()
    assert driver.wait(30) == 3
    project.touch("go")
    project.onward("resume", "--all").check()
    assert project.status()["status"] == "paused", "else the next pod would take it up"
    assert "mine" in project.status()["reason"]


def test_a_person_makes_it_their_own_also_when_nobody_drives_the_run(project: Project) -> None:
    driver = driven(project)
    driver.send_signal(signal.SIGTERM)
    project.wait("it is asked for", lambda: len(events(project, "pause_request")) == 1)
    project.touch("go")
    assert driver.wait(30) == 3
    project.onward("pause", "--reason", "mine").check()
    project.onward("resume", "--all").check()
    assert project.status()["status"] == "paused"
    project.onward("resume").check()
    assert project.counts == {"first": 1, "hold": 1, "after": 1}


def test_a_pause_of_a_run_that_nobody_drives_pauses_it(project: Project) -> None:
    driver = driven(project)
    project.kill_all(driver)
    assert project.status()["status"] == "interrupted"
    project.onward("pause", "--reason", "hands off").check()
    assert project.status()["status"] == "paused"
    project.onward("resume", "--all").check()
    assert project.status()["status"] == "paused"


def test_a_pause_of_an_ended_run_and_of_an_unknown_one_is_refused_in_words(project: Project) -> None:
    project.workflow("task:\n  - a: {run: 'true'}\n")
    project.onward("run", "w.yaml", "--id", "r1").check()
    assert "has ended already: succeeded" in project.onward("pause", "r1").check(2).err
    assert "there is no run `nowhere`" in project.onward("pause", "nowhere").check(2).err
    project.onward("pause", "--all").check()


def test_a_resume_without_a_pause_says_how_it_is(project: Project) -> None:
    driver = driven(project)
    assert "run-busy" in project.onward("resume", "r1").check(2).err
    project.touch("go")
    assert driver.wait(30) == 0
    assert "nothing to do" in project.onward("resume", "r1").check().err
    assert "there is no run" in project.onward("resume", "nowhere").check(2).err


def test_pausing_all_prints_one_document(project: Project) -> None:
    driver = driven(project)
    said = json.loads(project.onward("pause", "--all", "--now", "--json").check().out)
    driver.wait(30)
    assert said == {"schema": 1, "runs": [{"run": "r1", "paused": True}]}


# ---------------------------------------------------------------- decisions


def test_decisions_tell_who_did_what_and_why(project: Project) -> None:
    project.workflow(
        """
        task:
          - ask: {approve: "Go on?"}
          - more: {approve: "And on?"}
          - work: {run: echo work >> ledger.txt}
        """
    )
    project.onward("run", "w.yaml", "--id", "r1").check(3)
    project.onward("snapshot", "create").check()
    project.onward("pause", "--reason", "lunch").check()
    project.onward("approve", "r1", "ask", "--by", "ada", "--note", "fine").check()
    project.onward("resume", "--reason", "back").check(3)
    project.onward("reject", "r1", "more", "--by", "bob", "--note", "too early").check()
    project.onward("resume").check(1)
    project.onward("snapshot", "rollback", "s1", "--reason", "start over").check()
    project.onward("cancel", "--reason", "enough").check()
    made = decisions(project)
    told = [(one["what"], one["path"], one["reason"].partition(" (event")[0]) for one in made]
    assert told == [
        ("started", None, ""),
        ("paused", None, "lunch"),
        ("approved", "ask", "fine"),
        ("resumed", None, "back"),
        ("rejected", "more", "too early"),
        ("resumed", None, ""),
        ("rolled back", None, "rolled back to s1"),
        ("cancelled", None, "enough"),
    ]
    assert [one["by"] for one in made if one["path"]] == ["ada", "bob"]
    assert all(one["at"] and one["seq"] for one in made)
    back = next(one for one in made if one["what"] == "rolled back")
    assert back["paths"][0] == "ask"
    words = project.onward("show", "--decisions").check().out
    assert "approved ask by ada: fine" in words
    assert [one["what"] for one in decisions(project, "r1", "ask")] == ["approved"]
    project.onward("verify").check()


def test_a_skip_and_a_rerun_are_decisions(project: Project) -> None:
    project.workflow("task:\n  - a: {run: echo a >> ledger.txt}\n  - b: {run: exit 1}\n")
    project.onward("run", "w.yaml", "--id", "r1").check(1)
    project.onward("resume", "--skip", "b", "--rerun", "a").check()
    made = {(one["what"], one["path"]) for one in decisions(project)}
    assert {("skipped", "b"), ("rerun", "a")} <= made


# ---------------------------------------------------------------- many at once


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_twenty_runs_of_one_store_are_paused_at_once_and_all_go_on(project: Project) -> None:
    count = 20
    project.workflow(
        """
        grace: 5s
        task:
          - each:
              loop: {for-each: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t], as: item, limit: 2}
              env: {item: "{{item}}"}
              run: sleep 0.4; echo "$item" >> "ledger-$ONWARD_RUN_ID"
        """
    )
    runs = [f"r{number}" for number in range(count)]
    drivers = [project.start("run", "w.yaml", "--id", run) for run in runs]
    project.wait("all have begun", lambda: all((project.root / f".onward/runs/{run}").is_dir() for run in runs), 90)
    said = project.onward("pause", "--all", "--reason", "all of you", "--json", within_s=90).check()
    paused = {one["run"] for one in json.loads(said.out)["runs"] if one["paused"]}
    assert all(driver.wait(60) in (0, 3) for driver in drivers)
    for run in runs:
        asked, quiet = events(project, "pause_request", run), events(project, "workflow_pause", run)
        assert (run in paused) == (len(asked) == len(quiet) == 1)
        assert not [one for one in events(project, "attempt_end", run) if one["outcome"] == "interrupted"]
    assert len(paused) >= count // 2, "most were still at work"
    for run in paused:
        project.onward("resume", run, "--detach").check()
    project.wait("all have ended", lambda: _ended(project) == set(runs), 150)
    for run in runs:
        lines = Counter(project.read(f"ledger-{run}").split())
        assert lines == Counter("abcdefghijklmnopqrst"), run


def _ended(project: Project) -> set[str]:
    rows = json.loads(project.onward("runs", "--status", "succeeded", "--json").check().out)["runs"]
    return {row["run"] for row in rows}


def test_a_run_of_the_same_id_in_another_store_is_not_touched(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = Project(tmp_path_factory.mktemp("other"))
    try:
        drivers = [driven(project), driven(other)]
        project.onward("pause", "--now").check()
        assert drivers[0].wait(30) == 3
        assert other.node("hold")["status"] == "running"
        other.touch("go")
        assert drivers[1].wait(30) == 0
        assert other.counts == {"first": 1, "hold": 1, "after": 1}
    finally:
        other.finish()


# ---------------------------------------------------------------- limits of the machine


@pytest.mark.parametrize("cause", ["disk", "memory"])
def test_a_run_pauses_where_room_is_short_and_goes_on_when_there_is_enough(project: Project, cause: str) -> None:
    variable = f"ONWARD_PAUSE_BELOW_{cause.upper()}"
    project.workflow(HOLD)
    driver = project.start("run", "w.yaml", "--id", "r1", **{variable: "900000T"})
    project.wait_for_file("began")
    project.wait("it is asked for", lambda: bool(events(project, "pause_request")))
    project.touch("go")
    assert driver.wait(30) == 3
    assert events(project, "pause_request")[0]["cause"] == cause
    assert f"of {cause} left" in project.status()["reason"]
    project.onward("resume", "--all", **{variable: "900000T"}).check()
    assert project.status()["status"] == "paused", "there is still too little"
    project.onward("resume", "--all", **{variable: "1K"}).check()
    assert project.counts == {"first": 1, "hold": 1, "after": 1}


def _hours(begin_in_h: int, end_in_h: int) -> str:
    """Hours so long before or after now, by the clock of this machine."""
    now = dt.datetime.now()
    begin, end = (now + dt.timedelta(hours=each) for each in (begin_in_h, end_in_h))
    return f"{begin:%H:%M}-{end:%H:%M}"


def test_a_run_pauses_during_maintenance_and_goes_on_after_it(project: Project) -> None:
    project.workflow(HOLD)
    now, later = _hours(-1, 1), _hours(2, 3)
    driver = project.start("run", "w.yaml", "--id", "r1", ONWARD_PAUSE_DURING=f"{later},{now}")
    project.wait_for_file("began")
    project.wait("it is asked for", lambda: bool(events(project, "pause_request")))
    project.touch("go")
    assert driver.wait(30) == 3
    assert events(project, "pause_request")[0]["cause"] == "window"
    assert "maintenance until" in project.status()["reason"]
    project.onward("resume", "--all", ONWARD_PAUSE_DURING=now).check()
    assert project.status()["status"] == "paused", "the hours are not over"
    project.onward("resume", "--all", ONWARD_PAUSE_DURING=later).check()
    assert project.counts == {"first": 1, "hold": 1, "after": 1}


def test_hours_are_pairs_of_times_of_the_day_and_anything_else_is_told(project: Project) -> None:
    from onward.store.room import hours_of

    assert hours_of("02:00-04:00, 22:30-6:00") == [(120, 240), (1350, 360)]
    for text in ("", "2-4", "02:00-02:00", "25:00-26:00", "02:00-04:00,", "02:00-24:30"):
        assert hours_of(text) is None, text
    project.workflow("task: [{a: {run: 'true'}}]\n")
    said = project.onward("run", "w.yaml", ONWARD_PAUSE_DURING="2-4", ONWARD_PAUSE_BELOW_DISK="much")
    assert said.code == 0
    assert "ONWARD_PAUSE_DURING=2-4 is not regarded" in said.err
    assert "ONWARD_PAUSE_BELOW_DISK=much is no size" in said.err


def test_sizes_of_limits_are_written_as_people_do() -> None:
    from onward.store.room import limit_of

    assert [limit_of(text) for text in ("500M", "2G", "2GiB", "10kb", "7", "", "much", "-1")] == [
        500 << 20, 2 << 30, 2 << 30, 10 << 10, 7, None, None, None,
    ]  # fmt: skip
