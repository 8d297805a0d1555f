"""Sessions, counters and limits of prompts, as the state knows them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from onward.model import events as ev
from onward.model.actions import BeginAttempt, WaitForRetry
from onward.model.nodes import Kind, Node, Plan
from onward.model.status import Outcome
from onward.state.cache import decode_state, encode_state
from onward.state.decide import decide
from onward.state.fold import fold, replay, settle, wake
from onward.state.run_state import RunState

AT = dt.datetime(2026, 9, 21, 10, 0, tzinfo=dt.UTC)
NODE = Node(name="a", path="a", kind=Kind.PROMPT)
PLAN = Plan(name="w", file="/w", digest="d", root=Node(name="", path="", kind=Kind.TASK, steps=((NODE,),)))


def start(attempt: int, **more: Any) -> ev.AttemptStart:
    return ev.AttemptStart(path="a", attempt=attempt, adapter="x", at=AT, **more)


def end(attempt: int, outcome: Outcome, **more: Any) -> ev.AttemptEnd:
    return ev.AttemptEnd(path="a", attempt=attempt, outcome=outcome, at=AT, **more)


def told(*events: ev.Event) -> RunState:
    return replay(PLAN, [ev.WorkflowStart(run="r", at=AT), *events])


def test_a_session_is_known_from_its_start_or_its_first_word() -> None:
    assert told(start(1, session="s")).instances["a"].session == "s"
    assert told(start(1), ev.AttemptSession(path="a", attempt=1, session="s")).instances["a"].session == "s"


def test_another_session_begins_without_an_id_and_without_counters() -> None:
    first = (start(1, session_directory="/d"), end(1, Outcome.ERROR, session="s", session_usage={"usd": 1.0}))
    known = told(*first).instances["a"]
    assert known.session == "s"
    assert known.conversation is not None
    assert (known.conversation.directory, known.conversation.usage) == ("/d", {"usd": 1.0})
    again = told(*first, start(2, session="s", continued=True, session_directory="/d")).instances["a"]
    assert again.conversation is not None
    assert again.conversation.usage == {"usd": 1.0}
    new = told(*first, start(2, session_directory="/d")).instances["a"]
    assert new.session is None
    assert new.conversation is not None
    assert new.conversation.usage == {}


def test_a_lost_session_is_forgotten() -> None:
    leaf = told(start(1, session="s"), end(1, Outcome.INTERRUPTED, session_lost=True)).instances["a"]
    assert (leaf.session, leaf.conversation) == (None, None)


def test_what_is_known_of_a_session_is_in_the_cache() -> None:
    state = told(start(1, session="s", session_directory="/d"), end(1, Outcome.LIMITED, session_usage={"usd": 1.0}))
    again = decode_state(PLAN, encode_state(state))
    assert again is not None
    assert again.instances["a"].conversation == state.instances["a"].conversation


def test_a_limit_with_a_time_is_waited_for_and_does_not_count() -> None:
    until = AT + dt.timedelta(hours=1)
    state = told(start(1), end(1, Outcome.LIMITED, reset_at=until))
    settle(state)
    [action], _ = decide(state, AT.timestamp())
    assert action == WaitForRetry("a", 2, 60.0, until.timestamp())
    fold(state, ev.RetryWait(path="a", attempt=2, until=until, at=AT))
    assert decide(state, AT.timestamp()) == ([], until.timestamp())
    wake(state, until.timestamp())
    assert decide(state, until.timestamp())[0] == [BeginAttempt("a", 2)]
    assert state.instances["a"].used == 0


@pytest.mark.parametrize(("limits", "delay"), [(1, 60), (2, 120), (3, 300), (7, 3600), (12, 3600)])
def test_a_limit_without_a_time_is_waited_for_longer_each_time(limits: int, delay: float) -> None:
    events = [event for n in range(1, limits + 1) for event in (start(n), end(n, Outcome.LIMITED))]
    state = told(*events)
    settle(state)
    [action], _ = decide(state, AT.timestamp())
    assert action == WaitForRetry("a", limits + 1, delay)


def test_no_time_of_a_group_passes_while_a_limit_is_waited_for() -> None:
    until = AT + dt.timedelta(hours=5)
    later = until + dt.timedelta(minutes=1)
    state = told(
        start(1),
        ev.AttemptEnd(path="a", attempt=1, outcome=Outcome.LIMITED, reset_at=until, at=AT + dt.timedelta(minutes=1)),
        ev.RetryWait(path="a", attempt=2, until=until, at=AT + dt.timedelta(minutes=1)),
    )
    assert state.active_s(until.timestamp()) == 60
    fold(state, ev.WorkflowResume(at=AT + dt.timedelta(hours=2)))
    assert state.active_s(until.timestamp()) == 60
    fold(state, ev.AttemptStart(path="a", attempt=2, adapter="x", at=until))
    assert state.active_s(later.timestamp()) == 120


def test_a_limit_runs_on_the_wall_clock_through_a_pause_and_a_resume() -> None:
    until = AT + dt.timedelta(hours=1)
    later = AT + dt.timedelta(minutes=30)
    state = told(
        start(1),
        end(1, Outcome.LIMITED, reset_at=until),
        ev.RetryWait(path="a", attempt=2, until=until, at=AT),
        ev.PauseRequest(at=AT),
        ev.WorkflowPause(at=AT),
        ev.WorkflowResume(at=later),
    )
    settle(state)
    assert decide(state, later.timestamp()) == ([], until.timestamp())
