"""`--budget` of a resume → which budget is raised to how much."""

from __future__ import annotations

from collections.abc import Mapping

from onward.errors import UsageError
from onward.state.budgets import TOKENS, USD, budget_of, used_up
from onward.state.run_state import RunState


def raised(state: RunState, given: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Path -> amounts, for `WorkflowResume`. Raises `UsageError` for what has no budget.

    A name without a path means the budget that is used up, if there is one, else that of the whole run.
    """
    found: dict[str, dict[str, float]] = {}
    for key, amount in given.items():
        path, colon, name = key.rpartition(":")
        if name not in (USD, TOKENS):
            raise UsageError(f"--budget {key}: `{name}` cannot be raised", help="write usd=5, or PATH:tokens=2000000")
        if not colon:
            path = next((place.path for place, what, _, _ in used_up(state) if what == name), "")
        place = state.root if not path else state.get(path)
        if place is None or budget_of(state, place) is None:
            whose = f"`{path}`" if path else "the workflow"
            raise UsageError(f"--budget {key}: {whose} has no budget", help="write --budget PATH:usd=5 for a node's")
        found.setdefault(path, {})[name] = amount
    return found
