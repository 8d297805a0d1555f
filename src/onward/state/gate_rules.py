"""Which answers a gate takes. Pure, so that the command, the driver and other engines refuse the same ones."""

from __future__ import annotations

from onward.model.events import GateOpen

APPROVE, REJECT = "approve", "reject"


def choice_for(gate: GateOpen, word: str, given: str | None) -> str | None:
    """The choice that `onward approve` (or `reject`) means without or with `--choice`; None: it has to be given.

    `reject` stops where a gate offers `stop` in its place (`settled.md` 19).
    """
    if given is not None:
        return given
    if word in gate.choices:
        return word
    if word == REJECT:
        return "stop" if "stop" in gate.choices else None
    others = [choice for choice in gate.choices if choice != REJECT]
    return others[0] if len(others) == 1 else None


def refusal(gate: GateOpen, choice: str, fields: dict[str, str]) -> str | None:
    """Why an answer does not fit the gate, in words; None when it fits."""
    if choice not in gate.choices:
        return f"`{choice}` is not offered; the choices are {', '.join(gate.choices)}"
    for name, value in fields.items():
        if name not in gate.fields:
            known = ", ".join(gate.fields) or "none"
            return f"the question has no field `{name}`; its fields are: {known}"
        allowed = gate.fields[name]
        if allowed is not None and value not in allowed:
            return f"`{value}` is not allowed for `{name}`; allowed are {', '.join(allowed)}"
    missing = [name for name in gate.fields if name not in fields]
    if missing and choice != REJECT:
        return f"a value is missing: {', '.join(missing)}"
    return None
