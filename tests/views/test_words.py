"""The words that people see, written out; and that no text of others can act on a terminal."""

import datetime as dt
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.model.status import RunStatus, Status
from onward.views import words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0, "0.0s"),
        (0.04, "0.0s"),
        (0.44, "0.4s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1m 00s"),
        (65, "1m 05s"),
        (3599, "59m 59s"),
        (3600, "1h 00m"),
        (8040, "2h 14m"),
        (86_400, "1d 0h"),
        (273_600, "3d 4h"),
        (-5, "-5.0s"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.4, "just now"),
        (-0.4, "just now"),
        (1, "1 second ago"),
        (59, "59 seconds ago"),
        (60, "1 minute ago"),
        (7300, "2 hours ago"),
        (86_399, "23 hours ago"),
        (86_400, "1 day ago"),
        (700_000, "8 days ago"),
        (-7300, "2 hours in the future"),
    ],
)
def test_ages(seconds: float, said: str) -> None:
    assert words.age(seconds) == said


@pytest.mark.parametrize(
    ("count", "said"),
    [(0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (34_000_000, "34 MB"), (10**13, "10000 GB")],
)
def test_sizes(count: int, said: str) -> None:
    assert words.size(count) == said


def test_amounts() -> None:
    assert [words.amount(n, "task") for n in (0, 1, 2, 12_345)] == ["0 tasks", "1 task", "2 tasks", "12,345 tasks"]


def test_a_moment_is_shown_with_the_offset_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert words.moment(dt.datetime(2026, 2, 2, 18, 0, tzinfo=dt.UTC)) == "2026-02-02 23:30:00 +05:30"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_every_status_has_a_word_and_two_marks() -> None:
    assert {status: words.status_word(status) for status in Status} == {
        "pending": "not started",
        "running": "running",
        "waiting": "waiting",
        "succeeded": "done",
        "failed": "failed",
        "skipped": "skipped",
        "cancelled": "cancelled",
    }
    assert all(status in words.RUN_WORDS for status in RunStatus)
    assert all(status in words.MARKS and words.PLAIN_MARKS[status].isascii() for status in Status)


@pytest.mark.parametrize(
    ("reason", "code", "signal", "said"),
    [
        ("", None, None, ""),
        ("", 0, None, ""),
        ("", 3, None, "exit code 3"),
        ("", None, "SIGKILL", "killed by SIGKILL"),
        ("exit code 3", 3, None, "exit code 3"),
        ("the agent gave up", 3, None, "the agent gave up (exit code 3)"),
        ("killed by SIGKILL", None, "SIGKILL", "killed by SIGKILL"),
        ("timed out after 20m", None, "SIGTERM", "timed out after 20m (killed by SIGTERM)"),
        ("it saw 30 files", 3, None, "it saw 30 files (exit code 3)"),
    ],
)
def test_why_something_failed(reason: str, code: int | None, signal: str | None, said: str) -> None:
    assert words.why(reason, code, signal) == said


# ---------------------------------------------------------------- text of others


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("<i>markup</i>", "<i>markup</i>"),
        ("Größe 日本 🎉", "Größe 日本 🎉"),
        ("two\nlines\tand   spaces", "two lines and spaces"),
        ("\x1b]0;new title\x07x", "\\x1b]0;new title\\x07x"),
        ("\x1b[2J\x1b[H", "\\x1b[2J\\x1b[H"),
        ("10%\r20%", "10%\\x0d20%"),
        ("a\x9b2Jb", "a\\x9b2Jb"),
        ("abc\u202edcba", "abc\\u202edcba"),
        ("caf\udcc3", "caf\\udcc3"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_a_name_is_one_line_and_what_is_not_to_be_seen_is_written_out(text: str, shown: str) -> None:
    assert words.one_line(text) == shown


def test_a_long_name_is_cut_with_a_mark() -> None:
    assert words.one_line("abcdef", 4) == "abc…"
    assert words.one_line("abcd", 4) == "abcd"


def test_a_question_keeps_its_lines() -> None:
    assert words.block("Go on?\r\n\tReally\x1b[1m?") == "Go on?\n\tReally\\x1b[1m?"


PRINTED = (
    "<b>bold</b>\nhttp://example.org/\n\x1b[31mred\x1b[0m\x1b]0;new title\x07\n10%\r20%\rdone\n"
    "\x1b[1A\x1b[2Kgone\x1b(B\x1b=\x1bPq\x1b\\\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"
)


def test_output_without_colours_has_no_escape_sequence_and_loses_no_line() -> None:
    assert words.output(PRINTED, colour=False) == (
        "<b>bold</b>\nhttp://example.org/\nred\n10%\n20%\ndone\ngonelink"
    )


def test_output_with_colours_keeps_colours_alone_and_ends_them_with_the_line() -> None:
    shown = words.output(PRINTED, colour=True)
    assert "\x1b[31mred\x1b[0m\x1b[0m" in shown
    assert set(re.findall("\x1b[^m]*m", shown)) == {"\x1b[31m", "\x1b[0m"}
    assert shown.count("\x1b") == 3


def test_a_sequence_that_never_ends_is_made_harmless() -> None:
    assert words.output("a\x1b", colour=True) == "a\\x1b"
    assert words.output("a\x1b[31", colour=True) == "a\\x1b[31"
    assert "\x1b" not in words.output("\x1b]0;title that goes on", colour=True)


@given(st.text())
def test_no_text_reaches_the_terminal_with_a_control_character(text: str) -> None:
    control = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
    assert not control.search(words.one_line(text))
    assert "\n" not in words.one_line(text)
    assert not control.search(words.block(text))
    assert not control.search(words.output(text, colour=False))
    assert not control.search(re.sub("\x1b\\[[0-9;:]*m", "", words.output(text, colour=True)))
