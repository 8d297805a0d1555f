"""A task and the folder of its attempt -> the folder that it knows as `$ONWARD_OUT`."""

from __future__ import annotations

from onward.model.nodes import Kind, Node, Run
from onward.model.values import Text

_NAME = "ONWARD_OUT"


def out_folder(node: Node, folder: str) -> str:
    """A folder of its own, unless the task is a program that neither declares outputs nor names the variable.

    Such a program writes `metrics` at most, and making a folder for that would cost as much as all else about it.
    """
    work = node.work
    if node.kind is Kind.RUN and not node.outputs and isinstance(work, Run) and not _names_it(work):
        return folder
    return f"{folder}/outputs"


def _names_it(work: Run) -> bool:
    if work.script is not None:
        return _NAME in work.script
    return any(_NAME in part for element in work.argv for part in _plain(element))


def _plain(text: Text) -> tuple[str, ...]:
    if isinstance(text, str):
        return (text,)
    return tuple(part for part in text.parts if isinstance(part, str))
