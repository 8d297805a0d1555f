"""The state of a run → the status that people and programs see."""

import datetime as dt
from typing import Any

import msgspec
import pytest

from onward.journal.findings import Finding, FindingKind
from onward.model import events as ev
from onward.model.nodes import Node, Plan
from onward.model.status import Outcome, RunStatus, Status, Then
from onward.model.values import Ref, Root, Template
from onward.state.fold import replay
from onward.state.run_state import RunState
from onward.views.nodes import Around, Fate
from onward.views.progress import Counts, leaf_counts, step_index
from onward.views.status import StatusView, status_view
from state.simulation import Simulation, each, leaf, parallel, plan, task

OWNER = ev.Owner(host="h", boot="b", pid=7, started=1)
START = ev.WorkflowStart(run="w-1", name="w", workflow_file="w.yaml", datetime="2026-02-02T10:00:00-08:00")


def began(the_plan: Plan, *events: ev.Event) -> RunState:
    """The state after a start and these events, a second apart."""
    stamped = [
        msgspec.structs.replace(event, seq=n, at=dt.datetime.fromtimestamp(1000.0 + n, dt.UTC))
        for n, event in enumerate([START, *events], 1)
    ]
    return replay(the_plan, stamped)


def view(state: RunState, *, driven: bool = False, nodes: str = "all", **more: Any) -> StatusView:
    around = Around(run="w-1", now=2000.0, driver=OWNER if driven else None, **more)
    return status_view(state, around, nodes=nodes)


def statuses(shown: StatusView) -> dict[str, str]:
    return {node.path: node.status for node in shown.nodes}


def attempt(path: str, number: int = 1, outcome: Outcome | None = None, **more: Any) -> list[ev.Event]:
    start = ev.AttemptStart(path=path, attempt=number)
    return [start] if outcome is None else [start, ev.AttemptEnd(path=path, attempt=number, outcome=outcome, **more)]


def done(path: str) -> list[ev.Event]:
    return [*attempt(path, outcome=Outcome.OK), ev.NodeEnd(path=path, status=Status.SUCCEEDED)]


TWO = plan(leaf("one"), leaf("two"))


# ---------------------------------------------------------------- the run


def test_a_driven_run_runs_and_one_that_nobody_drives_is_interrupted() -> None:
    state = began(TWO, *done("one"), *attempt("two"))
    assert view(state, driven=True).status == "running"
    shown = view(state)
    assert shown.status == "interrupted"
    assert statuses(shown) == {"one": "succeeded", "two": "interrupted"}
    assert shown.next == "onward resume w-1"
    assert [(one.kind, one.path) for one in shown.findings] == [("interrupted", "two")]


@pytest.mark.parametrize(
    ("fate", "status", "kind"),
    [
        (Fate.LIVES, "running", "still-running"),
        (Fate.ENDED, "interrupted", "ended-meanwhile"),
        (Fate.LOST, "interrupted", "interrupted"),
    ],
)
def test_what_became_of_a_task_whose_driver_is_gone(fate: Fate, status: str, kind: str) -> None:
    shown = view(began(TWO, *attempt("one")), fate=lambda path, number: fate if (path, number) == ("one", 1) else None)
    assert shown.status == "interrupted"
    assert statuses(shown)["one"] == status
    assert shown.findings[0].kind == kind


def test_the_driver_is_named() -> None:
    shown = view(began(TWO), driven=True, since="2026-02-02T18:00:00.000000Z")
    assert msgspec.to_builtins(shown.driver) == {
        "alive": True,
        "host": "h",
        "pid": 7,
        "since": "2026-02-02T18:00:00.000000Z",
    }
    assert view(began(TWO)).driver is None


def test_a_paused_run_tells_why_and_by_whom() -> None:
    shown = view(
        began(
            TWO,
            *attempt("one"),
            ev.PauseRequest(reason="lunch", by="ada"),
            *attempt("one", outcome=Outcome.INTERRUPTED)[1:],
            ev.WorkflowPause(active=("one",)),
        )
    )
    assert shown.status == "paused"
    assert shown.reason == "lunch by ada"
    assert statuses(shown)["one"] == "interrupted"
    assert shown.next == "onward resume w-1"


def test_a_pause_by_a_shutdown_says_so() -> None:
    shown = view(began(TWO, ev.PauseRequest(reason="SIGTERM", cause="shutdown"), ev.WorkflowPause()))
    assert shown.reason == "SIGTERM (shutdown)"


def test_an_open_question_waits_with_or_without_a_driver() -> None:
    gate = ev.GateOpen(path="one", question="go on?", choices=("approve", "reject"))
    state = began(TWO, gate)
    for shown in (view(state), view(state, driven=True)):
        assert shown.status == "waiting"
        assert shown.reason == "1 question open"
        assert shown.next == "onward approve w-1 one"
        assert statuses(shown)["one"] == "waiting"


def test_a_question_without_approve_names_a_choice() -> None:
    gate = ev.GateOpen(path="a b", question="?", choices=("retry", "skip", "stop"), fields={"why": ("x", "y")})
    shown = view(began(TWO, gate), at=" --store /elsewhere")
    assert shown.next == "onward approve w-1 'a b' --choice retry --store /elsewhere"
    assert msgspec.to_builtins(shown.gates) == [
        {
            "path": "a b",
            "question": "?",
            "choices": ["retry", "skip", "stop"],
            "fields": {"why": ["x", "y"]},
            "expires_at": None,
        }
    ]


def test_a_usage_limit_is_waited_for_and_its_time_is_told() -> None:
    until = dt.datetime(2026, 2, 2, 18, 0, tzinfo=dt.UTC)
    limited = ev.AttemptEnd(path="one", attempt=1, outcome=Outcome.LIMITED, reset_at=until)
    wait = ev.RetryWait(path="one", attempt=2, until=until)
    state = began(TWO, *attempt("one"), limited, wait)
    assert view(state, driven=True).status == "waiting"
    assert "goes on at 2026-02-02" in view(state, driven=True).reason
    assert view(state).status == "interrupted"


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED, Status.CANCELLED])
def test_an_ended_run_has_ended_whoever_drives_it(status: Status) -> None:
    state = began(TWO, ev.WorkflowEnd(status=status, reason="`one` failed"))
    for driven in (True, False):
        shown = view(state, driven=driven)
        assert shown.status == status.value
        assert shown.reason == "`one` failed"
        assert shown.next == ("onward resume w-1" if status is Status.FAILED else None)
        assert shown.ended_at == "1970-01-01T00:16:42.000000Z"


def test_facts_of_the_run_are_shown() -> None:
    start = msgspec.structs.replace(
        START, variables={"a": "b"}, file="w.yaml", directory="sub", at=dt.datetime.fromtimestamp(5, dt.UTC)
    )
    shown = view(replay(TWO, [start, ev.WorkflowResume(resumed_count=2)]), file="/p/w.yaml", directory="/p/sub")
    assert (shown.run, shown.workflow, shown.file, shown.directory) == ("w-1", "w", "/p/w.yaml", "/p/sub")
    assert (shown.variables, shown.resumed_count, shown.engine) == ({"a": "b"}, 2, "embedded")
    assert (shown.started_at, shown.datetime) == ("1970-01-01T00:00:05.000000Z", "2026-02-02T10:00:00-08:00")


def test_the_title_is_filled_with_values_and_falls_back_to_the_name() -> None:
    ref = Ref(root=Root.VARIABLE, name="n", source="n")
    titled = msgspec.structs.replace(TWO, title=Template(parts=("Review of ", ref)))
    start = msgspec.structs.replace(START, variables={"n": "12"})
    assert view(replay(titled, [start])).title == "Review of 12"
    assert view(replay(titled, [START])).title == "Review of {{n}}"
    assert view(replay(TWO, [START])).title == "w"


# ---------------------------------------------------------------- nodes


def test_nodes_are_listed_in_the_order_of_the_file_with_their_iterations() -> None:
    the_plan = plan(
        leaf("first"),
        leaf("each", loop=each("b", "a"), merge=((leaf("sum"),),)),
        parallel("group", leaf("x"), leaf("y")),
        task("phase", leaf("inner")),
        finally_steps=((leaf("clean"),),),
    )
    simulation = Simulation(the_plan)
    before = view(began(the_plan))
    assert list(statuses(before)) == [
        "first", "each", "each/@merge/sum", "group", "group/x", "group/y", "phase", "phase/inner", "@finally/clean",
    ]  # fmt: skip
    assert set(statuses(before).values()) == {"pending"}
    after = view(simulation.begin().run().state)
    assert list(statuses(after)) == [
        "first", "each", "each[b]", "each[a]", "each/@merge/sum", "group", "group/x", "group/y",
        "phase", "phase/inner", "@finally/clean",
    ]  # fmt: skip
    assert set(statuses(after).values()) == {"succeeded"}


def test_failure_steps_are_listed_once_they_are_reached() -> None:
    the_plan = plan(leaf("bad", on_failure_steps=((leaf("alarm"),),)))
    simulation = Simulation(the_plan, script=lambda path, n: Outcome.ERROR if path == "bad" else Outcome.OK)
    assert "bad/@on-failure/alarm" not in statuses(view(began(the_plan)))
    assert statuses(view(simulation.begin().run().state))["bad/@on-failure/alarm"] == "succeeded"


def test_only_open_nodes_or_none_are_listed_when_asked() -> None:
    state = began(TWO, *done("one"), *attempt("two"))
    assert list(statuses(view(state, nodes="open"))) == ["two"]
    assert view(state, nodes="none").nodes == []


def test_a_failed_node_tells_how() -> None:
    state = began(TWO, *attempt("one", outcome=Outcome.ERROR, exit=None, signal="SIGKILL", error="killed by SIGKILL"))
    node = view(state).nodes[0]
    assert (node.attempts, node.exit, node.signal, node.reason) == (1, None, "SIGKILL", "killed by SIGKILL")
    assert node.started_at is not None
    assert node.duration_s == pytest.approx(998.0)


def test_records_of_nodes_that_are_no_longer_in_the_file_are_listed_last() -> None:
    assert list(statuses(view(began(TWO, *done("gone"))))) == ["one", "two", "gone"]


def test_a_node_that_ended_under_another_definition_is_edited() -> None:
    old = plan(leaf("one", digest="d1"))
    new = plan(leaf("one", digest="d2"))
    events = [ev.AttemptStart(path="one", attempt=1, definition_sha256="d1"), *done("one")[1:]]
    assert not view(began(old, *events)).nodes[0].edited
    assert view(began(new, *events)).nodes[0].edited


def test_a_node_that_used_an_older_result_is_stale() -> None:
    ref = Ref(root=Root.NODE, name="one", node="one", up=1, field="text", source="one.text")
    the_plan = plan(leaf("one"), leaf("two", env={"A": Template(parts=(ref,))}))
    again = ev.AttemptStart(path="one", attempt=2)
    ended = [ev.AttemptEnd(path="one", attempt=2, outcome=Outcome.OK), ev.NodeEnd(path="one", status=Status.SUCCEEDED)]
    events = [*done("one"), *done("two")]
    assert not any(node.stale for node in view(began(the_plan, *events)).nodes)
    rerun = ev.Override(path="one", action="rerun")
    shown = view(began(the_plan, *events, rerun, again, *ended))
    assert {node.path: node.stale for node in shown.nodes} == {"one": False, "two": True}


# ---------------------------------------------------------------- findings


def test_damage_of_the_journal_is_a_choice_with_its_command() -> None:
    damage = Finding(kind=FindingKind.DAMAGE, line=4, offset=10, end=20, text="cannot be read")
    torn = Finding(kind=FindingKind.TORN_TAIL, line=9, offset=90, end=95, text="the last write was cut off")
    shown = view(began(TWO), driven=True, findings=[damage, torn])
    assert [(one.kind, one.severity) for one in shown.findings] == [("damage", "choice"), ("torn-tail", "note")]
    assert shown.findings[0].text == "journal, line 4 (bytes 10 to 20): cannot be read"
    assert shown.findings[0].choices[0].command == "onward resume w-1 --accept-damage"


def test_warnings_that_were_noted_are_shown_and_plain_notes_are_not() -> None:
    notes = [ev.Note(text="the state file is full", level="warning"), ev.Note(text="re-attached")]
    assert [one.text for one in view(began(TWO), driven=True, notes=notes).findings] == ["the state file is full"]


# ---------------------------------------------------------------- progress


def counts(the_plan: Plan, *events: ev.Event) -> Counts:
    return leaf_counts(began(the_plan, *events))


def test_leaves_count_and_containers_do_not() -> None:
    the_plan = plan(leaf("a"), task("phase", leaf("b"), leaf("c")), parallel("g", leaf("d"), merge=((leaf("e"),),)))
    assert counts(the_plan) == Counts(5, 0)
    assert counts(the_plan, *done("a"), ev.NodeStart(path="phase"), *done("phase/b")) == Counts(5, 2)


def test_a_loop_counts_one_until_its_items_are_known() -> None:
    the_plan = plan(task("each", leaf("a"), leaf("b"), loop=each("x", "y", "z")))
    items = ev.LoopItems(path="each", items=tuple(ev.LoopItem(key=key) for key in "xyz"))
    assert counts(the_plan) == Counts(1, 0)
    assert counts(the_plan, items) == Counts(6, 0)
    assert counts(the_plan, items, ev.NodeStart(path="each"), *done("each[x]/a")) == Counts(6, 1)


def test_skipped_leaves_are_done_and_failed_ones_are_not_unless_passed_over() -> None:
    the_plan = plan(task("phase", leaf("a"), leaf("b")), leaf("red", on_failure=Then.CONTINUE), leaf("bad"))
    assert counts(the_plan, ev.NodeEnd(path="phase", status=Status.SKIPPED)) == Counts(4, 2)
    assert counts(the_plan, ev.NodeEnd(path="red", status=Status.FAILED)) == Counts(4, 1)
    assert counts(the_plan, ev.NodeEnd(path="bad", status=Status.FAILED)) == Counts(4, 0)


@pytest.mark.parametrize(
    ("total", "ended", "percent"), [(0, 0, 100), (3, 0, 0), (3, 1, 33), (1000, 999, 99), (3, 3, 100)]
)
def test_percent_is_a_hundred_only_when_all_is_done(total: int, ended: int, percent: int) -> None:
    assert Counts(total, ended).percent == percent


def test_a_run_that_succeeded_is_done_whatever_was_left_out() -> None:
    the_plan = plan(leaf("a"), leaf("each", loop=each()), leaf("b", on_failure_steps=((leaf("never"),),)))
    shown = view(Simulation(the_plan).begin().run().state)
    assert shown.progress.percent == 100
    assert shown.progress.total == shown.progress.done


def test_the_step_is_the_first_that_is_not_done() -> None:
    the_plan = plan(leaf("a"), (leaf("b"), leaf("c")), leaf("d"))
    assert step_index(began(the_plan)) == 0
    assert step_index(began(the_plan, *done("a"), *done("b"))) == 1
    assert step_index(began(the_plan, *done("a"), *done("b"), *done("c"), *done("d"))) == 3


# ---------------------------------------------------------------- the documented shape

SHAPE = {
    "schema", "run", "workflow", "file", "title", "engine", "status", "reason", "started_at", "ended_at", "datetime",
    "resumed_count", "directory", "variables", "driver", "progress", "step", "nodes", "gates", "findings", "next",
}  # fmt: skip
NODE_SHAPE = {
    "path", "kind", "title", "status", "reason", "attempts", "exit", "signal", "started_at", "ended_at", "duration_s",
    "session", "edited", "stale",
}  # fmt: skip


def test_the_shape_is_the_documented_one_and_no_field_is_left_out() -> None:
    data = msgspec.json.decode(msgspec.json.encode(view(began(TWO, *attempt("one")))))
    assert set(data) == SHAPE
    assert data["schema"] == 1
    assert set(data["progress"]) == {"total", "done", "percent"}
    assert set(data["step"]) == {"index", "of"}
    assert all(set(node) == NODE_SHAPE for node in data["nodes"])
    assert all(set(one) == {"kind", "severity", "path", "text", "choices"} for one in data["findings"])


def test_every_status_that_is_shown_is_a_documented_one() -> None:
    documented = {status.value for status in Status} | {"interrupted"}
    assert {node.status for node in view(began(TWO, *done("one"), *attempt("two"))).nodes} <= documented
    assert {status.value for status in RunStatus} == {
        "running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled",
    }  # fmt: skip


def test_a_node_of_the_plan_is_a_row_whatever_its_kind() -> None:
    kinds: list[Node] = [leaf("a"), task("t", leaf("b")), parallel("p", leaf("c"))]
    assert [node.kind for node in view(began(plan(*kinds))).nodes] == ["run", "task", "run", "parallel", "run"]
