"""A workflow file as read: the tree of YAML values, each with its place, scalars as they were written.

`load` (in `onward.spec.load`) makes a `Document` and reports shape mistakes; `onward.plan` turns it into a `Plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from onward.errors import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """Text as written. `plain` tells that it stood without quotes and is no block."""

    text: str
    place: Place
    plain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence:
    """A YAML list."""

    items: tuple[Tree, ...]
    place: Place

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One `key: value` of a mapping."""

    key: Scalar
    value: Tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """A YAML mapping with merge keys applied and `x-…` keys left out; key order as written."""

    entries: dict[str, Entry]
    place: Place

    def get(self, key: str) -> Tree | None:
        """The value of `key`, or None."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value


Tree = Scalar | Sequence | Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """A file that the definition names (`prompt.file`, `schema.file`): `name` as written, `path` absolute."""

    name: str
    path: str
    text: str


@dataclass(slots=True, kw_only=True)
class Document:
    """One workflow file: `path` is its absolute real path, `shown` the name used in messages.

    `lines` are the lines of the file, for the excerpt in a message. `sha256` is of the file's bytes.
    `files` holds the files that it names, by the name as written; `includes` the documents of its `include`
    nodes, by the path as written.
    """

    path: str
    shown: str
    root: Mapping
    lines: list[str]
    sha256: str
    files: dict[str, TextFile] = field(default_factory=dict)
    includes: dict[str, Document] = field(default_factory=dict)
