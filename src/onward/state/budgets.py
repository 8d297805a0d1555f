"""What attempts used → what the budgets around them have left (`format.md` 3.7).

A budget that is used up pauses the run before anything else begins; what runs is not broken off for it. `tokens` are
those that went in and out, as the agent counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onward.model.nodes import Budget
from onward.state.instance import Instance, Role
from onward.state.run_state import RunState

USD, TOKENS = "usd", "tokens"


def charge(state: RunState, instance: Instance, usage: Mapping[str, float]) -> None:
    """Add the usage of an attempt to each budget around it."""
    amounts = {USD: usage.get(USD, 0.0), TOKENS: _tokens(usage)}
    place: Instance | None = instance
    while place is not None:
        if budget_of(state, place) is not None:
            before = place.spent or {}
            place.spent = {name: before.get(name, 0.0) + amount for name, amount in amounts.items()}
            state.charged[place.path] = place
        place = place.parent


def used_up(state: RunState) -> Iterator[tuple[Instance, str, float, float]]:
    """Each budget that is used up by a node that has not ended: node, what of, how much was used, how much may be."""
    for place in state.charged.values():
        budget, spent = budget_of(state, place), place.spent
        if place.ended or budget is None or spent is None:
            continue
        for name, most in ((USD, budget.usd), (TOKENS, budget.tokens)):
            if most is not None and spent.get(name, 0.0) >= most:
                yield place, name, spent[name], most


def reason_to_pause(state: RunState) -> str | None:
    """Words for the first budget that is used up. A run that is to end is not kept from its `finally` steps."""
    if state.cancelling is not None:
        return None
    for place, name, spent, most in used_up(state):
        whose = f"of `{place.path}` " if place.path else ""
        to_raise = f"{place.path}:{name}" if place.path else name
        return (
            f"the budget {whose}is used up: {_amount(spent, name)} of {_amount(most, name)}; "
            f"raise it with --budget {to_raise}=…"
        )
    return None


def budget_of(state: RunState, place: Instance) -> Budget | None:
    """The budget of a node, as it was raised; sections and iterations have none of their own."""
    if place.node is None or place.role not in (Role.NODE, Role.LOOP):
        return None
    raised = state.facts.budgets.get(place.path)
    written = place.node.budget
    if raised is None:
        return written
    tokens = raised.get(TOKENS, written.tokens if written is not None else None)
    return Budget(
        usd=raised.get(USD, written.usd if written is not None else None),
        tokens=int(tokens) if tokens is not None else None,
    )


def _tokens(usage: Mapping[str, float]) -> float:
    return usage.get("tokens", usage.get("input_tokens", 0.0) + usage.get("output_tokens", 0.0))


def _amount(number: float, name: str) -> str:
    return f"{number:,.2f} USD" if name == USD else f"{number:,.0f} tokens"
