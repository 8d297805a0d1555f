"""Runs are made whole or not at all, found by a piece of their id, listed newest first, removed when nobody drives."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from crash import faults
from onward.errors import RunBusy, RunNotFound, StoreError, UsageError
from onward.journal.lines import Position
from onward.journal.reader import read
from onward.model.events import Note, WorkflowStart
from onward.store import locate
from onward.store.folder import RunFolder
from onward.store.runs import NewRun, Store

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / ".onward")


def made(store: Store, run_id: str, *, hours: float = 0, definition: dict[str, bytes] | None = None) -> RunFolder:
    """A run that nobody drives."""
    new = driven(store, run_id, hours=hours, definition=definition)
    new.journal.close()
    new.lock.release()
    return new.folder


def driven(store: Store, run_id: str, *, hours: float = 0, definition: dict[str, bytes] | None = None) -> NewRun:
    """A run that this process drives."""
    return store.create_run(
        run_id,
        definition={"flow.yaml": b"task: []"} if definition is None else definition,
        plan=b'{"name":"x"}',
        start=WorkflowStart(run=run_id),
        now=lambda: NOON + timedelta(hours=hours),
    )


# ---------------------------------------------------------------- making


def test_a_new_run_is_driven_and_its_journal_goes_on_behind_the_start(store: Store) -> None:
    new = driven(store, "one")
    assert new.folder.driver().pid == os.getpid()
    new.journal.add(Note(text="next"))
    new.folder.values.put(b"large")
    new.journal.flush()
    new.journal.close()
    new.lock.release()
    assert [event.seq for event in read(new.folder.journal)] == [1, 2]
    assert new.folder.values.holds(new.folder.values.put(b"large"))
    assert new.folder.driver() is None


def test_a_run_keeps_its_definition_and_plan_as_they_were(store: Store) -> None:
    definition = {"flow.yaml": b"a", "parts/one.yaml": b"b", "../shared/two.yaml": b"c", "plan.json": b"d"}
    run = made(store, "one", definition=definition)
    assert {name: run.read_definition(name) for name in definition} == definition
    assert run.read_definition("other.yaml") is None
    assert run.read_plan() == b'{"name":"x"}'
    assert not (store.runs_folder / "shared").exists()


def test_everything_in_a_store_is_for_its_owner_alone_and_not_for_git(store: Store) -> None:
    run = made(store, "one")
    run.attempt_folder("a/b", 1)
    run.inbox.drop("pause", {})
    for path in store.root.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert (store.root / ".gitignore").read_text() == "*\n"


def test_a_folder_that_was_there_for_more_than_runs_is_not_hidden_from_git(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    store = Store(tmp_path / "results")
    made(store, "one")
    assert not (store.root / ".gitignore").exists()
    assert (store.runs_folder / ".gitignore").read_text() == "*\n"
    assert [run.run_id for run in store.runs()] == ["one"]


@pytest.mark.parametrize("run_id", ["", ".x", "-x", "a/b", "..", "a b", "é", "x" * 129, "a\n"])
def test_an_id_that_could_be_no_folder_is_refused(run_id: str, store: Store) -> None:
    with pytest.raises(UsageError, match="cannot be the id of a run"):
        made(store, run_id)
    assert not store.root.exists()


def test_the_longest_id_can_be_used(store: Store) -> None:
    made(store, "x" * 128)
    assert [run.run_id for run in store.runs()] == ["x" * 128]


def test_an_id_that_is_taken_is_refused_and_the_run_is_left_alone(store: Store) -> None:
    run = made(store, "one")
    before = run.journal.read_bytes()
    with pytest.raises(UsageError, match="there is a run `one` already") as caught:
        made(store, "one")
    assert caught.value.help is not None
    assert "onward resume one" in caught.value.help
    assert run.journal.read_bytes() == before
    assert sorted(os.listdir(store.runs_folder)) == ["one"]


def test_an_id_that_is_taken_in_the_last_moment_is_refused_too(store: Store) -> None:
    def meanwhile(call: str, path: str, size: int) -> int:
        if call == "replace" and path.endswith("/one"):
            (store.runs_folder / "one").mkdir()
            (store.runs_folder / "one" / "journal.jsonl").touch()
        return size

    with faults.hooked(meanwhile), pytest.raises(UsageError, match="there is a run `one` already"):
        driven(store, "one")
    assert os.listdir(store.runs_folder) == ["one"]


def test_a_store_that_cannot_be_made_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=f"{tmp_path}/file"):
        made(Store(tmp_path / "file" / "store"), "one")


# ---------------------------------------------------------------- finding


def test_runs_are_listed_newest_first_by_their_journal(store: Store) -> None:
    for run_id, hours in (("b", 2), ("c", 1), ("a", 3), ("d", 1.0001)):
        made(store, run_id, hours=hours)
    assert [run.run_id for run in store.runs()] == ["a", "b", "d", "c"]
    assert store.find().run_id == "a"
    assert store.find().started_at() == NOON + timedelta(hours=3)


def test_a_run_whose_journal_cannot_be_read_is_listed_all_the_same(store: Store) -> None:
    made(store, "good")
    made(store, "bad").journal.write_bytes(b"\xff\xfe")
    made(store, "gone").journal.unlink()
    assert sorted(run.run_id for run in store.runs()) == ["bad", "gone", "good"]


def test_a_run_is_found_by_a_unique_beginning_of_its_id(store: Store) -> None:
    for run_id in ("build-1", "build-12", "ship-1"):
        made(store, run_id)
    assert store.find("s").run_id == "ship-1"
    assert store.find("build-1").run_id == "build-1"
    with pytest.raises(UsageError, match="any of 2 runs") as caught:
        store.find("build")
    assert "  build-1\n  build-12" in caught.value.message
    with pytest.raises(RunNotFound, match="no run `ship-2`") as missing:
        store.find("ship-2")
    assert missing.value.help == "did you mean `ship-1`?"


def test_an_empty_store_says_how_to_start(store: Store) -> None:
    for prefix in (None, "x"):
        with pytest.raises(RunNotFound):
            store.find(prefix)
    with pytest.raises(RunNotFound, match="there is no run in") as caught:
        store.find()
    assert caught.value.help is not None
    assert "onward run FILE" in caught.value.help


def test_half_made_runs_are_seen_by_nobody_and_removed_by_the_next(store: Store) -> None:
    made(store, "one")
    (store.runs_folder / f".new-two-{os.getpid()}" / "definition").mkdir(parents=True)
    (store.runs_folder / ".gone-three-abcd").mkdir()
    assert [run.run_id for run in store.runs()] == ["one"]
    made(store, "four")
    assert sorted(os.listdir(store.runs_folder)) == ["four", "one"]


def test_a_run_that_another_process_is_making_is_left_alone(store: Store) -> None:
    made(store, "one")
    draft = store.runs_folder / f".new-two-{os.getppid()}"
    draft.mkdir()
    own = RunFolder(store.runs_folder / f".new-three-{os.getpid()}")
    own.root.mkdir()
    with own.lock():
        made(store, "four")
    assert draft.exists()
    assert own.root.exists()


# ---------------------------------------------------------------- one run


def test_the_folder_of_an_attempt_is_made_with_one_call_where_its_node_has_one(store: Store) -> None:
    run = made(store, "one")
    first = run.attempt_folder("review/each[a/b]", 1)
    assert first.is_dir()
    with faults.counted() as calls:
        second = run.attempt_folder("review/each[a/b]", 2)
    assert second.parent == first.parent
    assert [call for call, _ in calls] == ["make-folder"]
    assert run.attempt_folder("review/each[a/b]", 2) == second


def test_a_run_is_removed_whole(store: Store) -> None:
    made(store, "one")
    run = made(store, "two")
    run.attempt_folder("a", 1)
    run.remove()
    assert os.listdir(store.runs_folder) == ["one"]


def test_a_run_that_is_driven_is_not_removed(store: Store) -> None:
    new = driven(store, "one")
    with pytest.raises(RunBusy):
        new.folder.remove()
    new.journal.close()
    new.lock.release()
    assert new.folder.journal.exists()


def test_a_state_cache_is_given_back_with_its_position(store: Store) -> None:
    run = made(store, "one")
    assert run.load_cache().cache is None
    assert run.load_cache().problem is None
    position = read(run.journal).finish().position
    run.write_cache(position, b'{"a": [1,\n2]}')
    loaded = run.load_cache()
    assert loaded.problem is None
    assert loaded.cache is not None
    assert (loaded.cache.position, loaded.cache.state) == (position, b'{"a": [1,\n2]}')


def test_a_state_cache_with_any_altered_byte_is_not_used_or_says_the_same(store: Store) -> None:
    run = made(store, "one")
    run.write_cache(read(run.journal).finish().position, b'{"done":["a","b"]}')
    right = run.load_cache().cache
    whole = run.state.read_bytes()
    for index in range(len(whole)):
        run.state.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        loaded = run.load_cache()
        assert loaded.cache in (None, right), (index, whole[index : index + 1])
        assert loaded.cache is not None or "state.json" in str(loaded.problem)


@pytest.mark.parametrize("content", [b"", b"{}", b"\0" * 40, b"[" * 100_000, b'{"format":1}'])
def test_a_state_cache_that_is_rubbish_is_not_used_and_said(content: bytes, store: Store) -> None:
    run = made(store, "one")
    run.state.write_bytes(content)
    loaded = run.load_cache()
    assert loaded.cache is None
    assert loaded.problem is not None
    assert "cannot be read" in loaded.problem


def test_a_state_cache_of_another_journal_is_not_used(store: Store) -> None:
    run = made(store, "one")
    run.write_cache(Position(offset=70, line=1, seq=1, chain="0" * 32, epoch=1), b"{}")
    assert run.load_cache().problem == "state.json does not belong to this journal"


def test_a_resume_removes_temporary_files_of_the_dead(store: Store) -> None:
    run = made(store, "one")
    (run.root / "values").mkdir()
    for folder in (run.root, run.root / "values"):
        (folder / f".x.{os.getpid()}-77.onward-tmp").touch()
    run.clean_up()
    assert list(run.root.rglob("*.onward-tmp")) == []


# ---------------------------------------------------------------- which store


def test_the_store_is_found_upwards_from_the_real_file(tmp_path: Path) -> None:
    (tmp_path / "project" / ".onward").mkdir(parents=True)
    deep = tmp_path / "project" / "flows" / "daily"
    deep.mkdir(parents=True)
    (deep / "flow.yaml").touch()
    (tmp_path / "link.yaml").symlink_to(deep / "flow.yaml")
    for file in (deep / "flow.yaml", tmp_path / "link.yaml"):
        assert locate.store_for_file(file).root == tmp_path / "project" / ".onward"
    assert locate.store_here(folder=deep).root == tmp_path / "project" / ".onward"


def test_without_a_store_a_new_one_lies_beside_the_file_and_is_not_made_yet(tmp_path: Path) -> None:
    (tmp_path / "flow.yaml").touch()
    assert locate.store_for_file(tmp_path / "flow.yaml").root == tmp_path / ".onward"
    assert os.listdir(tmp_path) == ["flow.yaml"]


def test_a_named_store_wins_and_the_flag_before_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".onward").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ONWARD_STORE", "from-variable")
    assert locate.store_here().root == tmp_path / "from-variable"
    assert locate.store_here("given").root == tmp_path / "given"
    assert locate.store_for_file(tmp_path / "flow.yaml", "given").root == tmp_path / "given"


def test_a_store_of_another_user_is_not_taken_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".onward").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(StoreError, match="belongs to another user"):
        locate.store_here(folder=tmp_path)
    assert locate.store_here(str(tmp_path / ".onward")).root == tmp_path / ".onward"


def test_a_folder_that_was_removed_is_an_error_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(UsageError, match="the present folder was removed"):
        locate.store_here()


def test_paths_are_kept_relative_to_the_store_so_that_a_project_can_move(tmp_path: Path) -> None:
    store = Store(tmp_path / "old" / ".onward")
    assert store.relative(tmp_path / "old" / "flows" / "a.yaml") == "flows/a.yaml"
    assert store.relative(tmp_path / "elsewhere" / "a.yaml") == str(tmp_path / "elsewhere" / "a.yaml")
    moved = Store(tmp_path / "new" / ".onward")
    assert moved.absolute("flows/a.yaml") == tmp_path / "new" / "flows" / "a.yaml"
    assert moved.absolute(str(tmp_path / "elsewhere")) == tmp_path / "elsewhere"
