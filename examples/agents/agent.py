#!/usr/bin/env python3
"""An agent program without a model: it does what the lines of its prompt say, one after the other, and remembers.

    agent.py [--session ID]      the prompt on standard input, events as JSON lines on standard output

A line that it understands begins with a dash:

    - outline notes/*.md into OUTLINE.md          the headings of the files, as a list
    - count words of notes/*.md into words.json   how many words each file has
    - put "# Outline" at the top of OUTLINE.md    unless it is there already

A conversation is a file in `.sessions/`: what was asked for, and which lines are done. With `--session` it goes on
there, so that whoever was interrupted does nothing twice.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

USD_A_LINE = 0.25


def outline(pattern: str, to: str) -> None:
    lines = []
    for path in sorted(Path().glob(pattern)):
        headings = re.findall(r"^#+ (.*)", path.read_text("utf-8"), re.MULTILINE)
        lines += [f"- {path.name}: {heading}\n" for heading in headings]
    Path(to).write_text("".join(lines), "utf-8")


def count(pattern: str, to: str) -> None:
    words = {path.name: len(path.read_text("utf-8").split()) for path in sorted(Path().glob(pattern))}
    Path(to).write_text(json.dumps(words, indent=1) + "\n", "utf-8")


def put(line: str, to: str) -> None:
    text = Path(to).read_text("utf-8")
    if not text.startswith(line):
        Path(to).write_text(f"{line}\n\n{text}", "utf-8")


SKILLS: tuple[tuple[str, Callable[[str, str], None]], ...] = (
    (r"outline (\S+) into (\S+)", outline),
    (r"count words of (\S+) into (\S+)", count),
    (r'put "([^"]+)" at the top of (\S+)', put),
)


class Session:
    """A conversation, kept in a file after every line of work."""

    def __init__(self, id: str | None) -> None:
        self.id = id or os.urandom(6).hex()
        self.path = Path(".sessions", f"{self.id}.json")
        if id and not self.path.exists():
            sys.exit(f"there is no session {id}")
        kept = json.loads(self.path.read_text("utf-8")) if id else {}
        self.asked: list[str] = kept.get("asked", [])
        self.done: int = kept.get("done", 0)

    def hears(self, prompt: str) -> None:
        lines = re.findall(r"^\s*- (.+)$", prompt, re.MULTILINE)
        self.asked += [line for line in lines if any(re.fullmatch(pattern, line.strip()) for pattern, _ in SKILLS)]
        self.save()

    def work(self) -> list[str]:
        """Do the lines that are not done yet; which files were written."""
        wrote = []
        while self.done < len(self.asked):
            time.sleep(float(os.environ.get("pace", "0")))  # noqa: SIM112 - a variable of the workflow
            wrote += did(self.asked[self.done])
            self.done += 1
            self.save()
        return wrote

    def save(self) -> None:
        self.path.parent.mkdir(exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"asked": self.asked, "done": self.done}, indent=1), "utf-8")
        new.replace(self.path)


def did(line: str) -> list[str]:
    for pattern, skill in SKILLS:
        found = re.fullmatch(pattern, line.strip())
        if found:
            skill(found[1], found[2])
            return [found[2]]
    return []


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def main(arguments: list[str]) -> None:
    session = Session(arguments[1] if arguments[:1] == ["--session"] else None)
    prompt = sys.stdin.read()
    say(session=session.id)
    session.hears(prompt)
    wrote = session.work()
    used = {"input_tokens": len(prompt.split()), "output_tokens": 5 * len(wrote)}
    result = json.dumps({"wrote": wrote, "lines": session.done})
    say(session=session.id, result=result, usage=used, cost=USD_A_LINE * len(wrote))


main(sys.argv[1:])
