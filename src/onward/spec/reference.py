"""The grammar → the reference of the format in Markdown.

`python -m onward.spec.reference > docs/reference/format.md` writes it anew; a test compares the two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from onward.spec import read, records
from onward.spec.codes import CODES
from onward.spec.conditions import CONDITIONS, JUDGE
from onward.spec.forms import Braces, Data, Each, Either, Field, Form, JsonSchema, Names, Path, Record, Text, both
from onward.spec.grammar import DEFAULTS, WORKFLOW
from onward.spec.names import LONGEST
from onward.spec.node_fields import EXTRA_FIELDS, KIND_FIELDS, KINDS, MODIFIERS
from onward.spec.supported import NOT_YET

_RECORDS: tuple[Record, ...] = (
    records.RETRY,
    records.LOOP,
    records.ENSURE,
    records.HAND_OFF,
    records.BUDGET,
    records.CHECKPOINT,
    records.MIRROR,
    records.ADAPTER,
    records.SECRET,
)


def reference() -> str:
    """The whole page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield "# The workflow format"
    yield ""
    yield "This page is made from the table that also checks workflow files (`python -m onward.spec.reference`)."
    yield "A workflow file is YAML. Only `task` is required:"
    yield ""
    yield from ("```yaml", "task:", "  - build:", "      run: make", "```")
    yield from _top()
    yield from _nodes()
    yield from _details()
    yield from _conditions()
    yield from _values()
    yield from _limits()
    yield from _codes()


def _top() -> Iterator[str]:
    yield from _heading("Keys of a workflow file")
    yield from _table(WORKFLOW.fields)
    yield ""
    kinds = both([f"`{field.key}`" for field in DEFAULTS.fields])
    yield f"`defaults` takes {kinds}; below each the fields of that kind."
    yield "`$schema` is for editors and ignored. Keys that start with `x-` are ignored: they are a place for anchors."


def _nodes() -> Iterator[str]:
    yield from _heading("Steps and tasks")
    yield '`task` is a list: each dash means "then". A step maps a name to a task; several names under one dash'
    yield f"run side by side. A task has exactly one of {', '.join(f'`{kind}`' for kind in KINDS)}:"
    yield ""
    yield from _table(KIND_FIELDS)
    yield from _heading("Fields of one kind", level=3)
    yield from _table(EXTRA_FIELDS, owners=True)
    yield from _heading("Fields of several kinds", level=3)
    yield from _table(MODIFIERS, owners=True)


def _details() -> Iterator[str]:
    yield from _heading("Mappings inside")
    for record in _RECORDS:
        yield from _heading(record.title[:1].upper() + record.title[1:], level=3)
        if record.one_of:
            yield f"Exactly one of {', '.join(f'`{key}`' for key in record.one_of)}."
            yield ""
        yield from _table(record.fields, owners=any(field.only for field in record.fields))


def _conditions() -> Iterator[str]:
    yield from _heading("Conditions")
    yield "A condition is a mapping with one key. A list of conditions means that all must hold."
    yield ""
    yield "| Condition | Holds when | Example |"
    yield "|---|---|---|"
    for field in CONDITIONS:
        yield f"| `{field.key}` | {_cell(field.says)} | {_code(field.example)} |"
    yield f"| `prompt` (in `validators` only) | {_cell(JUDGE.fields[0].says)} | {_code(JUDGE.example)} |"


def _values() -> Iterator[str]:
    yield from _heading("Values")
    yield from _VALUES.format(longest=LONGEST).splitlines()


def _limits() -> Iterator[str]:
    yield from _heading("YAML")
    megabytes = read.LARGEST_FILE // 1024 // 1024
    limits = (megabytes, f"{read.MOST_NODES:,}", read.DEEPEST, f"{read.MOST_FROM_ALIASES:,}")
    yield from _YAML.format(*limits).splitlines()


def _codes() -> Iterator[str]:
    yield from _heading("Mistakes")
    yield "Every mistake is shown as `file:line:column: error[code]: what is wrong`, with the line of the file, the"
    yield "task it belongs to, and a way out. All mistakes of a file and of the files it names are shown together."
    yield ""
    yield "| Code | Meaning |"
    yield "|---|---|"
    for code, meaning in CODES.items():
        yield f"| `{code}` | {_cell(meaning)} |"


_VALUES = """\
- **Text** is taken as written: `3.10`, `no`, `007` and dates stay what they are.
- **Booleans** are `true` and `false` only.
- **Durations** are a whole number and a unit: `30s`, `5m`, `2h`, `3d`.
- **Any value** (`with`, `data`, `outputs` of groups, items of a list) follows JSON: `true`, `false` and `null` are
  what they say, and a number is one if printing it gives the same characters and it fits into 64 bits: `42` and `2.5`
  are numbers; `3.10`, `007`, `1e3` and account numbers of thirty digits stay text. Quotes make text.
- **Names of tasks** begin with a letter or digit and go on with letters, digits, `-`, `_`, `.`: at most {longest}
  characters, letters of any script in Unicode NFC. Two names of one list that differ only in case are an error.
- **Variables** are `[a-z][a-z0-9_]*`, **environment variables** `[A-Za-z_][A-Za-z0-9_]*`.
- **References** such as `{{{{fetch.text}}}}` are filled in where a table says `{{{{…}}}}`. A value that begins with
  `{{{{` needs quotes. For literal braces write `{{{{"{{{{name}}}}"}}}}`, which gives `{{{{name}}}}`.
"""

_YAML = """\
UTF-8, one document. Anchors, aliases and merge keys (`<<: *name`, `<<: [*one, *two]`) work. Tags, tabs in the
indentation and duplicate keys are errors.

A file has at most {} MiB and {} values, nested at most {} deep; aliases add at most {} values.
"""


def _heading(title: str, *, level: int = 2) -> Iterator[str]:
    yield ""
    yield f"{'#' * level} {title}"
    yield ""


def _table(fields: tuple[Field, ...], *, owners: bool = False) -> Iterator[str]:
    yield f"| Key |{' On |' if owners else ''} Value | Default | Meaning | Example |"
    yield f"|---|{'---|' if owners else ''}---|---|---|---|"
    for field in fields:
        on = f" {_owners(field)} |" if owners else ""
        says = _cell(field.says + _note(field))
        form = _cell(_words(field.form))
        yield f"| `{field.key}` |{on} {form} | {_default(field)} | {says} | {_code(field.example)} |"


def _owners(field: Field) -> str:
    words = [f"`{key}`" for key in field.only]
    if field.looped:
        words.append("any with `loop`")
    if field.inside == "parallel":
        words.append("members of `parallel`")
    if field.inside == "together":
        words.append("members and iterations")
    return ", ".join(words) or "all"


def _default(field: Field) -> str:
    return "required" if field.required else _cell(field.default)


def _note(field: Field) -> str:
    if field.feature in NOT_YET:
        return " **Not executed by this version yet.**"
    later = sorted({word for word, feature in _features(field.form) if feature in NOT_YET})
    return f" **Not executed by this version yet: {both([f'`{word}`' for word in later])}.**" if later else ""


def _features(form: Form) -> Iterator[tuple[str, str]]:
    yield from getattr(form, "features", ())
    if isinstance(form, Either) and form.scalar is not None:
        yield from _features(form.scalar)


def _words(form: Form) -> str:
    """A form in a few words; mappings with a section of their own are only named."""
    match form:
        case Record():
            return "a mapping" if form in _RECORDS or form is DEFAULTS else form.words
        case Either():
            forms = [each for each in (form.scalar, form.sequence, form.mapping) if each is not None]
            return "; or ".join(_words(each) for each in forms)
        case Text(braces=Braces.FILLED) | Path(braces=Braces.FILLED):
            return f"{form.words} (`{{{{…}}}}`)"
        case Data():
            return f"{form.words} (`{{{{…}}}}`)" if not form.numeric else form.words
        case Each():
            inner = _words(form.form)
            return f"{inner}, or a list" if form.single else f"a list ({inner})"
        case Names():
            return f"a mapping ({form.key_words or form.keys}: {_words(form.form)})"
        case JsonSchema():
            return "a JSON Schema or `{file: path}`"
        case _:
            return form.words


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


if __name__ == "__main__":
    sys.stdout.write(reference())
