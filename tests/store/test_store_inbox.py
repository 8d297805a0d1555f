"""A signal is a file: dropped whole, taken in order, gone only when it is done."""

import os
from datetime import timedelta
from pathlib import Path

import pytest

from crash import faults
from onward import clock
from onward.errors import StoreError
from onward.store.inbox import Inbox


@pytest.fixture
def inbox(tmp_path: Path) -> Inbox:
    return Inbox(tmp_path / "inbox")


def test_signals_are_taken_in_the_order_they_were_dropped(inbox: Inbox) -> None:
    for number in range(20):
        inbox.drop("decide", {"number": number})
    taken = inbox.take()
    assert [signal.payload["number"] for signal in taken] == list(range(20))
    assert {signal.kind for signal in taken} == {"decide"}


def test_a_signal_stays_until_it_is_done(inbox: Inbox) -> None:
    inbox.drop("pause", {"reason": "lunch"})
    [signal] = inbox.take()
    assert inbox.take() == [signal]
    inbox.done(signal)
    inbox.done(signal)
    assert inbox.take() == []


def test_an_inbox_that_nobody_used_is_empty_and_not_made(inbox: Inbox, tmp_path: Path) -> None:
    assert inbox.take() == []
    assert not inbox.changed()
    assert os.listdir(tmp_path) == []


def test_a_signal_is_noticed_also_in_the_moment_after_looking(inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> None:
    assert inbox.changed()  # never looked
    inbox.take()
    for number in range(200):
        inbox.drop("decide", {"number": number})
        assert inbox.changed()
        assert len(inbox.take()) == number + 1
    # Once the folder's time is old enough to be told from a new one, nothing has changed.
    later = clock.now() + timedelta(seconds=5)
    monkeypatch.setattr(clock, "now", lambda: later)
    inbox.take()
    assert not inbox.changed()


def test_half_a_signal_is_never_seen(inbox: Inbox) -> None:
    payload = {"reason": "x" * 1000}
    inbox.drop("pause", payload)
    for number in range(1, 6):
        with faults.failing(number), pytest.raises(StoreError):
            inbox.drop("pause", payload)
        assert {tuple(signal.payload.items()) for signal in inbox.take()} == {tuple(payload.items())}
        assert inbox.unreadable() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"kind": 3}', b"\xff\xfe"])
def test_a_file_that_is_no_signal_is_set_aside_once(content: bytes, inbox: Inbox, tmp_path: Path) -> None:
    name = inbox.drop("pause", {})
    (tmp_path / "inbox" / name).write_bytes(content)
    inbox.drop("cancel", {})
    assert [signal.kind for signal in inbox.take()] == ["cancel"]
    assert inbox.unreadable() == [name.replace(".json", ".unreadable")]


def test_files_of_other_names_are_left_alone(inbox: Inbox, tmp_path: Path) -> None:
    inbox.drop("pause", {})
    for name in (".hidden", "notes.txt", "x.json"):
        (tmp_path / "inbox" / name).write_text("{}")
    assert len(inbox.take()) == 1
    assert len(os.listdir(tmp_path / "inbox")) == 4
