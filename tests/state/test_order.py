"""What comes after what: sequences, groups, needs, limits, loops, sections."""

from __future__ import annotations

import pytest

from onward.model import events as ev
from onward.model.nodes import Loop, Retry
from onward.model.status import OnResume, Outcome, Then, Where
from state.simulation import NO, YES, Simulation, each, leaf, parallel, plan, run, steps, task


def fails(*paths: str):
    return lambda path, attempt: Outcome.ERROR if path in paths else Outcome.OK


def test_steps_run_one_after_the_other():
    s = run(plan(leaf("a"), leaf("b"), leaf("c")))
    assert (s.started, s.end) == (["a", "b", "c"], "succeeded")


def test_an_unnamed_group_runs_together_and_the_next_step_waits_for_all():
    s = run(plan((leaf("a"), leaf("b")), leaf("c")), seed=3)
    assert s.started[:2] == ["a", "b"]
    assert s.started[2] == "c"
    assert s.highest == 2


def test_a_failed_step_stops_the_run():
    s = run(plan(leaf("a"), leaf("b"), leaf("c")), fails("b"))
    assert (s.started, s.end) == (["a", "b"], "failed")
    assert s.state.facts.end_reason == "`b` failed: error"


def test_a_failure_with_continue_stays_failed_and_the_run_goes_on():
    s = run(plan(leaf("a", on_failure=Then.CONTINUE), leaf("b")), fails("a"))
    assert (s.statuses(), s.end) == ({"a": "failed", "b": "succeeded"}, "succeeded")


def test_a_failed_member_does_not_stop_its_siblings_but_the_step_after():
    s = run(plan(parallel("g", leaf("a"), leaf("b"), leaf("c")), leaf("d")), fails("g/a"))
    assert sorted(s.started) == ["g/a", "g/b", "g/c"]
    assert s.end == "failed"


def test_fail_fast_ends_the_other_members():
    s = run(plan(parallel("g", leaf("a"), leaf("b"), leaf("c"), limit=1, fail_fast=True)), fails("g/a"))
    assert s.started == ["g/a"]
    assert s.statuses()["g/b"] == s.statuses()["g/c"] == "cancelled"


def test_a_member_starts_when_those_it_needs_have_succeeded():
    s = run(plan(parallel("g", leaf("c", needs=("a", "b")), leaf("a"), leaf("b", needs=("a",)))))
    assert s.started == ["g/a", "g/b", "g/c"]


def test_a_member_that_needs_a_failed_one_is_cancelled():
    s = run(plan(parallel("g", leaf("a"), leaf("b", needs=("a",)), leaf("c", needs=("b",)), leaf("d"))), fails("g/a"))
    assert s.statuses() | {"g": "failed"} == {
        "g": "failed", "g/a": "failed", "g/b": "cancelled", "g/c": "cancelled", "g/d": "succeeded",
    }  # fmt: skip


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_the_limit_of_the_run_holds(limit):
    s = run(plan(parallel("g", *(leaf(f"m{n}") for n in range(12))), limit=limit), seed=5)
    assert s.highest == limit
    assert len(s.started) == 12


def test_the_limit_of_a_group_counts_the_leaves_below_it():
    inner = [parallel(f"p{n}", leaf("x"), leaf("y")) for n in range(3)]
    s = run(plan(parallel("g", *inner, limit=2)), seed=5)
    assert s.highest == 2
    assert s.end == "succeeded"
    assert len(s.started) == 6


def test_merge_runs_after_all_members_and_not_when_one_stopped():
    group = parallel("g", leaf("a"), leaf("b"), merge=steps(leaf("m"), leaf("n")))
    assert run(plan(group)).started[2:] == ["g/@merge/m", "g/@merge/n"]
    assert "g/@merge/m" not in run(plan(group), fails("g/b")).started


def test_a_failing_merge_fails_the_group():
    s = run(plan(parallel("g", leaf("a"), merge=steps(leaf("m"))), leaf("z")), fails("g/@merge/m"))
    assert s.end == "failed"
    assert s.statuses()["g"] == "failed"


def test_failed_attempts_are_tried_again_within_the_budget():
    s = run(plan(leaf("a", retry=Retry(attempts=3))), lambda p, n: Outcome.OK if n == 3 else Outcome.ERROR)
    assert (s.started, s.end) == (["a"] * 3, "succeeded")


def test_delays_between_attempts_grow_and_are_waited_for():
    s = Simulation(plan(leaf("a", retry=Retry(attempts=4, delay_s=10, backoff=2, max_delay_s=25))), fails("a"))
    s.begin().run()
    waits = [e.until.timestamp() - e.at.timestamp() for e in s.events if isinstance(e, ev.RetryWait)]
    assert [round(w) for w in waits] == [10, 20, 25]


def test_an_outcome_that_retry_does_not_name_is_final():
    retry = Retry(attempts=3, on=(Outcome.TIMEOUT,))
    assert run(plan(leaf("a", retry=retry)), fails("a")).started == ["a"]


def test_a_leaf_that_waits_for_its_next_attempt_gives_its_place_away():
    s = run(plan(parallel("g", leaf("a", retry=Retry(attempts=2, delay_s=60)), leaf("b")), limit=1), fails("g/a"))
    assert s.started == ["g/a", "g/b", "g/a"]


def test_skip_if_skips_and_what_follows_goes_on():
    s = Simulation(plan(leaf("a", skip_if=(YES,)), leaf("b")), answers=lambda p, w: True).begin().run()
    assert s.statuses() == {"a": "skipped", "b": "succeeded"}
    assert s.started == ["b"]


def test_ensure_before_that_does_not_hold_fails_without_an_attempt_or_retry():
    s = Simulation(plan(leaf("a", before=(NO,), retry=Retry(attempts=3))), answers=lambda p, w: False).begin().run()
    assert (s.started, s.end) == ([], "failed")


def test_ensure_after_is_asked_when_the_work_is_done():
    s = Simulation(plan(leaf("a", after=(NO,))), answers=lambda p, w: False).begin().run()
    assert (s.started, s.end) == (["a"], "failed")


def test_on_failure_steps_run_before_the_node_ends():
    handler = steps(leaf("alarm"), leaf("clean"))
    s = run(plan(leaf("a", on_failure_steps=handler), leaf("b")), fails("a"))
    assert s.started == ["a", "a/@on-failure/alarm", "a/@on-failure/clean"]
    assert s.statuses()["a"] == "failed"
    s = run(plan(leaf("a", on_failure_steps=handler, on_failure=Then.CONTINUE), leaf("b")), fails("a"))
    assert s.started[-1] == "b"
    assert s.end == "succeeded"


def test_on_failure_steps_do_not_run_when_nothing_failed():
    assert run(plan(leaf("a", on_failure_steps=steps(leaf("alarm"))))).started == ["a"]


def test_finally_runs_after_success_and_after_failure_of_a_container_and_of_the_run():
    inner = task("t", leaf("a"), finally_steps=steps(leaf("f")))
    the_plan = plan(inner, leaf("b"), finally_steps=steps(leaf("end")))
    assert run(the_plan).started == ["t/a", "t/@finally/f", "b", "@finally/end"]
    s = run(the_plan, fails("t/a"))
    assert (s.started, s.end) == (["t/a", "t/@finally/f", "@finally/end"], "failed")


def test_a_failing_finally_step_fails_what_it_belongs_to():
    s = run(plan(leaf("a"), finally_steps=steps(leaf("end"))), fails("@finally/end"))
    assert s.end == "failed"


def test_on_failure_of_the_run_comes_before_its_finally():
    s = run(plan(leaf("a"), on_failure_steps=steps(leaf("alarm")), finally_steps=steps(leaf("end"))), fails("a"))
    assert s.started == ["a", "@on-failure/alarm", "@finally/end"]


def test_a_container_over_its_time_is_stopped_and_its_handlers_run_outside_the_limit():
    s = Simulation(plan(task("t", leaf("a"), leaf("b"), timeout_s=5, on_failure_steps=steps(leaf("h"))), leaf("c")))
    s.begin()
    s.step()
    s.step()
    held, s.pending = s.pending, []
    s.run()
    assert s.state.stops == {}
    assert s.state.get("t/a").ending
    s.pending = [ev.AttemptEnd(path="t/a", attempt=1, outcome=Outcome.INTERRUPTED)]
    s.run()
    assert held
    assert s.statuses()["t"] == "failed"
    assert "timed out after 5 s" in s.state.get("t").reason
    assert s.started == ["t/a", "t/@on-failure/h"]


def test_for_each_runs_the_items_in_order_and_merge_once():
    s = run(plan(leaf("x", loop=each("a", "b", "c"), merge=steps(leaf("m"))), leaf("y")))
    assert s.started == ["x[a]", "x[b]", "x[c]", "x/@merge/m", "y"]


def test_for_each_of_a_container_and_its_limit():
    s = run(plan(task("x", leaf("p"), leaf("q"), loop=each("a", "b", "c", limit=2))), seed=2)
    assert s.highest == 2
    assert len(s.started) == 6
    assert s.started.index("x[a]/p") < s.started.index("x[a]/q")


def test_a_loop_with_limit_one_stops_at_the_first_failure_and_others_let_the_rest_end():
    one = run(plan(leaf("x", loop=each("a", "b", "c"))), fails("x[b]"))
    assert (one.started, one.end) == (["x[a]", "x[b]"], "failed")
    two = run(plan(leaf("x", loop=each("a", "b", "c", "d", limit=2))), fails("x[b]"))
    assert sorted(two.started) == ["x[a]", "x[b]", "x[c]", "x[d]"]
    assert two.end == "failed"
    fast = run(plan(leaf("x", loop=each("a", "b", "c", "d", limit=2, fail_fast=True))), fails("x[a]"), seed=1)
    assert fast.end == "failed"
    assert len(fast.started) < 4


def test_an_empty_loop_succeeds():
    assert run(plan(leaf("x", loop=each()), leaf("y"))).started == ["y"]


def test_until_is_asked_after_each_round():
    loop = Loop(until=(YES,), max=5)
    s = Simulation(plan(leaf("x", loop=loop)), answers=lambda p, w: p == "x[3]").begin().run()
    assert (s.started, s.end) == (["x[1]", "x[2]", "x[3]"], "succeeded")


def test_until_fails_at_max_or_goes_on():
    s = Simulation(plan(leaf("x", loop=Loop(until=(YES,), max=2))), answers=lambda p, w: False).begin().run()
    assert (s.started, s.end) == (["x[1]", "x[2]"], "failed")
    loop = Loop(until=(YES,), max=2, on_max_fail=False)
    s = Simulation(plan(leaf("x", loop=loop), leaf("y")), answers=lambda p, w: False).begin().run()
    assert (s.started, s.end) == (["x[1]", "x[2]", "y"], "succeeded")


def test_while_is_asked_before_each_round():
    loop = Loop(while_=(YES,), max=5)
    s = Simulation(plan(leaf("x", loop=loop)), answers=lambda p, w: p in ("x[1]", "x[2]")).begin().run()
    assert (s.started, s.end) == (["x[1]", "x[2]"], "succeeded")


def test_the_delay_between_iterations_is_recorded_and_waited_for():
    s = Simulation(plan(leaf("x", loop=each("a", "b", "c", delay_s=30)))).begin()
    before = s.now
    s.run()
    assert s.started == ["x[a]", "x[b]", "x[c]"]
    assert s.now - before >= 60


def test_ten_thousand_iterations_run_without_recursion():
    s = run(plan(leaf("x", loop=each(*map(str, range(10_000))))))
    assert len(s.started) == 10_000


def test_cancel_ends_running_work_and_runs_finally_only():
    s = Simulation(plan(task("t", leaf("a"), leaf("b")), leaf("c"), finally_steps=steps(leaf("f")))).begin()
    s.step()
    s.step()
    s.record(ev.CancelRequest(reason="no longer needed"))
    s.run()
    assert (s.started, s.end) == (["t/a", "@finally/f"], "cancelled")
    assert s.statuses()["t/a"] == "cancelled"


def test_a_pause_lets_running_work_end_and_starts_nothing():
    s = Simulation(plan(leaf("a"), leaf("b"))).begin()
    s.step()
    s.record(ev.PauseRequest(reason="lunch"))
    s.run()
    assert s.started == ["a"]
    assert s.state.status == "paused"
    s.resume(s.events).run()
    assert (s.started, s.end) == (["a", "b"], "succeeded")


def test_a_gate_holds_the_sequence_until_it_is_decided():
    gate = leaf("ask")
    import msgspec

    from onward.model.nodes import Approve, Kind

    gate = msgspec.structs.replace(gate, kind=Kind.APPROVE, work=Approve(question="go?"))
    s = Simulation(plan(gate, leaf("b"))).begin().run()
    assert s.state.status == "waiting"
    s.record(ev.GateDecision(path="ask", choice="approve", by="me"))
    s.run()
    assert (s.started, s.end) == (["b"], "succeeded")
    t = Simulation(plan(gate, leaf("b"))).begin().run()
    t.record(ev.GateDecision(path="ask", choice="reject", by="me", note="no"))
    t.run()
    assert (t.started, t.end) == ([], "failed")


def test_on_failure_ask_opens_a_gate_that_can_retry_skip_or_stop():
    the_plan = plan(leaf("a", on_failure=Then.ASK), leaf("b"))
    outcomes = iter([Outcome.ERROR, Outcome.OK])
    s = Simulation(the_plan, lambda p, n: next(outcomes) if p == "a" else Outcome.OK).begin().run()
    assert s.state.status == "waiting"
    s.record(ev.GateDecision(path="a", choice="retry", by="me"))
    assert s.run().started == ["a", "a", "b"]
    for choice, end, started in (("skip", "succeeded", ["a", "b"]), ("stop", "failed", ["a"])):
        t = Simulation(the_plan, fails("a")).begin().run()
        t.record(ev.GateDecision(path="a", choice=choice, by="me"))
        assert (t.run().end, t.started) == (end, started)


def test_an_interrupted_leaf_follows_on_resume():
    def interrupted(policy: OnResume, answer: bool) -> Simulation:
        the_plan = plan(leaf("a", on_resume=policy, after=(YES,)), leaf("b"))
        s = Simulation(the_plan, answers=lambda p, w: answer if w is Where.DONE_ALREADY else True).begin()
        s.step()
        s.started = []
        return s.resume(s.events).run()

    assert interrupted(OnResume.RETRY, True).started == ["a", "b"]
    assert interrupted(OnResume.CHECK, True).started == ["b"]
    assert interrupted(OnResume.CHECK, False).started == ["a", "b"]
    assert interrupted(OnResume.ASK, True).state.status == "waiting"


@pytest.mark.parametrize("late", ["before", "after", "skip_if"])
def test_an_answer_that_comes_after_the_end_of_its_node_decides_nothing(late):
    members = (leaf("a"), leaf("b", **{late: (YES,)}))
    s = Simulation(plan(parallel("g", *members, fail_fast=True), on_failure=Then.STOP), fails("g/a")).begin()
    while not any(isinstance(e, ev.ConditionAsked) for e in s.pending):
        s.step()
    held = next(e for e in s.pending if isinstance(e, ev.ConditionAsked))
    s.pending.remove(held)
    s.run()
    assert s.end == "failed"
    s.record(held)
    s.run()
    assert sum(isinstance(e, ev.NodeEnd) and e.path == "g/b" for e in s.events) == 1
    assert s.statuses()["g/b"] == "cancelled"


def test_an_answer_to_a_cancelled_node_that_has_not_ended_yet_does_not_bring_it_back():
    s = Simulation(plan(leaf("a", before=(YES,)))).begin()
    s.step()
    (answer,) = s.pending
    s.pending = []
    s.record(ev.CancelRequest(reason="no"))
    s.record(answer)
    s.run()
    assert (s.started, s.end) == ([], "cancelled")
