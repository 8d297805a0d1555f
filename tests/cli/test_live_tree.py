"""The live tree: what its rows hold, that they are few, and that one event costs the same in a large run."""

import datetime as dt
import io
from pathlib import Path

import msgspec
from rich.console import Console

from onward.cli.common import Common
from onward.cli.live import LiveProgress
from onward.cli.tree import Row, Tree
from onward.model import events as ev
from onward.model.status import Outcome, Status
from onward.state.fold import fold
from onward.state.run_state import RunState
from state.simulation import Simulation, each, leaf, parallel, plan, task


def take(state: RunState, tree: Tree, *events: ev.Event) -> None:
    for event in events:
        stamped = msgspec.structs.replace(event, seq=state.facts.seq + 1, at=dt.datetime.fromtimestamp(1000, dt.UTC))
        fold(state, stamped)
        tree.take(state, stamped)


def texts(rows: tuple[Row, ...]) -> list[str]:
    return [f"{'  ' * row.depth}{row.text}" for row in rows[:-1]]


def test_running_tasks_stand_below_their_containers_with_counts() -> None:
    the_plan = plan(leaf("a"), parallel("group", leaf("x"), leaf("y"), leaf("z"), title="All of them"), leaf("b"))
    state = RunState(the_plan)
    tree = Tree(state)
    take(state, tree, ev.NodeStart(path="group"), *(ev.AttemptStart(path=f"group/{n}", attempt=1) for n in "xyz"))
    take(state, tree, ev.AttemptEnd(path="group/y", attempt=1, outcome=Outcome.OK))
    take(state, tree, ev.NodeEnd(path="group/y", status=Status.SUCCEEDED))
    assert texts(tree.rows(20)) == ["group  All of them  1 of 3", "  x", "  z"]
    assert tree.is_busy


def test_the_last_row_is_the_bar() -> None:
    state = RunState(plan(leaf("a"), leaf("b")))
    tree = Tree(state)
    take(state, tree, ev.AttemptStart(path="a", attempt=1), ev.NodeEnd(path="a", status=Status.SUCCEEDED))
    bar = tree.rows(20)[-1].bar
    assert bar is not None
    assert (bar.done, bar.total) == (1, 2)
    assert not tree.is_busy


def test_questions_and_retries_are_shown_as_waiting() -> None:
    state = RunState(plan((leaf("a"), leaf("b"))))
    tree = Tree(state)
    until = dt.datetime.fromtimestamp(5000, dt.UTC)
    take(state, tree, ev.GateOpen(path="a", question="?"), ev.RetryWait(path="b", attempt=2, until=until))
    rows = tree.rows(20)
    assert [row.status for row in rows[:-1]] == ["waiting", "waiting"]
    assert "a question for you" in rows[0].text
    assert "again at " in rows[1].text
    take(state, tree, ev.AttemptStart(path="b", attempt=2))
    assert tree.rows(20)[1].text == "b  attempt 2"


def test_sections_have_no_row_of_their_own() -> None:
    state = RunState(plan(leaf("a", finally_steps=((leaf("clean"),),))))
    tree = Tree(state)
    take(state, tree, ev.AttemptStart(path="a/@finally/clean", attempt=1))
    assert texts(tree.rows(20)) == ["a  ", "  clean"] or texts(tree.rows(20)) == ["a", "  clean"]


def test_many_running_tasks_take_a_bounded_number_of_rows_and_the_rest_is_counted() -> None:
    state = RunState(plan(parallel("group", *(leaf(f"t{n}") for n in range(500)))))
    tree = Tree(state)
    take(state, tree, *(ev.AttemptStart(path=f"group/t{n}", attempt=1) for n in range(500)))
    rows = tree.rows(12)
    assert len(rows) <= 12
    shown = sum(row.text.startswith("t") for row in rows)
    assert rows[-2].text == f"and {500 - shown} more"


def test_a_resumed_run_begins_with_what_was_done_before() -> None:
    the_plan = plan(task("phase", leaf("a"), leaf("b")))
    simulation = Simulation(the_plan).begin()
    for event in (ev.NodeStart(path="phase"), ev.AttemptStart(path="phase/a", attempt=1)):
        simulation.record(event)
    simulation.record(ev.NodeEnd(path="phase/a", status=Status.SUCCEEDED))
    simulation.record(ev.AttemptStart(path="phase/b", attempt=1))
    assert texts(Tree(simulation.state).rows(20)) == ["phase  1 of 2", "  b"]


class Counting(dict[str, object]):
    """Instances that count how often all of them are gone through."""

    walks = 0

    def values(self):  # type: ignore[no-untyped-def]
        Counting.walks += 1
        return super().values()


def test_an_event_in_a_run_of_ten_thousand_looks_at_no_other_node() -> None:
    keys = [str(n) for n in range(10_000)]
    state = RunState(plan(leaf("each", loop=each(*keys, limit=8))))
    take_first = Tree(state)
    take(state, take_first, ev.LoopItems(path="each", items=tuple(ev.LoopItem(key=key) for key in keys)))
    state.instances = Counting(state.instances)  # type: ignore[assignment]
    tree = Tree(state)
    Counting.walks = 0
    for key in keys[:2000]:
        take(state, tree, ev.AttemptStart(path=f"each[{key}]", attempt=1))
        take(state, tree, ev.NodeEnd(path=f"each[{key}]", status=Status.SUCCEEDED))
    assert Counting.walks == 0
    assert tree.rows(20)[-1].bar is not None
    assert (tree._ended["each"], len(tree._running)) == (2000, 0)


def test_ten_thousand_ends_at_once_leave_a_bounded_number_of_lines(tmp_path: Path) -> None:
    names = [f"t{n}" for n in range(10_000)]
    state = RunState(plan(*(leaf(name) for name in names)))
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=80, height=24, color_system=None)
    with LiveProgress(Common(), console=console) as progress:
        progress.started(state, tmp_path)
        progress._next_build = float("inf")  # everything comes within one picture
        for name in names:
            event = ev.NodeEnd(path=name, status=Status.SUCCEEDED, seq=1)
            fold(state, event)
            progress.changed(state, [event])
    assert written.getvalue().count(": done") <= 100
    assert "more changes" in written.getvalue()
