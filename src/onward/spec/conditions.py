"""The table of conditions (`format.md` 3.6): key → form and words."""

from __future__ import annotations

from onward.spec.forms import (
    Braces,
    Conditions,
    Data,
    Each,
    Either,
    Field,
    NodeName,
    Path,
    Record,
    Regex,
    Text,
)

SCRIPT = Text(words="a shell script", braces=Braces.KEPT, blank=False)
ARGV = Each(form=Text(braces=Braces.FILLED), least=1)
COMMAND = Either(scalar=SCRIPT, sequence=ARGV)

_PATHS = Each(form=Path(glob=True), least=1, single=True)
_PAIR = Each(form=Data(), least=2, most=2)
_NUMBERS = Each(form=Data(numeric=True), least=2, most=2)

_CONTAINS = Record(
    title="`file-contains`",
    one_of=("text", "matches"),
    fields=(
        Field(key="path", form=Path(), required=True, says="The file.", example="report.md"),
        Field(key="text", form=Text(braces=Braces.FILLED, blank=False), says="Text that must be in it."),
        Field(key="matches", form=Regex(braces=Braces.KEPT), says="Regular expression that must be found in it."),
    ),
)
_NEWER = Record(
    title="`newer`",
    fields=(
        Field(key="file", form=Path(), required=True, says="The file that should be newer.", example="out.csv"),
        Field(key="than", form=_PATHS, required=True, says="The file or files it was made from.", example="in.csv"),
    ),
)

CONDITIONS: tuple[Field, ...] = (
    Field(
        key="file-exists",
        form=_PATHS,
        says="The file or folder exists; with a list, all of them do.",
        example="file-exists: report.md",
    ),
    Field(
        key="file-missing",
        form=_PATHS,
        says="The file or folder does not exist; with a list, none of them does.",
        example="file-missing: [lock, pid]",
    ),
    Field(
        key="file-contains",
        form=_CONTAINS,
        says="The file holds a text, or a match of a regular expression. A missing file is false.",
        example="file-contains: {path: report.md, text: Verdict}",
    ),
    Field(
        key="newer",
        form=_NEWER,
        says="The file exists and is newer than another, or than each of a list.",
        example="newer: {file: out.csv, than: in.csv}",
    ),
    Field(
        key="command",
        form=COMMAND,
        says="The command ends with exit code 0. Text is a shell script, a list is a program with its arguments.",
        example="command: test -s report.md",
    ),
    Field(
        key="equals",
        form=_PAIR,
        says="Both values are equal.",
        example='equals: ["{{check.text}}", ready]',
    ),
    Field(
        key="matches",
        form=Each(form=Text(braces=Braces.FILLED), least=2, most=2),
        says="A text, and a regular expression that is found in it (Python `re.search`).",
        example="matches: [\"{{check.text}}\", '^ok']",
    ),
    Field(
        key="empty",
        form=Data(),
        says="The value is missing, null, or an empty text, list or mapping.",
        example='empty: "{{check.text}}"',
    ),
    Field(
        key="at-least",
        form=_NUMBERS,
        says="The first number is not smaller than the second.",
        example='at-least: ["{{check.rows}}", 1]',
    ),
    Field(
        key="at-most",
        form=_NUMBERS,
        says="The first number is not greater than the second.",
        example='at-most: ["{{check.rows}}", 100]',
    ),
    Field(key="succeeded", form=NodeName(), says="The named task has succeeded.", example="succeeded: check"),
    Field(key="failed", form=NodeName(), says="The named task has failed.", example="failed: check"),
    Field(
        key="all",
        form=Conditions(),
        says="Each condition of the list holds.",
        example="all: [{file-exists: a}, {file-exists: b}]",
    ),
    Field(
        key="any",
        form=Conditions(),
        says="At least one condition of the list holds.",
        example="any: [{file-exists: a}, {file-exists: b}]",
    ),
    Field(
        key="not",
        form=Conditions(),
        says="The condition does not hold.",
        example="not: {file-exists: report.md}",
    ),
)

JUDGE = Record(
    title="a judge",
    example="prompt: Does this answer the question? {{self.text}}",
    fields=(
        Field(
            key="prompt",
            form=Text(braces=Braces.FILLED, blank=False),
            required=True,
            says="Question to an agent that must end its answer with PASS or FAIL. It costs an agent call.",
            example="Does this answer the question? {{self.text}}",
        ),
        Field(key="adapter", form=Text(braces=Braces.REFUSED, blank=False, line=True), says="Agent to ask."),
        Field(key="model", form=Text(braces=Braces.FILLED, blank=False, line=True), says="Model to ask."),
    ),
)
