"""docs/first-half-hour.md shows what a new user sees: it is recorded from real commands, and compared with them.

`ONWARD_RECORD=1 pytest tests/docs/test_first_half_hour.py` writes it anew.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/first-half-hour.md"
WITHIN_S = 60
LOOP = """\
  - slow:
      loop: {for-each: [one, two, three, four], as: part}
      run: sleep 2; echo "part $part"
  - report:
      env: {LINES: "{{colect.counted}}"}"""

_UNSTEADY = [
    (re.compile(r"workflow-\d{8}-\d{6}-[0-9a-f]{4}"), "workflow-20261201-101500-a1b2"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+Z)?( ?[+-]\d\d:\d\d)?"), "2026-12-01 10:15:00 +00:00"),
    (re.compile(r"(just now|\d+ (second|minute)s? ago)"), "just now"),
    (re.compile(r"\b\d+(\.\d+)?s\b"), "1.0s"),
    (re.compile(r"\b[0-9a-f]{32}\b"), "0" * 32),
]


class Recording:
    """Commands in a folder and what they printed, as a Markdown page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.parts = ["# The first half hour\n"]
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("ONWARD")}
        self.environment |= {"COLUMNS": "110", "PYTHONUNBUFFERED": "1"}

    def say(self, text: str) -> None:
        self.parts.append(f"\n{text}\n")

    def run(self, command: str, code: int = 0, stop_at: str | None = None) -> str:
        """Run `onward …`; `stop_at`: press Ctrl-C when this has been printed."""
        process = subprocess.Popen(
            [sys.executable, "-m", "onward", *command.split()[1:]],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if stop_at is not None and stop_at in line:
                    process.send_signal(signal.SIGINT)
                    lines.append("^C\n")
            process.wait(WITHIN_S)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        said = "".join(_in_order(lines))
        assert process.returncode == code, said
        self.parts.append(f"\n```console\n$ {command}\n{self._steady(said)}```\n")
        return said

    def edit(self, *changes: tuple[str, str]) -> None:
        path = self.folder / "workflow.yaml"
        text = path.read_text()
        for before, after in changes:
            assert before in text
            text = text.replace(before, after, 1)
        path.write_text(text)

    def show_lines(self, begin: str, end: str) -> None:
        text = (self.folder / "workflow.yaml").read_text()
        part = text[text.index(begin) : text.index(end)]
        self.parts.append(f"\n```text\n{part.rstrip()}\n```\n")

    def _steady(self, text: str) -> str:
        text = text.replace(str(self.folder) + "/", "")
        for pattern, instead in _UNSTEADY:
            text = pattern.sub(instead, text)
        return text

    @property
    def page(self) -> str:
        return "".join(self.parts)


def _in_order(lines: list[str]) -> list[str]:
    """What runs side by side ends in any order: those lines by their names."""
    key = [(i if not line.startswith("checks/") else 0, ": done" in line, line) for i, line in enumerate(lines)]
    places = [i for i, line in enumerate(lines) if line.startswith("checks/")]
    ordered = sorted(places, key=lambda i: key[i])
    return [lines[ordered[places.index(i)]] if i in places else line for i, line in enumerate(lines)]


def record(folder: Path) -> str:
    r = Recording(folder)
    r.say(
        "What a new user types and sees, recorded from real commands (by a test, which also keeps it true).\n"
        "Run ids, dates and durations differ."
    )
    r.say("## Begin")
    r.run("onward init --template shell")
    r.say("The file that was written is a small workflow with comments. It runs as it is:")
    r.run("onward run workflow.yaml")
    r.say("## Edit, with two mistakes")
    r.say("A loop of some slow work goes in, and two slips of the pen with it:")
    r.edit(
        (
            '  - report:\n      env: {LINES: "{{collect.counted}}"}',
            LOOP,
        ),
        ("retry: {attempts: 3, delay: 2s}", "retries: 3"),
    )
    r.show_lines("  - checks:", "      artifacts: [report.txt]")
    r.say(
        "`check` finds both at once, says where, and what was probably meant.\n"
        "`run` would have said the same and begun nothing."
    )
    r.run("onward check workflow.yaml", code=2)
    r.edit(("colect", "collect"), ("retries: 3", "retry: {attempts: 3, delay: 2s}"))
    r.run("onward check workflow.yaml")
    r.say("## Ctrl-C in the middle, and on again")
    r.say("Ctrl-C once lets what runs end by itself, starts nothing new, and says how to go on:")
    r.run("onward run workflow.yaml", code=3, stop_at="slow[two]: started")
    r.say("The terminal may be closed, the machine rebooted. What is done and what is next can be asked at any time:")
    r.run("onward status")
    r.say("What would happen, before it happens:")
    r.run("onward resume --plan")
    r.say("And on. Nothing that was done is done again:")
    r.run("onward resume")
    r.say("## Look back")
    r.run("onward logs")
    r.run("onward verify")
    r.run("onward report -o report.html")
    r.say("`report.html` is one page to mail or keep: graph, timeline, every task with its output, who decided what.")
    r.run("onward runs")
    return r.page


def test_the_recorded_page_is_what_the_commands_print(tmp_path: Path):
    page = record(tmp_path)
    if os.environ.get("ONWARD_RECORD"):
        PAGE.write_text(page)
    assert page == PAGE.read_text()
