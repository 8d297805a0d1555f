"""`Plan` <-> JSON, as a run stores it. Needs neither YAML nor schema code."""

from __future__ import annotations

import msgspec

from onward.errors import StateError
from onward.model.nodes import Plan


def encode_plan(plan: Plan) -> bytes:
    """The plan as JSON; what has its default is left out."""
    return msgspec.json.encode(plan)


def decode_plan(text: bytes) -> Plan:
    """The plan of `encode_plan`. Raises `StateError` when it is damaged."""
    try:
        return msgspec.json.decode(text, type=Plan)
    except msgspec.DecodeError as error:
        help = "start a new run with `onward run FILE`"
        raise StateError(f"the stored plan cannot be read: {error}", help=help) from error
