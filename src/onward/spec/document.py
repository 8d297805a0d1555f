"""A workflow file as read: the tree of YAML values, each with its place, scalars as they were written.

`load` (in `onward.spec.load`) makes a `Document` and reports shape mistakes; `onward.plan` turns it into a `Plan`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, field

from onward.errors import Place, Problem

# The nodes of the tree are structs outside the garbage collector's care: a large file has hundreds of thousands of
# them, they are made eight times faster than dataclasses, and a tree without recursion holds no cycle to collect.


class Scalar(Struct, frozen=True, kw_only=True, gc=False):
    """Text as written. `plain` tells that it stood without quotes and is no block."""

    text: str
    place: Place
    plain: bool = True


class Sequence(Struct, frozen=True, kw_only=True, gc=False):
    """A YAML list."""

    items: tuple[Tree, ...]
    place: Place

    def __iter__(self) -> Iterator[Tree]:
        return iter(self.items)


class Entry(Struct, frozen=True, kw_only=True, gc=False):
    """One `key: value` of a mapping."""

    key: Scalar
    value: Tree


class Mapping(Struct, frozen=True, kw_only=True, gc=False):
    """A YAML mapping with merge keys applied; key order as written.

    After `load`, `x-…` keys are left out wherever keys are words of the format or names of tasks.
    Free-form data (`with`, `data`, an inline `schema`, items) keeps all of its keys.
    """

    entries: dict[str, Entry]
    place: Place

    def get(self, key: str) -> Tree | None:
        """The value of `key`, or None."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value


Tree = Scalar | Sequence | Mapping


class TextFile(Struct, frozen=True, kw_only=True):
    """A file that the definition names (`prompt.file`, `schema.file`): `name` as written, `path` absolute.

    `data` is the JSON Schema of a `schema.file` (a mapping or a boolean), else None.
    """

    name: str
    path: str
    text: str
    data: Any = None


class Use(Struct, frozen=True, kw_only=True):
    """A place where the file uses a feature that `onward.spec.supported` can switch off."""

    feature: str
    place: Place
    key: str
    trail: tuple[str, ...] = ()


class Document(Struct, kw_only=True):
    """One workflow file: `path` is its absolute real path, `shown` the name used in messages.

    `lines` are the lines of the file, for the excerpt in a message. `sha256` is of the file's bytes.
    `files` holds the files that it names, by the name as written; `includes` the documents of its `include`
    nodes, by the path as written. `warnings` are those of this file alone.
    """

    path: str
    shown: str
    root: Mapping
    lines: list[str]
    sha256: str
    files: dict[str, TextFile] = field(default_factory=dict)
    includes: dict[str, Document] = field(default_factory=dict)
    uses: list[Use] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
