"""What commands print with `--json`, from their classes and from real answers → the page of the JSON in Markdown.

`python tests/docs/json_page.py > docs/reference/json.md` writes it anew; a test compares the two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import msgspec
from struct_tables import classes_in, docstring, table

from onward.views.decisions import Decisions
from onward.views.explain import Explanation
from onward.views.health import Check as HealthCheck
from onward.views.listing import RunRow
from onward.views.record import NodeRecord
from onward.views.recovery_data import PlanView
from onward.views.run_record import RunRecord
from onward.views.status import StatusView
from onward.views.verification import Verified

WORKFLOW = """\
name: sample
task:
  - hello: {run: 'echo hello > hello.txt; cat hello.txt', artifacts: [hello.txt]}
  - sign: {approve: "Go on?", show: [hello.txt], fields: {remark: text}}
  - tell: {run: [cat], stdin: "{{hello.text}}"}
"""
BAD = "task:\n  - hello: {rum: make}\n"


class Asked(NamedTuple):
    """A command, and what its answer is: a class, or (with `inside`) some fields around a class."""

    words: str
    cls: type[msgspec.Struct] | None = None
    inside: str = ""
    shown: bool = True


# In this order they are asked; the run waits at its question until `approve`.
ASKED: tuple[Asked, ...] = (
    Asked("run w.yaml --id one"),
    Asked("run w.yaml --dry-run"),
    Asked("status one", StatusView),
    Asked("runs", RunRow, "runs[]"),
    Asked("show one", RunRecord),
    Asked("show one hello", NodeRecord),
    Asked("logs one hello"),
    Asked("verify one", Verified),
    Asked("resume one --plan", PlanView),
    Asked("resume one --view"),
    Asked("check w.yaml bad.yaml"),
    Asked("explain w.yaml", Explanation, "nodes[]"),
    Asked("graph w.yaml"),
    Asked("snapshot create one"),
    Asked("snapshot list one"),
    Asked("snapshot show one"),
    Asked("snapshot rollback one s1 --dry-run"),
    Asked("snapshot rm one s1 --dry-run"),
    Asked("snapshot export one -o one.snapshot"),
    Asked("snapshot import one.snapshot --store other"),
    Asked("rewind one --to hello --dry-run"),
    Asked("approve one --note fine --field remark=good"),
    Asked("resume one"),
    Asked("show one --decisions", Decisions),
    Asked("fork one --from tell --id two"),
    Asked("run w.yaml --id three", shown=False),
    Asked("reject three"),
    Asked("cancel three"),
    Asked("run w.yaml --id four", shown=False),
    Asked("pause four"),
    Asked("resume --all"),
    Asked("clean --dry-run"),
    Asked("init new.yaml --template shell"),
    Asked("doctor", HealthCheck, "checks[]"),
    Asked("probe ready"),
)


@cache
def answers() -> dict[str, Any]:
    """What each command really answers, in a folder of its own."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "w.yaml").write_text(WORKFLOW, "utf-8")
        (Path(folder) / "bad.yaml").write_text(BAD, "utf-8")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ONWARD")}
        for asked in ASKED:
            words = [*asked.words.split(), "--json"]
            if "--store" not in words:
                words += ["--store", ".onward"]
            said = subprocess.run(
                [sys.executable, "-m", "onward", *words],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            try:
                found[asked.words] = json.loads(said.stdout)
            except ValueError:
                raise AssertionError(f"{asked.words}: exit {said.returncode}\n{said.stdout}\n{said.stderr}") from None
    return found


def shape(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Each field of an answer and its type, in the order in which they come; those of items of lists once."""
    if isinstance(value, dict):
        if name:
            yield name, "mapping"
        for key, inner in value.items():
            yield from shape(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        yield name, "list"
        seen: dict[str, str] = {}
        for item in value:
            for field, form in shape(item, f"{name}[]"):
                known = seen.get(field)
                seen[field] = form if known in (None, form) else f"{known} or {form}"
        yield from ((field, form) for field, form in seen.items() if form != "mapping")
    else:
        yield name, _FORMS[type(value)]


_FORMS = {str: "text", bool: "true or false", int: "number", float: "number", type(None): "null here"}


def page() -> str:
    """The whole page."""
    return "\n".join(_page()).rstrip("\n") + "\n"


def inner_classes() -> list[type[msgspec.Struct]]:
    """The classes below those of the commands, by name."""
    top = [asked.cls for asked in ASKED if asked.cls is not None]
    found = {inner for cls in top for inner in classes_in(cls)} - set(top)
    names = [each.__name__ for each in found]
    assert len(names) == len(set(names)), names
    return sorted(found, key=lambda one: one.__name__)


def _page() -> Iterator[str]:
    yield from ("# JSON", "")
    yield "This page is made from the classes of what is printed and, where there is none, from real answers"
    yield "(`python tests/docs/json_page.py`). One JSON value goes to stdout, words go to stderr. `schema` is 1; it"
    yield "will grow when a field goes or changes its meaning. New fields may come at any time. Times are ISO 8601 in"
    yield "UTC, durations in seconds."
    yield from ("", "`logs --json -f` and `status --json --watch` print one JSON value a line instead.")
    for asked in ASKED:
        if asked.shown:
            yield from ("", f"## {asked.words} --json", "")
            yield from _section(asked)
    yield from ("", "## Mappings inside")
    for inner in inner_classes():
        yield from ("", f"### {inner.__name__}", "", docstring(inner), "")
        yield from table(inner, defaults=False)


def _section(asked: Asked) -> Iterator[str]:
    if asked.cls is None or asked.inside:
        yield from _shape_of(asked)
    if asked.cls is not None:
        heading = f"`{asked.inside}`: " if asked.inside else ""
        yield from ([""] if asked.inside else [])
        yield from (f"{heading}{docstring(asked.cls)}", "")
        yield from table(asked.cls, defaults=False)


def _shape_of(asked: Asked) -> Iterator[str]:
    yield from ("| Field | Type |", "|---|---|")
    stem = asked.inside.removesuffix("[]")
    for field, form in shape(answers()[asked.words]):
        if asked.cls is None or not field.startswith(f"{stem}[]"):
            yield f"| `{field}` | {form} |"


if __name__ == "__main__":
    sys.stdout.write(page())
