"""A leaf and its attempt -> the whole environment of its process (`format.md` 4.4).

From the weakest to the strongest: the caller's environment without declared secrets, text variables, text loop
variables, `env:` from the root inwards, released secrets, and what onward says about the attempt. What is the same
for every attempt of a node is put together once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from onward.model.conditions import Command
from onward.model.nodes import Run
from onward.model.values import Text, Value
from onward.state.instance import Instance, Role
from onward.state.lookup import Missing, climb, loop_values
from onward.tasks.chain import Link, chain_of
from onward.tasks.context import RunContext
from onward.tasks.failures import Failure
from onward.tasks.insertion import MOST_BYTES_IN_PLACE, in_place
from onward.tasks.json_text import to_json
from onward.tasks.resolve import Resolver

if TYPE_CHECKING:
    from onward.tasks.secret_forms import Forms

_FIT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ENOUGH = MOST_BYTES_IN_PLACE // 4


class About(Struct, frozen=True, kw_only=True):
    """What onward says to one process about itself. `marker` finds its descendants, `feedback` is a file."""

    path: str
    attempt: int
    key: str
    marker: str
    out: str
    feedback: str = os.devnull


class _Layout(Struct, frozen=True):
    """`env:` and secrets as they reach one node: what stands in the file as it is, and what has to be filled in.

    Of equal names only the innermost is left. `looped` tells whether loop variables are around.
    """

    literal: dict[str, str]
    filled: tuple[tuple[str, int, Text], ...]
    secrets: tuple[str, ...]
    looped: bool


class _Base(Struct, frozen=True):
    """The caller's environment and the variables of one file, and these alone (`added`).

    `large` are variables that no environment takes.
    Holds on to the mapping, by whose identity it is found.
    """

    variables: Mapping[str, Any]
    stamp: int
    environment: dict[str, str]
    added: dict[str, str]
    large: frozenset[str]


class Environments:
    """The environments of the tasks of a run."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._context: RunContext = resolver.context
        self._layouts: dict[str, _Layout] = {}
        self._bases: dict[int, _Base] = {}

    def of(self, user: Instance, about: About, script: str | None = None) -> dict[str, str]:
        """The whole environment. `script` is looked through for variables that are too large to be there."""
        base = self._base(user)
        environment = base.environment.copy()
        large = self._fill(environment, user, about, base.large)
        if large and script is not None:
            _refuse_large(large, script)
        return environment

    def changes(self, user: Instance, about: About) -> tuple[dict[str, str], tuple[str, ...]]:
        """What a process that has the caller's environment must set, and unset, to have the whole one."""
        base = self._base(user)
        changes = base.added.copy()
        large = self._fill(changes, user, about, base.large)
        return changes, tuple(name for name in large if name in self._context.environment)

    def secrets(self, user: Instance) -> tuple[str, ...]:
        """The names of the secrets that are released to it."""
        return self._layout(user).secrets

    def masks(self, user: Instance) -> Forms | None:
        """What must not be seen in its output. Raises `TaskError`."""
        return self._context.secrets.forms(self._layout(user).secrets)

    def _fill(self, environment: dict[str, str], user: Instance, about: About, large: frozenset[str]) -> frozenset[str]:
        """Add all that comes after the variables; which of these have no place in an environment."""
        layout = self._layout(user)
        if layout.looped:
            large = self._add_loop_values(environment, user, large)
        environment.update(layout.literal)
        for name, level, text in layout.filled:
            value = self._resolver.text(climb(user, level), text)
            environment[name] = in_place(value, f"`{name}` in `env`")
        if layout.secrets:
            self._add_secrets(environment, layout.secrets)
        self._add_about(environment, about)
        return large - environment.keys() if large else large

    # --- variables ----------------------------------------------------------------------------------------

    def _base(self, user: Instance) -> _Base:
        """One per set of variables, made again when they change (`--var` on resume)."""
        variables, stamp = self._resolver.variables(user), self._resolver.state.facts.resumed_count
        base = self._bases.get(id(variables))
        if base is None or base.stamp != stamp:
            added, large = dict[str, str](), set[str]()
            for name, value in variables.items():
                _add(added, large, name, value)
            environment = {name: v for name, v in self._context.environment.items() if name not in large} | added
            base = self._bases[id(variables)] = _Base(variables, stamp, environment, added, frozenset(large))
        return base

    def _add_loop_values(self, environment: dict[str, str], user: Instance, large: frozenset[str]) -> frozenset[str]:
        more = set(large)
        for name, found in loop_values(user).items():
            if isinstance(found, Missing) or name == "index":
                continue
            value = self._resolver.load(found) if isinstance(found, Value) else found.value
            more.discard(name)
            _add(environment, more, name, value)
        return frozenset(more)

    # --- env and secrets ----------------------------------------------------------------------------------

    def _layout(self, user: Instance) -> _Layout:
        node = user.node
        key = "" if node is None else f"[]{node.path}" if user.role is Role.LOOP else node.path
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = _layout_of(user)
        return layout

    def _add_secrets(self, environment: dict[str, str], names: tuple[str, ...]) -> None:
        for name in names:
            if name not in self._context.secrets:
                raise Failure("secret-missing", f"the secret `{name}` has no value: nothing says where it comes from")
            environment[name] = in_place(self._context.secrets[name], f"the secret `{name}`")

    # --- what onward says ---------------------------------------------------------------------------------

    def _add_about(self, environment: dict[str, str], about: About) -> None:
        environment["ONWARD_RUN_ID"] = self._context.run
        environment["ONWARD_TASK"] = about.path
        environment["ONWARD_ATTEMPT"] = str(about.attempt)
        environment["ONWARD_ATTEMPT_ID"] = about.marker
        environment["ONWARD_DATETIME"] = self._resolver.state.facts.datetime
        environment["ONWARD_OUT"] = about.out
        environment["ONWARD_FEEDBACK"] = about.feedback
        environment["ONWARD_KEY"] = about.key


def key_of(run: str, instance: Instance) -> str:
    """The same for every attempt and resume of a node, another one after a rerun by hand."""
    key = f"{run}:{instance.path}"
    return f"{key}+{instance.generation}" if instance.generation else key


def marker_of(folder: str | os.PathLike[str], path: str, attempt: int | str) -> str:
    """What every process of one attempt carries as `ONWARD_ATTEMPT_ID`, and no other process.

    `folder` is the run's: two stores may have a run of the same id, and each ends only its own processes.
    """
    return f"{_named(os.fspath(folder))}:{path}#{attempt}"


@lru_cache(maxsize=64)
def _named(folder: str) -> str:
    return f"{os.path.basename(folder)}@{sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:8]}"


def script_of(work: object) -> str | None:
    """The shell script of a task or condition, if it is one."""
    return work.script if isinstance(work, Run | Command) else None


def _layout_of(user: Instance) -> _Layout:
    literal: dict[str, str] = {}
    filled: dict[str, tuple[int, Text]] = {}
    secrets: dict[str, None] = {}
    for link in chain_of(user):
        for name, text in _env_of(link):
            literal.pop(name, None)
            filled.pop(name, None)
            if isinstance(text, str):
                literal[name] = in_place(text, f"`{name}` in `env`")
            else:
                filled[name] = (link.level, text)
        secrets.update(dict.fromkeys(link.node.secrets))
    texts = tuple((name, level, text) for name, (level, text) in filled.items())
    return _Layout(literal, texts, tuple(secrets), _is_in_a_loop(user))


def _env_of(link: Link) -> list[tuple[str, Text]]:
    """An included file's own `env` is inside that of its node, and so stronger."""
    node = link.node
    found = list(node.env.items())
    if node.included is not None and link.level:
        found += node.included.env.items()
    return [(name, text) for name, text in found if isinstance(text, str) or not link.whole]


def _is_in_a_loop(user: Instance) -> bool:
    place: Instance | None = user
    while place is not None:
        if place.role is Role.ITERATION:
            return True
        place = place.parent
    return False


def _add(environment: dict[str, str], large: set[str], name: str, value: Any) -> None:
    """A text, number or truth value goes in under its name; lists and mappings have no form there."""
    if isinstance(value, bool | int | float):
        value = to_json(value)
    if not isinstance(value, str) or not _FIT.fullmatch(name):
        return
    if len(value) > _ENOUGH and len(value.encode("utf-8", "surrogatepass")) > MOST_BYTES_IN_PLACE:
        environment.pop(name, None)
        large.add(name)
    else:
        environment[name] = in_place(value, f"the variable `{name}`")


def _refuse_large(names: frozenset[str], script: str) -> None:
    for name in sorted(names):
        if re.search(rf"\$\{{?{re.escape(name)}\b", script):
            raise Failure(
                "too-big",
                f"the variable `{name}`, which the script uses, is larger than the {MOST_BYTES_IN_PLACE:,} bytes that "
                "an environment takes",
                help=f'hand it over with `stdin: "{{{{{name}}}}}"`, or as a file with `{{{{{name} | path}}}}` in `env`',
            )
