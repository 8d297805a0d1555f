"""The grammar, stories and bad values → the page of the language in Markdown: every key, a story, a message.

`python tests/docs/language_page.py > docs/reference/language.md` writes it anew; a test compares the two.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from language_bad import BAD, HOSTS, INNER
from language_cases import STORIES, Story
from language_stories import text_of

from onward.cli.check import check_file
from onward.errors import Problem
from onward.spec import records
from onward.spec.conditions import CONDITIONS, JUDGE
from onward.spec.forms import Choice, Duration, Each, Either, Field, Flag, Form, Names, Number, Record, Whole
from onward.spec.grammar import DEFAULTS, WORKFLOW
from onward.spec.node_fields import KINDS, NODE_FIELDS


def _mapping(form: Form) -> Record:
    assert isinstance(form, Either)
    assert isinstance(form.mapping, Record)
    return form.mapping


def _condition(key: str) -> Record:
    [form] = [field.form for field in CONDITIONS if field.key == key]
    assert isinstance(form, Record)
    return form


def _header() -> Record:
    [field] = [field for field in records.LOOP.fields if field.key == "for-each"]
    return _mapping(field.form)


PLACES: dict[str, tuple[Field, ...]] = {
    "workflow": WORKFLOW.fields,
    "variable": _mapping(records.VARIABLE).fields,
    "secret": records.SECRET.fields,
    "defaults": DEFAULTS.fields,
    "adapter": records.ADAPTER.fields,
    "checkpoint": records.CHECKPOINT.fields,
    "mirror": records.MIRROR.fields,
    "node": NODE_FIELDS,
    "prompt": records.PROMPT_FILE.fields,
    "retry": records.RETRY.fields,
    "loop": records.LOOP.fields,
    "for-each": _header().fields,
    "ensure": records.ENSURE.fields,
    "artifact": _mapping(records.ARTIFACT).fields,
    "on-failure": _mapping(records.FAILURE).fields,
    "hand-off": records.HAND_OFF.fields,
    "budget": records.BUDGET.fields,
    "condition": CONDITIONS,
    "judge": JUDGE.fields,
    "file-contains": _condition("file-contains").fields,
    "newer": _condition("newer").fields,
}


class Row(NamedTuple):
    """One key at one place."""

    place: str
    field: Field
    label: str

    @property
    def name(self) -> str:
        return f"{self.place}.{self.label}"


def rows() -> list[Row]:
    """Every key of the grammar; one that is two fields of different kinds is told apart by the kind."""
    found = []
    for place, fields in PLACES.items():
        keys = [field.key for field in fields]
        for field in fields:
            twice = keys.count(field.key) > 1
            found.append(Row(place, field, f"{field.key}({field.only[0]})" if twice else field.key))
    return found


def records_of_the_grammar() -> list[Record]:
    """Every mapping with known keys that the grammar leads to."""
    found: list[Record] = []
    for form in [WORKFLOW, JUDGE, *(field.form for field in (*NODE_FIELDS, *CONDITIONS))]:
        _walk(form, found)
    return found


def _walk(form: Form | None, found: list[Record]) -> None:
    match form:
        case Record():
            if form not in found:
                found.append(form)
                for field in form.fields:
                    _walk(field.form, found)
        case Either():
            for each in (form.scalar, form.sequence, form.mapping):
                _walk(each, found)
        case Each() | Names():
            _walk(form.form, found)
        case _:
            pass


@cache
def bad(row: Row) -> tuple[str, Problem]:
    """A small file in which the value of the key is wrong, and what is told of it."""
    for value in _bad_values(row):
        text = _host(row).replace("KEY", f"{row.field.key}: {value}")
        problem = _told(text, row.field.key)
        if problem is not None:
            return text, problem
    raise AssertionError(f"no value of {row.name} is bad: {_host(row)}")


def _host(row: Row) -> str:
    if row.place != "node":
        return HOSTS.get(row.name) or HOSTS[row.place]
    if row.field.key in KINDS:
        return "task: [{a: {KEY}}]\n"
    own = row.field.only[0] if row.field.only else "run"
    return HOSTS.get(f"node.{row.label}", HOSTS[f"node of {own}"])


def _bad_values(row: Row) -> Iterator[str]:
    if row.name in BAD:
        yield BAD[row.name]
        return
    match row.field.form:
        case Duration():
            yield "soon"
        case Whole() | Number():
            yield "many"
        case Flag():
            yield "maybe"
        case Choice():
            yield "never-heard-of"
    yield from ("'?'", "[[a]]", "{a: {b: c}}", "''", "nowhere.yaml", "'{{nothing.text}}'")


def _told(text: str, key: str) -> Problem | None:
    """The first mistake, if it is about a value of the key (and not about the key itself)."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "inner.yaml").write_text(INNER, "utf-8")
        (Path(folder) / "w.yaml").write_text(text, "utf-8")
        found = [one for one in check_file(f"{folder}/w.yaml", {}, {}).problems if not one.warning]
        told = [_neutral(one, folder) for one in found]
    return told[0] if told and not (told[0].code == "unknown-key" and f"`{key}` is" in told[0].message) else None


def _neutral(problem: Problem, folder: str) -> Problem:
    def clean(words: str | None) -> str | None:
        return None if words is None else words.replace(f"{folder}/", "").replace(folder, "…")

    return problem._replace(message=clean(problem.message) or "", help=clean(problem.help))


def stories_of(row: Row) -> list[Story]:
    """The stories that use the key."""
    return [story for story in STORIES if row.name in story.uses.split()]


def page() -> str:
    """The whole page."""
    return "\n".join(_page()).rstrip("\n") + "\n"


def _page() -> Iterator[str]:
    yield from ("# The language, key by key", "")
    yield "Every key of [the format](format.md) with a story that uses it, and with a bad value and what is said of it."
    yield "Tests run the stories and load the bad values; `python tests/docs/language_page.py` makes this page."
    for place in PLACES:
        yield from ("", f"## {_TITLES.get(place, f'In `{place}`')}", "")
        yield from ("| Key | Story | Bad | What is said |", "|---|---|---|---|")
        for row in rows():
            if row.place == place:
                yield _line(row)
    yield from ("", "## Stories")
    for story in STORIES:
        yield from ("", f"### {story.name}", "", story.says, "", "```yaml", *text_of(story).splitlines(), "```")
        said = "; ".join(f"`onward {words}` ends with {code}" for words, code in story.commands if words[0] != "@")
        yield from ("", f"{said}.")


_TITLES = {
    "workflow": "At the top",
    "node": "On steps and tasks",
    "for-each": "In `for-each`, with a source",
    "condition": "Conditions",
    "judge": "In `validators`, a judge",
}


def _line(row: Row) -> str:
    text, problem = bad(row)
    told = f"{problem.code}: {problem.message}" + (f" ({problem.help})" if problem.help else "")
    stories = ", ".join(f"[{story.name}](#{story.name})" for story in stories_of(row)[:2])
    return f"| `{row.label}` | {stories} | {_code(_value_of(row, text))} | {_cell(told)} |"


def _value_of(row: Row, text: str) -> str:
    before, _, after = _host(row).partition("KEY")
    return text[len(before) : len(text) - len(after)]


def _code(text: str) -> str:
    return f"`` {text} ``".replace("|", r"\|") if "`" in text else f"`{text}`".replace("|", r"\|")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|").replace("<", r"\<")


if __name__ == "__main__":
    sys.stdout.write(page())
