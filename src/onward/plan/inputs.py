"""A plan and what the start gives -> the value of every variable: `--var` > `--vars-file` > `default`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from onward.errors import UsageError
from onward.model.nodes import Plan
from onward.plan.scope import TAKEN
from onward.plan.suggest import nearest
from onward.spec.names import Rule, fault


class _Fault(Struct, frozen=True):
    message: str
    help: str | None = None


class _Given(Struct):
    """Names and values from both sources, and what is wrong with them."""

    plan: Plan
    values: dict[str, str] = field(default_factory=dict)
    faults: list[_Fault] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def declared(self) -> list[str]:
        return [variable.name for variable in self.plan.variables]


def resolve_variables(
    plan: Plan, given: Mapping[str, str], from_file: Mapping[str, str], warnings: list[str] | None = None
) -> dict[str, str]:
    """The value of every variable that has one, declared ones first.

    `given` are those of the command line, `from_file` those of `--vars-file`. Names that nothing declares or uses are
    taken too (a script may use them); `warnings` gathers a sentence about each. Raises `UsageError` with everything
    that is wrong.
    """
    found = _Given(plan)
    for source, values in (("--vars-file", from_file), ("--var", given)):
        for name, value in values.items():
            found.faults.extend(_faults(name, value, source))
            found.values[name] = value
    if not found.faults:
        _check_strange_names(found)
        found.faults.extend(_missing(found))
        found.faults.extend(_mismatches(found))
    if found.faults:
        raise _usage_error(found.faults)
    if warnings is not None:
        warnings.extend(found.warnings)
    defaults = {each.name: each.default for each in plan.variables if each.default is not None}
    declared = [name for name in found.declared if name in found.values or name in defaults]
    return {**{name: found.values.get(name, defaults.get(name, "")) for name in declared}, **found.values}


def _faults(name: str, value: object, source: str) -> Iterator[_Fault]:
    wrong = fault(Rule.VARIABLE, name)
    if wrong is not None:
        yield _Fault(f"{source}: the name `{name}` {wrong}")
    elif name in TAKEN:
        yield _Fault(f"{source}: `{name}` is a word of the format, so no variable can be called that")
    if not isinstance(value, str):
        yield _Fault(f"{source}: the value of `{name}` is not text", "put it in quotes")
    elif "\0" in value:
        yield _Fault(f"{source}: the value of `{name}` holds a NUL byte", "hand it over in a file")
    elif not _is_unicode(value):
        yield _Fault(f"{source}: the value of `{name}` is not valid UTF-8", "hand it over in a file")


def _is_unicode(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _check_strange_names(found: _Given) -> None:
    """Names that nothing declares: a slip is an error, any other is told when the workflow declares some."""
    strange = [name for name in found.values if name not in found.declared and name not in found.plan.undeclared]
    if not strange:
        return
    wanted = [*found.declared, *found.plan.undeclared]
    tasks = {node.name for node in found.plan.root.walk()}
    for name in strange:
        near = nearest(name, (each for each in wanted if each not in found.values))
        if near is not None:
            found.faults.append(_Fault(f"the workflow has no variable `{name}`", f"did you mean `{near}`?"))
        elif name in tasks:
            found.faults.append(_Fault(f"`{name}` is a task of this workflow, so no variable can be called that"))
        elif wanted:
            found.warnings.append(f"nothing in the workflow names the variable `{name}`; it is only in the environment")


def _missing(found: _Given) -> Iterator[_Fault]:
    for variable in found.plan.variables:
        if variable.required and variable.default is None and variable.name not in found.values:
            words = f" ({variable.description})" if variable.description else ""
            yield _Fault(f"the variable `{variable.name}`{words} needs a value", f"--var {variable.name}=…")
    for name in found.plan.undeclared:
        if name not in found.values:
            yield _Fault(f"`{{{{{name}}}}}` is used in the workflow and has no value", f"--var {name}=…")


def _mismatches(found: _Given) -> Iterator[_Fault]:
    for variable in found.plan.variables:
        value = found.values.get(variable.name)
        if value is not None and variable.matches is not None and re.search(variable.matches, value) is None:
            shown = value if len(value) <= 60 else value[:59] + "…"
            yield _Fault(f"the value `{shown}` of `{variable.name}` does not match `{variable.matches}`")


def _usage_error(faults: list[_Fault]) -> UsageError:
    helps = [each.help for each in faults if each.help is not None]
    options = [each for each in helps if each.startswith("--var ")]
    others = [each for each in dict.fromkeys(helps) if not each.startswith("--var ")]
    if options:
        others.insert(0, f"give {' '.join(options)}")
    return UsageError("\n".join(each.message for each in faults), help="; ".join(others) or None)
