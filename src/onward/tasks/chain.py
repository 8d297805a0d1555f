"""An instance -> the nodes whose `env`, `directory` and `secrets` reach it, outermost first."""

from __future__ import annotations

from typing import NamedTuple

from onward.model.nodes import Node
from onward.state.instance import Instance, Role


class Link(NamedTuple):
    """One node around (or at) an instance, `level` steps above it.

    `whole` tells that the loop as a whole is meant, whose `merge` and `finally` see what is written there as it is,
    but nothing that differs from iteration to iteration.
    """

    level: int
    node: Node
    whole: bool = False


def chain_of(instance: Instance) -> list[Link]:
    """The links from the root down to the instance itself. Sections have no fields of their own."""
    links: list[Link] = []
    place: Instance | None = instance
    below: Role | None = None
    level = 0
    while place is not None:
        node = place.node
        if node is not None and place.role is not Role.SECTION and not (
            place.role is Role.LOOP and below is Role.ITERATION
        ):
            links.append(Link(level, node, place.role is Role.LOOP))
        below = place.role
        place = place.parent
        level += 1
    links.reverse()
    return links
