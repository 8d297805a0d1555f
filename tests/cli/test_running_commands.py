"""`run`, `resume`, `cancel`: what is said while a run goes on, its summary, and how the commands end."""

import json
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pexpect
import pytest

from stories.project import Project, Said

Keys = Sequence[tuple[str, str]]

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """An empty folder; whatever a test leaves running in it is ended."""
    found = Project(tmp_path)
    yield found
    found.finish()


MIXED = """
    task:
      - one: {title: The first, run: 'echo hello'}
      - maybe: {skip-if: {file-missing: nothing}, run: 'true'}
      - group:
          parallel:
            good: {run: 'echo fine'}
            bad: {run: 'echo so; for i in $(seq 20); do echo "line $i" >&2; done; exit 3', retry: {attempts: 2}}
      - last: {run: 'true'}
"""


def plain(text: str) -> str:
    return re.sub(r"\b\d+\.\ds\b", "0.0s", text)


def in_terminal(project: Project, *words: str, keys: Keys = (), **env: str) -> tuple[str, int]:
    """What a terminal was told, and the exit code. `keys`: what to wait for, and what to type then."""
    child = pexpect.spawn(
        sys.executable,
        ["-m", "onward", *words],
        cwd=str(project.root),
        env={"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | env,
        encoding="utf-8",
        dimensions=(24, 100),
        timeout=30,
    )
    said = ""
    try:
        for wait_for, key in keys:
            child.expect(wait_for)
            said += child.before + child.after
            child.send(key)
        child.expect(pexpect.EOF)
        said += child.before
        child.wait()
    finally:
        child.close(force=True)
    return said, child.exitstatus


# ---------------------------------------------------------------- run, plainly


def test_a_run_that_fails_in_plain_words(project: Project) -> None:
    project.workflow(MIXED)
    said = project.onward("run", "w.yaml", "--id", "r", "--limit", "1").check(1)
    assert said.out == ""
    assert re.sub("maybe: skipped: .*", "maybe: skipped", plain(said.err)) == (
        "run r started; see it with: onward status r\n"
        "one (The first): started\n"
        "one: done (0.0s)\n"
        "maybe: skipped\n"
        "group/good: started\n"
        "group/good: done (0.0s)\n"
        "group/bad: started\n"
        "group/bad: attempt 1 failed: exit code 3\n"
        "group/bad: started again, attempt 2\n"
        "group/bad: failed: exit code 3\n"
        "group: failed: `bad` failed: exit code 3\n"
        "failed after 0.0s: `group` failed (3 of 5 tasks done)\n"
        "group/bad failed: exit code 3\n"
        "last output of group/bad:\n"
        "  | so\n" + "".join(f"  ! line {n}\n" for n in range(11, 21)) + "go on with: onward resume r\n"
    )


def test_a_run_that_succeeds_in_plain_words(project: Project) -> None:
    project.workflow("task: [{one: {run: 'true'}}, {red: {run: 'false', on-failure: continue}}]")
    said = project.onward("run", "w.yaml", "--id", "r").check(0)
    assert plain(said.err).splitlines()[-1] == "succeeded in 0.0s: 2 tasks (1 failed and passed over)"
    assert "go on with" not in said.err


def test_quiet_says_only_what_went_wrong(project: Project) -> None:
    project.workflow("task: [{one: {run: 'true'}}]")
    assert project.onward("run", "w.yaml", "-q").check(0).err == ""
    project.workflow("task: [{one: {run: 'exit 3'}}]")
    assert plain(project.onward("run", "w.yaml", "-q", "--id", "r").check(1).err) == (
        "failed after 0.0s: `one` failed: exit code 3 (0 of 1 task done)\ngo on with: onward resume r\n"
    )


def test_the_end_as_data(project: Project) -> None:
    project.workflow("task: [{one: {run: 'exit 3'}}]")
    said = project.onward("run", "w.yaml", "--id", "r", "--json").check(1)
    assert json.loads(said.out) == {
        "schema": 1,
        "run": "r",
        "status": "failed",
        "reason": "`one` failed: exit code 3",
        "exit_code": 1,
    }


def test_another_store_is_part_of_every_command_that_is_printed(project: Project) -> None:
    project.workflow("task: [{one: {run: 'exit 3'}}]")
    said = project.onward("run", "w.yaml", "--id", "r", "--store", "elsewhere").check(1)
    store = project.root / "elsewhere"
    assert f"onward status r --store {store}" in said.err
    assert f"go on with: onward resume r --store {store}" in said.err
    assert f"onward status r --store {store}" in project.onward("resume", "r", "--store", "elsewhere").check(1).err


def test_mistakes_of_the_file_are_told_on_stderr_with_their_places(project: Project) -> None:
    project.workflow("task:\n  - one: {runn: x}\n")
    said = project.onward("run", "w.yaml").check(2)
    assert "w.yaml:2:" in said.err
    assert said.out == ""
    assert not (project.root / ".onward").exists()


def test_a_variable_without_a_value_is_told_with_the_option_that_gives_it(project: Project) -> None:
    project.workflow("variables: {day: {required: true}}\ntask: [{one: {run: 'true'}}]")
    assert "--var day=" in project.onward("run", "w.yaml").check(2).err


def test_a_dry_run_shows_the_plan_and_does_nothing(project: Project) -> None:
    project.workflow(MIXED)
    said = project.onward("run", "w.yaml", "--dry-run").check(0)
    assert said.out == (
        "  · one  The first\n  · maybe\n  · group  0 of 2\n    · good\n    · bad\n  · last\n"
    )
    assert not (project.root / ".onward").exists()
    data = json.loads(project.onward("run", "w.yaml", "--dry-run", "--json").check(0).out)
    assert [node["path"] for node in data["nodes"]] == ["one", "maybe", "group", "group/good", "group/bad", "last"]


# ---------------------------------------------------------------- detached


def test_a_detached_run_prints_its_id_and_goes_on(project: Project) -> None:
    project.workflow("task: [{one: {run: 'touch began; until [ -e go ]; do sleep 0.05; done'}}]")
    said = project.onward("run", "w.yaml", "--detach").check(0)
    run = said.out.strip()
    project.wait_for_file("began")
    assert project.status(run)["status"] == "running"
    project.touch("go")
    project.wait("it has ended", lambda: project.status(run)["status"] == "succeeded")
    log = project.root / ".onward" / "runs" / run / "driver.log"
    project.wait("the log is complete", lambda: "succeeded in" in log.read_text("utf-8"))
    assert "\x1b" not in log.read_text("utf-8")


def test_a_detached_run_that_cannot_start_says_why(project: Project) -> None:
    project.workflow("task: [{one: {runn: x}}]")
    said = project.onward("run", "w.yaml", "--detach").check(2)
    assert "w.yaml:1:" in said.err
    assert said.out == ""


def test_a_detached_resume_goes_on(project: Project) -> None:
    project.workflow("task: [{one: {run: 'test -e ok'}}]")
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.touch("ok")
    assert json.loads(project.onward("resume", "--detach", "--json").check(0).out) == {"schema": 1, "run": "r"}
    project.wait("it has ended", lambda: project.status("r")["status"] == "succeeded")


def test_resuming_a_finished_run_detached_says_that_there_is_nothing_to_do(project: Project) -> None:
    project.workflow("task: [{one: {run: 'true'}}]")
    project.onward("run", "w.yaml", "--id", "r").check(0)
    assert "nothing to do" in project.onward("resume", "--detach").check(0).err


# ---------------------------------------------------------------- resume and cancel


def test_a_resume_says_that_it_goes_on_and_does_the_rest(project: Project) -> None:
    project.workflow("task: [{one: {run: 'echo one >> ledger.txt'}}, {two: {run: 'test -e ok'}}]")
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.touch("ok")
    said = project.onward("resume").check(0)
    assert "run r goes on (resume 1); see it with: onward status r\n" in said.err
    assert project.ledger == ["one"]


def test_a_driven_run_is_cancelled_from_another_shell(project: Project) -> None:
    project.workflow("""
        task: [{one: {run: 'touch began; sleep 30'}}, {two: {run: 'echo two >> ledger.txt'}}]
        finally: [{clean: {run: 'echo clean >> ledger.txt'}}]
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.onward("cancel", "r", "--reason", "enough").check(0)
    assert driver.wait(30) == 130
    assert project.ledger == ["clean"]
    assert (project.status("r")["status"], project.status("r")["reason"]) == ("cancelled", "enough")


def test_a_run_that_nobody_drives_is_cancelled_with_its_final_steps(project: Project) -> None:
    project.workflow("""
        task: [{one: {run: 'touch began; sleep 30'}}, {two: {run: 'echo two >> ledger.txt'}}]
        finally: [{clean: {run: 'echo clean >> ledger.txt'}}]
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.kill_all(driver)
    data = json.loads(project.onward("cancel", "--json").check(0).out)
    assert data == {"schema": 1, "run": "r", "ended": True}
    assert project.ledger == ["clean"]
    assert project.status("r")["status"] == "cancelled"


def test_a_run_that_has_ended_cannot_be_cancelled(project: Project) -> None:
    project.workflow("task: [{one: {run: 'true'}}]")
    project.onward("run", "w.yaml", "--id", "r").check(0)
    assert "has ended already: succeeded" in project.onward("cancel").check(2).err


# ---------------------------------------------------------------- text of others

BYTES = r"""
    task:
      - raw: {run: "printf '\\200\\377\\n'; printf 'caf\\303'; sleep 0.3; printf '\\251\\n'; exit 3"}
        ok: {run: "sleep 0.4; echo ok >> ledger.txt"}
"""


@pytest.mark.parametrize("locale", ["C", "C.UTF-8", "POSIX"])
def test_output_that_is_no_text_hides_no_failure(project: Project, locale: str) -> None:
    project.workflow(BYTES)
    said = project.onward("run", "w.yaml", "--id", "r", LC_ALL=locale).check(1)
    assert "`raw` failed: exit code 3" in said.err
    assert "ok: done" in said.err
    assert project.ledger == ["ok"]
    stored = next((project.root / ".onward/runs/r/tasks/raw").rglob("out")).read_bytes()
    assert stored == bytes.fromhex("80ff0a636166c3a90a")
    assert project.onward("logs", "raw", LC_ALL=locale).check(0).out == "\ufffd\ufffd\ncafé\n"
    nodes = {node["path"]: node for node in project.status()["nodes"]}
    assert (nodes["raw"]["status"], nodes["raw"]["exit"], nodes["ok"]["status"]) == ("failed", 3, "succeeded")
    (project.root / ".onward/runs/r/journal.jsonl").read_text("utf-8")


EVIL = r"""
    name: evil
    title: "\e]0;new title\a<i>markup</i>"
    task:
      - print:
          title: "\e[2J</script>"
          run: "sleep 1; printf '\\033[31mred\\033[0m\\033]0;new title\\007\\n10%%\\r20%%\\rdone\\n'; exit 1"
"""


def test_nothing_that_others_wrote_acts_on_a_terminal(project: Project) -> None:
    project.workflow(EVIL)
    for words in (["run", "w.yaml"], ["resume", "--yes"]):
        said = in_terminal(project, *words)[0]
        assert "\x1b]" not in said
        assert "\x07" not in said
        assert "\x1b[2J" not in said
        assert "\\x1b[2J</script>" in said
        assert "| 10%" in said
        assert "| 20%" in said


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("words", [["run", "w.yaml"], ["resume"], ["run", "w.yaml", "--dry-run"]], ids=" ".join)
def test_plain_output_has_no_control_character(project: Project, words: list[str], environment: dict[str, str]) -> None:
    project.workflow(EVIL)
    project.onward("run", "w.yaml")
    said: Said = project.onward(*words, **environment)
    assert not CONTROL.search(said.out + said.err)
    assert "Traceback" not in said.err


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_that_is_not_to_be_drawn_on_gets_plain_lines(project: Project, environment: dict[str, str]) -> None:
    project.workflow("task: [{one: {run: 'true'}}]")
    said, code = in_terminal(project, "run", "w.yaml", **environment)
    assert code == 0
    assert "\x1b" not in said
    assert "one: done" in said


# ---------------------------------------------------------------- on a terminal


def test_a_terminal_sees_the_tree_and_is_left_in_order(project: Project) -> None:
    project.workflow("""
        task:
          - first: {run: 'true'}
          - group:
              title: Side by side
              parallel:
                a: {run: 'sleep 1'}
                b: {run: 'true'}
    """)
    said, code = in_terminal(project, "run", "w.yaml")
    assert code == 0
    shown = re.sub("\x1b\\[[0-9;]*m", "", said)
    assert "first: done" in shown
    assert "group  Side by side  1 of 2" in shown
    assert "2 of 3 tasks  66%" in shown
    assert "succeeded in" in shown
    assert shown.count("\x1b[?25l") == shown.count("\x1b[?25h") == 1


def test_ctrl_c_pauses_says_how_to_go_on_and_leaves_the_terminal_in_order(project: Project) -> None:
    project.workflow("""
        grace: 5s
        task: [{one: {run: 'touch began; sleep 1.5; echo one >> ledger.txt'}}, {two: {run: 'echo two >> ledger.txt'}}]
    """)
    said, code = in_terminal(project, "run", "w.yaml", "--id", "r", keys=[("one  [0-9]", "\x03")])
    assert code == 3
    assert "go on with: onward resume r" in said
    assert said.count("\x1b[?25h") == 1
    assert project.ledger == ["one"]
    project.onward("resume").check(0)
    assert project.ledger == ["one", "two"]


def test_a_mistake_of_the_file_is_told_on_a_terminal_too(project: Project) -> None:
    project.workflow("task: [{one: {runn: x}}]")
    said, code = in_terminal(project, "run", "w.yaml")
    assert code == 2
    assert "w.yaml:1:" in said


def test_a_driver_that_loses_its_terminal_pauses_as_by_a_shutdown(project: Project) -> None:
    project.workflow("grace: 6s\ntask: [{one: {run: 'touch began; sleep 30'}}]")
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    driver.send_signal(signal.SIGHUP)
    assert driver.wait(30) == 3
    assert project.status("r")["status"] == "paused"
    assert "(shutdown)" in project.status("r")["reason"]


def test_a_hostile_file_with_a_mistake_does_not_act_on_the_terminal(project: Project) -> None:
    project.write("w.yaml", 'task:\n  - one: {run: "true", "\\e]0;new title\\a": x}\n')
    for words in (["run", "w.yaml"], ["check", "w.yaml"], ["run", "w.yaml", "--detach"]):
        said = in_terminal(project, *words)[0]
        assert "\x1b]" not in said
        assert "new title" in said


@pytest.mark.parametrize("work", ["{run: 'touch began; until [ -e go ]; do sleep 0.05; done'}", "{call: 'work:wait'}"])
def test_status_tells_what_becomes_of_a_task_whose_driver_was_killed(project: Project, work: str) -> None:
    project.write("work.py", """
        import pathlib, time

        def wait():
            pathlib.Path("began").touch()
            while not pathlib.Path("go").exists():
                time.sleep(0.05)
    """)
    project.workflow(f"task: [{{one: {work}}}]")
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.kill_driver(driver)
    status = project.status()
    assert status["status"] == "interrupted"
    assert status["nodes"][0]["status"] == "running"
    assert status["findings"][0]["kind"] == "still-running"
    project.touch("go")
    project.wait("it has ended", lambda: project.status()["findings"][0]["kind"] == "ended-meanwhile")
    project.onward("resume").check(0)
    assert project.status()["nodes"][0]["attempts"] == 1
