"""`onward clean`: which runs go, which stay whatever is asked for, and what is said."""

from __future__ import annotations

import pytest

from cli.runs_on_disk import Shop, attempt, done, failed
from onward.model import events as ev
from onward.model.nodes import Kind, Node, Plan, Run
from onward.model.status import RunStatus, Status
from onward.views.cleaning import Rule, to_remove
from onward.views.listing import RunRow

ONE = Node(name="a", path="a", kind=Kind.RUN, digest="1", work=Run(script="true"))
PLAN = Plan(name="w", file="w.yaml", digest="d", root=Node(name="", path="", kind=Kind.TASK, steps=((ONE,),)))


def end(status: Status) -> list[ev.Event]:
    return [ev.WorkflowEnd(status=status)]


@pytest.fixture
def full(shop: Shop) -> Shop:
    """A store with a run of every kind."""
    shop.make(PLAN, [*done("a"), *end(Status.SUCCEEDED)], "good")
    shop.make(PLAN, [*failed("a"), *end(Status.FAILED)], "bad")
    shop.make(PLAN, end(Status.CANCELLED), "gone")
    shop.make(PLAN, [ev.PauseRequest(), ev.WorkflowPause()], "paused")
    shop.make(PLAN, attempt("a", outcome=None), "interrupted")
    shop.make(PLAN, attempt("a", outcome=None), "driven", driven=True)
    shop.make(PLAN, [*done("a"), *end(Status.SUCCEEDED)], "driven-after-its-end", driven=True)
    (shop.store.runs_folder / "broken").mkdir()
    return shop


def left(shop: Shop) -> set[str]:
    return {path.name for path in shop.store.runs_folder.iterdir()}


ALWAYS = {"paused", "interrupted", "driven", "driven-after-its-end", "broken"}


def test_only_what_has_ended_and_cannot_go_on_is_removed(full: Shop) -> None:
    found = full.data("clean")
    assert {row["run"] for row in found["removed"]} == {"good", "gone"}
    assert found["bytes"] == sum(row["bytes"] for row in found["removed"]) > 0
    assert left(full) == ALWAYS | {"bad"}


def test_failed_runs_go_when_they_are_named(full: Shop) -> None:
    full.call("clean", "--status", "failed")
    assert left(full) == ALWAYS | {"good", "gone"}


def test_everything_that_can_be_named_leaves_the_unended(full: Shop) -> None:
    full.call("clean", "--status", "failed", "--status", "succeeded", "--status", "cancelled")
    assert left(full) == ALWAYS


def test_a_run_that_has_not_ended_cannot_be_named(full: Shop) -> None:
    said = full.run("clean", "--status", "paused")
    assert said.returncode == 2
    assert left(full) == ALWAYS | {"good", "bad", "gone"}


def test_a_dry_run_says_the_same_and_removes_nothing(full: Shop) -> None:
    before = left(full)
    said = full.call("clean", "--dry-run")
    assert left(full) == before
    assert said.count("would remove") == 3
    assert "would remove 2 runs, " in said
    assert full.call("clean").replace("removed", "would remove") == said


def test_the_newest_are_kept(shop: Shop) -> None:
    for number in range(4):
        shop.make(PLAN, end(Status.SUCCEEDED), f"r{number}")
    shop.call("clean", "--keep", "2")
    assert left(shop) == {"r2", "r3"}
    shop.call("clean", "--older-than", "1h", "--keep", "0")
    assert left(shop) == {"r2", "r3"}
    shop.call("clean", "--older-than", "0s")
    assert left(shop) == set()
    assert "no run to remove in" in shop.call("clean")


def row(run: str, ended: int | None, status: str = "succeeded") -> RunRow:
    at = None if ended is None else f"2026-01-01T00:00:{ended:02}Z"
    return RunRow(
        run=run, workflow="w", title="", status=status, reason="", started_at=None, ended_at=at, driven=False
    )


def test_both_limits_have_to_hold() -> None:
    rows = [row("d", 50), row("x", None, "interrupted"), row("c", 40), row("b", 30), row("a", 20)]
    now = 1767225600.0 + 60

    def goes(**rule: object) -> list[str]:
        return [one.run for one in to_remove(rows, Rule(**rule), now)]  # type: ignore[arg-type]

    assert goes() == ["d", "c", "b", "a"]
    assert goes(older_than_s=20.0) == ["c", "b", "a"], "what is exactly that old goes"
    assert goes(keep=3) == ["a"]
    assert goes(keep=1, older_than_s=30.0) == ["b", "a"]
    assert goes(keep=3, older_than_s=1.0) == ["a"]
    assert goes(statuses=(RunStatus.FAILED,)) == []


def test_a_run_that_cannot_be_removed_is_told_and_the_others_go(shop: Shop) -> None:
    for name in ("r1", "r2"):
        shop.make(PLAN, end(Status.SUCCEEDED), name)
    lock = shop.store.runs_folder / "r1" / "lock"
    lock.unlink(missing_ok=True)
    lock.mkdir()
    said = shop.run("clean")
    assert said.returncode == 4
    assert b"Is a directory" in said.stderr
    assert left(shop) == {"r1"}
