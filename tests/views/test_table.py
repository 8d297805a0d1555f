"""A status in lines: the tree is complete where there is room, and bounded where there is not."""

from onward.model.status import RunStatus, Status
from onward.views import words
from onward.views.nodes import NodeView
from onward.views.table import MOST_BELOW, Line, label, tree_lines


def node(path: str, status: str = Status.SUCCEEDED, **more: object) -> NodeView:
    return NodeView(path=path, kind="run", title="", status=str(status), **more)  # type: ignore[arg-type]


def texts(nodes: list[NodeView], **more: bool) -> list[str]:
    return [line.text for line in tree_lines(nodes, words.MARKS, **more)]


def test_what_is_done_or_not_begun_is_folded_and_what_is_open_is_not() -> None:
    nodes = [
        node("a"),
        node("a/x"),
        node("b", Status.RUNNING),
        node("b/x"),
        node("b/y", Status.RUNNING),
        node("c", Status.PENDING),
        node("c/x", Status.PENDING),
    ]
    assert texts(nodes) == ["  ✓ a  1 of 1", "  ▸ b  1 of 2, running", "    ✓ x", "    ▸ y  running", "  · c  0 of 1"]
    assert len(texts(nodes, whole=True)) == 7


def test_of_many_members_the_urgent_ones_are_shown_in_their_order_and_the_rest_is_counted() -> None:
    members = [node(f"g/{n}", Status.FAILED if n in (70, 90) else Status.SUCCEEDED) for n in range(100)]
    shown = texts([node("g", Status.RUNNING), *members])
    assert len(shown) == MOST_BELOW + 2
    assert "    ✗ 70  failed" in shown
    assert "    ✗ 90  failed" in shown
    assert shown[-1] == "      and 88 more"


def test_many_top_level_nodes_are_counted_together_where_nothing_is_open() -> None:
    done, left = [node(f"d{n}") for n in range(500)], [node(f"p{n}", Status.PENDING) for n in range(499)]
    assert texts([*done, node("now", Status.RUNNING), *left]) == [
        "  ✓ 500 nodes done",
        "  ▸ now  running",
        "  · 499 nodes not started",
    ]


def test_keys_of_iterations_may_hold_a_slash() -> None:
    nodes = [node("each", Status.RUNNING), node("each[a/b]", Status.RUNNING), node("each[a/b]/write", Status.RUNNING)]
    assert texts(nodes) == ["  ▸ each  0 of 1, running", "    ▸ [a/b]  0 of 1, running", "      ▸ write  running"]
    assert label("each[a/b]") == "[a/b]"
    assert label("each[a/b]/write") == "write"
    assert label("group/member") == "member"


def test_a_row_tells_what_is_not_as_usual() -> None:
    odd = [
        node("a", Status.FAILED, reason="", exit=3, attempts=2, duration_s=65.0),
        node("b", RunStatus.INTERRUPTED),
        node("c", edited=True, stale=True),
    ]
    assert texts(odd) == [
        "  ✗ a  failed: exit code 3, attempt 2, 1m 05s",
        "  ! b  interrupted",
        "  ✓ c  edited since, used an older result",
    ]
    assert all(isinstance(line, Line) for line in tree_lines(odd, words.PLAIN_MARKS))
