"""Durations on the command line: a whole number and a unit, as in a workflow file."""

from __future__ import annotations

import re
from typing import Any

import click

_FORM = re.compile(r"(\d{1,9})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Duration(click.ParamType[float]):
    """`30s`, `5m`, `2h`, `3d` → seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; a usage error for anything else."""
        if isinstance(value, int | float):
            return float(value)
        found = _FORM.fullmatch(str(value))
        if found is None:
            self.fail(f"`{value}` is no duration; write 30s, 5m, 2h or 3d", param, ctx)
        return float(int(found[1]) * _SECONDS[found[2]])


DURATION = Duration()
