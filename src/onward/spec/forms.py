"""The forms that a value can have. The grammar is written in them; validator, JSON Schema and reference read them."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from onward.spec.names import Rule


class Braces(StrEnum):
    """What a `{{reference}}` in a text means (`format.md` 4.4)."""

    FILLED = "filled"
    """replaced by its value"""
    KEPT = "kept"
    """left as it is: the text is a script or only words for people"""
    REFUSED = "refused"
    """an error, because the value must be known before the run"""


class Text(Struct, frozen=True, kw_only=True):
    """Text as written. `blank` tells whether it may be empty, `line` that it is one line."""

    words: str = "text"
    braces: Braces = Braces.KEPT
    blank: bool = True
    line: bool = False
    longest: int | None = None


class Path(Struct, frozen=True, kw_only=True):
    """A path of a file or folder; with `glob` also a pattern. Never empty."""

    braces: Braces = Braces.FILLED
    glob: bool = False

    @property
    def words(self) -> str:
        return "a path or glob" if self.glob else "a path"


class Choice(Struct, frozen=True, kw_only=True):
    """One of some words; `features` names the words that stand for a feature of their own."""

    options: tuple[str, ...]
    features: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> str:
        return either(self.options)


class Flag(Struct, frozen=True, kw_only=True):
    """`true` or `false`."""

    words: str = "true or false"


class Duration(Struct, frozen=True, kw_only=True):
    """A whole number and a unit; `zero` tells whether `0s` makes sense."""

    zero: bool = False
    words: str = "a duration such as 30s, 5m, 2h or 3d"


class Whole(Struct, frozen=True, kw_only=True):
    """A whole number."""

    least: int = 1
    most: int = 1_000_000

    @property
    def words(self) -> str:
        return f"a whole number from {self.least} to {self.most:,}"


class Number(Struct, frozen=True, kw_only=True):
    """A number, with or without a fraction."""

    least: float = 0

    @property
    def words(self) -> str:
        return f"a number from {self.least:g}"


class Pattern(Struct, frozen=True, kw_only=True):
    """Text of a certain shape, given by a regular expression that Python and JSON Schema read alike."""

    regex: str
    words: str


class Name(Struct, frozen=True, kw_only=True):
    """A name that follows one of the rules."""

    rule: Rule

    @property
    def words(self) -> str:
        return f"the name of {article(self.rule)}"


class Regex(Struct, frozen=True, kw_only=True):
    """A regular expression of Python's `re`; with FILLED it may come from a reference."""

    braces: Braces = Braces.FILLED
    words: str = "a regular expression"


class NodeName(Struct, frozen=True, kw_only=True):
    """What names another node: as in a reference, without braces."""

    words: str = "the name of a task"


class Reference(Struct, frozen=True, kw_only=True):
    """Exactly one `{{reference}}`, which keeps its type."""

    words: str = "one {{reference}}"


class Data(Struct, frozen=True, kw_only=True):
    """Any JSON value; references in it are filled in. `numeric` means a number or a reference."""

    numeric: bool = False

    @property
    def words(self) -> str:
        return "a number or a {{reference}}" if self.numeric else "any value"


class Each(Struct, frozen=True, kw_only=True):
    """A list. With `single`, one value may stand in place of a list of one."""

    form: Form
    least: int = 0
    most: int | None = None
    single: bool = False
    distinct: bool = False

    @property
    def words(self) -> str:
        if self.least and self.least == self.most:
            return f"a list of exactly {self.least}"
        return f"{self.form.words} or a list" if self.single else f"a list ({self.form.words})"


class Names(Struct, frozen=True, kw_only=True):
    """A mapping of names to values. Without a rule the keys are any text, called `key_words`.

    `ignores_x` is False where a key that starts with `x-` is the user's own, such as a path.
    """

    keys: Rule | None
    form: Form
    key_words: str = ""
    ignores_x: bool = True
    env: bool = False
    """whether the names are environment variables of tasks, with values that references may feed"""

    @property
    def words(self) -> str:
        return f"a mapping ({self.key_words or self.keys}: {self.form.words})"


class Record(Struct, frozen=True, kw_only=True):
    """A mapping with known keys. `title` is what messages call it.

    Of the keys `one_of` exactly one must be there; a field with `only` belongs to some of these.
    """

    title: str
    fields: tuple[Field, ...]
    one_of: tuple[str, ...] = ()
    example: str = ""

    @property
    def words(self) -> str:
        return "a mapping (" + ", ".join(field.key for field in self.fields) + ")"

    def field(self, key: str) -> Field | None:
        return next((field for field in self.fields if field.key == key), None)


class Either(Struct, frozen=True, kw_only=True):
    """The form depends on whether the value is a scalar, a list or a mapping."""

    scalar: Form | None = None
    sequence: Form | None = None
    mapping: Form | None = None

    @property
    def words(self) -> str:
        return " or ".join(form.words for form in (self.scalar, self.sequence, self.mapping) if form is not None)


class Steps(Struct, frozen=True, kw_only=True):
    """A list of steps, each a mapping of names to nodes."""

    words: str = "a list of steps"


class Members(Struct, frozen=True, kw_only=True):
    """A mapping of names to nodes that run together."""

    words: str = "a mapping of names to tasks"


class Conditions(Struct, frozen=True, kw_only=True):
    """A condition, or a list of which all must hold; `judge` allows `prompt` in it."""

    judge: bool = False

    @property
    def words(self) -> str:
        return "a condition or a list of conditions"


class JsonSchema(Struct, frozen=True, kw_only=True):
    """A JSON Schema inline, or `{file: path}`."""

    words: str = "a JSON Schema or {file: path}"


class File(Struct, frozen=True, kw_only=True):
    """A path of a file that belongs to the definition and is read at load; `as_` tells what it is."""

    as_: str
    words: str = "the path of a file"


Form: TypeAlias = (
    Text
    | Path
    | Choice
    | Flag
    | Duration
    | Whole
    | Number
    | Pattern
    | Name
    | Regex
    | NodeName
    | Reference
    | Data
    | Each
    | Names
    | Record
    | Either
    | Steps
    | Members
    | Conditions
    | JsonSchema
    | File
)


class Field(Struct, frozen=True, kw_only=True):
    """One key of the format.

    `says` is read by users, in editors and in the reference. `only` names the kinds of node (or the keys of
    `Record.one_of`) that have the field; empty means all. `looped` adds: also every node that has a `loop`.
    `inside` names the places where a node must stand: `parallel` for its members, `together` for nodes that run
    beside others. `feature` is the switch in `onward.spec.supported`, where there is one. `shared` tells that
    `defaults` may set it.
    """

    key: str
    form: Form
    says: str
    default: str = ""
    example: str = ""
    required: bool = False
    only: tuple[str, ...] = ()
    looped: bool = False
    inside: str = ""
    feature: str = ""
    shared: bool = True


def either(words: tuple[str, ...] | list[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} or {words[-1]}"


def both(words: tuple[str, ...] | list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def article(words: str) -> str:
    """The words with `a` or `an` in front."""
    return f"an {words}" if words[:1] in "aeiou" else f"a {words}"
