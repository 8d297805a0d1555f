"""A node of the plan -> the references in the fields that make up its work, for the digest of its inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onward.model.nodes import Approve, Call, Node, Prompt, Run
from onward.model.values import Data, Ref, Root, Text
from onward.state.instance import Instance, Role
from onward.tasks.chain import chain_of

_OF_THE_MOMENT = (Root.SELF, Root.RESERVED)


class Used(NamedTuple):
    """A reference and how many levels above the node it is written."""

    level: int
    ref: Ref


def used_by(instance: Instance) -> tuple[Used, ...]:
    """Everything the work of an instance depends on; its own result and the reserved names do not count."""
    node = instance.node
    if node is None:
        return ()
    if instance.role is Role.LOOP:
        found = [Used(0, ref) for ref in _in_header(node)]
    else:
        found = [Used(0, ref) for ref in _in_work(node)]
    for level, around, whole in chain_of(instance):
        if not whole:
            found.extend(Used(level, ref) for ref in _in_surroundings(around))
    return tuple(dict.fromkeys(used for used in found if used.ref.root not in _OF_THE_MOMENT))


def refs_in(text: Text | None) -> Iterator[Ref]:
    """The references of a text."""
    if text is not None and not isinstance(text, str):
        yield from (part for part in text.parts if isinstance(part, Ref))


def _in_data(data: Data | None) -> Iterator[Ref]:
    if data is not None:
        for hole in data.holes:
            yield from refs_in(hole.template)


def _in_surroundings(node: Node) -> Iterator[Ref]:
    for text in node.env.values():
        yield from refs_in(text)
    yield from refs_in(node.directory)


def _in_header(node: Node) -> Iterator[Ref]:
    loop = node.loop
    if loop is None:
        return
    yield from _in_data(loop.items)
    if loop.glob is not None:
        yield from refs_in(loop.glob.pattern)
        yield from refs_in(loop.glob.folder)
    if loop.command is not None:
        for text in loop.command.argv:
            yield from refs_in(text)


def _in_work(node: Node) -> Iterator[Ref]:
    match node.work:
        case Prompt(text=text, model=model):
            yield from refs_in(text)
            yield from refs_in(model)
        case Run(argv=argv, stdin=stdin):
            for text in argv:
                yield from refs_in(text)
            yield from refs_in(stdin)
        case Call(arguments=arguments):
            yield from _in_data(arguments)
        case Approve(question=question, show=show):
            yield from refs_in(question)
            for text in show:
                yield from refs_in(text)
        case None:
            for data in node.with_.values():
                yield from _in_data(data)
