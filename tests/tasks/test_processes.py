"""Facts about processes: who lives, who descends from whom, who carries a marker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from uuid import uuid4

import pytest

from onward.tasks.ending import Ending, end_process_tree
from onward.tasks.light_clock import monotonic
from onward.tasks.processes import (
    Host,
    Process,
    Snapshot,
    alive,
    descendants,
    host,
    look,
    marked,
    open_pidfd,
    send,
    start_time,
    this_boot,
)
from tasks.kept import wait_until

FOR_EVER = "while :; do sleep 0.05; done"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/sleep", "60"])
    yield process
    process.kill()
    process.wait()


def test_a_process_is_known_by_its_id_and_start_time(sleeper: subprocess.Popen[bytes]) -> None:
    started = start_time(sleeper.pid)
    assert started is not None
    assert alive(sleeper.pid, started)
    assert alive(sleeper.pid, started, this_boot())
    assert not alive(sleeper.pid, started + 1)
    assert not alive(sleeper.pid, started, "another boot")


def test_a_zombie_is_dead(sleeper: subprocess.Popen[bytes]) -> None:
    started = start_time(sleeper.pid)
    assert started is not None
    sleeper.send_signal(signal.SIGKILL)
    wait_until(lambda: not alive(sleeper.pid, started), "it dies")
    zombie = look(sleeper.pid)
    assert zombie is not None
    assert not zombie.living
    assert sleeper.pid not in [process.pid for process in Snapshot.take().living()]


def test_what_never_was_is_nothing() -> None:
    assert look(2**22 + 1) is None
    assert start_time(2**22 + 1) is None
    assert open_pidfd(2**22 + 1, 1) is None
    assert not send(Process(2**22 + 1, 1), signal.SIGKILL)


def test_a_name_with_spaces_and_brackets_is_read(tmp_path) -> None:
    program = tmp_path / "a) (b 1"
    program.symlink_to("/bin/sleep")
    process = subprocess.Popen([program, "60"])
    try:
        found = look(process.pid)
        assert found is not None
        assert (found.parent, found.group, found.session) == (os.getpid(), os.getpgrp(), os.getsid(0))
    finally:
        process.kill()
        process.wait()


def test_a_signal_never_reaches_a_stranger_that_got_the_id(sleeper: subprocess.Popen[bytes]) -> None:
    started = start_time(sleeper.pid)
    assert started is not None
    assert open_pidfd(sleeper.pid, started - 1) is None
    assert not send(Process(sleeper.pid, started - 1), signal.SIGKILL)
    assert sleeper.poll() is None
    descriptor = open_pidfd(sleeper.pid, started)
    assert descriptor is not None
    os.close(descriptor)
    assert send(Process(sleeper.pid, started), signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL


def test_descendants_are_found_at_any_depth() -> None:
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "sh -c 'sleep 60 & echo; wait' & wait"], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert shell.stdout is not None
        shell.stdout.readline()
        below = descendants(shell.pid)
        assert len(below) == 2
        assert {process.group for process in below} == {shell.pid}
        assert below[0].parent == shell.pid
        assert below[1].parent == below[0].pid
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.communicate()


def test_the_marker_finds_processes_in_sessions_of_their_own() -> None:
    marker = uuid4().hex
    environment = {**os.environ, "ONWARD_ATTEMPT_ID": marker}
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "setsid sleep 61 & setsid setsid sleep 62 & wait"], env=environment, start_new_session=True
    )
    try:
        wait_until(lambda: len(marked(marker)) == 3, "all three have begun")
        assert marked(marker[:-1]) == []
        assert marked("other", marker) == marked(marker)
    finally:
        process = look(shell.pid)
        assert process is not None
        assert end_process_tree(process, {marker}, kill_after_s=2) == 0
        shell.wait()
    assert marked(marker) == []


def test_a_tree_is_ended_though_it_ignores_term() -> None:
    marker = uuid4().hex
    shell = subprocess.Popen(
        ["/bin/sh", "-c", f"trap '' TERM; setsid sh -c '{FOR_EVER}' & echo; {FOR_EVER}"],
        env={**os.environ, "ONWARD_ATTEMPT_ID": marker},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert shell.stdout is not None
    shell.stdout.readline()
    assert end_process_tree(look(shell.pid), {marker}, kill_after_s=0.2) == 0
    assert shell.wait() == -signal.SIGKILL
    shell.stdout.close()
    assert marked(marker) == []


def test_a_process_that_was_replaced_is_not_taken_for_the_tree(sleeper: subprocess.Popen[bytes]) -> None:
    started = start_time(sleeper.pid)
    assert started is not None
    assert end_process_tree(Process(sleeper.pid, started - 1), set(), kill_after_s=0) == 0
    assert sleeper.poll() is None


def test_those_to_be_spared_are_spared() -> None:
    child = "import subprocess, sys; subprocess.Popen(['/bin/sleep', '63']); print(flush=True); sys.stdin.read()"
    parent = subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    parent.stdout.readline()
    ending = Ending(
        root=parent.pid, group=None, markers=set(), kill_after_s=2, now=monotonic(), spare={parent.pid}
    )
    wait_until(lambda: ending.step(monotonic(), Snapshot.take()) is None, "the child ends")
    assert ending.survivors == 0
    assert parent.poll() is None
    parent.communicate(b"")
    assert parent.returncode == 0


def test_a_host_is_where_process_ids_mean_the_same() -> None:
    here = host()
    assert here == Host("renamed", here.boot_id, here.pid_namespace)
    assert here != Host(here.name, "another boot", here.pid_namespace)
    assert here != Host(here.name, here.boot_id, "pid:[1]")
