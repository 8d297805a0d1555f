"""Values as the plan sees them: texts with references in them, and results as the journal keeps them.

No `from __future__ import annotations` here: evaluating the text of so many fields would slow every start.
"""

from enum import StrEnum
from typing import Any

from msgspec import Struct


class Root(StrEnum):
    """What the head of a reference names."""

    VARIABLE = "variable"
    """a variable of the workflow (inside an `include`: of the included workflow)"""
    LOOP = "loop"
    """the loop variable or `index` of a surrounding loop; `up` leads to the iteration"""
    NODE = "node"
    """the result of another node"""
    SELF = "self"
    """the result of the node itself"""
    PREVIOUS = "previous"
    """a node of the last iteration of a `while`/`until` loop; `up` leads to the iteration"""
    RESERVED = "reserved"
    """`datetime`, `run_id`, `workflow_file`, `workflow_name`, `attempt`"""


class Filter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`json`, `path`, `fence`, or `default` with its argument."""

    name: str
    argument: str | None = None


class Ref(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One resolved `{{reference}}`.

    `up` counts instance levels from the instance that uses the reference to the one that holds `node`
    (levels are: container, loop, iteration, and the sections `@merge`, `@on-failure`, `@finally`).
    `node` is a path below that instance (`review/security`, `each[a]/write`), `field` the part of the
    result (`text`, `lines`, `json`, `status`, `results`, `hand-off`, `choice`, an output's name …),
    `within` the keys and numbers below it. `source` is the reference as written, without braces.
    """

    root: Root
    name: str = ""
    up: int = 0
    node: str = ""
    field: str = ""
    within: tuple[str | int, ...] = ()
    filters: tuple[Filter, ...] = ()
    source: str = ""

    @property
    def default(self) -> str | None:
        """The text of `default "x"`, if there is one."""
        return next((f.argument for f in self.filters if f.name == "default"), None)


class Template(Struct, frozen=True, kw_only=True):
    """Text with at least one reference in it; text parts and references alternate as written."""

    parts: tuple[str | Ref, ...]


Text = str | Template
"""Text that may have references in it."""


class Hole(Struct, frozen=True, kw_only=True):
    """A place in free-form data that a template fills: keys and numbers that lead to it."""

    at: tuple[str | int, ...]
    template: Template


class Data(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A free-form JSON value (`with`, list items, `hand-off.data` …); `null` stands where a hole is.

    A hole whose template is one reference alone keeps the type of its value; else it becomes text.
    """

    value: Any = None
    holes: tuple[Hole, ...] = ()


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A result as the journal keeps it: small ones inline (`value`), others under `values/<sha256>`.

    `type` is `text`, `lines` or `json`; `bytes` the size of the UTF-8 text or of the JSON text.
    """

    type: str
    bytes: int
    value: Any = None
    sha256: str | None = None


class Artifact(Struct, frozen=True, kw_only=True):
    """A file that a task made: path relative to the run's directory, size in bytes, SHA-256 in hex."""

    path: str
    bytes: int
    sha256: str
