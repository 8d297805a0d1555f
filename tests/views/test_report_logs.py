"""How much of the output of many tasks a page shows, and which part."""

from __future__ import annotations

from html import unescape
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from onward.views.report.logs import LEAST, SLACK, Cut, Wish, head, shares, tail


def test_everybody_gets_all_where_there_is_room() -> None:
    assert shares([Wish(key="a", bytes=10), Wish(key="b", bytes=500, urgent=True)], 1_000) == {"a": 10, "b": 500}


def test_small_wishes_are_met_and_large_ones_share_the_rest() -> None:
    given = shares([Wish(key="small", bytes=1_000), *(Wish(key=n, bytes=90_000) for n in range(3))], 10_000)
    assert given == {"small": 1_000, 0: 3_000, 1: 3_000, 2: 3_000}


def test_tasks_that_need_attention_are_served_first_and_leave_something() -> None:
    wishes = [Wish(key="bad", bytes=90_000, urgent=True), *(Wish(key=n, bytes=9_000) for n in range(10))]
    given = shares(wishes, 50_000)
    assert given["bad"] == 30_000
    assert [given[n] for n in range(10)] == [2_000] * 10


@given(st.lists(st.tuples(st.integers(1, 70_000), st.booleans()), max_size=60), st.integers(0, 300_000))
def test_all_together_stay_below_the_budget_but_for_the_least_that_each_gets(
    wishes: list[tuple[int, bool]], budget: int
) -> None:
    given = shares([Wish(key=n, bytes=size, urgent=bad) for n, (size, bad) in enumerate(wishes)], budget)
    assert len(given) == len(wishes)
    assert all(0 < given[n] <= size for n, (size, _) in enumerate(wishes))
    assert sum(given.values()) <= budget + LEAST * len(wishes)


def test_a_short_file_is_whole(tmp_path: Path) -> None:
    assert _tail(tmp_path, b"a <b>\x1b[31mred\x1b[0m\n", 20) == Cut(html="a &lt;b&gt;red\n", shown=18, total=18)


def test_a_long_file_begins_at_a_line_and_says_how_much_of_it_is_shown(tmp_path: Path) -> None:
    lines = [f"line {number}" for number in range(1_000)]
    cut = _tail(tmp_path, "\n".join(lines).encode(), 300)
    assert not cut.whole
    shown = cut.html.split("\n")
    assert shown == lines[-len(shown) :]
    assert len(cut.html) <= 300


def test_a_letter_that_the_cut_would_halve_is_left_out(tmp_path: Path) -> None:
    assert "\ufffd" not in _tail(tmp_path, "€".encode() * 1_000, 301).html


@given(st.binary(max_size=6_000), st.integers(LEAST, 2_000))
def test_whatever_the_bytes_are_the_part_of_the_page_stays_bounded(data: bytes, limit: int) -> None:
    cut = head(data, len(data), limit)
    assert len(cut.html.encode()) <= max(SLACK, limit * 3 // 2, LEAST * 10)
    assert "<" not in cut.html


def test_broken_bytes_and_unseen_characters_are_shown_as_such(tmp_path: Path) -> None:
    cut = _tail(tmp_path, b"\xff\x00" + "\u202e".encode() + b"</pre>", 100)
    assert unescape(cut.html) == "\ufffd\\x00\\u202e</pre>"


def _tail(folder: Path, data: bytes, limit: int) -> Cut:
    file = folder / "out"
    file.write_bytes(data)
    return tail(str(file), limit)
