"""For any workflow and any order of events: decide and fold reach the end, and any prefix resumes to the same end."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from onward.model import events as ev
from onward.model.nodes import Loop, Node, Retry
from onward.model.status import Outcome, Then, Where
from onward.state.fold import replay, settle
from state.simulation import YES, Simulation, each, leaf, parallel, plan, steps, task

NAMES = "abcdefgh"


@st.composite
def nodes(draw: st.DrawFn, name: str, depth: int = 0) -> Node:
    kind = draw(st.sampled_from(["leaf", "leaf", "leaf", "task", "parallel"] if depth < 3 else ["leaf"]))
    common: dict = {"on_failure": draw(st.sampled_from([Then.STOP, Then.STOP, Then.CONTINUE]))}
    if draw(st.integers(0, 5)) == 0:
        common["skip_if"] = (YES,)
    if draw(st.integers(0, 5)) == 0:
        common["after"] = (YES,)
    if draw(st.integers(0, 6)) == 0:
        common["on_failure_steps"] = steps(leaf("h"))
    loop = draw(st.integers(0, 7))
    if loop == 0:
        common["loop"] = each("k1", "k2", "k3", limit=draw(st.integers(1, 3)))
    elif loop == 1:
        common["loop"] = Loop(until=(YES,), max=4, on_max_fail=draw(st.booleans()))
    if kind == "leaf":
        return leaf(
            name, retry=Retry(attempts=draw(st.integers(1, 3)), delay_s=draw(st.sampled_from([0, 5]))), **common
        )
    if draw(st.integers(0, 4)) == 0:
        common["finally_steps"] = steps(leaf("f"))
    count = draw(st.integers(1, 3))
    children = [draw(nodes(NAMES[n], depth + 1)) for n in range(count)]
    if kind == "task":
        return task(name, *children, **common)
    if draw(st.booleans()):
        common["merge"] = steps(leaf("m"), leaf("n"))
    common["fail_fast"] = draw(st.integers(0, 4)) == 0
    common["limit"] = draw(st.sampled_from([None, 1, 2]))
    return parallel(name, *children, **common)


@st.composite
def plans(draw: st.DrawFn):
    count = draw(st.integers(1, 4))
    top = [draw(nodes(NAMES[n])) for n in range(count)]
    extra = {"finally_steps": steps(leaf("end"))} if draw(st.booleans()) else {}
    return plan(*top, limit=draw(st.sampled_from([1, 2, 8])), **extra)


def luck(salt: int, bad: int):
    """Outcomes and answers that depend on the place alone, so that every order of events meets the same ones."""

    def script(path: str, attempt: int) -> Outcome:
        return Outcome.ERROR if random.Random(f"{salt} {path}").randrange(100) < bad else Outcome.OK

    def answers(path: str, where: Where) -> bool:
        odds = {Where.SKIP_IF: 30, Where.UNTIL: 40}.get(where, 90)
        return random.Random(f"{salt} {path} {where}").randrange(100) < odds

    return script, answers


def settled_part(simulation: Simulation) -> dict[str, str]:
    """What does not depend on the order of events: fail-fast and parallel timing decide about cancelled ones."""
    return {"": simulation.end or "no end"}


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.sampled_from([0, 10, 30]))
@settings(max_examples=150, deadline=None)
def test_every_run_reaches_its_end_and_holds_its_limits(the_plan, salt, seed, bad):
    script, answers = luck(salt, bad)
    s = Simulation(the_plan, script, answers, seed=seed).begin().run()
    assert s.end in ("succeeded", "failed")
    assert s.highest <= the_plan.limit
    assert not s.state.running
    assert not s.state.issued
    assert not s.state.frontier
    assert s.state.root.held == 0
    again = replay(the_plan, s.events)
    settle(again)
    assert {p: i.status for p, i in again.instances.items()} == {p: i.status for p, i in s.state.instances.items()}


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.sampled_from([0, 10, 30]), st.data())
@settings(max_examples=250, deadline=None)
def test_any_prefix_of_the_journal_resumes_to_the_same_end(the_plan, salt, seed, bad, data):
    script, answers = luck(salt, bad)
    whole = Simulation(the_plan, script, answers, seed=seed).begin().run()
    cut = data.draw(st.integers(1, len(whole.events)), label="cut")
    prefix = whole.events[:cut]
    ended = {e.path for e in prefix if isinstance(e, ev.NodeEnd) and e.status == "succeeded"}
    kept = {p for p in ended if not any(mark in p for mark in ("@finally", "@merge", "@on-failure"))}
    s = Simulation(the_plan, script, answers, seed=seed + 1)
    s.resume(prefix, reattach=data.draw(st.booleans(), label="reattach")).run()
    assert s.end == whole.end, s.unfinished()
    assert not (kept & set(s.started)), "a finished task was started again"
    if whole.end == "succeeded" and not any(i.node and i.node.fail_fast for i in whole.state.instances.values()):
        assert s.statuses() == whole.statuses()


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.data())
@settings(max_examples=100, deadline=None)
def test_a_pause_at_any_moment_is_completed_and_resumes_to_the_end(the_plan, salt, seed, data):
    script, answers = luck(salt, 0)
    s = Simulation(the_plan, script, answers, seed=seed).begin()
    for _ in range(data.draw(st.integers(0, 40), label="steps")):
        s.step()
    if s.end is None:
        s.record(ev.PauseRequest(reason="test"))
        s.run()
        if s.end is None:
            assert s.state.status == "paused"
            s.resume(s.events).run()
    whole = Simulation(the_plan, script, answers, seed=seed).begin().run()
    assert s.end == whole.end


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.data())
@settings(max_examples=100, deadline=None)
def test_a_cancel_at_any_moment_ends_the_run_and_starts_nothing_but_finally(the_plan, salt, seed, data):
    script, answers = luck(salt, 10)
    s = Simulation(the_plan, script, answers, seed=seed).begin()
    for _ in range(data.draw(st.integers(0, 40), label="steps")):
        s.step()
    if s.end is not None:
        return
    s.record(ev.CancelRequest(reason="test"))
    s.started = []
    s.run()
    assert s.end is not None
    assert all("@finally" in path or "@on-failure" in path for path in s.started)
