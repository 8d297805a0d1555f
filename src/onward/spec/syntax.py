"""What PyYAML says about text that is no YAML → a problem in the words of someone who writes a workflow.

PyYAML reports where it gave up, which is often not where the mistake is, so the text itself is looked at
(`format.md` section 7, mistakes 4 and 5).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from onward.errors import Place, Problem
from onward.spec.excerpts import excerpt, quoted


class Fault(NamedTuple):
    """A mistake at a position; `line` and `column` count from 0, as PyYAML does."""

    code: str
    message: str
    line: int
    column: int
    help: str | None = None


class Seen(NamedTuple):
    """Where and why PyYAML gave up; `context` is where the construct around it began."""

    what: str
    while_: str
    line: int
    column: int
    context: tuple[int, int] | None
    lines: list[str]

    @property
    def text(self) -> str:
        """The line at which PyYAML gave up."""
        return self.lines[self.line] if self.line < len(self.lines) else ""

    @property
    def character(self) -> str:
        return self.text[self.column : self.column + 1]


def explain(error: Any, shown: str, lines: list[str]) -> Problem:
    """The problem that stands behind a `yaml.YAMLError`."""
    seen = _seen(error, lines)
    fault = next(found for look in _LOOKS if (found := look(seen)) is not None)
    place = Place(file=shown, line=fault.line + 1, column=fault.column + 1)
    source = excerpt(lines, place)
    return Problem(code=fault.code, message=fault.message, place=place, source=source, help=fault.help)


def quoted_reference(line: str, start: int) -> tuple[str, str]:
    """Message and help for a value that begins with `{{` at `start`."""
    value = line[start:].rstrip()
    before = line[:start].rstrip()
    if before.endswith(("[", ",", "{")) or "[" in before or "{" in before:
        value = _flow_value(value)
    value = re.sub(r"\s+#.*$", "", value)
    quote = "'" if '"' in value and "'" not in value else '"'
    shown = value.replace('"', '\\"') if quote == '"' else value
    return "YAML reads a value that starts with `{` as a mapping", f"put quotes around it: {quote}{shown}{quote}"


def _seen(error: Any, lines: list[str]) -> Seen:
    mark = getattr(error, "problem_mark", None)
    context = getattr(error, "context_mark", None)
    line, column = _inside(mark or context, lines)
    return Seen(
        what=getattr(error, "problem", None) or str(error).splitlines()[0],
        while_=getattr(error, "context", None) or "",
        line=line,
        column=column,
        context=(context.line, context.column) if context else None,
        lines=lines,
    )


def _inside(mark: Any, lines: list[str]) -> tuple[int, int]:
    """The position of a mark; what ends with the file is put to the end of its last line."""
    if mark is None:
        return 0, 0
    last = len(lines) - 1
    if mark.line > last:
        return last, len(lines[last])
    return mark.line, min(mark.column, len(lines[mark.line]))


def _flow_value(text: str) -> str:
    """The part of a flow collection up to the comma or bracket that ends the first value."""
    depth = 0
    for at, character in enumerate(text):
        if character == "{":
            depth += 1
        elif character == "}" and depth:
            depth -= 1
        elif character in ",]}" and not depth:
            return text[:at].rstrip()
    return text


def _tab(seen: Seen) -> Fault | None:
    indentation = len(seen.text) - len(seen.text.lstrip())
    tab = seen.text.find("\t", 0, indentation)
    if tab >= 0:
        message = "a tab in the indentation; YAML takes spaces only"
    elif seen.character == "\t" and "start any token" in seen.what:
        tab, message = seen.column, "a tab where YAML takes spaces only"
    else:
        return None
    return Fault("tab", message, seen.line, tab, "put spaces in its place")


def _unquoted_reference(seen: Seen) -> Fault | None:
    for found in re.finditer(r"\{\{", seen.text[: seen.column + 1]):
        before = seen.text[: found.start()].rstrip()
        if before.endswith((":", "-", "[", ",")) and before.count('"') % 2 == 0 and before.count("'") % 2 == 0:
            message, help = quoted_reference(seen.text, found.start())
            return Fault("unquoted-reference", message, seen.line, found.start(), help)
    return None


_KEY = re.compile(r"\s*(?:- +)*(?P<key>[^\s:#'\"][^:#]*?)\s*:\s+(?P<value>\S)")


def _colon_in_value(seen: Seen) -> Fault | None:
    if not seen.what.startswith("mapping values are not allowed"):
        return None
    found = _KEY.match(seen.text)
    if found is None or found.end() > seen.column or found["value"] in "'\"|>":
        help = "keys that belong together are indented alike; a key on the line above needs a colon"
        return Fault("yaml", "a key cannot stand here: the text above it is a value already", *_at(seen), help)
    message = "a plain value cannot contain `: ` (colon and space)"
    help = f"use quotes, or `{found['key']}: |` and the text on the next line"
    return Fault("yaml", message, *_at(seen), help)


def _alias(seen: Seen) -> Fault | None:
    if seen.context is None or not seen.while_.endswith(("scanning an alias", "scanning an anchor")):
        return None
    line, column = seen.context
    value = _plain_value(seen.lines[line], column)
    message = f"a plain value cannot start with `{value[:1]}`: YAML reads it as the name of an anchor"
    return Fault("yaml", message, line, column, f"put quotes around it: {_in_quotes(value)}")


def _first_character(seen: Seen) -> Fault | None:
    if "cannot start any token" not in seen.what:
        return None
    value = _plain_value(seen.text, seen.column)
    message = f"a plain value cannot start with {quoted(seen.character)}"
    return Fault("yaml", message, *_at(seen), f"put quotes around it: {_in_quotes(value)}")


def _open_quote(seen: Seen) -> Fault | None:
    if "quoted scalar" not in seen.while_ and "double-quoted" not in seen.while_:
        return None
    if "end of stream" in seen.what or "document separator" in seen.what:
        line, column = seen.context or _at(seen)
        return Fault("yaml", "this quote is never closed", line, column, "write the same quote where the text ends")
    if "escape" not in seen.what:
        return None
    column = seen.text.rfind("\\", 0, seen.column + 1)
    escape = seen.text[max(column, 0) : max(column, 0) + 2]
    message = f"in double quotes {quoted(escape)} is no escape that YAML knows"
    help = "use single quotes, in which a backslash is a backslash, or write it twice"
    return Fault("yaml", message, seen.line, max(column, 0), help)


def _open_bracket(seen: Seen) -> Fault | None:
    if "flow sequence" not in seen.while_ and "flow mapping" not in seen.while_:
        return None
    line, column = seen.context or _at(seen)
    bracket = seen.lines[line][column : column + 1] if line < len(seen.lines) else "["
    closing = "}" if bracket == "{" else "]"
    message = f"a comma or `{closing}` is missing here, after the `{bracket}` of line {line + 1}"
    help = f"close it with `{closing}`; text with a comma, colon or bracket in it needs quotes there"
    return Fault("yaml", message, *_at(seen), help)


def _dash(seen: Seen) -> Fault | None:
    if "sequence entries are not allowed" not in seen.what:
        return None
    help = "put `- ` on a line of its own, below the key"
    return Fault("yaml", "a list cannot begin on the line of its key", *_at(seen), help)


def _missing_colon(seen: Seen) -> Fault | None:
    if "could not find expected ':'" not in seen.what:
        return None
    line, column = seen.context or _at(seen)
    help = "write `key: value`, or indent the line if it goes on with the text above"
    return Fault("yaml", "this line is neither a key with a colon nor part of the value above", line, column, help)


def _block(seen: Seen) -> Fault | None:
    if "scanning a block scalar" not in seen.while_:
        return None
    help = "begin the text on the next line, indented"
    return Fault("yaml", "after `|` or `>` the rest of the line must be empty", *_at(seen), help)


def _tag(seen: Seen) -> Fault | None:
    if "tag" not in seen.what and "tag" not in seen.while_:
        return None
    help = "remove it; for text that begins with `!` use quotes"
    return Fault("tag", "tags such as `!x` are not used in a workflow file", *_at(seen), help)


def _after_quotes(seen: Seen) -> Fault | None:
    if "block mapping" not in seen.while_ or "expected" not in seen.what:
        return None
    before = seen.text[: seen.column].rstrip()
    if not before.endswith(('"', "'")) or ":" not in before:
        return None
    help = "put the whole value in quotes, or double the quote inside it"
    return Fault("yaml", "the value ended with its closing quote; nothing can follow it", *_at(seen), help)


def _indentation(seen: Seen) -> Fault | None:
    if "block mapping" not in seen.while_ and "block collection" not in seen.while_:
        return None
    if seen.context == _at(seen):
        return None
    what = "list" if "collection" in seen.while_ else "mapping"
    line, column = seen.context or _at(seen)
    message = f"this does not fit the {what} that began on line {line + 1} with {column} spaces before it"
    return Fault("yaml", message, *_at(seen), "check the indentation of this line and of the lines above")


def _anything(seen: Seen) -> Fault:
    reason = " ".join(f"{seen.while_} {seen.what}".split())
    return Fault("yaml", f"YAML cannot be read here ({reason})", *_at(seen))


_LOOKS: tuple[Callable[[Seen], Fault | None], ...] = (
    _tab,
    _unquoted_reference,
    _colon_in_value,
    _alias,
    _first_character,
    _open_quote,
    _open_bracket,
    _dash,
    _missing_colon,
    _block,
    _tag,
    _after_quotes,
    _indentation,
    _anything,
)


def _at(seen: Seen) -> tuple[int, int]:
    return seen.line, seen.column


def _plain_value(line: str, column: int) -> str:
    value = re.sub(r"\s+#.*$", "", line[column:].rstrip())
    before = line[:column]
    return _flow_value(value) if "[" in before or "{" in before else value


def _in_quotes(value: str) -> str:
    return f"'{value}'" if '"' in value or "\\" in value else f'"{value}"'
