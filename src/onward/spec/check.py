"""The tree of a workflow file → what is wrong with its shape, which files it names, which features it uses."""

from __future__ import annotations

from onward.errors import Place
from onward.spec import check_nodes, check_values
from onward.spec.check_records import check_record
from onward.spec.document import Mapping, Scalar, Sequence, Tree
from onward.spec.excerpts import quoted
from onward.spec.grammar import FORMAT_VERSION, SCHEMA_KEY, WORKFLOW
from onward.spec.scene import At, Scene, got

# Importing these registers their checks.
_REGISTERED = (check_nodes, check_values)


def check(root: Tree, lines: list[str]) -> Scene:
    """Check the tree of one file; everything that is wrong with it is in `problems` of the result."""
    scene = Scene(lines=lines, root=root)
    at = At(key="a workflow", place=Place(file=root.place.file, line=root.place.line, column=root.place.column))
    if not isinstance(root, Mapping):
        _no_workflow(scene, root, at)
        return scene
    root.entries.pop(SCHEMA_KEY, None)
    _check_version(scene, root, at)
    check_record(scene, WORKFLOW, root, at)
    return scene


def _no_workflow(scene: Scene, root: Tree, at: At) -> None:
    help = "write `task:` above the list and indent it" if isinstance(root, Sequence) else "begin with `task:`"
    scene.report("bad-value", f"a workflow must be a mapping with `task`, not {got(root)}", root.place, at, help=help)


def _check_version(scene: Scene, root: Mapping, at: At) -> None:
    version = root.get("onward")
    if isinstance(version, Scalar) and version.text.isdecimal() and version.text != FORMAT_VERSION:
        message = f"the file is written for format {quoted(version.text)}; this onward reads {FORMAT_VERSION}"
        scene.report("version", message, version.place, at, help="use a newer version of onward")
        del root.entries["onward"]
