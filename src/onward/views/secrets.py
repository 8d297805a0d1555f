"""The secrets of a plan → their names, where they come from, and who gets them. Never a value."""

from __future__ import annotations

from msgspec import Struct

from onward.model.nodes import Plan, Secret
from onward.state.instance import Instance
from onward.tasks.chain import chain_of
from onward.tasks.secrets import needed_secrets


class NeededSecret(Struct, frozen=True, kw_only=True):
    """A secret that a run of the plan reads; `needed_by` is the first node that it is released to."""

    name: str
    origin: str
    needed_by: str


def needed(plan: Plan) -> list[NeededSecret]:
    """In the order of the file."""
    origins = {secret.name: origin_of(secret) for secret in plan.secrets}
    return [
        NeededSecret(name=name, origin=origins.get(name, "nowhere"), needed_by=path)
        for name, path in needed_secrets(plan).items()
    ]


def origin_of(secret: Secret) -> str:
    """In words."""
    if secret.env is not None:
        return f"the variable {secret.env} of the caller"
    return f"the file {secret.file}" if secret.file is not None else f"the command {' '.join(secret.command)}"


def released_to(instance: Instance) -> list[str]:
    """The names of the secrets that a node gets, its ancestors' first."""
    return list(dict.fromkeys(name for link in chain_of(instance) for name in link.node.secrets))
