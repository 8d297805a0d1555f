"""The skeleton of a plan: where each node stands, before any of its fields is read.

References may lead to nodes anywhere before the one that uses them, so all names are known before the first field is
read. The skeleton is thrown away once the plan is made.

**Instances.** A run is a tree of instances, and a resolved reference (`onward.model.values.Ref`) says how many steps
`up` that tree it goes from the instance that uses it. For this file

```
- plan: {run: …}
- each:
    loop: {for-each: …}
    task:
      - write: {run: …}
    on-failure: {task: [- tell: …]}
    merge:
      - sum: {run: …}
```

the instances are

```
""                                   root
├── plan                             node
└── each                             loop       for-each, title, hand-off count from here
    ├── each[a]                      iteration  every other field of `each` counts from here
    │   ├── each[a]/write            node
    │   └── each[a]/@on-failure      section
    │       └── each[a]/@on-failure/tell
    └── each/@merge                  section    (`@finally` likewise, below the loop)
        └── each/@merge/sum
```

so that `{{plan.text}}` is `up=3, node="plan"` in `write`, `up=4` in `tell`, `up=3` in `sum`, `up=2` in `env` of `each`
and `up=1` in its `for-each`. Unnamed groups add no level. `Site.depth` is the number of steps from the node's outer
instance (the loop, or the node itself) to the one that holds the variables: the root, or the iteration or node of the
surrounding `include`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from onward.model.nodes import Kind, Secret, Variable
from onward.spec.document import Document, Entry, Mapping, Scalar, Tree


class Section(StrEnum):
    """In which list of its parent a node stands."""

    BODY = ""
    MERGE = "@merge"
    ON_FAILURE = "@on-failure"
    FINALLY = "@finally"


class Shape(StrEnum):
    """What is known of a value before the run."""

    TEXT = "text"
    LIST = "a list"
    MAPPING = "a mapping"
    ANY = "any"


class Steps(Struct, eq=False):
    """One list of steps: the nodes by name, and step by step."""

    steps: tuple[tuple[Site, ...], ...] = ()
    names: dict[str, Site] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.steps)


NO_STEPS = Steps()


class Workflow(Struct, eq=False, kw_only=True):
    """One workflow file and what it declares; inside an `include` it is a closed scope.

    `shown` is the path relative to the main file's folder (empty: the main file). `given` are variables that have a
    value without being declared; `typed` those whose value may be no text,
    `optional` those that are declared and may have no value at all. `adapters` leads from a name in this file
    to the name in the plan. `undeclared` collects names that are used as variables and nowhere declared, `sites` all
    nodes of the file, `slips` the task that is meant by a name that nothing has.
    """

    document: Document
    shown: str = ""
    variables: dict[str, Variable] = field(default_factory=dict)
    secrets: dict[str, Secret] = field(default_factory=dict)
    adapters: dict[str, str] = field(default_factory=dict)
    defaults: dict[Kind, Mapping] = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    typed: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    undeclared: dict[str, Any] = field(default_factory=dict)
    included: bool = False
    sites: list[Site] = field(default_factory=list)
    by_name: dict[str, list[Site]] = field(default_factory=dict)
    slips: dict[str, str | None] = field(default_factory=dict)

    def called(self, name: str) -> list[Site]:
        """The nodes of that name, anywhere in this file."""
        return self.names().get(name, [])

    def names(self) -> dict[str, list[Site]]:
        """The nodes of this file by name; made when a mistake is first looked into."""
        if not self.by_name:
            for site in self.sites:
                self.by_name.setdefault(site.name, []).append(site)
        return self.by_name


class Site(Struct, eq=False, kw_only=True):
    """Where a node stands. `fields` are its own keys, `defaults` applied; `order` is the number of its step.

    `item` is the loop variable of a `for-each`, `item_shape` what is known of its values; `counted` tells a `while` or
    `until` loop. `inner` is the workflow that an `include` brings. `wants_json` and `referenced` are set while
    references are resolved; `read` holds the fields of the node to be, until all references are.
    """

    name: str
    path: str
    kind: Kind
    key: Scalar
    fields: dict[str, Entry]
    file: Workflow
    parent: Site | None = None
    section: Section = Section.BODY
    order: int = 0
    depth: int = 0
    looped: bool = False
    counted: bool = False
    item: str | None = None
    item_shape: Shape = Shape.ANY
    body: Steps = field(default_factory=lambda: NO_STEPS)
    merge: Steps = field(default_factory=lambda: NO_STEPS)
    on_failure: Steps = field(default_factory=lambda: NO_STEPS)
    finally_: Steps = field(default_factory=lambda: NO_STEPS)
    needs: tuple[str, ...] = ()
    inner: Workflow | None = None
    wants_json: bool = False
    referenced: bool = False
    read: dict[str, Any] | None = None

    def get(self, key: str) -> Tree | None:
        """The value of one of its fields."""
        entry = self.fields.get(key)
        return None if entry is None else entry.value

    @property
    def inner_depth(self) -> int:
        """As `depth`, from the iteration of a looped node."""
        return self.depth + 1 if self.looped else self.depth

    @property
    def trail(self) -> tuple[str, ...]:
        """The names that lead to it, outermost first, as messages show them."""
        names: list[str] = []
        site: Site | None = self
        while site is not None and site.name:
            names.append(site.name)
            if site.section:
                names.append(site.section[1:])
            site = site.parent
        return tuple(reversed(names))

    @property
    def line(self) -> int:
        """The line of its name."""
        return self.key.place.line

    @property
    def skippable(self) -> bool:
        """Whether it may end without a result: `skip-if`."""
        return "skip-if" in self.fields

    @property
    def failable(self) -> bool:
        """Whether what follows may run although it failed."""
        value = self.get("on-failure")
        if isinstance(value, Mapping):
            value = value.get("then")
        return isinstance(value, Scalar) and value.text == "continue"

    def sections(self) -> tuple[Steps, Steps, Steps, Steps]:
        """All lists below it, in the order of `Node.children`."""
        return (self.body, self.merge, self.on_failure, self.finally_)

    def walk(self) -> Iterator[Site]:
        """This site and all below it, in the order of `Node.walk`."""
        yield self
        for section in self.sections():
            for step in section.steps:
                for site in step:
                    yield from site.walk()
