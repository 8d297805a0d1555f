"""A value against a JSON Schema -> nothing, or what does not fit. Needs the extra `schema`, loaded when first used."""

from __future__ import annotations

from typing import Any, Protocol, cast

from onward.tasks.failures import Failure
from onward.tasks.json_text import shown, to_json

_MOST_ERRORS = 5
_checkers: dict[int, tuple[Any, _Checker]] = {}


class _Checker(Protocol):
    def iter_errors(self, instance: Any) -> Any: ...


def check_schema(schema: Any, value: Any) -> None:
    """Raise `TaskError` that lists what does not fit, the place of each in the value."""
    checker = _checker(schema)
    try:
        errors = sorted(checker.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    except Exception as error:
        if not type(error).__module__.startswith(("referencing", "jsonschema")):
            raise
        raise Failure("bad-schema", f"the schema cannot be used: {error}") from error
    if errors:
        told = [f"at {_place(error)}: {_message(error)}" for error in errors[:_MOST_ERRORS]]
        if len(errors) > _MOST_ERRORS:
            told.append(f"and {len(errors) - _MOST_ERRORS} more")
        raise Failure("schema", "the result does not fit the schema: " + "; ".join(told))


def _checker(schema: Any) -> _Checker:
    """One per schema of the plan, which holds on to it."""
    known = _checkers.get(id(schema))
    if known is not None and known[0] is schema:
        return known[1]
    checker = _make(schema)
    _checkers[id(schema)] = (schema, checker)
    return checker


def _make(schema: Any) -> _Checker:
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing import Registry
    except ImportError as error:
        raise Failure(
            "no-jsonschema",
            "results are checked against `schema` by the package `jsonschema`, which is not installed",
            help="install it with `pip install 'onward[schema]'`",
        ) from error
    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError as error:
        raise Failure("bad-schema", f"the schema itself is wrong: {error.message}") from error
    # An empty registry: a reference to another place is an error and no request to a server.
    return cast(_Checker, kind(schema, registry=Registry()))


def _place(error: Any) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path) or "the top"


def _message(error: Any) -> str:
    message = str(error.message)
    return message if len(message) < 200 else f"{shown(to_json(error.instance))} does not fit `{error.validator}`"
