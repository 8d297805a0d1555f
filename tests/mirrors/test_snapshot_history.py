"""The numbered snapshots of a run: what large ones share, what a removal leaves, and files with anything in them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onward import clock
from onward.mirrors import snapshot_file
from onward.mirrors.pause_errors import SnapshotError
from onward.mirrors.snapshot_file import WorkflowSnapshot
from onward.mirrors.snapshot_history import SnapshotHistory
from onward.mirrors.snapshot_parts import SHARED_FROM
from onward.mirrors.snapshot_seal import seal, unseal


def snapshot(done: int, of: int) -> WorkflowSnapshot:
    names = [f"phase/task-{number:05d}" for number in range(of)]
    return WorkflowSnapshot(
        workflow_id="r1", timestamp=clock.now(), completed_tasks=names[:done], pending_tasks=names[done:]
    )


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(("done", "of"), [(0, 0), (3, 10), (1999, 2000), (2000, 2000), (0, 2501), (4321, 9999)])
def test_a_snapshot_is_read_as_it_was_written(tmp_path: Path, done: int, of: int) -> None:
    history = SnapshotHistory(tmp_path)
    made = snapshot(done, of)
    kept, _ = history.add(made)
    assert history.read(kept) == made


def test_the_next_snapshot_of_a_large_run_only_writes_what_has_changed(tmp_path: Path) -> None:
    history = SnapshotHistory(tmp_path)
    history.add(snapshot(5000, 10_000))
    first = size_of(tmp_path)
    made = snapshot(5100, 10_000)
    kept, _ = history.add(made)
    assert size_of(tmp_path) - first < first / 5
    assert history.read(kept) == made


def test_a_small_snapshot_stands_in_one_plain_file(tmp_path: Path) -> None:
    kept, _ = SnapshotHistory(tmp_path).add(snapshot(10, SHARED_FROM))
    assert [path.name for path in tmp_path.iterdir()] == ["s1.snapshot.json"]
    assert len(json.loads(Path(kept.path).read_text())["completed_tasks"]) == 10


def test_a_removal_takes_the_pieces_that_nobody_else_needs(tmp_path: Path) -> None:
    history = SnapshotHistory(tmp_path)
    first, _ = history.add(snapshot(3000, 6000))
    made = snapshot(3700, 6000)
    second, _ = history.add(made)
    before = len(list((tmp_path / "parts").iterdir()))
    assert history.remove(first)
    assert 0 < len(list((tmp_path / "parts").iterdir())) < before
    assert history.read(second) == made
    assert history.remove(second)
    assert list((tmp_path / "parts").iterdir()) == []


def test_pieces_stay_where_a_snapshot_cannot_be_read(tmp_path: Path) -> None:
    history = SnapshotHistory(tmp_path)
    first, _ = history.add(snapshot(3000, 6000))
    second, _ = history.add(snapshot(3001, 6000))
    Path(second.path).write_text("{")
    before = len(list((tmp_path / "parts").iterdir()))
    history.remove(first)
    assert len(list((tmp_path / "parts").iterdir())) == before


def test_a_piece_that_is_gone_or_altered_is_named(tmp_path: Path) -> None:
    history = SnapshotHistory(tmp_path)
    kept, _ = history.add(snapshot(3000, 3000))
    piece = next((tmp_path / "parts").iterdir())
    data = piece.read_bytes()
    for change in (lambda: piece.write_bytes(data[:-2] + b"]]"), piece.unlink):
        change()
        with pytest.raises(SnapshotError, match=piece.name):
            history.read(kept)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_snapshot_or_an_error_with_the_file(data: bytes) -> None:
    error = _error_of(lambda: snapshot_file.decode(unseal(data, key=b"k" * 32, where="here"), "here"))
    assert error is None or "here" in error


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from([*snapshot_file.FIELDS, "onward", "more"]), _JSON))
def test_any_fields_are_a_snapshot_or_an_error_with_the_file(fields: dict[str, object]) -> None:
    text = json.dumps(fields).encode()
    error = _error_of(lambda: snapshot_file.decode(text, "here"))
    if error is None:
        found = snapshot_file.decode(text, "here")
        assert snapshot_file.decode(snapshot_file.encode(found), "again") == found
    else:
        assert "here" in error


def _error_of(call: Callable[[], object]) -> str | None:
    try:
        call()
    except SnapshotError as error:
        return str(error)
    return None


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("key", [None, b"k" * 32])
def test_what_is_sealed_is_unsealed(compress: bool, key: bytes | None) -> None:
    data = bytes(range(256)) * 10
    sealed = seal(data, compress=compress, key=key)
    assert unseal(sealed, key=key) == data
    assert (sealed == data) == (not compress and key is None)
    if key is not None:
        assert seal(data, compress=compress, key=key) != sealed, "never the same nonce twice"
