"""Small questions to the tree of a document; its shape was checked when it was loaded."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator

from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree

_NO_ENTRIES: dict[str, Entry] = {}


def scalar_text(tree: Tree | None) -> str:
    """The text of a scalar, empty for anything else."""
    return tree.text if isinstance(tree, Scalar) else ""


def scalars(tree: Tree | None) -> Iterator[Scalar]:
    """The scalars of a list, or the one scalar that stands in its place."""
    if isinstance(tree, Scalar):
        yield tree
    elif isinstance(tree, Sequence):
        yield from (item for item in tree.items if isinstance(item, Scalar))


def items(tree: Tree | None) -> tuple[Tree, ...]:
    """The items of a list, or the one value that stands in its place."""
    if isinstance(tree, Sequence):
        return tree.items
    return () if tree is None else (tree,)


def entries(tree: Tree | None) -> ItemsView[str, Entry]:
    """The entries of a mapping, none for anything else."""
    return tree.entries.items() if isinstance(tree, Mapping) else _NO_ENTRIES.items()


def keys(tree: Tree | None) -> tuple[str, ...]:
    """The keys of a mapping, none for anything else."""
    return tuple(tree.entries) if isinstance(tree, Mapping) else ()
