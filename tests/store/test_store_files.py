"""The one module of file changes: whole files or none, errors that say what to do, nothing left behind."""

import errno
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from crash import faults
from onward import files
from onward.errors import JournalError, StoreError


def test_a_file_is_replaced_as_a_whole_and_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    files.write_atomic(path, b"old")
    files.write_atomic(path, b"new" * 100_000)
    assert path.read_bytes() == b"new" * 100_000
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["state.json"]


def test_a_replacement_that_fails_at_any_change_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    files.write_atomic(path, b"old")
    for number in range(1, 5):
        with faults.failing(number), pytest.raises(StoreError, match="No space left on device") as caught:
            files.write_atomic(path, b"new")
        assert str(path) in caught.value.message
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["state.json"]


def test_power_that_goes_leaves_the_old_file_or_the_new_one_and_the_new_one_once_it_was_said(tmp_path: Path) -> None:
    luck = random.Random(7)
    seen = set()
    for number in range(1, 9):
        for attempt in range(20):
            before, after = tmp_path / f"{number}-{attempt}", tmp_path / f"{number}-{attempt}-after"
            before.mkdir()
            disk, said = faults.Disk(before), b""
            try:
                with disk.power_goes(number + 5):
                    files.write_atomic(before / "f", b"old")
                    files.write_atomic(before / "f", b"new")
                    said = b"new"
                    files.make_folder(before / "later")
                    files.make_folder(before / "and-later")
                    files.make_folder(before / "and-last")
            except faults.PowerCut:
                seen.add(number)
            disk.restore(after, luck)
            assert (after / "f").read_bytes() in ({said} if said else {b"old", b"new"})
    assert len(seen) == 8


def test_a_temporary_file_that_somebody_took_for_a_dead_ones_is_written_again(tmp_path: Path) -> None:
    removed = []

    def remove(call: str, _: str, size: int) -> int:
        if call == "replace" and not removed:
            [temporary] = tmp_path.glob(".*.onward-tmp")
            temporary.unlink()
            removed.append(temporary)
        return size

    with faults.hooked(remove):
        files.write_atomic(tmp_path / "f", b"data")
    assert removed
    assert os.listdir(tmp_path) == ["f"]


def test_temporary_files_of_dead_processes_are_removed_and_nothing_else_is(tmp_path: Path) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    living = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        names = {
            "dead": f".state.json.{int(dead.stdout)}-1.onward-tmp",
            "own": f".state.json.{os.getpid()}-99999.onward-tmp",
            "living": f".state.json.{living.pid}-1.onward-tmp",
            "user's": ".state.json.tmp",
            "no number": ".state.json.x-1.onward-tmp",
        }
        for name in names.values():
            (tmp_path / name).touch()
        assert sorted(files.remove_dead_temporaries(tmp_path)) == sorted([names["dead"], names["own"]])
        assert sorted(os.listdir(tmp_path)) == sorted([names["living"], names["user's"], names["no number"]])
    finally:
        living.communicate()


def test_a_folder_is_made_with_those_above_it_for_its_owner_alone(tmp_path: Path) -> None:
    assert files.make_folder(tmp_path / "a" / "b" / "c")
    assert not files.make_folder(tmp_path / "a" / "b" / "c")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_file_in_the_place_of_a_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(StoreError, match="File exists"):
        files.make_folder(tmp_path / "a")
    with pytest.raises(StoreError, match="Not a directory"):
        files.make_folder(tmp_path / "a" / "b")


def test_a_tree_is_removed_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "file").touch()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    files.remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "file"]


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free space"),
        (errno.EDQUOT, "free space"),
        (errno.EROFS, "make it writable"),
        (errno.EACCES, "--store"),
        (errno.EIO, "the disk reports an error"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ENAMETOOLONG, "mend that"),
    ],
)
def test_an_error_says_which_file_why_and_what_to_do(number: int, hint: str) -> None:
    error = files.trouble(OSError(number, "x"), "write", "/some/file", JournalError)
    assert error.message == f"cannot write /some/file: {os.strerror(number)}"
    assert error.help is not None
    assert hint in error.help
    assert "onward resume" in error.help


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_an_error_with_its_path(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="Permission denied"):
            files.write_atomic(tmp_path / "f", b"")
    finally:
        tmp_path.chmod(0o700)
