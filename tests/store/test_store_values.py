"""Small results lie in the event, large ones under their hash; what is read is what was put, or an error."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crash import faults
from onward.errors import StoreError, TaskError
from onward.store.values import INLINE_BYTES, Values


@pytest.fixture
def values(tmp_path: Path) -> Values:
    return Values(tmp_path / "values")


def test_a_small_text_lies_in_the_event(values: Values) -> None:
    value = values.to_value("text", "héllo")
    assert (value.value, value.bytes, value.sha256) == ("héllo", 6, None)
    assert values.load(value) == "héllo"


def test_a_text_is_kept_apart_once_it_is_larger_than_an_event_should_be(values: Values, tmp_path: Path) -> None:
    assert values.to_value("text", "x" * INLINE_BYTES).sha256 is None
    value = values.to_value("text", "x" * (INLINE_BYTES + 1))
    assert value.value is None
    values.flush()
    assert os.listdir(tmp_path / "values") == [value.sha256]
    assert Values(tmp_path / "values").load(value) == "x" * (INLINE_BYTES + 1)


JSON = [None, 1, 10**30, 1.5, "x", [], {"a": [1, {"b": None}]}, ["y" * 9000], {"k": "z" * 9000}]


@pytest.mark.parametrize("data", JSON)
def test_json_comes_back_as_it_was(data: Any, values: Values) -> None:
    assert values.load(values.to_value("json", data)) == data


def test_lines_come_back_as_a_list(values: Values) -> None:
    for lines in (["a", "b"], ["long"] * 5000):
        assert values.load(values.to_value("lines", lines)) == lines


def test_what_lies_in_the_event_is_what_a_reader_of_the_event_gets(values: Values) -> None:
    assert values.to_value("json", {"t": (1, 2), 3: float("nan")}).value == {"t": [1, 2], "3": None}


def test_json_that_is_nested_deeply_never_lies_in_an_event(values: Values) -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    value = values.to_value("json", deep)
    assert value.sha256 is not None
    assert values.load(value) == deep


def endless() -> list[Any]:
    """A list that holds itself."""
    loop: list[Any] = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize("data", [object(), endless(), "\udc80", {"a": {1j}}], ids=["object", "loop", "unicode", "set"])
def test_what_cannot_be_kept_is_an_error_of_the_task(data: Any, values: Values) -> None:
    with pytest.raises(TaskError, match="the result cannot be kept"):
        values.to_value("text" if isinstance(data, str) else "json", data)


@given(data=st.binary(max_size=10_000))
def test_any_bytes_come_back(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-values"
    one = Values(folder)
    digest = one.put(data)
    assert one.get(digest) == data
    one.flush()
    assert Values(folder).get(digest) == data


def test_the_same_bytes_are_written_once(values: Values) -> None:
    values.put(b"same")
    values.flush()
    with faults.counted() as calls:
        values.put(b"same")
        values.flush()
    assert calls == []


def test_many_values_cost_one_flush_of_the_folder(values: Values) -> None:
    values.put(b"first")
    values.flush()
    for number in range(20):
        values.put(b"%d" % number)
    with faults.counted() as calls:
        values.flush()
    assert [call for call, _ in calls].count("flush-folder") == 1


def test_a_value_that_an_earlier_driver_named_is_flushed_with_its_folder(values: Values, tmp_path: Path) -> None:
    values.put(b"kept")
    values.flush()
    later = Values(tmp_path / "values")
    later.put(b"kept")
    with faults.counted() as calls:
        later.flush()
    assert [call for call, _ in calls if call != "make-folder"] == ["flush-folder"]


def test_an_altered_value_is_not_given_out(values: Values) -> None:
    digest = values.put(b"x" * 100)
    values.flush()
    Path(values.path(digest)).write_bytes(b"y" * 100)
    assert not values.holds(digest)
    with pytest.raises(StoreError, match="was altered"):
        values.get(digest)


def test_a_value_that_is_gone_is_an_error_that_says_how_to_get_it_again(values: Values) -> None:
    with pytest.raises(StoreError, match="No such file") as caught:
        values.get("0" * 64)
    assert caught.value.help is not None
    assert "--rerun" in caught.value.help
