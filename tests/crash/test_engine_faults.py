"""The whole driver under harm to its own files: every n-th change fails, tears, or ends the process; then it resumes.

What must hold whatever happens: each task whose end was recorded ran once, none is lost, the state file is whole at
every instant, no temporary file is left, the exit code is right, and nobody sees a traceback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from textwrap import dedent

import pytest

from onward.journal.verify import verify

ALL = bool(os.environ.get("ONWARD_CRASH_ALL"))
CHANGES = 130
"""about as many file changes as the undisturbed run makes"""

WORKFLOW = """
    checkpoint: {state-file: state.json, cleanup-policy: never}
    task:
      - a: {run: 'echo a >> ledger.txt; echo out'}
      - b1: {run: 'echo b1 >> ledger.txt; head -c 9000 /dev/zero | tr "\\\\0" x'}
        b2: {run: 'echo b2 >> ledger.txt', retry: {attempts: 2}}
      - g:
          parallel:
            m: {run: 'echo m >> ledger.txt; echo 1 > m.txt', artifacts: [m.txt]}
            n: {call: "work:note", with: {text: "{{b1.text}}"}}
          merge: [{k: {run: 'echo k >> ledger.txt'}}]
      - p: {prompt: "say {{a.text}}", adapter: echo}
      - s: {run: 'echo s >> ledger.txt', skip-if: {file-exists: m.txt}}
      - z: {env: {V: "{{b1.text | path}}"}, run: 'wc -c < "$V"; echo z >> ledger.txt'}
    finally:
      - f: {run: 'echo f >> ledger.txt'}
"""
MODULE = """
    def note(text):
        with open("ledger.txt", "a") as file:
            file.write("n\\n")
        return len(text)
"""
TASKS = ["a", "b1", "b2", "m", "n", "k", "z"]

DRIVE = """
    import errno, os, sys
    from pathlib import Path
    from onward import files
    from onward.engine.embedded.launch import ResumeOptions, StartOptions, resume_run, start_run
    from onward.engine.observer import Silent
    from onward.errors import OnwardError
    from onward.store.locate import store_here

    mode, number, verb = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    count = 0

    def fault(call, path, size):
        global count
        count += 1
        if count != number and not (mode == "full" and count >= number):
            return size
        if mode == "exit":
            os._exit(99)
        if mode == "tear" and size:
            return max(1, size // 2)
        raise OSError(errno.EIO if mode in ("broken", "tear") else errno.ENOSPC, "harm")

    if mode != "none":
        files._fault = fault
    try:
        if verb == "run":
            result = start_run(StartOptions(file=Path("w.yaml"), run_id="r"), Silent())
        else:
            result = resume_run(ResumeOptions(run=store_here().find(None), yes=True), Silent())
    except OnwardError as error:
        print(error)
        sys.exit(error.exit_code)
    print(count)
    sys.exit(result.exit_code)
"""


def drive(folder: Path, mode: str, number: int, verb: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", dedent(DRIVE), mode, str(number), verb],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith("ONWARD")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def prepared(folder: Path) -> Path:
    (folder / "w.yaml").write_text(dedent(WORKFLOW))
    (folder / "work.py").write_text(
        "def note(text):\n    open('ledger.txt', 'a').write('n\\n')\n    return len(text)\n"
    )
    return folder


def ledger(folder: Path) -> Counter[str]:
    return Counter((folder / "ledger.txt").read_text().split())


def points(mode: str) -> list[int]:
    step = 1 if ALL else 37
    start = {"exit": 30, "once": 11, "full": 19, "tear": 27, "broken": 35}[mode]
    return list(range(1 if ALL else start, CHANGES, step))


def test_an_undisturbed_run_makes_about_as_many_changes_as_are_harmed(tmp_path):
    done = drive(prepared(tmp_path), "count", -1, "run")
    assert done.returncode == 0, done.stderr
    assert CHANGES * 0.6 < int(done.stdout) < CHANGES * 1.6


@pytest.mark.crash
@pytest.mark.parametrize("mode", ["exit", "once", "full", "tear", "broken"])
def test_a_run_whose_files_are_harmed_at_any_change_goes_on_and_does_each_task_once(tmp_path, mode):
    for number in points(mode):
        folder = tmp_path / f"{mode}-{number}"
        folder.mkdir()
        harmed = drive(prepared(folder), mode, number, "run")
        where = f"{mode} at change {number}: {harmed.stdout} {harmed.stderr}"
        assert "Traceback" not in harmed.stderr, where
        assert harmed.returncode in (0, 2, 4, 99), where
        state_file = folder / "state.json"
        if state_file.exists():
            json.loads(state_file.read_text())
        again = drive(folder, "none", 0, "resume" if (folder / ".onward/runs/r").exists() else "run")
        assert again.returncode == 0, f"{where}\nthen: {again.stdout} {again.stderr}"
        counts = ledger(folder)
        assert {name: counts[name] for name in TASKS} == dict.fromkeys(TASKS, 1), where
        assert counts["f"] >= 1, where
        assert counts["s"] == 0, where
        assert verify(folder / ".onward/runs/r/journal.jsonl").whole, where
        assert list(folder.rglob("*onward-tmp*")) == [], where
        assert json.loads(state_file.read_text())["current_step_index"] == 6, where
