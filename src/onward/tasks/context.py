"""What is the same for every task of a run: its folders, its plan, its values, and the environment it was given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache, partial

from msgspec import Struct, field

from onward.model.nodes import Plan
from onward.store.names import folder_of
from onward.store.values import Values
from onward.tasks.secrets import Secrets

OF_ONE_TASK = (
    "ONWARD_RUN_ID", "ONWARD_TASK", "ONWARD_ATTEMPT", "ONWARD_ATTEMPT_ID", "ONWARD_DATETIME", "ONWARD_OUT",
    "ONWARD_FEEDBACK", "ONWARD_KEY",
)  # fmt: skip
"""variables that each task gets values of its own for"""
OF_THE_CALLERS_PLACE = ("PWD", "OLDPWD")
"""where the caller was: for a task, which works elsewhere, that would be a lie"""

_folder_of = lru_cache(maxsize=4096)(folder_of)


class RunContext(Struct, frozen=True, kw_only=True):
    """`folder` is the run's own, `directory` where tasks work, `home` the workflow file's folder; all absolute.

    `environment` is what the driver was started with, as `caller_environment` leaves it; it is read once and never
    written down. `secrets` knows the values of declared secrets by name, and makes texts without them.
    """

    run: str
    plan: Plan
    folder: str
    directory: str
    home: str
    values: Values
    environment: Mapping[str, str]
    adapter: str | None = None
    secrets: Secrets = field(default_factory=partial(Secrets.given, {}))

    def node_folder(self, path: str) -> str:
        """Where everything about the node of that path lies."""
        return f"{self.folder}/tasks/{_folder_of(path)}"

    def attempt_folder(self, path: str, attempt: int) -> str:
        """Where one try at a task lies, or would lie."""
        return f"{self.folder}/tasks/{_folder_of(path)}/{attempt}"

    @property
    def hand_offs(self) -> str:
        """Where what phases pass on is written."""
        return f"{self.folder}/hand-offs"


def context_of(
    plan: Plan,
    *,
    run: str,
    folder: str | os.PathLike[str],
    values: Values,
    environment: Mapping[str, str],
    adapter: str | None = None,
    secrets: Secrets | None = None,
) -> RunContext:
    """The context of a run whose workflow file lies where its plan says."""
    home = os.path.dirname(plan.file)
    return RunContext(
        run=run,
        plan=plan,
        folder=os.path.abspath(folder),
        directory=os.path.normpath(os.path.join(home, plan.directory)),
        home=home,
        values=values,
        environment=caller_environment(plan, environment),
        adapter=adapter or environment.get("ONWARD_ADAPTER") or None,
        secrets=Secrets.given({}) if secrets is None else secrets,
    )


def caller_environment(plan: Plan, environment: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment without declared secrets, and without what an onward task around us was given."""
    hidden = {*OF_ONE_TASK, *OF_THE_CALLERS_PLACE, *(secret.name for secret in plan.secrets)}
    hidden.update(secret.env for secret in plan.secrets if secret.env is not None)
    return {name: value for name, value in environment.items() if name not in hidden}
