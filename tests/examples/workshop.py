"""A copy of an example, with stand-ins for the programs that it calls: run, killed at a point, and carried on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from stories.project import Project, Said

EXAMPLES = Path(__file__).parents[2] / "examples"
STAND_INS = Path(__file__).with_name("standins.py")
MOST_RESUMES = 6


class Workshop(Project):
    """The example `name`, copied to `root`. Stand-ins note in `ledger.txt` what they begin and what they have done."""

    def __init__(self, root: Path, name: str, *, stand_ins: tuple[str, ...]) -> None:
        shutil.copytree(EXAMPLES / name, root, ignore=shutil.ignore_patterns(".onward", "__pycache__"))
        super().__init__(root)
        self.home = root.with_name(f"{root.name}-stand-ins")
        self.home.mkdir()
        self.environment |= {"PATH": f"{self.home}:{self.environment['PATH']}", "STAND_IN_HOME": str(root)}
        for program in stand_ins:
            self._program(self.home / program, program)

    def note_program(self, name: str) -> None:
        """The example's own program `name` does what it did, and notes it."""
        path = self.root / name
        real = path.with_name(f"real-{path.name}")
        path.rename(real)
        self._program(path, "wrapped", str(real))

    def _program(self, path: Path, *words: str) -> None:
        command = " ".join(f"'{word}'" for word in (sys.executable, "-S", "-E", str(STAND_INS), *words))
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        path.chmod(0o755)

    # --- what happened ----------------------------------------------------------------------------------------

    def did(self, what: str = "done") -> Counter[str]:
        """How often each piece of work was `done`, or has `begun`."""
        return Counter(line.partition(" ")[2] for line in self.ledger if line.startswith(f"{what} "))

    def events(self, type: str) -> list[dict[str, Any]]:
        [journal] = (self.root / ".onward" / "runs").glob("*/journal.jsonl")
        found = [json.loads(line) for line in journal.read_text("utf-8").split("\n")[:-1]]
        return [event for event in found if event["type"] == type]

    def ends(self) -> Counter[str]:
        """How often each node ended well."""
        return Counter(event["path"] for event in self.events("node_end") if event["status"] == "succeeded")

    def over(self) -> set[str]:
        """The nodes that have ended, well or not."""
        return {event["path"] for event in self.events("node_end")}

    # --- to the end, with and without an accident ---------------------------------------------------------------

    def to_the_end(self, *command: str) -> Said:
        """The command, then answers and resumes for as long as the run waits for somebody."""
        said = self.onward(*command)
        for _ in range(MOST_RESUMES):
            if said.code != 3:
                break
            self.answer()
            said = self.onward("resume", "--yes")
        return said.check()

    def answer(self) -> None:
        """Say yes to the open question, from a process of its own."""
        self.onward("approve", "--by", "somebody").check()

    def killed_at(self, point: str, *command: str, after: tuple[str, ...] = ()) -> None:
        """The command, and resumes with answers, until the stand-in of `point` holds; then all of it is killed.

        What works beside it, `after`, ends well before: else it would have to be done again, or not, as it happens.
        """
        for _ in range(MOST_RESUMES):
            driver = self.start(*command, STAND_IN_HOLDS=point)
            if self.drives_until(driver, f"{point} is held", lambda: self.held() and set(after) <= self.over()):
                self.kill_all(driver)
                self.wait("nothing of it is left", self._nothing_left)
                return
            self.answer()
            command = ("resume", "--yes")
        raise AssertionError(f"the run never came to {point}")

    def drives_until(self, driver: subprocess.Popen[str], what: str, ready: Callable[[], bool]) -> bool:
        """Whether it came to that; False when the driver ended before because the run waits for somebody."""
        self.wait(f"{what}, or the run ends", lambda: ready() or driver.poll() is not None)
        if ready():
            return True
        out, err = driver.communicate(timeout=10)
        assert driver.returncode == 3, f"ended with {driver.returncode} before {what}\n{out}\n{err}"
        return False

    def _nothing_left(self) -> bool:
        """What a shell had just begun when it was killed goes as well."""
        left = self.tasks()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not left

    def held(self) -> bool:
        return (self.root / "held").exists()
