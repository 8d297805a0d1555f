"""The timeline of a page: where times lie, who shares a lane, when nobody worked."""

from __future__ import annotations

import datetime as dt
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from onward.model import events as ev
from onward.model.events import AnyEvent
from onward.model.status import Outcome, Status
from onward.views.report.absence import Absence, Why, absences
from onward.views.report.bars import Bar, Look
from onward.views.report.rows import MOST_LANES, _lanes, thinned
from onward.views.report.scale import BREAK_WIDTH, WIDTH, Scale

DAY = 86_400.0


def test_without_a_long_quiet_time_the_axis_is_even() -> None:
    scale = Scale(0, 100, [(0, 60), (65, 100)])
    assert [scale.at(time) for time in (0, 25, 50, 100)] == [0, 25, 50, 100]
    assert scale.cuts() == []


def test_a_long_quiet_time_takes_little_room() -> None:
    scale = Scale(0, DAY + 20, [(0, 10), (DAY + 10, DAY + 20)])
    (cut,) = scale.cuts()
    assert (cut.start, cut.end) == (10, DAY + 10)
    assert cut.right - cut.left == BREAK_WIDTH
    assert scale.at(10) == cut.left == (WIDTH - BREAK_WIDTH) / 2


def test_a_run_in_which_nothing_ran_has_an_axis_all_the_same() -> None:
    scale = Scale(0, 50, [])
    assert [scale.at(0), scale.at(50)] == [0, WIDTH]


SPANS = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e4)), min_size=1, max_size=30)


@given(SPANS)
def test_places_follow_times_and_stay_on_the_axis(spans: list[tuple[float, float]]) -> None:
    busy = [(start, start + lasted) for start, lasted in spans]
    scale = Scale(min(s for s, _ in busy), max(e for _, e in busy), busy)
    places = [scale.at(time) for time in sorted(time for span in busy for time in span)]
    assert all(0 <= place <= WIDTH + 1e-6 for place in places)
    assert all(after >= before - 1e-6 for before, after in pairwise(places))
    assert all(after - before >= WIDTH / 14 - 1e-6 for before, after in pairwise([place for _, place in scale.ticks()]))


def _bar(start: float, end: float, look: Look = Look.OK) -> Bar:
    return Bar(start=start, end=end, look=look, text="x")


def test_bars_that_overlap_get_lanes_of_their_own() -> None:
    lanes = _lanes([_bar(0, 10), _bar(1, 3), _bar(4, 6), _bar(10, 12)])
    assert [[(bar.start, bar.end) for bar in lane] for lane in lanes] == [[(0, 10)], [(1, 3), (4, 6), (10, 12)]]


def test_there_are_never_more_lanes_than_a_page_bears() -> None:
    lanes = _lanes([_bar(0, 10) for _ in range(100)])
    assert len(lanes) == MOST_LANES
    assert sum(map(len, lanes)) == 100


def test_thin_neighbours_are_drawn_together_but_for_those_that_failed() -> None:
    lane = [_bar(n, n + 0.5, Look.FAILED if n == 50 else Look.OK) for n in range(100)]
    found = list(thinned(lane, 2.0))
    assert [bar.look for bar in found] == [Look.OK, Look.FAILED, Look.OK]
    assert [(bar.start, bar.end) for bar in found] == [(0, 49.5), (50, 50.5), (51, 99.5)]
    assert found[0].text == "50 tasks"


# ---------------------------------------------------------------- absences


def _at(seconds: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(seconds, dt.UTC)


def _begun() -> list[AnyEvent]:
    return [ev.WorkflowStart(at=_at(1), run="r"), ev.AttemptStart(at=_at(2), path="a", attempt=1)]


def test_from_a_pause_to_the_resume_nobody_worked() -> None:
    events = [*_begun(), ev.WorkflowPause(at=_at(10)), ev.WorkflowResume(at=_at(50))]
    assert absences(events) == [Absence(why=Why.PAUSED, start=10, end=50)]


def test_a_pause_that_lasts_has_no_end() -> None:
    assert absences([*_begun(), ev.WorkflowPause(at=_at(10))]) == [Absence(why=Why.PAUSED, start=10, end=None)]


def test_a_resume_after_nothing_at_all_tells_of_an_interruption() -> None:
    assert absences([*_begun(), ev.WorkflowResume(at=_at(50))]) == [Absence(why=Why.INTERRUPTED, start=2, end=50)]


def test_an_answer_while_nobody_drove_does_not_end_the_wait() -> None:
    asked = [ev.WorkflowStart(at=_at(1), run="r"), ev.GateOpen(at=_at(5), path="g")]
    answered = ev.GateDecision(at=_at(40), path="g", choice="approve")
    assert absences([*asked, answered, ev.WorkflowResume(at=_at(50))]) == [Absence(why=Why.WAITING, start=5, end=50)]


def test_an_ended_run_that_is_resumed_was_left_alone_meanwhile() -> None:
    done = ev.AttemptEnd(at=_at(4), path="a", attempt=1, outcome=Outcome.ERROR)
    ended = ev.WorkflowEnd(at=_at(5), status=Status.FAILED)
    assert absences([*_begun(), done, ended, ev.WorkflowResume(at=_at(50))]) == [
        Absence(why=Why.ENDED, start=5, end=50)
    ]
