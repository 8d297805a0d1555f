"""Pods: onward as process 1 of a PID namespace, deleted with TERM, a grace and KILL, and followed by another one.

A namespace of its own behaves as a container does where it matters: process 1 gets the orphans and only the signals
that it handles, and when it ends the kernel kills all the rest. The folder of the test is the volume.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stories.project import Project

ROOT = Path(__file__).parents[2]
ONWARD = Path(sys.executable).with_name("onward")
START = ("run", "w.yaml", "--id", "r1")
TAKE_UP = ("resume", "--all", "--reason", "shutdown")
BOUND_S = 60.0

NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["-Ur"]), "-pf", "--mount-proc", "--kill-child"]


def _allowed() -> str:
    """Why namespaces cannot be made here; empty where they can."""
    if shutil.which("unshare") is None:
        return "there is no `unshare`"
    done = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, timeout=30, check=False)
    return "" if done.returncode == 0 else f"no PID namespace may be made here: {done.stderr.strip()}"


NOT_ALLOWED = _allowed()
pytestmark = pytest.mark.skipif(bool(NOT_ALLOWED), reason=NOT_ALLOWED)


class Pod:
    """A command as process 1 of a namespace."""

    def __init__(self, project: Project, *command: str, **env: str) -> None:
        environment = project.environment | {
            "ONWARD_STORE": str(project.root / "store"),
            "ONWARD_RUN": "r1",
            "ONWARD_PROGRAM": str(ONWARD),
            "ONWARD_POD_LOOK_EVERY": "0.2",
        }
        self.outer = subprocess.Popen(
            [*NAMESPACE, *command],
            cwd=project.root,
            env=environment | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        project.started.append(self.outer)

    @property
    def first(self) -> int:
        """Process 1, as it is called out here."""
        end = time.monotonic() + BOUND_S
        while time.monotonic() < end and self.outer.poll() is None:
            children = Path(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children").read_text().split()
            if children:
                return int(children[0])
            time.sleep(0.005)
        return 0

    def send(self, number: int) -> None:
        first = self.first
        if first:
            try:
                os.kill(first, number)
            except ProcessLookupError:
                return

    def delete(self, grace_s: float = 30.0) -> int:
        """As a kubelet does: TERM, the grace, KILL. Returns the exit code (137 after a KILL)."""
        self.send(signal.SIGTERM)
        try:
            return self.outer.wait(grace_s)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """As the kernel does when there is no memory."""
        self.send(signal.SIGKILL)
        self.outer.wait(BOUND_S)
        return 137

    def wait(self, within_s: float = BOUND_S) -> int:
        return self.outer.wait(within_s)

    def said(self) -> str:
        assert self.outer.stdout is not None
        return self.outer.stdout.read()


@pytest.fixture
def volume(project: Project) -> Project:
    """A project whose commands outside find the store of the pods."""
    project.environment["ONWARD_STORE"] = str(project.root / "store")
    return project


def journal(project: Project) -> list[dict[str, Any]]:
    path = project.root / "store" / "runs" / "r1" / "journal.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def run_is_there(project: Project) -> bool:
    return (project.root / "store" / "runs" / "r1").is_dir()


HOLD = """
    grace: 1s
    task:
      - first: {run: echo first >> ledger.txt}
      - hold: {run: "echo hold >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done"}
      - after: {run: echo after >> ledger.txt}
"""


# ---------------------------------------------------------------- process 1


def test_orphans_do_not_stay_as_zombies(volume: Project) -> None:
    """Those of tasks go to the keeper, all others (of commands that are run in the pod) to process 1."""
    volume.workflow(
        """
        task:
          - leave: {run: "for i in 1 2 3; do (setsid sh -c 'sleep 0.1' </dev/null >/dev/null 2>&1 &); done; sleep 0.5"}
          - next: {run: "true"}
          - look: {run: "cat /proc/[0-9]*/stat | awk '$3 == \\"Z\\"' | wc -l > zombies.txt"}
          - hold: {run: "touch began; until [ -e go ]; do sleep 0.05; done"}
        """
    )
    pod = Pod(volume, str(ONWARD), *START)
    volume.wait_for_file("began")
    assert volume.read("zombies.txt").strip() == "0"
    inside = ["nsenter", "--target", str(pod.first), "--pid", "--mount", *([] if os.geteuid() == 0 else ["--user"])]
    orphan = f"(setsid sh -c 'sleep 0.2; echo $PPID > {volume.root}/parent; exit 3' </dev/null >/dev/null 2>&1 &)"
    subprocess.run([*inside, "sh", "-c", orphan], timeout=30, check=True)
    volume.wait_for_file("parent")
    volume.wait("nothing is left of it", lambda: len(_children(pod.first)) == 1)
    volume.touch("go")
    assert pod.wait() == 0, pod.said()


def _children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_process_1_ends_with_the_code_of_the_command(volume: Project) -> None:
    assert Pod(volume, str(ONWARD), "--version").wait() == 0
    assert Pod(volume, str(ONWARD), "run", "nowhere.yaml").wait() == 2
    volume.workflow("task:\n  - bad: {run: exit 3}\n")
    assert Pod(volume, str(ONWARD), *START).wait() == 1


def test_a_deleted_pod_pauses_its_run_within_the_grace_and_the_next_one_goes_on(volume: Project) -> None:
    volume.workflow(HOLD)
    pod = Pod(volume, str(ONWARD), *START)
    volume.wait_for_file("began")
    assert pod.delete() == 3
    status = volume.status()
    assert (status["status"], status["driver"]) == ("paused", None)
    found = json.loads(volume.onward("snapshot", "show").check().out)
    assert (found["current_task_id"], found["completed_tasks"]) == ("hold", ["first"])
    volume.touch("go")
    assert Pod(volume, str(ONWARD), *TAKE_UP).wait() == 0
    assert volume.counts == {"first": 1, "hold": 2, "after": 1}
    resumes = [event for event in journal(volume) if event["type"] == "workflow_resume"]
    assert [event["reason"] for event in resumes] == ["shutdown"]


def test_a_pod_that_is_killed_inside_its_grace_leaves_the_first_snapshot(volume: Project) -> None:
    volume.workflow(HOLD.replace("grace: 1s", "grace: 60s"))
    pod = Pod(volume, str(ONWARD), *START)
    volume.wait_for_file("began")
    folder = volume.root / "store" / "runs" / "r1" / "snapshots"
    pod.send(signal.SIGTERM)
    volume.wait("the first snapshot is there", lambda: (folder / "s1.snapshot.json").exists())
    pod.kill()
    assert json.loads((folder / "s1.snapshot.json").read_text())["current_task_id"] == "hold"
    assert volume.status()["status"] in ("interrupted", "paused")
    volume.touch("go")
    assert Pod(volume, str(ONWARD), *TAKE_UP).wait() == 0
    assert volume.counts == {"first": 1, "hold": 2, "after": 1}


# ---------------------------------------------------------------- many deletions


@pytest.mark.slow
@pytest.mark.crash
@pytest.mark.timeout(280)
@pytest.mark.parametrize("rounds", [int(os.environ.get("ONWARD_TEST_POD_ROUNDS", "8"))])
def test_pods_deleted_and_killed_at_random_lose_nothing_and_repeat_nothing_finished(
    volume: Project, rounds: int
) -> None:
    items = [f"t{number}" for number in range(200)]
    volume.workflow(
        f"""
        grace: 1s
        limit: 4
        task:
          - each:
              loop: {{for-each: [{", ".join(items)}], as: item, limit: 4}}
              env: {{item: "{{{{item}}}}"}}
              run: echo "$item" >> ledger.txt; sleep {0.006 * rounds:.2f}
        """
    )
    chance = random.Random(20260131)
    codes: Counter[int] = Counter()
    for _ in range(rounds):
        pod = Pod(volume, str(ONWARD), *(TAKE_UP if run_is_there(volume) else START))
        time.sleep(chance.uniform(0.1, 1.2))
        codes[pod.kill() if chance.random() < 0.5 else pod.delete(chance.choice([0.3, 10.0]))] += 1
        if run_is_there(volume) and volume.status()["status"] == "succeeded":
            break
    if not run_is_there(volume):
        assert Pod(volume, str(ONWARD), *START).wait(200) == 0
    assert Pod(volume, str(ONWARD), *TAKE_UP).wait(200) == 0
    assert volume.status()["status"] == "succeeded"
    _check_ledger(volume, items)
    volume.onward("verify").check()
    assert codes.keys() <= {0, 3, 137, 143}, f"{codes}; 143: told to stop before it could listen"


def _check_ledger(project: Project, items: list[str]) -> None:
    events, begun, finished = journal(project), Counter[str](), set()
    for event in events:
        path = event.get("path", "")
        if event["type"] == "attempt_start":
            assert path not in finished, f"{path} was finished and ran again"
            begun[path] += 1
        elif event["type"] == "node_end" and event["status"] == "succeeded":
            finished.add(path)
    counts = project.counts
    assert {f"each[{item}]" for item in items} <= finished
    for item in items:
        assert 1 <= counts[item] <= begun[f"each[{item}]"], f"{item}: {counts[item]} lines, {begun}"


# ---------------------------------------------------------------- the script of the image


SCRIPT = str(ROOT / "deploy" / "onward-pod")


def test_the_pod_script_starts_a_run_and_the_next_pod_goes_on_with_it(volume: Project) -> None:
    volume.workflow(HOLD)
    pod = Pod(volume, SCRIPT, "w.yaml")
    volume.wait_for_file("began")
    assert pod.delete() == 3
    volume.touch("go")
    assert Pod(volume, SCRIPT, "w.yaml").wait() == 0
    assert Pod(volume, SCRIPT, "w.yaml").wait() == 0, "nothing to do"
    assert volume.counts == {"first": 1, "hold": 2, "after": 1}


def test_the_pod_script_tries_a_failed_run_again_in_the_next_pod(volume: Project) -> None:
    volume.workflow("task:\n  - a: {run: echo a >> ledger.txt}\n  - b: {run: test -e mended}\n")
    assert Pod(volume, SCRIPT, "w.yaml").wait() == 1
    assert Pod(volume, SCRIPT, "w.yaml").wait() == 1
    volume.touch("mended")
    assert Pod(volume, SCRIPT, "w.yaml").wait() == 0
    assert volume.counts == {"a": 1}
    volume.write("bad.yaml", "tusk: []\n")
    assert Pod(volume, SCRIPT, "bad.yaml", ONWARD_RUN="r2").wait() == 2


def test_the_pod_script_leaves_a_run_that_a_person_paused_until_somebody_resumes_it(volume: Project) -> None:
    volume.workflow(HOLD)
    pod = Pod(volume, SCRIPT, "w.yaml")
    volume.wait_for_file("began")
    volume.onward("pause", "--now", "--reason", "look").check()
    volume.touch("go")
    time.sleep(1.5)  # several looks of the pod
    assert pod.outer.poll() is None
    assert volume.status()["status"] == "paused"
    volume.onward("resume", "--detach").check()
    assert pod.wait() == 0
    assert volume.counts["after"] == 1


def test_the_pod_script_without_a_file_takes_up_every_run_and_stays(volume: Project) -> None:
    volume.workflow(HOLD)
    first = Pod(volume, str(ONWARD), *START)
    volume.wait_for_file("began")
    first.kill()
    volume.touch("go")
    pod = Pod(volume, SCRIPT)
    volume.wait("the run has ended", lambda: volume.status()["status"] == "succeeded")
    assert pod.outer.poll() is None
    assert pod.delete(20) == 3


def test_the_hook_before_the_stop_takes_a_snapshot(volume: Project) -> None:
    volume.workflow(HOLD)
    pod = Pod(volume, SCRIPT, "w.yaml")
    volume.wait_for_file("began")
    environment = volume.environment | {"ONWARD_PROGRAM": str(ONWARD)}
    hook = [SCRIPT, "--snapshot"]
    subprocess.run(hook, cwd=volume.root, env=environment, timeout=30, check=True)
    listed = json.loads(volume.onward("snapshot", "list", "--json").check().out)["snapshots"]
    assert [one["cause"] for one in listed] == ["request"]
    pod.kill()


# ---------------------------------------------------------------- probes


def test_liveness_tells_a_driver_that_hangs_from_one_that_waits(project: Project) -> None:
    project.workflow(HOLD)
    assert project.onward("probe", "live").check().code == 0
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    time.sleep(1.2)
    project.onward("probe", "live", "--within", "3s").check()
    os.kill(driver.pid, signal.SIGSTOP)
    project.wait("it is told", lambda: project.onward("probe", "live", "--within", "3s").code == 1)
    assert "r1" in project.onward("probe", "live", "--within", "3s").check(1).out
    os.kill(driver.pid, signal.SIGCONT)
    project.wait("it is well again", lambda: project.onward("probe", "live", "--within", "3s").code == 0)
    project.touch("go")
    assert driver.wait(30) == 0


def test_readiness_tells_whether_the_store_can_be_used(project: Project) -> None:
    project.onward("probe", "ready", "--store", "new/store").check()
    assert not (project.root / "new").exists(), "looking makes nothing"
    project.write("file", "x")
    said = project.onward("probe", "ready", "--store", "file/store", "--json").check(1)
    assert json.loads(said.out)["yes"] is False
