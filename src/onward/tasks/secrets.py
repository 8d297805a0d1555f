"""Declared secrets → their values, and texts without them.

The values are in the memory of the driver (and of the keeper of a task that got them), in the environment of the tasks
that they were released to, and nowhere else: no event, no file, no argument and no message holds one. They are read
anew by every driver, when it starts or when the first task needs them, so that one that was changed meanwhile is right.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from onward.errors import UsageError
from onward.model.nodes import Node, Plan, Secret
from onward.model.status import OnResume, Status
from onward.state.run_state import RunState
from onward.tasks.failures import Failure

if TYPE_CHECKING:  # most runs have no secrets, and start without what those need
    from onward.tasks.masking import Finder
    from onward.tasks.secret_forms import Forms


class SecretsMissing(UsageError):
    """Secrets that tasks need cannot be read; nothing was run."""

    code = "secret-missing"


class Secrets(Mapping[str, str]):
    """The secrets of a run by name. Each is read once, when it is asked for; then `Failure` says what is wrong.

    `environment` is that of the caller, `home` the folder of the workflow file.
    """

    def __init__(self, sources: Iterable[Secret], *, home: str, environment: Mapping[str, str]) -> None:
        self._sources = {source.name: source for source in sources}
        self._home = home
        self._environment = environment
        self._values: dict[str, str] = {}
        self._forms: dict[tuple[str, ...], Forms] = {}
        self._finder: tuple[int, Finder] | None = None

    @classmethod
    def of(cls, plan: Plan, environment: Mapping[str, str]) -> Self:
        """Those that a plan declares."""
        return cls(plan.secrets, home=os.path.dirname(plan.file), environment=environment)

    @classmethod
    def given(cls, values: Mapping[str, str]) -> Self:
        """Values that somebody else has read."""
        found = cls((), home="", environment={})
        found._values.update(values)
        return found

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            from onward.tasks.secret_sources import read_secret

            self._values[name] = read_secret(self._sources[name], home=self._home, environment=self._environment)
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values or name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources.keys() | self._values.keys())

    def __len__(self) -> int:
        return len(self._sources.keys() | self._values.keys())

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self))})"

    def read(self, needed: Mapping[str, str]) -> list[str]:
        """Read secrets, given with the node that needs each; warnings about them. Raises `SecretsMissing`."""
        from onward.tasks.secret_forms import FEWEST_CHARACTERS

        warnings, problems = [], []
        for name, path in needed.items():
            try:
                value = self[name]
            except Failure as problem:
                problems.append((path, problem))
                continue
            if len(value) < FEWEST_CHARACTERS:
                warnings.append(
                    f"the secret `{name}` has fewer than {FEWEST_CHARACTERS} characters: it cannot be told from "
                    "other text, so it is not masked in what tasks print"
                )
        if problems:
            raise _missing(problems)
        return warnings

    def forms(self, names: tuple[str, ...]) -> Forms | None:
        """What stands for these secrets in output. Raises `Failure`."""
        if not names:
            return None
        if names not in self._forms:
            from onward.tasks.secret_forms import forms_of

            self._forms[names] = forms_of(self[name] for name in names)
        return self._forms[names]

    def masked(self, text: str) -> str:
        """A text without any secret that has been read."""
        finder = self._of_all()
        if finder is None:
            return text
        from onward.tasks.masking import masked_text

        return masked_text(finder, text)

    def masked_value(self, value: Any) -> Any:
        """The same for a JSON value."""
        if self._of_all() is None:
            return value
        from onward.tasks.masking import masked_json

        return masked_json(value, self.masked)

    def _of_all(self) -> Finder | None:
        """For texts that may hold a secret of any task."""
        known = len(self._values)
        if not known:
            return None
        if self._finder is None or self._finder[0] != known:
            from onward.tasks.masking import Finder
            from onward.tasks.secret_forms import forms_of

            self._finder = known, Finder(forms_of(self._values.values()))
        return self._finder[1]


def needed_secrets(plan: Plan, state: RunState | None = None) -> dict[str, str]:
    """The secrets that work which is still to be done may use, each with the first node that it is released to."""
    found: dict[str, str] = {}
    for node in plan.root.walk():
        if node.secrets and not (state is not None and _is_over(node, state)):
            for name in node.secrets:
                found.setdefault(name, node.path)
    return found


def _is_over(node: Node, state: RunState) -> bool:
    instance = state.instances.get(node.path)
    if instance is None or instance.status not in (Status.SUCCEEDED, Status.SKIPPED):
        return False
    return all(each.on_resume is not OnResume.ALWAYS for each in node.walk())


def _missing(problems: list[tuple[str, Failure]]) -> SecretsMissing:
    help = "\n".join(dict.fromkeys(each.help for _, each in problems if each.help))
    told = [f"{problem.message} (needed by `{path}`)" for path, problem in problems]
    if len(told) == 1:
        return SecretsMissing(told[0], help=help or None)
    return SecretsMissing("\n  ".join([f"{len(told)} secrets cannot be used:", *told]), help=help or None)
