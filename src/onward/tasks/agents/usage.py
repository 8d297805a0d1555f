"""The counters of an agent → what one attempt used, where a continued session counts on from before."""

from __future__ import annotations

from collections.abc import Mapping

from onward.tasks.agents.agent import UsageOf


def used_by_attempt(
    counters: Mapping[str, float], before: Mapping[str, float], usage_of: UsageOf
) -> dict[str, float]:
    """`before` are the counters of the same session at the end of the attempt that it was left in, if any.

    A counter that has become smaller was begun again, and is taken as it stands.
    """
    if usage_of is UsageOf.RUN:
        return dict(counters)
    return {name: _rest(number, before.get(name, 0.0)) for name, number in counters.items()}


def _rest(number: float, before: float) -> float:
    return round(number - before, 9) if number >= before else number
