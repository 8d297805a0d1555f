"""The one vocabulary of conditions: `skip-if`, `ensure`, `validators`, `while`, `until` (`format.md` 3.6).

No `from __future__ import annotations` here: evaluating the text of so many fields would slow every start.
"""

from msgspec import Struct

from onward.model.values import Data, Ref, Text


class FileExists(Struct, frozen=True, kw_only=True, tag="file-exists", tag_field="is"):
    """All of these files or folders exist."""

    paths: tuple[Text, ...]


class FileMissing(Struct, frozen=True, kw_only=True, tag="file-missing", tag_field="is"):
    """None of these files or folders exists."""

    paths: tuple[Text, ...]


class FileContains(Struct, frozen=True, kw_only=True, tag="file-contains", tag_field="is", omit_defaults=True):
    """The file holds `text`, or a match of the regular expression `matches`. A missing file is false."""

    path: Text
    text: Text | None = None
    matches: str | None = None


class Newer(Struct, frozen=True, kw_only=True, tag="newer", tag_field="is"):
    """`file` exists and is newer than each of `than`."""

    file: Text
    than: tuple[Text, ...]


class Command(Struct, frozen=True, kw_only=True, tag="command", tag_field="is", omit_defaults=True):
    """The command ends with exit code 0. Either a script for `shell`, or an argv list."""

    script: str | None = None
    argv: tuple[Text, ...] = ()
    shell: tuple[str, ...] = ()


class Equals(Struct, frozen=True, kw_only=True, tag="equals", tag_field="is"):
    """Both values are equal: as JSON values, or as text when one of them is text."""

    left: Data
    right: Data


class Matches(Struct, frozen=True, kw_only=True, tag="matches", tag_field="is"):
    """`re.search(regex, text)` finds something."""

    text: Text
    regex: Text


class Empty(Struct, frozen=True, kw_only=True, tag="empty", tag_field="is"):
    """The value is missing, null, or an empty text, list or mapping."""

    value: Data


class AtLeast(Struct, frozen=True, kw_only=True, tag="at-least", tag_field="is"):
    """Both are numbers (or text that is one), and `left >= right`."""

    left: Data
    right: Data


class AtMost(Struct, frozen=True, kw_only=True, tag="at-most", tag_field="is"):
    """Both are numbers (or text that is one), and `left <= right`."""

    left: Data
    right: Data


class Succeeded(Struct, frozen=True, kw_only=True, tag="succeeded", tag_field="is"):
    """The named node ended `succeeded`."""

    node: Ref


class Failed(Struct, frozen=True, kw_only=True, tag="failed", tag_field="is"):
    """The named node ended `failed`."""

    node: Ref


class All(Struct, frozen=True, kw_only=True, tag="all", tag_field="is"):
    """Each of these holds; they are tried in order up to the first that does not."""

    conditions: tuple["Condition", ...]


class Any(Struct, frozen=True, kw_only=True, tag="any", tag_field="is"):
    """At least one of these holds; they are tried in order up to the first that does."""

    conditions: tuple["Condition", ...]


class Not(Struct, frozen=True, kw_only=True, tag="not", tag_field="is"):
    """The condition does not hold."""

    condition: "Condition"


class Judge(Struct, frozen=True, kw_only=True, tag="judge", tag_field="is", omit_defaults=True):
    """A prompt to an agent that must end with PASS or FAIL (in `validators` only)."""

    prompt: Text
    adapter: str | None = None
    model: str | None = None


Condition = (
    FileExists
    | FileMissing
    | FileContains
    | Newer
    | Command
    | Equals
    | Matches
    | Empty
    | AtLeast
    | AtMost
    | Succeeded
    | Failed
    | All
    | Any
    | Not
    | Judge
)
