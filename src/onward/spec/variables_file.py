"""A file of variables (`--vars-file`), YAML or JSON → name and text of each."""

from __future__ import annotations

import os

from onward.errors import Place, Problem, Problems
from onward.spec.check_values import name_is_good
from onward.spec.document import Mapping, Scalar
from onward.spec.files import NoFile, content_of
from onward.spec.names import Rule
from onward.spec.read import Unreadable, lines_of, read, text_of
from onward.spec.scene import At, Scene


def read_variables(path: str | os.PathLike[str], *, shown: str | None = None) -> dict[str, str]:
    """The variables of a file, each as the text that is written there. Raises `Problems`."""
    name = shown or os.fspath(path)
    try:
        text = text_of(content_of(os.fspath(path), name), name)
        tree, problems, _ = read(text, name)
    except NoFile as fault:
        place = Place(file=name)
        raise Problems([Problem(code=fault.code, message=fault.message, place=place, help=fault.help)]) from None
    except Unreadable as unreadable:
        raise Problems([unreadable.problem]) from None
    scene = Scene(lines=lines_of(text), problems=problems)
    at = At(key="a file of variables", place=tree.place, example="target: tests")
    variables: dict[str, str] = {}
    if not isinstance(tree, Mapping):
        scene.must_be("a mapping of names to text", tree, at, help="for example `target: tests`")
        raise Problems(scene.problems)
    for entry in tree.entries.values():
        name_is_good(scene, Rule.VARIABLE, entry.key, at)
        if isinstance(entry.value, Scalar):
            variables[entry.key.text] = entry.value.text
        else:
            scene.must_be("text", entry.value, At(key=entry.key.text, place=entry.key.place))
    if scene.problems:
        raise Problems(scene.problems)
    return variables
