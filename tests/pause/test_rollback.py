"""For any workflow and any order of events: a run that went on can be brought back to any moment, and then ends."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from onward.model import events as ev
from onward.recovery.rollback import moved
from onward.state.fold import replay
from onward.state.run_state import RunState
from state.simulation import Simulation, each, leaf, parallel, plan, steps, task
from state.test_properties import luck, plans

SECTIONS = ("@finally", "@merge", "@on-failure")


def passed_leaves(state: RunState) -> dict[str, int]:
    return {
        path: one.ended_seq
        for path, one in state.instances.items()
        if one.is_leaf and one.ended and one.status.passed
    }


def back(s: Simulation, cut: int) -> RunState:
    """As `onward snapshot rollback` records it. Returns the state at that moment."""
    then, now = replay(s.plan, s.events[:cut]), replay(s.plan, s.events)
    overrides = [ev.Override(path=path, action="rerun", reason="back") for path in moved(now, then)]
    s.state = replay(s.plan, s.events)
    for event in (ev.WorkflowResume(), *overrides, ev.PauseRequest(), ev.WorkflowPause()):
        s.record(event)
    return then


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.sampled_from([0, 0, 20]), st.data())
@settings(max_examples=300, deadline=None)
def test_a_run_goes_back_to_any_moment_and_on_to_its_end(
    the_plan: Any, salt: int, seed: int, bad: int, data: st.DataObject
) -> None:
    script, answers = luck(salt, bad)
    whole = Simulation(the_plan, script, answers, seed=seed).begin().run()
    cut = data.draw(st.integers(1, len(whole.events)), label="cut")
    s = Simulation(the_plan, script, answers, seed=seed + 1)
    s.events, s.now = list(whole.events), whole.now
    then = back(s, cut)
    before, after = passed_leaves(then), passed_leaves(s.state)
    assert set(after) <= set(before), "nothing that came later is done"
    kept = {path for path in before if not any(mark in path for mark in SECTIONS)}
    assert kept <= set(after), "all that was done then is done"
    s.resume(s.events).run()
    assert s.end == whole.end, s.unfinished()
    assert not kept & set(s.started), "what was done then did not run again"


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.data())
@settings(max_examples=100, deadline=None)
def test_going_back_twice_is_as_going_back_once(the_plan: Any, salt: int, seed: int, data: st.DataObject) -> None:
    script, answers = luck(salt, 0)
    s = Simulation(the_plan, script, answers, seed=seed).begin().run()
    cut = data.draw(st.integers(1, len(s.events)), label="cut")
    back(s, cut)
    first = passed_leaves(s.state)
    back(s, cut)
    assert passed_leaves(s.state) == first


def test_what_did_not_move_stays_and_a_group_that_began_later_goes_as_a_whole() -> None:
    the_plan = plan(
        leaf("a"),
        task("g", leaf("b"), leaf("c")),
        parallel("p", leaf("d"), leaf("e"), merge=steps(leaf("m"))),
        leaf("l", loop=each("k1", "k2")),
    )
    s = Simulation(the_plan).begin().run()
    ends = {event.path: event.seq for event in s.events if isinstance(event, ev.NodeEnd)}
    now = replay(the_plan, s.events)
    assert list(moved(now, replay(the_plan, s.events[: ends["g/b"]]))) == ["g/c", "p", "l"]
    assert list(moved(now, replay(the_plan, s.events[: ends["p/e"]])))[-2:] == ["p/@merge/m", "l"]
    assert list(moved(now, replay(the_plan, s.events[: ends["l[k1]"]]))) == ["l[k2]"]
    assert list(moved(now, now)) == []
