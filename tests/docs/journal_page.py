"""The classes of events, and a journal that was really written → the page of the journal in Markdown.

`python tests/docs/journal_page.py > docs/reference/journal.md` writes it anew; a test compares the two.
`python tests/docs/journal_page.py sample` runs the workflow of the sample and writes its journal beside this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
from struct_tables import classes_in, docstring, table

from onward.journal.lines import CHAIN_DIGITS, NO_CHAIN, close
from onward.journal.upgrade import VERSION
from onward.model.events import AnyEvent, Event

SAMPLE = Path(__file__).with_name("journal_sample.jsonl")
WORKFLOW = """\
name: greet
variables: {who: you}
task:
  - hello: {run: 'echo "hello $who"'}
  - tell: {run: [cat], stdin: "{{hello.text}}"}
"""
NEUTRAL = {"host": "laptop", "boot": "8d2f6f0e-3f0c-4c55-9a53-0f6f2f5e7d11", "pid": 4242, "started": 12345}
EVENTS: tuple[type[Event], ...] = get_args(AnyEvent)


def page() -> str:
    """The whole page."""
    return "\n".join(_page()).rstrip("\n") + "\n"


def run_sample() -> list[bytes]:
    """The journal of a run of the workflow, with a made-up driver in place of this machine's."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "greet.yaml").write_text(WORKFLOW, "utf-8")
        run = [sys.executable, "-m", "onward", "run", "greet.yaml", "--id", "greet-1", "-q", "--store", ".onward"]
        subprocess.run(run, cwd=folder, check=True, timeout=60, capture_output=True)
        lines = (Path(folder) / ".onward/runs/greet-1/journal.jsonl").read_bytes().splitlines()
    made, previous = [], NO_CHAIN.encode()
    for line in lines:
        event = json.loads(line)
        event.pop("chain")
        if "owner" in event:
            event["owner"] = NEUTRAL
        closed, previous = close(msgspec.json.encode(event), previous)
        made.append(closed)
    return made


def _page() -> Iterator[str]:
    yield from ("# The journal", "")
    yield "This page is made from the classes of `onward.model.events` (`python tests/docs/journal_page.py`)."
    yield ""
    yield from _FORM.format(digits=CHAIN_DIGITS, version=VERSION).splitlines()
    yield from ("", "## A sample", "", "This workflow was run, and its journal follows; who drove it is made up.", "")
    yield from ("```", *WORKFLOW.splitlines(), "```", "")
    yield from ("```json", *SAMPLE.read_text("utf-8").splitlines(), "```")
    yield from ("", "## Fields of every event", "")
    yield from table(Event)
    yield from ("", "And `type` and `chain`, see above.", "", "## Events")
    common = frozenset(field.name for field in msgspec.structs.fields(Event))
    for event in EVENTS:
        yield from ("", f"### {event.__struct_config__.tag}", "", docstring(event), "")
        yield from table(event, without=common)
    yield from ("", "## Mappings inside")
    for inner in inner_classes():
        yield from ("", f"### {inner.__name__}", "", docstring(inner), "")
        yield from table(inner)


def inner_classes() -> list[type[msgspec.Struct]]:
    """What stands inside of events, by name."""
    found = {inner for event in EVENTS for inner in classes_in(event) if inner not in EVENTS}
    return sorted(found, key=lambda one: one.__name__)


_FORM = """\
`.onward/runs/<id>/journal.jsonl` is UTF-8 text: one JSON object a line, one line for each thing that has happened, in
the past tense. Lines are only ever added. Whoever reads it passes over fields that it does not know.

- **Line.** `type` comes first, `chain` last. A field that has its default is left out.
- **Chain.** `chain` is {digits} hex digits: the first half of the SHA-256 of the `chain` of the line before (nothing on
  the first line) and of this line before `,"chain"`. So a line that was altered, taken out or put in shows.
- **Batch.** Lines that were written and flushed together have the same `batch`: the `seq` of the first of them.
  Nobody is told of an event before its batch is on disk.
- **Epoch.** Grows by one whenever a driver takes over. Lines of an older epoch after those of a newer one come from a
  driver that was taken over, and are left out.
- **Version.** `version` of `workflow_start` is {version}; left out, it is 1. A line of an older version is brought to
  today's form each time it is read, and never rewritten.
- **Torn tail.** A last line without its newline, or with zeros where pages never reached the disk, was told to nobody:
  it is set aside when the run goes on. A whole line that does not fit is damage: `onward verify` names it, and a resume
  waits for `--accept-damage`.
- **Times** are ISO 8601 in UTC, **durations** in seconds.
- `onward clean --compress` makes `journal.jsonl.gz` of it, which every command reads and a resume unpacks.

`onward verify` checks all this; `onward show` and `onward report` tell it in words."""

if __name__ == "__main__":
    if sys.argv[1:] == ["sample"]:
        SAMPLE.write_bytes(b"\n".join(run_sample()) + b"\n")
    else:
        sys.stdout.write(page())
