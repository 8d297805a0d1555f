"""One driver per run; a dead one needs no unlocking; who drives can be asked without disturbing anybody."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from onward.errors import RunBusy, StoreError
from onward.store import lock

HOLD = """
import sys
from pathlib import Path
from onward.store.lock import take
held = take(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
held.release()
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "five"
    folder.mkdir(parents=True)
    return folder


@contextmanager
def held_by_another(run: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process drives the run."""
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        yield other
    finally:
        other.kill()
        other.communicate(timeout=20)


def test_nobody_drives_a_run_that_was_never_locked(run: Path) -> None:
    assert lock.driver_alive(run) is None
    assert os.listdir(run) == []


def test_who_holds_the_lock_is_recorded_and_forgotten_with_it(run: Path) -> None:
    with lock.take(run):
        driver = lock.driver_alive(run)
        assert driver is not None
        me = lock.this_process()
        assert (driver.pid, driver.host, driver.boot, driver.started) == (me.pid, me.host, me.boot, me.started)
        assert (run / "driver").stat().st_mode & 0o777 == 0o600
    assert lock.driver_alive(run) is None
    assert os.listdir(run) == ["lock"]


def test_a_second_driver_is_refused_with_who_drives_and_how_to_take_over(run: Path) -> None:
    with held_by_another(run) as other:
        with pytest.raises(RunBusy) as caught:
            lock.take(run)
        assert f"run `five` is driven by process {other.pid}" in caught.value.message
        assert "since 20" in caught.value.message
        assert caught.value.help is not None
        assert "onward resume five --take-over" in caught.value.help
        assert caught.value.exit_code == 2


def test_asking_who_drives_does_not_take_the_lock_away(run: Path) -> None:
    with held_by_another(run) as other:
        for _ in range(50):
            driver = lock.driver_alive(run)
            assert driver is not None
            assert driver.pid == other.pid


def test_a_reader_that_asks_at_the_same_moment_does_not_keep_a_driver_out(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock.take(run).release()
    reader = os.open(run / "lock", os.O_RDONLY)
    fcntl.flock(reader, fcntl.LOCK_SH)
    waited = []

    def wait(_: float) -> None:
        waited.append(1)
        fcntl.flock(reader, fcntl.LOCK_UN)

    monkeypatch.setattr(lock.time, "sleep", wait)
    with lock.take(run):
        assert waited == [1]
    os.close(reader)


def test_the_lock_of_a_killed_driver_is_free_although_its_record_is_still_there(run: Path) -> None:
    with held_by_another(run) as other:
        other.kill()
        other.wait(timeout=20)
        assert (run / "driver").exists()
        assert lock.driver_alive(run) is None
        with lock.take(run):
            assert lock.recorded_driver(run).pid == os.getpid()


def test_a_child_of_the_driver_does_not_get_the_lock(run: Path) -> None:
    held = lock.take(run)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        held.release()
        lock.take(run).release()
    finally:
        child.communicate(b"\n", timeout=20)


def test_a_record_that_is_no_record_does_not_hide_that_the_run_is_driven(run: Path) -> None:
    with held_by_another(run):
        (run / "driver").write_text("rubbish")
        driver = lock.driver_alive(run)
        assert driver is not None
        assert driver.host == "(unknown)"
        with pytest.raises(RunBusy, match="is driven by another process"):
            lock.take(run)


def test_taking_over_kills_a_driver_on_this_machine(run: Path) -> None:
    with held_by_another(run) as other:
        held, previous = lock.take_over(run)
        with held:
            assert other.wait(timeout=20) == -9
            assert previous is not None
            assert previous.pid == other.pid
            assert lock.driver_alive(run).pid == os.getpid()


def test_taking_over_what_nobody_drives_is_an_ordinary_lock(run: Path) -> None:
    held, previous = lock.take_over(run)
    with held:
        assert previous is None
    assert os.listdir(run) == ["lock"]


def test_taking_over_from_another_machine_breaks_the_lock_and_kills_nobody(run: Path) -> None:
    with held_by_another(run) as other:
        record = (run / "driver").read_text()
        (run / "driver").write_text(record.replace(os.uname().nodename, "elsewhere"))
        held, previous = lock.take_over(run)
        with held:
            assert previous is not None
            assert previous.host == "elsewhere"
            assert other.poll() is None
            with pytest.raises(RunBusy):
                lock.take(run)


def test_a_process_that_got_the_number_of_a_dead_driver_is_not_killed(run: Path) -> None:
    with held_by_another(run), subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as innocent:
        driver = lock.recorded_driver(run)
        record = (run / "driver").read_text()
        (run / "driver").write_text(record.replace(f'"pid":{driver.pid}', f'"pid":{innocent.pid}'))
        held, _ = lock.take_over(run)
        held.release()
        assert innocent.poll() is None
        innocent.communicate(b"\n", timeout=20)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_said(number: int, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(lock.fcntl, "flock", refuse)
    with pytest.raises(StoreError) as caught:
        lock.take(run)
    assert caught.value.help is not None
    assert "cannot lock files" in caught.value.help
    assert "--store" in caught.value.help


def test_a_lock_file_that_was_replaced_is_not_taken_for_the_lock(run: Path) -> None:
    first = lock.take(run)
    (run / "lock").rename(run / "moved")
    with lock.take(run):
        assert lock.driver_alive(run) is not None
    first.release()
