"""Python functions in a warm worker: results, errors, output, what a call finds and what it may leave."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onward.tasks.attempt_folder import Trace, find_call, read_exit, read_process, read_result
from onward.tasks.keeper_link import CallEnded, WorkerEnded, WorkerLink
from tasks.kept import DRIVER, Kept, a_driver, alive, content, free, keeping, receive_call, wait_until

FUNCTIONS = '''
import ctypes, json, os, signal, subprocess, sys, threading, time

def echo(**values): return values
def returns(text): return eval(text)
def fails(): raise ValueError("no")
def leaves(code=None): sys.exit(code)
def pid(): return os.getpid()
def env(*names): return {name: os.environ.get(name) for name in ("A", "B", "ONWARD_ATTEMPT_ID", "PATH")}
def real_env(): return subprocess.run(["env"], capture_output=True, text=True).stdout.splitlines()
def changes_env():
    os.environ["A"] = "changed"; os.environ.pop("PATH"); os.environ["LEFT"] = "1"; os.chdir("/")
def cwd(): return os.getcwd()
def prints():
    print("python"); os.write(1, b"descriptor\\n"); os.system("echo child"); print("error", file=sys.stderr)
    libc = ctypes.CDLL(None); libc.puts(b"c library"); libc.fflush(None)
def reopens(): os.system("echo x > /dev/stdout; echo y > /dev/stdout"); print("z", end="")
def prints_bytes(): sys.stdout.buffer.write(bytes(range(256))); sys.stdout.flush()
def prints_much(size):
    for _ in range(size // 1000): os.write(1, b"x" * 1000)
def breaks_stdout(): sys.stdout.close(); os.close(2)
def redirects(): sys.stdout = open(os.devnull, "w"); os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
def dies(how): os.kill(os.getpid(), getattr(signal, how))
def exits(code): os._exit(code)
def forks():
    if os.fork() == 0: print("child"); return "child"
    os.wait(); return "parent"
def leaves_child(seconds="60"): return subprocess.Popen(["/bin/sleep", seconds]).pid
def leaves_daemon(): os.system("setsid sh -c 'sleep 65 & exit 0' > /dev/null 2>&1")
def leaves_child_and_fails(): subprocess.Popen(["setsid", "/bin/sleep", "64"]); raise RuntimeError("after")
def leaves_thread(): threading.Thread(target=time.sleep, args=(60,)).start()
def waits(path):
    print("waiting", flush=True)
    while not os.path.exists(path): time.sleep(0.02)
    return "done"
def sleeps(): subprocess.Popen(["setsid", "/bin/sleep", "66"]); time.sleep(60)
def ignores_term(): signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)
def descriptors(): return sorted(map(int, os.listdir("/proc/self/fd")))
def childs_descriptors():
    ls = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, close_fds=False)
    return ls.stdout.split()
def loads(name): __import__(name)
class Class:
    @staticmethod
    def method(): return "method"
number = 7
'''


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    with keeping(tmp_path) as kept:
        yield kept


@pytest.fixture
def worker(kept: Kept) -> WorkerLink:
    return kept.worker()


def value(ended: CallEnded) -> Any:
    assert ended.exit.ok, ended.exit
    assert ended.exit.result is not None
    return json.loads(ended.exit.result)


# -- results


@pytest.mark.parametrize(
    "given", [{}, {"a": 1, "b": [1.5, None, True, "ü\ud800"], "c": {"d": {}}}, {"large": "x" * 200_000}]
)
def test_arguments_arrive_and_the_return_value_comes_back(kept: Kept, worker: WorkerLink, given: Any) -> None:
    ended = kept.call(worker, "functions:echo", given)
    assert ended.exit.ok
    assert json.loads(ended.exit.result or read_result(kept.place(ended.id))) == given


def test_one_process_serves_many_calls(kept: Kept, worker: WorkerLink) -> None:
    pids = {value(kept.call(worker, "functions:pid")) for _ in range(20)}
    assert len(pids) == 1


def test_a_target_may_be_an_attribute_of_a_class(kept: Kept, worker: WorkerLink) -> None:
    assert value(kept.call(worker, "functions:Class.method")) == "method"


@pytest.mark.parametrize("size", [16_000, 16_383, 16_384, 1_000_000])
def test_a_large_result_lies_in_a_file_of_the_attempt(kept: Kept, worker: WorkerLink, size: int) -> None:
    ended = kept.call(worker, "functions:returns", {"text": f"'x' * {size}"})
    assert ended.exit.ok
    large = size + 2 > 16_384
    assert ended.exit.result_file is large
    text = read_result(kept.place(ended.id)) if large else ended.exit.result
    assert json.loads(text or "") == "x" * size
    wait_until(lambda: recorded(kept, ended.id), "the call is recorded")
    found = recorded(kept, ended.id)
    assert found is not None
    assert found.result_file is large


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{1, 2}", "the return value is not JSON: it holds a set"),
        ("[b'x']", "the return value is not JSON: it holds a bytes"),
        ("__import__('decimal').Decimal(1)", "it holds a decimal.Decimal"),
        ("float('nan')", "the return value is not JSON: Out of range float values are not JSON compliant"),
        ("{(1, 2): 3}", "the return value is not JSON: keys must be str, int, float, bool or None, not tuple"),
    ],
)
def test_what_is_not_json_is_an_error_that_names_the_type(
    kept: Kept, worker: WorkerLink, text: str, words: str
) -> None:
    exit = kept.call(worker, "functions:returns", {"text": text}).exit
    assert (exit.code, exit.result) == (1, None)
    assert words in (exit.error or "")


# -- errors


def test_an_exception_is_the_error_and_its_traceback_begins_in_the_users_code(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:fails")
    assert (ended.exit.code, ended.exit.error, ended.exit.ok) == (1, "ValueError: no", False)
    trace = kept.err(ended.id).decode()
    assert trace.splitlines()[1].startswith(f'  File "{kept.folder}/functions.py"')
    assert trace.endswith("ValueError: no\n")
    assert ended.exit.err == len(trace)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("no_such_module:f", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("functions:no_such", "AttributeError: module 'functions' has no attribute 'no_such'"),
        ("functions:number", "TypeError: `functions:number` is no function but of type int"),
        ("functions", "ValueError: `functions` names no function"),
        ("broken:f", "SyntaxError"),
    ],
)
def test_a_target_that_is_no_function_says_so(kept: Kept, worker: WorkerLink, target: str, words: str) -> None:
    (kept.folder / "broken.py").write_text("def f(:\n")
    exit = kept.call(worker, target).exit
    assert exit.code == 1
    assert (exit.error or "").startswith(words)


def test_arguments_that_do_not_fit_are_the_calls_error(kept: Kept, worker: WorkerLink) -> None:
    exit = kept.call(worker, "functions:pid", {"x": 1}).exit
    assert exit.error == "TypeError: pid() got an unexpected keyword argument 'x'"


@pytest.mark.parametrize(
    ("code", "expected", "error"),
    [(None, 0, None), (0, 0, None), (3, 3, "sys.exit(3)"), (256, 0, None), ("a reason", 1, "a reason")],
)
def test_sys_exit_is_the_calls_end_and_not_the_workers(
    kept: Kept, worker: WorkerLink, code: Any, expected: int, error: str | None
) -> None:
    exit = kept.call(worker, "functions:leaves", {"code": code}).exit
    assert (exit.code, exit.error) == (expected, error)
    assert exit.result == ("null" if expected == 0 else None)
    assert value(kept.call(worker, "functions:cwd"))


def test_a_missing_working_folder_is_the_calls_error(kept: Kept, worker: WorkerLink) -> None:
    exit = kept.call(worker, "functions:cwd", cwd=Path("/no/such/folder")).exit
    assert exit.code == 1
    assert (exit.error or "").startswith("FileNotFoundError: [Errno 2]")


# -- output


def test_whatever_prints_its_output_lands_in_the_files_of_its_call(kept: Kept, worker: WorkerLink) -> None:
    first = kept.call(worker, "functions:prints")
    second = kept.call(worker, "functions:prints")
    for ended in (first, second):
        assert kept.out(ended.id) == b"python\ndescriptor\nchild\nc library\n"
        assert kept.err(ended.id) == b"error\n"
        assert (ended.exit.out, ended.exit.err) == (34, 6)


def test_a_silent_call_makes_no_folder(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:echo")
    assert (ended.exit.out, ended.exit.err) == (0, 0)
    assert not kept.place(ended.id).exists()


def test_reopening_dev_stdout_truncates_nothing(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:reopens")
    assert kept.out(ended.id) == b"x\ny\nz"


def test_bytes_that_are_no_text_are_kept_as_they_are(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:prints_bytes")
    assert kept.out(ended.id) == bytes(range(256))


def test_much_output_comes_whole_before_the_call_ends(kept: Kept, worker: WorkerLink) -> None:
    for size in (5_000_000, 1_000, 300_000):
        ended = kept.call(worker, "functions:prints_much", {"size": size})
        assert ended.exit.out == size
        assert kept.out(ended.id) == b"x" * size


def test_output_can_be_followed_while_the_call_runs(kept: Kept, worker: WorkerLink) -> None:
    id = kept.send_call(worker, "functions:waits", {"path": str(kept.folder / "go")})
    wait_until(lambda: kept.out(id) == b"waiting\n", "the line is there")
    (kept.folder / "go").touch()
    assert value(kept.call_ended(worker, id)) == "done"


@pytest.mark.parametrize("breaks", ["breaks_stdout", "redirects"])
def test_a_call_that_breaks_its_streams_does_not_break_those_of_the_next(
    kept: Kept, worker: WorkerLink, breaks: str
) -> None:
    assert kept.call(worker, f"functions:{breaks}").exit.ok
    ended = kept.call(worker, "functions:prints")
    assert kept.out(ended.id) == b"python\ndescriptor\nchild\nc library\n"
    assert kept.err(ended.id) == b"error\n"


# -- what a call finds


def test_each_call_finds_the_environment_asked_for(kept: Kept, worker: WorkerLink) -> None:
    path = os.environ["PATH"]
    first = kept.call(worker, "functions:env", env={"A": "1", "B": "2"})
    assert value(first) == {"A": "1", "B": "2", "ONWARD_ATTEMPT_ID": first.id, "PATH": path}
    second = kept.call(worker, "functions:env", env={"A": "3"}, unset=("PATH",))
    assert value(second) == {"A": "3", "B": None, "ONWARD_ATTEMPT_ID": second.id, "PATH": None}
    third = kept.call(worker, "functions:env")
    assert value(third) == {"A": None, "B": None, "ONWARD_ATTEMPT_ID": third.id, "PATH": path}


def test_programs_that_a_call_starts_find_the_same_environment(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:real_env", env={"A": "ü"})
    assert {"A=ü", f"ONWARD_ATTEMPT_ID={ended.id}"} <= set(value(ended))


def test_what_a_call_changes_in_environment_and_folder_is_put_back(kept: Kept, worker: WorkerLink) -> None:
    before = value(kept.call(worker, "functions:real_env", env={"A": "1"}))
    assert kept.call(worker, "functions:changes_env", env={"A": "2"}).exit.ok
    after = value(kept.call(worker, "functions:real_env", env={"A": "1"}))
    without_marker = [[line for line in lines if "ONWARD_ATTEMPT_ID" not in line] for lines in (before, after)]
    assert sorted(without_marker[0]) == sorted(without_marker[1])
    assert value(kept.call(worker, "functions:cwd")) == str(kept.folder)


def test_a_program_that_a_call_starts_inherits_nothing_of_the_worker(kept: Kept, worker: WorkerLink) -> None:
    assert value(kept.call(worker, "functions:childs_descriptors")) == ["0", "1", "2", "3"]


def test_modules_come_from_the_workflows_folder_first(kept: Kept, worker: WorkerLink) -> None:
    (kept.folder / "colorsys.py").write_text("def mine(): return 'mine'\n")
    (kept.folder / "keeper.py").write_text("def mine(): return 'mine'\n")
    assert value(kept.call(worker, "colorsys:mine")) == "mine"
    assert value(kept.call(worker, "keeper:mine")) == "mine"


def test_a_module_written_after_the_worker_began_is_found(kept: Kept, worker: WorkerLink) -> None:
    assert kept.call(worker, "late:f").exit.error == "ModuleNotFoundError: No module named 'late'"
    (kept.folder / "late.py").write_text("def f(): return 1\n")
    assert value(kept.call(worker, "late:f")) == 1


def test_a_module_that_was_edited_between_two_calls_is_the_edited_one(kept: Kept, worker: WorkerLink) -> None:
    (kept.folder / "uses.py").write_text("from edited import f\ndef g(): return f()\n")
    for number in (1, 2, 3):
        (kept.folder / "edited.py").write_text(f"def f(): return {number}\n")
        ended = kept.call(worker, "uses:g", env={"A": str(number)})
        assert value(ended) == number
        assert value(kept.call(worker, "functions:env"))["A"] is None
    assert list(kept.folder.glob("__pycache__")) == []


# -- what a call leaves


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_worker_that_dies_fails_the_call_it_has_and_no_other(kept: Kept, worker: WorkerLink, how: str) -> None:
    before = kept.call(worker, "functions:pid")
    ended = kept.call(worker, "functions:dies", {"how": how})
    assert (ended.exit.code, ended.exit.signal) == (None, how)
    assert ended.exit.error == f"the worker process ended ({how}) before the function returned"
    wait_until(lambda: free(kept.folder / "workers" / worker.id), "the lock is let go")
    found, earlier = recorded(kept, ended.id), recorded(kept, before.id)
    assert found is not None
    assert found.signal == how
    assert earlier is not None
    assert earlier.result == before.exit.result
    other = kept.worker()
    assert kept.call(other, "functions:pid").exit.ok


@pytest.mark.parametrize(("code", "expected"), [(0, 1), (5, 5)])
def test_leaving_by_os_exit_is_never_a_success(kept: Kept, worker: WorkerLink, code: int, expected: int) -> None:
    ended = kept.call(worker, "functions:exits", {"code": code})
    assert ended.exit.code == expected
    assert ended.exit.error == f"the worker process ended (exit code {code}) before the function returned"


def test_a_function_that_forks_and_returns_in_both_ends_once(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:forks")
    assert value(ended) == "parent"
    assert kept.out(ended.id) == b"child\n"
    assert value(kept.call(worker, "functions:echo", {"a": 1})) == {"a": 1}


@pytest.mark.parametrize("leaves", ["leaves_child", "leaves_daemon"])
def test_what_a_successful_call_leaves_running_is_left_alone_and_the_worker_retires(
    kept: Kept, worker: WorkerLink, leaves: str
) -> None:
    ended = kept.call(worker, f"functions:{leaves}")
    assert ended.exit.ok
    assert ended.exit.left_behind == 1
    assert ended.retired
    assert receive_call(worker) is None
    assert worker.lost
    kept.message(lambda message: isinstance(message, WorkerEnded) and message.id == worker.id)
    assert len(kept.strays()) == 1


def test_what_a_failed_call_leaves_running_is_swept(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:leaves_child_and_fails")
    assert (ended.exit.error, ended.exit.left_behind, ended.retired) == ("RuntimeError: after", 0, False)
    assert kept.strays() == [value(kept.call(worker, "functions:pid"))]


def test_a_thread_that_a_call_leaves_does_not_hinder_the_next(kept: Kept, worker: WorkerLink) -> None:
    assert kept.call(worker, "functions:leaves_thread").exit.ok
    assert value(kept.call(worker, "functions:echo", {"a": 1})) == {"a": 1}


# -- limits and stops


def test_a_call_that_takes_too_long_is_ended_with_all_it_started(kept: Kept, worker: WorkerLink) -> None:
    assert kept.call(worker, "functions:echo", timeout_s=30).exit.ok
    ended = kept.call(worker, "functions:sleeps", timeout_s=0.3)
    assert (ended.exit.ended_by, ended.exit.signal, ended.exit.ok) == ("timeout", "SIGTERM", False)
    assert 0.3 <= ended.exit.duration_s < 5
    assert kept.strays() == []


def test_a_call_that_ignores_term_is_killed(kept: Kept, worker: WorkerLink) -> None:
    ended = kept.call(worker, "functions:ignores_term", timeout_s=0.2, kill_after_s=0.2)
    assert (ended.exit.ended_by, ended.exit.signal) == ("timeout", "SIGKILL")


def test_a_limit_of_an_earlier_call_does_not_end_a_later_one(kept: Kept, worker: WorkerLink) -> None:
    assert kept.call(worker, "functions:echo", timeout_s=0.3).exit.ok
    id = kept.send_call(worker, "functions:waits", {"path": str(kept.folder / "go")}, timeout_s=30)
    time.sleep(0.5)
    (kept.folder / "go").touch()
    assert value(kept.call_ended(worker, id)) == "done"


def test_a_worker_can_be_stopped_in_its_call(kept: Kept, worker: WorkerLink) -> None:
    id = kept.send_call(worker, "functions:sleeps")
    wait_until(lambda: len(kept.strays()) == 2, "the call has begun")
    kept.link.stop(worker.id, reason="cancel")
    ended = kept.call_ended(worker, id)
    assert (ended.exit.ended_by, ended.exit.signal) == ("cancel", "SIGTERM")
    assert kept.strays() == []


# -- who outlives whom


def test_calls_are_recorded_in_the_workers_log(kept: Kept, worker: WorkerLink) -> None:
    calls = [kept.call(worker, "functions:echo", {"number": number}) for number in range(50)]
    for ended in calls:
        wait_until(lambda ended=ended: recorded(kept, ended.id), "the call is recorded")
        found = recorded(kept, ended.id)
        assert found is not None
        assert found.result == ended.exit.result
    assert find_call(kept.folder / "workers", "no-such-call").trace is Trace.HELD  # who knows, while the worker lives


def test_the_log_of_a_worker_stays_small_and_keeps_the_latest(kept: Kept, worker: WorkerLink) -> None:
    last = [kept.call(worker, "functions:returns", {"text": "'x' * 16000"}) for _ in range(200)][-1]
    wait_until(lambda: recorded(kept, last.id), "the call is recorded")
    folder = kept.folder / "workers" / worker.id
    assert sum(path.stat().st_size for path in folder.iterdir()) < 2_300_000


def test_a_worker_ends_with_its_driver(kept: Kept, worker: WorkerLink) -> None:
    pid = value(kept.call(worker, "functions:pid"))
    worker.close()
    wait_until(lambda: not alive(pid), "the worker ends")
    death = kept.message(lambda message: isinstance(message, WorkerEnded))
    assert (death.exit.code, death.call) == (0, None)


def test_a_worker_killed_between_calls_takes_no_call_with_it(kept: Kept, worker: WorkerLink) -> None:
    pid = value(kept.call(worker, "functions:pid"))
    os.kill(pid, signal.SIGKILL)
    death = kept.message(lambda message: isinstance(message, WorkerEnded))
    assert (death.exit.signal, death.call) == ("SIGKILL", None)
    id = kept.send_call(worker, "functions:pid")
    assert receive_call(worker) is None
    assert worker.lost
    wait_until(lambda: free(kept.folder / "workers" / worker.id), "the lock is let go")
    assert find_call(kept.folder / "workers", id).trace is Trace.LOST


def test_a_worker_does_not_outlive_its_keeper(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    kept = Kept(tmp_path)
    worker = kept.worker()
    pid = value(kept.call(worker, "functions:pid"))
    os.kill(kept.link.pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid), "the worker ends")
    kept.close()


def test_a_worker_that_cannot_be_started_is_told_of(kept: Kept) -> None:
    worker = kept.worker(path=kept.folder / "gone")
    death = kept.message(lambda message: isinstance(message, WorkerEnded) and message.id == worker.id)
    assert "its working folder" in (death.exit.error or "")
    assert receive_call(worker) is None
    assert read_exit(kept.folder / "workers" / worker.id) is not None


CALLING_DRIVER = DRIVER.split("request = ")[0] + """
request = WorkerRequest(id=id, folder=folder, path=folder.parent, env=dict(os.environ))
worker = link.worker(request, lock_attempt(folder))
worker.call(CallRequest(id=id + "1", folder=folder.parent / "attempt", target="functions:" + script,
    arguments={"path": str(folder.parent / "go")} if script == "waits" else {}, cwd=folder.parent,
    timeout_s=float(sys.argv[4]) if len(sys.argv) > 4 else None))
print(link.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.crash
def test_a_call_outlives_its_killed_driver_and_its_end_is_found(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    folder, workers = tmp_path / "workers" / "w", tmp_path / "workers"
    program = CALLING_DRIVER.replace("folder.parent", "folder.parent.parent")
    with a_driver(folder, "waits", program=program) as (driver, keeper):
        wait_until(lambda: content(tmp_path / "attempt" / "out") == b"waiting\n", "the call has begun")
        wait_until(lambda: read_process(folder), "the worker is noted")
        process = read_process(folder)
        assert process is not None
        id = process.marker + "1"
        driver.kill()
        driver.wait()
        found = find_call(workers, id)
        assert (found.trace, found.worker) == (Trace.HELD, folder)
        assert find_call(workers, "another").trace is Trace.LOST
        (tmp_path / "go").touch()
        wait_until(lambda: not alive(keeper), "worker and keeper end")
        found = find_call(workers, id)
        assert found.trace is Trace.ENDED
        assert found.exit is not None
        assert (found.exit.ok, found.exit.result) == (True, '"done"')


@pytest.mark.crash
def test_the_death_of_a_worker_is_recorded_and_its_limit_kept_without_a_driver(tmp_path: Path) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    folder, workers = tmp_path / "workers" / "w", tmp_path / "workers"
    program = CALLING_DRIVER.replace("folder.parent", "folder.parent.parent")
    with a_driver(folder, "sleeps", "1.0", program=program) as (driver, keeper):
        driver.kill()
        driver.wait()
        wait_until(lambda: not alive(keeper), "worker and keeper end")
        calls = [json.loads(line) for line in (folder / "calls.jsonl").read_text().split("\n") if line]
        assert [(call["ended_by"], call["signal"]) for call in calls] == [("timeout", "SIGTERM")]
        assert find_call(workers, calls[0]["id"]).trace is Trace.ENDED


def test_a_torn_or_broken_line_counts_as_absent(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    whole = (
        '{"id": "b", "code": 0, "signal": null, "error": null, "ended_by": null, '
        '"started": "2026-01-01T00:00:00.000000Z", "ended": "2026-01-01T00:00:01.000000Z", "duration_s": 1.0, '
        '"usage": {"user_s": 0.1, "system_s": 0.1, "max_rss_kb": 1}, "out": 0, "err": 0, "left_behind": 0, '
        '"result": [1]}'
    )
    lines = ["", '{"id": "a", "code": 0, "sig', whole, '{"id": "c", "code": 0}', '{"id": "d", ']
    (folder / "calls.jsonl").write_text("\n".join(lines))
    assert find_call(tmp_path, "b").exit is not None
    assert [find_call(tmp_path, id).trace for id in "acd"] == [Trace.LOST] * 3


def recorded(kept: Kept, id: str) -> Any:
    return find_call(kept.folder / "workers", id).exit
