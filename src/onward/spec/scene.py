"""What the checks share: where they are, what they have found, and how a form finds its check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec import Struct, field

from onward.errors import Place, Problem
from onward.spec.document import Mapping, Scalar, Sequence, Tree, Use
from onward.spec.excerpts import excerpt, quoted
from onward.spec.forms import Form


class At(Struct, frozen=True, kw_only=True):
    """Where a check is: under which key (what messages call the value), in which node, with which example."""

    key: str
    place: Place
    trail: tuple[str, ...] = ()
    example: str = ""


class FileUse(Struct, frozen=True, kw_only=True):
    """A file that the definition names; `as_` is `prompt`, `schema` or `include`."""

    as_: str
    scalar: Scalar
    trail: tuple[str, ...]


class Scene(Struct, kw_only=True):
    """One file that is being checked, and what was found in it."""

    lines: list[str]
    problems: list[Problem] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    files: list[FileUse] = field(default_factory=list)
    root: Tree | None = None
    """the whole file, for what `defaults` says"""

    def usual(self, kind: str, key: str) -> Tree | None:
        """What `defaults` gives to the tasks of a kind."""
        defaults = self.root.get("defaults") if isinstance(self.root, Mapping) else None
        fields = defaults.get(kind) if isinstance(defaults, Mapping) else None
        return fields.get(key) if isinstance(fields, Mapping) else None

    def report(
        self,
        code: str,
        message: str,
        place: Place,
        at: At,
        *,
        help: str | None = None,
        warning: bool = False,
    ) -> None:
        source = excerpt(self.lines, place)
        self.problems.append(
            Problem(code=code, message=message, place=place, help=help, trail=at.trail, source=source, warning=warning)
        )

    def use(self, feature: str, key: str, place: Place, at: At) -> None:
        self.uses.append(Use(feature=feature, key=key, place=place, trail=at.trail))

    def must_be(self, words: str, tree: Tree, at: At, *, code: str = "bad-value", help: str | None = None) -> None:
        """Report that the value is not what it must be; without other help the example of the field is shown."""
        if help is None and at.example:
            help = f"for example `{example_of(at)}`"
        self.report(code, f"{at.key} must be {words}, not {got(tree)}", tree.place, at, help=help)


Check = Callable[[Scene, Any, Tree, At], None]
_CHECKS: dict[type, Check] = {}

_C = TypeVar("_C", bound=Check)


def checks(form: type) -> Callable[[_C], _C]:
    """Register the check of a form."""

    def register(check: _C) -> _C:
        _CHECKS[form] = check
        return check

    return register


def visit(scene: Scene, form: Form, tree: Tree, at: At) -> None:
    """Check a value against a form."""
    _CHECKS[type(form)](scene, form, tree, at)


def got(tree: Tree) -> str:
    """A value in words, as the end of "must be …, not …"."""
    match tree:
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case Scalar() if not tree.text:
            return "nothing"
        case Scalar():
            return quoted(tree.text)


def empty(tree: Tree) -> bool:
    """Whether nothing stands after the colon."""
    return isinstance(tree, Scalar) and tree.plain and not tree.text


def own_keys(mapping: Mapping) -> list[Scalar]:
    """Take the `x-…` keys out of a mapping whose keys are words of the format; returns them."""
    ignored = [entry.key for key, entry in mapping.entries.items() if key.startswith("x-")]
    for key in ignored:
        del mapping.entries[key.text]
    return ignored


def example_of(at: At) -> str:
    """`key: example`, where the example does not begin with the key itself."""
    return at.example if at.example.startswith(f"{at.key}:") else f"{at.key}: {at.example}"
