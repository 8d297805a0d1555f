"""A cached state is as good as the journal it was folded from."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from onward.state.cache import decode_state, encode_state
from onward.state.fold import fold, replay, settle
from state.simulation import Simulation, leaf, plan
from state.test_properties import luck, plans


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.data())
@settings(max_examples=100, deadline=None)
def test_cache_and_rest_of_the_journal_give_the_state_of_the_whole_journal(the_plan, salt, seed, data):
    script, answers = luck(salt, 20)
    whole = Simulation(the_plan, script, answers, seed=seed).begin().run()
    cut = data.draw(st.integers(1, len(whole.events)), label="cut")
    cached = decode_state(the_plan, encode_state(replay(the_plan, whole.events[:cut])))
    assert cached is not None
    for event in whole.events[cut:]:
        fold(cached, event)
    direct = replay(the_plan, whole.events)
    assert encode_state(cached) == encode_state(direct)
    if cut < len(whole.events):
        partly = decode_state(the_plan, encode_state(replay(the_plan, whole.events[:cut])))
        other = replay(the_plan, whole.events[:cut])
        settle(partly)
        settle(other)
        assert list(partly.frontier) == list(other.frontier)


def test_damaged_or_foreign_bytes_are_no_cache():
    the_plan = plan(leaf("a"))
    data = encode_state(replay(the_plan, []))
    assert decode_state(the_plan, data[:-1]) is None
    assert decode_state(the_plan, b"\xff\x00") is None
    assert decode_state(the_plan, data.replace(b'"format":3', b'"format":9')) is None


@given(plans(), st.integers(0, 10_000), st.integers(0, 1000), st.sampled_from([0, 30]), st.data())
@settings(max_examples=150, deadline=None)
def test_a_cache_of_a_living_state_resumes_like_its_journal(the_plan, salt, seed, bad, data):
    script, answers = luck(salt, bad)
    s = Simulation(the_plan, script, answers, seed=seed).begin()
    for _ in range(data.draw(st.integers(0, 200), label="steps")):
        s.step()
    cached = decode_state(the_plan, encode_state(s.state))
    assert cached is not None
    by_journal = Simulation(the_plan, script, answers, seed=seed).resume(s.events)
    by_cache = Simulation(the_plan, script, answers, seed=seed).resume(s.events, state=cached)
    assert list(by_cache.state.frontier) == list(by_journal.state.frontier)
    assert by_cache.run().statuses() == by_journal.run().statuses()
    assert by_cache.end == by_journal.end
