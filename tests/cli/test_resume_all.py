"""`onward resume --all`: which runs go on, which are left and why, and what a stop of the whole does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cli.runs_on_disk import Shop, attempt, failed
from onward.cli.resume_all import worst
from onward.model import events as ev
from onward.model.nodes import Kind, Node, Plan, Run
from onward.model.status import Status
from onward.views.taking_up import to_take_up
from stories.project import Project

ONE = Node(name="a", path="a", kind=Kind.RUN, digest="1", work=Run(script="true"))
ASK = Node(name="q", path="q", kind=Kind.APPROVE, digest="2")
PLAN = Plan(name="w", file="w.yaml", digest="d", root=Node(name="", path="", kind=Kind.TASK, steps=((ONE,), (ASK,))))
LATER = datetime(2026, 1, 2, tzinfo=UTC)
NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def paused(cause: str, **more: object) -> list[ev.Event]:
    return [ev.PauseRequest(cause=cause, by="ada", reason="lunch"), ev.WorkflowPause(**more)]  # type: ignore[arg-type]


def waiting(expires: datetime | None) -> list[ev.Event]:
    gate = ev.GateOpen(path="q", question="?", choices=("approve", "reject"), expires_at=expires)
    return [*attempt("a"), ev.NodeEnd(path="a", status=Status.SUCCEEDED), ev.NodeStart(path="q", kind="approve"), gate]


def test_what_goes_on_and_what_is_left(shop: Shop) -> None:
    shop.make(PLAN, attempt("a", outcome=None), "interrupted")
    shop.make(PLAN, paused("shutdown"), "shut-down")
    shop.make(PLAN, paused("person"), "by-hand")
    shop.make(PLAN, [ev.PauseRequest(cause="person")], "killed-while-it-paused-by-hand")
    shop.make(PLAN, paused("limit", until=LATER), "limited")
    shop.make(PLAN, waiting(None), "asks")
    shop.make(PLAN, waiting(datetime(2025, 1, 1, tzinfo=UTC)), "asked-in-vain")
    shop.make(PLAN, [*failed("a"), ev.WorkflowEnd(status=Status.FAILED)], "failed")
    shop.make(PLAN, [ev.WorkflowEnd(status=Status.SUCCEEDED)], "good")
    shop.make(PLAN, attempt("a", outcome=None), "driven", driven=True)
    (shop.store.runs_folder / "broken").mkdir()
    found = to_take_up(shop.store, NOW)
    assert [folder.run_id for folder in found.runs] == ["interrupted", "shut-down", "asked-in-vain"]
    why = {left.run: left.why for left in found.left if not left.error}
    assert why.pop("limited").startswith("its limit is over at 2026-01-")
    assert why == {
        "by-hand": "it was paused by ada: lunch",
        "killed-while-it-paused-by-hand": "it was paused",
        "asks": "it waits for an answer at q",
        "driven": "it is driven already",
    }
    assert [left.run for left in found.left if left.error] == ["broken"]
    assert [folder.run_id for folder in to_take_up(shop.store, LATER.timestamp()).runs][2] == "limited"


def test_the_worst_exit_code_counts() -> None:
    assert [worst([]), worst([0, 3]), worst([3, 1, 0]), worst([1, 4, 2]), worst([4, 70]), worst([130, 3])] == [
        0, 3, 1, 4, 70, 130,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "words", [["r"], ["--var", "a=b"], ["--rerun", "a"], ["--take-over"], ["--original"], ["--accept-damage"]], ids=str
)
def test_what_is_about_one_run_is_refused(shop: Shop, words: list[str]) -> None:
    said = shop.run("resume", "--all", *words)
    assert said.returncode == 2
    assert b"do not go together" in said.stderr


def test_nothing_to_take_up_is_no_failure(shop: Shop) -> None:
    assert b"no run to take up in" in shop.run("resume", "--all").stderr
    assert shop.data("resume", "--all") == {"schema": 1, "runs": [], "left": []}


# ---------------------------------------------------------------- with real drivers


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    found = Project(tmp_path)
    yield found
    found.finish()


def wait_for(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


WORKFLOW = """
    task:
      - meet:
          run: |
            touch "here-$me"
            if [ "$me" != loner ]; then
              for i in $(seq 300); do [ -e "here-$other" ] && exit 0; sleep 0.1; done
              exit 1
            fi
      - last: {run: 'exit "$code"'}
"""


def make_interrupted(project: Project, run: str, **variables: str) -> None:
    """A run that has begun and done nothing: its journal is cut after the first line."""
    given = [word for name, value in variables.items() for word in ("--var", f"{name}={value}")]
    project.onward("run", "w.yaml", "--id", run, *given, "-q")
    folder = project.root / ".onward" / "runs" / run
    first, *_ = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "journal.jsonl").write_bytes(first)
    (folder / "state.json").unlink(missing_ok=True)
    for path in project.root.glob("here-*"):
        path.unlink()


def test_runs_go_on_side_by_side_and_the_worst_code_counts(project: Project) -> None:
    project.workflow(WORKFLOW)
    project.touch("here-b")
    project.touch("here-a")
    make_interrupted(project, "r1", me="loner", other="-", code="0")
    for run, me, other, code in (("r2", "a", "b", "0"), ("r3", "b", "a", "7")):
        project.touch(f"here-{other}")
        make_interrupted(project, run, me=me, other=other, code=code)
    said = project.onward("resume", "--all", "--json").check(1)
    data = json.loads(said.out)
    assert [(one["run"], one["status"], one["exit_code"]) for one in data["runs"]] == [
        ("r1", "succeeded", 0),
        ("r2", "succeeded", 0),
        ("r3", "failed", 1),
    ]
    assert "r3: failed" in said.err
    assert project.onward("resume", "--all").check(0).out == "", "a failed run is not taken up"


def test_a_stop_of_the_whole_pauses_every_run_and_the_next_start_takes_them_up(project: Project) -> None:
    project.workflow("""
        grace: 1s
        task:
          - wait: {run: 'touch "here-$me"; [ -e go ] || sleep 60'}
    """)
    project.touch("go")
    for run in ("r1", "r2"):
        make_interrupted(project, run, me=run)
    (project.root / "go").unlink()
    whole = subprocess.Popen(
        [sys.executable, "-m", "onward", "resume", "--all"],
        cwd=project.root,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    project.started.append(whole)  # type: ignore[arg-type]
    wait_for(lambda: all((project.root / f"here-{run}").exists() for run in ("r1", "r2")))
    os.kill(whole.pid, signal.SIGTERM)
    out, _ = whole.communicate(timeout=30)
    assert (whole.returncode, out.split()) == (3, [b"r1", b"r2"])
    runs = json.loads(project.onward("runs", "--json").check().out)["runs"]
    assert {row["run"]: (row["status"], row["driven"]) for row in runs} == {
        "r1": ("paused", False),
        "r2": ("paused", False),
    }
    project.touch("go")
    project.onward("resume", "--all").check(0)


def test_detached_drivers_are_left_to_themselves(project: Project) -> None:
    project.workflow("task: [{a: {run: 'for i in $(seq 300); do [ -e go ] && exit 0; sleep 0.1; done'}}]")
    project.touch("go")
    make_interrupted(project, "r1")
    (project.root / "go").unlink()
    assert project.onward("resume", "--all", "--detach").check(0).out == "r1\n"
    driven = json.loads(project.onward("status", "r1", "--json").out)["driver"]
    assert driven["alive"] is True
    project.touch("go")
    wait_for(lambda: json.loads(project.onward("status", "r1", "--json").out)["status"] == "succeeded")
