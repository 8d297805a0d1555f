"""Programs under the keeper: how they end, what they print, what they find, what is left of them."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from onward.tasks.attempt_folder import attempt_is_held, lock_attempt, read_exit, read_process
from onward.tasks.keeper_link import Blocked, Exited, KeeperLost, ProgramRequest, Started
from onward.tasks.processes import Snapshot, this_boot
from tasks.kept import Kept, alive, content, free, keeping, wait_until


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path) as kept:
        yield kept


# -- ends


@pytest.mark.parametrize("code", [0, 1, 3, 77, 255])
def test_an_exit_code_is_told_and_recorded(kept: Kept, code: int) -> None:
    exit, folder = kept.run(f"exit {code}")
    assert (exit.code, exit.signal, exit.error, exit.ended_by) == (code, None, None, None)
    assert exit.ok == (code == 0)
    wait_until(lambda: free(folder), "the lock is let go")
    assert read_exit(folder) == exit._replace(
        started=pytest.approx(exit.started, abs=1e-5),
        duration_s=pytest.approx(exit.duration_s, abs=1e-5),
        usage=pytest.approx(exit.usage, abs=1e-5),
    )


@pytest.mark.parametrize("name", ["KILL", "TERM", "SEGV", "PIPE", "HUP", "INT"])
def test_a_task_that_died_by_a_signal_has_no_code_and_names_it(kept: Kept, name: str) -> None:
    exit, _ = kept.run(f"echo part; kill -{name} $$; echo rest")
    assert (exit.code, exit.signal, exit.ok) == (None, f"SIG{name}", False)


def test_a_real_time_signal_has_its_number_for_a_name(kept: Kept) -> None:
    exit, _ = kept.run(f"kill -{signal.SIGRTMIN + 3} $$")
    assert exit.signal == f"signal {signal.SIGRTMIN + 3}"


def test_a_task_killed_from_outside_has_failed(kept: Kept) -> None:
    id = kept.start("/bin/sleep", "60")
    started = kept.message(lambda message: isinstance(message, Started))
    assert started.id == id
    os.kill(started.pid, signal.SIGKILL)
    assert kept.exit(id).signal == "SIGKILL"


def test_times_and_usage_are_recorded(kept: Kept) -> None:
    before = time.time()
    exit, _ = kept.run("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.1")
    assert before - 1 < exit.started < time.time() + 1
    assert exit.duration_s >= 0.1
    assert exit.ended == exit.started + exit.duration_s
    assert 0 < exit.usage.user_s + exit.usage.system_s < exit.duration_s
    assert exit.usage.max_rss_kb > 500


@pytest.mark.parametrize(
    ("argv", "more", "words"),
    [
        (("no-such-program-here",), {}, "the program `no-such-program-here` is not found in PATH"),
        (("./gone",), {}, "`./gone` cannot be started: No such file or directory"),
        (("/",), {}, "`/` cannot be started: Permission denied"),
        (("true",), {"cwd": Path("/no/such/folder")}, "its working folder /no/such/folder cannot be entered: No such"),
        (("true",), {"stdin": Path("/no/such/file")}, "its standard input /no/such/file cannot be read: No such file"),
        (("true", "x\0y"), {}, "`true` cannot be started with these arguments and this environment: embedded"),
        (("true", "x" * 200_000), {}, "`true` cannot be started: its arguments and environment are larger than the"),
        ((), {}, "its command is empty"),
    ],
)
def test_what_cannot_be_started_ends_with_the_reason(
    kept: Kept, argv: tuple[str, ...], more: dict[str, Path], words: str
) -> None:
    id = kept.start(*argv, **more)
    exit = kept.exit(id)
    assert (exit.code, exit.signal, exit.ok) == (None, None, False)
    assert exit.error is not None
    assert words in exit.error
    wait_until(lambda: free(kept.place(id)), "the lock is let go")
    recorded = read_exit(kept.place(id))
    assert recorded is not None
    assert recorded.error == exit.error


def test_a_script_whose_interpreter_is_missing_says_so(kept: Kept) -> None:
    script = kept.folder / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o700)
    exit = kept.exit(kept.start(str(script)))
    assert exit.error == f"`{script}` cannot be started: the interpreter that its first line names does not exist"


def test_a_program_is_looked_for_in_the_path_of_its_task(kept: Kept) -> None:
    (kept.folder / "bin").mkdir()
    program = kept.folder / "bin" / "only-here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o700)
    id = kept.start("only-here", env={"PATH": "/usr/bin:bin:/bin"})
    assert kept.exit(id).code == 0
    assert kept.out(id) == b"found\n"


def test_many_tasks_side_by_side_each_keep_their_own_end_and_output(kept: Kept) -> None:
    ids = {kept.sh(f"echo {number}; exit {number % 7}"): number for number in range(60)}
    for id, number in ids.items():
        assert (kept.exit(id).code, kept.exit(id).left_behind) == (number % 7, 0)
        assert kept.out(id) == f"{number}\n".encode()


# -- output


def test_a_silent_task_leaves_no_output_files(kept: Kept) -> None:
    exit, folder = kept.run("exit 0")
    wait_until(lambda: free(folder), "the lock is let go")
    assert [path.name for path in folder.iterdir()] == ["exit.json"]
    assert (exit.out, exit.err) == (0, 0)


def test_bytes_that_are_no_text_are_kept_as_they_are(kept: Kept) -> None:
    exit, folder = kept.run(r"printf '\200\377\n'; printf 'caf\303'; printf '\251\n'; exit 3")
    assert exit.code == 3
    assert content(folder / "out") == b"\x80\xff\ncaf\xc3\xa9\n"
    assert exit.out == 9


def test_five_megabytes_on_either_stream_come_whole(kept: Kept) -> None:
    exit, folder = kept.run("head -c 5000000 /dev/zero | tr '\\0' e >&2; head -c 5000000 /dev/zero | tr '\\0' o")
    assert exit.code == 0
    assert content(folder / "err") == b"e" * 5_000_000
    assert content(folder / "out") == b"o" * 5_000_000
    assert (exit.out, exit.err) == (5_000_000, 5_000_000)


@pytest.mark.slow
def test_half_a_gigabyte_on_either_stream_costs_the_keeper_no_memory(kept: Kept) -> None:
    kept.run("exit 0")
    before = peak_memory_kb(kept.link.pid)
    exit, folder = kept.run("head -c 500000000 /dev/zero >&2 & head -c 500000000 /dev/zero; wait")
    assert (exit.code, exit.out, exit.err) == (0, 500_000_000, 500_000_000)
    assert [(folder / name).stat().st_size for name in ("out", "err")] == [500_000_000, 500_000_000]
    assert peak_memory_kb(kept.link.pid) < before + 4_000


def test_the_order_within_a_stream_is_kept_across_processes(kept: Kept) -> None:
    exit, folder = kept.run("for i in 1 2 3; do echo a$i; sh -c \"echo b$i\"; /bin/echo c$i; done")
    assert exit.code == 0
    assert content(folder / "out").split() == [f"{c}{i}".encode() for i in (1, 2, 3) for c in "abc"]


def test_reopening_dev_stdout_and_dev_stderr_truncates_nothing(kept: Kept) -> None:
    exit, folder = kept.run(
        "echo before; echo x > /dev/stdout; echo y > /dev/stdout; echo z > /proc/self/fd/1; echo after;"
        "echo e >&2; echo f > /dev/stderr; echo g > /dev/stderr"
    )
    assert exit.code == 0
    assert content(folder / "out") == b"before\nx\ny\nz\nafter\n"
    assert content(folder / "err") == b"e\nf\ng\n"


def test_output_can_be_followed_while_the_task_runs(kept: Kept) -> None:
    go = kept.folder / "go"
    id = kept.sh(f"echo one; until [ -e {go} ]; do sleep 0.02; done; echo two")
    wait_until(lambda: kept.out(id) == b"one\n", "the first line is there")
    go.touch()
    assert kept.exit(id).code == 0
    assert kept.out(id) == b"one\ntwo\n"


def test_a_grandchild_that_holds_the_pipe_does_not_hold_up_the_end(kept: Kept) -> None:
    go = kept.folder / "go"
    exit, folder = kept.run(f"(until [ -e {go} ]; do sleep 0.02; done; echo late) & echo early")
    assert exit.code == 0
    assert exit.left_behind >= 1
    assert exit.out == 6
    assert content(folder / "out") == b"early\n"
    go.touch()  # and it can still write, without dying of it
    wait_until(lambda: content(folder / "out") == b"early\nlate\n", "what it says later is kept too")


def test_a_grandchild_that_never_stops_writing_does_not_hold_up_the_end(kept: Kept) -> None:
    exit, folder = kept.run("yes & echo $! > pid")
    assert exit.code == 0
    assert exit.left_behind >= 1
    os.kill(int((kept.folder / "pid").read_text()), signal.SIGKILL)
    wait_until(lambda: free(folder), "the lock is let go")


def test_standard_input_is_the_file_byte_for_byte(kept: Kept) -> None:
    data = bytes(range(256)) * 5_000
    (kept.folder / "input").write_bytes(data)
    id = kept.start("/bin/cat", stdin=kept.folder / "input")
    assert kept.exit(id).code == 0
    assert kept.out(id) == data


def test_without_a_file_standard_input_is_at_its_end(kept: Kept) -> None:
    id = kept.start("/bin/cat")
    assert kept.exit(id).code == 0
    assert kept.out(id) == b""


# -- what a task finds


def test_a_task_has_three_descriptors_and_no_other(kept: Kept) -> None:
    with open(kept.folder / "ours", "w") as ours:
        os.set_inheritable(ours.fileno(), True)
        id = kept.start(sys.executable, "-c", "import os; print(sorted(os.listdir('/proc/self/fd'), key=int))")
        assert kept.exit(id).code == 0
    assert kept.out(id) == b"['0', '1', '2', '3']\n"  # 3 is the listing itself


def test_a_task_leads_a_session_of_its_own_with_default_signals(kept: Kept) -> None:
    id = kept.start(
        sys.executable,
        "-c",
        "import os, signal; print(os.getsid(0) == os.getpgrp() == os.getpid());"
        "print([l.split()[1] for l in open('/proc/self/status') if l.startswith('SigBlk')])",
    )
    assert kept.exit(id).code == 0
    assert kept.out(id) == b"True\n['0000000000000000']\n"
    other, folder = kept.run("grep SigIgn /proc/self/status")
    assert other.code == 0
    of_the_c_library = 0b11 << 31  # signals 32 and 33, which nobody can set
    assert int(content(folder / "out").split()[1], 16) & ~of_the_c_library == 0


def test_a_task_keeps_the_limit_of_descriptors_that_its_driver_has(kept: Kept) -> None:
    _, folder = kept.run("ulimit -n")
    here = os.popen("ulimit -n").read()
    assert content(folder / "out").decode() == here


def test_the_environment_is_the_one_asked_for_with_the_marker(kept: Kept) -> None:
    id = kept.start("/usr/bin/env", env={"A": "1", "LANG": "C", "ÜMLAUT": "ß\udcff"})
    assert kept.exit(id).code == 0
    assert sorted(kept.out(id).splitlines()) == sorted(
        [b"A=1", b"LANG=C", "ÜMLAUT=ß".encode() + b"\xff", b"ONWARD_ATTEMPT_ID=" + id.encode()]
    )


def test_an_environment_and_arguments_larger_than_a_packet_arrive(kept: Kept) -> None:
    env = {f"V{number}": "x" * 100_000 for number in range(8)}
    arguments = [str(number) * 1_000 for number in range(100, 200)]
    id = kept.start("/bin/sh", "-c", 'echo ${#V7} $#; echo "$100"', "sh", *arguments, env=env)
    assert kept.exit(id).code == 0
    assert kept.out(id).split()[:2] == [b"100000", b"100"]


def test_a_task_runs_in_its_working_folder(kept: Kept) -> None:
    there = kept.folder / "söme folder"
    there.mkdir()
    _, folder = kept.run("pwd -P", cwd=there)
    assert content(folder / "out").decode().strip() == os.path.realpath(there)


# -- limits and stops


def test_a_timeout_ends_nested_background_processes_in_sessions_of_their_own(kept: Kept) -> None:
    exit, _ = kept.run(
        "sh -c 'sleep 301.77 & setsid sleep 301.77 & sleep 301.77' & setsid setsid sleep 301.77 & sleep 301.77",
        timeout_s=0.3,
    )
    assert (exit.ended_by, exit.signal, exit.ok) == ("timeout", "SIGTERM", False)
    assert exit.left_behind == 0
    assert kept.strays() == []


def test_a_process_without_marker_is_found_by_descent(kept: Kept) -> None:
    id = kept.sh("env -i setsid sleep 302.88 & wait", timeout_s=0.3)
    assert kept.exit(id).ended_by == "timeout"
    assert [p for p in Snapshot.take().living() if b"302.88" in command_line(p.pid)] == []


def test_a_trap_of_term_runs_once_and_to_its_end(kept: Kept) -> None:
    id = kept.sh("trap 'echo t >> terms; sleep 0.3; echo clean > cleanup; exit 143' TERM; while :; do sleep 0.05; done")
    kept.message(lambda message: isinstance(message, Started))
    kept.link.stop(id)
    exit = kept.exit(id)
    assert (exit.code, exit.ended_by) == (143, "stop")
    assert (kept.folder / "terms").read_text() == "t\n"
    assert (kept.folder / "cleanup").read_text() == "clean\n"


def test_a_task_that_ignores_term_is_killed_when_its_time_is_over(kept: Kept) -> None:
    id = kept.sh("trap '' TERM; sleep 60 & while :; do sleep 0.05; done", kill_after_s=0.3, timeout_s=0.2)
    exit = kept.exit(id)
    assert (exit.signal, exit.ended_by) == ("SIGKILL", "timeout")
    assert exit.duration_s < 5
    assert kept.strays() == []


def test_a_second_stop_can_shorten_the_time_that_is_left(kept: Kept) -> None:
    id = kept.sh("trap '' TERM; while :; do sleep 0.05; done")
    kept.message(lambda message: isinstance(message, Started))
    kept.link.stop(id, reason="pause", kill_after_s=600)
    kept.link.stop(id, reason="cancel", kill_after_s=0)
    exit = kept.exit(id)
    assert (exit.signal, exit.ended_by) == ("SIGKILL", "pause")


def test_a_stopped_task_can_be_ended(kept: Kept) -> None:
    id = kept.sh("kill -STOP $$")
    kept.message(lambda message: isinstance(message, Started))
    kept.link.stop(id)
    assert kept.exit(id).signal == "SIGTERM"


def test_a_task_that_says_nothing_for_too_long_is_ended_and_one_that_speaks_is_not(kept: Kept) -> None:
    silent = kept.sh("echo once; sleep 60", idle_s=0.3)
    talking = kept.sh("for i in 1 2 3 4 5 6 7 8; do sleep 0.1; echo $i >&2; done", idle_s=0.5)
    assert kept.exit(silent).ended_by == "idle"
    assert kept.exit(talking).ok


def test_what_a_failed_task_leaves_running_is_swept(kept: Kept) -> None:
    exit, _ = kept.run("setsid sleep 303.99 & sleep 303.99 & exit 4")
    assert (exit.code, exit.ended_by, exit.left_behind) == (4, None, 0)
    assert kept.strays() == []


def test_what_a_successful_task_leaves_running_is_left_alone_and_counted(kept: Kept) -> None:
    exit, _ = kept.run("sleep 304.11 > /dev/null 2>&1 & exit 0")
    assert exit.ok
    assert exit.left_behind == 1
    assert len(kept.strays()) == 1


def test_stopping_what_has_ended_or_never_was_changes_nothing(kept: Kept) -> None:
    id = kept.sh("exit 0")
    assert kept.exit(id).ok
    kept.link.stop(id)
    kept.link.stop("nobody")
    assert kept.run("exit 5")[0].code == 5


# -- locks and records


def test_the_lock_is_held_as_long_as_the_task_runs_and_not_by_the_task(kept: Kept) -> None:
    go = kept.folder / "go"
    id = kept.sh(f"until [ -e {go} ]; do sleep 0.02; done")
    folder = kept.place(id)
    assert attempt_is_held(folder)
    with pytest.raises(BlockingIOError):
        lock_attempt(folder)
    assert read_exit(folder) is None
    go.touch()
    assert kept.exit(id).ok
    wait_until(lambda: free(folder), "the lock is let go")
    assert read_exit(folder) is not None


def test_what_runs_for_a_moment_has_a_record_of_its_process(kept: Kept) -> None:
    id = kept.start("/bin/sleep", "305.22")
    started = kept.message(lambda message: isinstance(message, Started))
    wait_until(lambda: read_process(kept.place(id)), "the record is there")
    process = read_process(kept.place(id))
    assert process is not None
    assert (process.pid, process.boot_id, process.marker) == (started.pid, this_boot(), id)
    assert process.alive
    kept.link.stop(id)
    assert kept.exit(id).signal == "SIGTERM"
    assert not process.alive


def test_a_run_folder_that_is_removed_under_a_task_does_not_hurt_the_keeper(kept: Kept) -> None:
    go = kept.folder / "go"
    id = kept.sh(f"until [ -e {go} ]; do sleep 0.02; done; echo into the void; echo more >&2; exit 6")
    kept.message(lambda message: isinstance(message, Started))
    wait_until(lambda: (kept.place(id) / "process").exists(), "the process is noted")
    (kept.place(id) / "process").unlink()
    kept.place(id).rmdir()
    go.touch()
    assert kept.exit(id).code == 6
    assert not kept.place(id).exists()


def test_on_a_full_disk_the_task_waits_and_nothing_is_lost(kept: Kept) -> None:
    import resource

    # A file size limit is to the keeper what a full disk is: it can be lifted again.
    _, hard = resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (100_000, hard))
    id = kept.start("/bin/sh", "-c", "ulimit -f unlimited; head -c 400000 /dev/zero | tr '\\0' x; echo end")
    blocked = kept.message(lambda message: isinstance(message, Blocked))
    assert blocked.id == id
    assert "large" in blocked.error
    assert attempt_is_held(kept.place(id))
    assert read_exit(kept.place(id)) is None
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (hard, hard))
    assert kept.exit(id).ok
    assert kept.out(id) == b"x" * 400_000 + b"end\n"


def test_an_end_that_cannot_be_recorded_is_recorded_later_and_the_lock_kept_until_then(kept: Kept) -> None:
    import resource

    _, hard = resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (10, hard))
    id = kept.sh("exit 0")
    assert kept.message(lambda message: isinstance(message, Blocked)).id == id
    assert attempt_is_held(kept.place(id))
    assert list(kept.place(id).iterdir()) == []
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (hard, hard))
    wait_until(lambda: free(kept.place(id)), "the lock is let go")
    recorded = read_exit(kept.place(id))
    assert recorded is not None
    assert recorded.ok


# -- the keeper itself


def test_the_keeper_uses_no_time_while_nothing_happens(kept: Kept) -> None:
    kept.start("/bin/sleep", "306.33", timeout_s=1000)
    kept.message(lambda message: isinstance(message, Started))
    time.sleep(0.2)
    before = switches(kept.link.pid)
    time.sleep(1.0)
    assert switches(kept.link.pid) - before <= 1


def test_signals_meant_for_the_driver_do_not_end_the_keeper(kept: Kept) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGUSR1):
        os.kill(kept.link.pid, number)
    assert kept.run("exit 9")[0].code == 9
    assert os.getsid(kept.link.pid) == kept.link.pid


def test_the_keeper_holds_nothing_of_its_drivers_nor_of_tasks_that_ended(kept: Kept) -> None:
    for _ in range(5):
        kept.run("echo out; echo err >&2; exit 3")
    own = {"/dev/null", "socket", "anon_inode", str(kept.log)}
    wait_until(lambda: len(open_files(kept.link.pid)) == 11, "no more than at the start is open")
    assert {name.split(":")[0] for name in open_files(kept.link.pid)} <= own
    assert os.readlink(f"/proc/{kept.link.pid}/cwd") == "/"


def test_orphans_of_tasks_are_buried_by_the_keeper(kept: Kept) -> None:
    assert kept.run("(sleep 0.05 > /dev/null 2>&1 &) ; exit 0")[0].ok
    time.sleep(0.2)
    assert kept.run("exit 0")[0].ok
    kept.run("exit 0")
    zombies = [p for p in Snapshot.take().processes.values() if p.parent == kept.link.pid and not p.living]
    assert zombies == []


def test_a_keeper_that_was_killed_is_noticed_and_its_locks_are_free(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    id = kept.start("/bin/sleep", "307.44")
    kept.message(lambda message: isinstance(message, Started))
    os.kill(kept.link.pid, signal.SIGKILL)
    wait_until(lambda: kept.link.receive() == [] and kept.link.lost, "the loss is noticed")
    assert free(kept.place(id))
    assert read_exit(kept.place(id)) is None
    assert len(kept.strays()) == 1  # the driver sweeps it by its marker before it starts anything again
    other = kept.folder / "other"
    other.mkdir()
    with pytest.raises(KeeperLost, match="does not answer"):
        kept.link.start(
            ProgramRequest(id="x", folder=other, argv=("true",), env={}, cwd=other, marker="x"), lock_attempt(other)
        )
    assert free(other)
    kept.close()


def test_a_driver_that_does_not_listen_does_not_stop_the_keeper(kept: Kept) -> None:
    ids = [kept.sh("exit 0") for _ in range(300)]
    large = kept.start("/bin/sh", "-c", "exit 3")
    wait_until(lambda: all(free(kept.place(id)) for id in (*ids, large)), "all end while nobody reads")
    assert kept.exit(large).code == 3
    assert len([message for message in kept.seen if isinstance(message, Exited)]) == 301
    assert alive(kept.link.pid)


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def peak_memory_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


def switches(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("voluntary_ctxt")).split()[1])


def open_files(pid: int) -> list[str]:
    try:
        return [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    except FileNotFoundError:  # closed while we looked
        return open_files(pid)
