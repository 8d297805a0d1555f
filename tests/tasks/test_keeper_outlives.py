"""Who is killed, and what then holds: driver, keeper, both, in every order that can happen."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from onward.tasks.attempt_folder import attempt_is_held, read_exit, read_process
from onward.tasks.keeper_link import end_process_tree
from onward.tasks.processes import marked
from tasks.kept import DRIVER, a_driver, alive, content, free, wait_until

pytestmark = pytest.mark.crash

WAIT = "until [ -e {go} ]; do sleep 0.02; done; "


def test_a_task_outlives_its_killed_driver_and_its_end_is_recorded(tmp_path: Path) -> None:
    folder, go = tmp_path / "attempt", tmp_path / "go"
    with a_driver(folder, f"echo early; {WAIT.format(go=go)}echo late; exit 7") as (driver, keeper):
        wait_until(lambda: content(folder / "out") == b"early\n", "the task has begun")
        driver.kill()
        driver.wait()
        assert attempt_is_held(folder)
        assert read_exit(folder) is None
        go.touch()
        wait_until(lambda: free(folder), "the lock is let go")
        recorded = read_exit(folder)
        assert recorded is not None
        assert (recorded.code, recorded.out) == (7, 11)
        assert content(folder / "out") == b"early\nlate\n"
        wait_until(lambda: not alive(keeper), "the keeper ends with its last task")


def test_a_driver_killed_with_its_whole_group_leaves_the_task_running(tmp_path: Path) -> None:
    folder, go = tmp_path / "attempt", tmp_path / "go"
    program = "import os; os.setsid()\n" + DRIVER
    with a_driver(folder, f"echo early; {WAIT.format(go=go)}exit 0", program=program) as (driver, _):
        wait_until(lambda: content(folder / "out") == b"early\n", "the task has begun")
        os.killpg(driver.pid, signal.SIGTERM)
        driver.wait()
        go.touch()
        wait_until(lambda: free(folder), "the lock is let go")
        recorded = read_exit(folder)
        assert recorded is not None
        assert recorded.ok


def test_a_time_limit_holds_without_a_driver(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    with a_driver(folder, "echo early; setsid sleep 311.7 & sleep 311.7", "1.0") as (driver, _):
        wait_until(lambda: content(folder / "out") == b"early\n", "the task has begun")
        driver.kill()
        driver.wait()
        wait_until(lambda: free(folder), "the lock is let go")
        recorded = read_exit(folder)
        assert recorded is not None
        assert recorded.ended_by == "timeout"
        assert recorded.left_behind == 0


def test_a_killed_keeper_leaves_a_free_lock_and_no_record(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    with a_driver(folder, "echo early; sleep 312.7") as (_, keeper):
        wait_until(lambda: read_process(folder), "the task has begun")
        process = read_process(folder)
        assert process is not None
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: free(folder), "the lock is let go")
        assert read_exit(folder) is None
        assert process.alive  # which is why its marker is swept before it may start again
        assert end_process_tree(None, {process.marker}, kill_after_s=2) == 0
        assert marked(process.marker) == []


def test_driver_and_keeper_killed_leave_a_free_lock_and_no_record(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    with a_driver(folder, "echo early; sleep 313.7") as (driver, keeper):
        wait_until(lambda: read_process(folder), "the task has begun")
        driver.kill()
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: free(folder), "the lock is let go")
        assert read_exit(folder) is None


def test_a_task_whose_keeper_is_killed_does_not_hang_on_its_output(tmp_path: Path) -> None:
    folder, go = tmp_path / "attempt", tmp_path / "go"
    with a_driver(folder, f"echo early; {WAIT.format(go=go)}while echo more; do :; done") as (_, keeper):
        wait_until(lambda: read_process(folder), "the task has begun")
        process = read_process(folder)
        assert process is not None
        os.kill(keeper, signal.SIGKILL)
        go.touch()
        wait_until(lambda: not process.alive, "the task ends of its lost output")


def test_a_message_that_no_keeper_reads_holds_the_lock_until_the_keeper_is_gone(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    program = DRIVER.replace("link.start(", "os.kill(link.pid, 19); link.start(", 1)
    with a_driver(folder, "exit 0", program=program) as (driver, keeper):
        driver.kill()
        driver.wait()
        assert attempt_is_held(folder)  # it lies in the socket of the stopped keeper
        os.kill(keeper, signal.SIGCONT)
        wait_until(lambda: free(folder), "the keeper wakes, runs it, and lets go")
        recorded = read_exit(folder)
        assert recorded is not None
        assert recorded.ok


def test_a_message_in_the_socket_of_a_killed_keeper_frees_the_lock(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    program = DRIVER.replace("link.start(", "os.kill(link.pid, 19); link.start(", 1)
    with a_driver(folder, "exit 0", program=program) as (_, keeper):
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: free(folder), "the lock is let go")
        assert read_exit(folder) is None


def test_another_driver_can_end_a_task_of_a_keeper_that_is_not_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "attempt"
    with a_driver(folder, "trap '' TERM; setsid sleep 314.7 & while :; do sleep 0.05; done") as (driver, _):
        wait_until(lambda: read_process(folder), "the task has begun")
        driver.kill()
        process = read_process(folder)
        assert process is not None
        assert end_process_tree(process.process, {process.marker}, kill_after_s=0.3) == 0
        wait_until(lambda: free(folder), "its keeper records the end")
        recorded = read_exit(folder)
        assert recorded is not None
        assert recorded.signal == "SIGKILL"
        assert marked(process.marker) == []
