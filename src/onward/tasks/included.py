"""An `include` that was reached -> the variables of the file it brings: what `with` gives, then the defaults."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from onward.model.nodes import Included, Variable
from onward.model.values import Data
from onward.state.instance import Instance, Role
from onward.tasks.failures import Failure


def brings_a_file(place: Instance) -> bool:
    """Whether the nodes below are those of an included file."""
    return place.node is not None and place.node.included is not None and place.role in (Role.NODE, Role.ITERATION)


def given_variables(place: Instance, data: Callable[[Instance, Data], Any]) -> Mapping[str, Any]:
    """All variables of the included file. Values may be lists and mappings; `data` finds them."""
    node = place.node
    assert node is not None
    assert node.included is not None
    given = {name: data(place, value) for name, value in node.with_.items()}
    for variable in node.included.variables:
        if variable.name in given:
            _check(variable, given[variable.name], node.included)
        elif variable.default is not None:
            given[variable.name] = variable.default
        elif variable.required:
            raise Failure(
                "missing-variable",
                f"{node.included.file} needs a value for `{variable.name}`",
                help=f"add `with: {{{variable.name}: …}}`",
            )
    return given


def _check(variable: Variable, value: Any, included: Included) -> None:
    if variable.matches is None:
        return
    if not isinstance(value, str) or re.search(variable.matches, value) is None:
        raise Failure(
            "bad-value",
            f"the variable `{variable.name}` of {included.file} does not match `{variable.matches}`",
            help="see `matches` of that variable",
        )
