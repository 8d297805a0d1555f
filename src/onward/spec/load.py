"""A workflow file and every file that it names → a `Document`; all mistakes of all of them are reported together."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct, field

from onward.errors import Place, Problem, Problems
from onward.spec.check import check
from onward.spec.document import Document, Mapping, TextFile
from onward.spec.excerpts import excerpt, quoted
from onward.spec.files import NoFile, content_of
from onward.spec.json_schemas import read_schema, schema_faults
from onward.spec.read import MOST_NODES, Unreadable, lines_of, read, text_of
from onward.spec.scene import FileUse

DEEPEST_INCLUDE = 16


def load(path: str | os.PathLike[str], *, shown: str | None = None) -> Document:
    """Read a workflow file with its prompts, schemas and included workflows.

    `shown` is the name of the file in messages. Raises `Problems` with every mistake of form in any of the files.
    """
    name = os.fspath(path)
    loader = _Loader()
    with _no_collection():
        document = loader.load_main(name, shown or name)
    if document is None or any(not problem.warning for problem in loader.problems):
        failure = Problems([problem for problem in loader.problems if not problem.warning])
        failure.document = document
        raise failure
    return document


@contextmanager
def _no_collection() -> Iterator[None]:
    """Half of the time of a large file would go into looking for cycles in a tree that has none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Loader(Struct):
    """The files read so far, by real path, and what is wrong with them."""

    problems: list[Problem] = field(default_factory=list)
    documents: dict[str, Document | None] = field(default_factory=dict)
    heights: dict[str, int] = field(default_factory=dict)
    """how many levels of include a document has, itself counted"""
    weights: dict[str, int] = field(default_factory=dict)
    """how many values a document has with all that it includes"""
    chain: list[tuple[str, str]] = field(default_factory=list)
    """the files that are being read, outermost first: real path and shown name"""

    def load_main(self, name: str, shown: str) -> Document | None:
        try:
            content = content_of(os.path.realpath(name), shown)
        except NoFile as fault:
            place = Place(file=shown)
            self.problems.append(Problem(code=fault.code, message=fault.message, place=place, help=fault.help))
            return None
        return self.load(os.path.realpath(name), shown, content)

    def load(self, path: str, shown: str, content: bytes) -> Document | None:
        """One document and what it includes; None when it cannot be read."""
        self.documents[path] = None
        try:
            text = text_of(content, shown)
            tree, problems, count = read(text, shown)
        except Unreadable as unreadable:
            self.problems.append(unreadable.problem)
            return None
        lines = lines_of(text)
        scene = check(tree, lines)
        self.problems += problems + scene.problems
        if not isinstance(tree, Mapping):
            return None
        document = Document(
            path=path,
            shown=shown,
            root=tree,
            lines=lines,
            sha256=hashlib.sha256(content).hexdigest(),
            uses=scene.uses,
            warnings=[problem for problem in scene.problems if problem.warning],
        )
        self.documents[path] = document
        self.weights[path] = count
        self.take_files(document, scene.files)
        return document

    def take_files(self, document: Document, uses: list[FileUse]) -> None:
        self.chain.append((document.path, document.shown))
        self.heights[document.path] = 1
        for use in uses:
            if use.as_ == "include":
                self.include(document, use)
            else:
                self.take_text(document, use)
        self.chain.pop()

    def take_text(self, document: Document, use: FileUse) -> None:
        """A prompt or a schema."""
        name = use.scalar.text
        known = document.files.get(name)
        if known is not None and (use.as_ == "prompt" or known.data is not None):
            return
        path, shown = _beside(document, name)
        try:
            text = text_of(content_of(path, shown), shown)
        except NoFile as fault:
            self.report(document, use, fault.code, fault.message, fault.help)
            return
        except Unreadable as unreadable:
            self.problems.append(unreadable.problem)
            return
        data = self.schema(text, shown) if use.as_ == "schema" else None
        document.files[name] = TextFile(name=name, path=path, text=text, data=data)

    def schema(self, text: str, shown: str) -> object:
        try:
            tree, value, problems = read_schema(text, shown)
        except Unreadable as unreadable:
            self.problems.append(unreadable.problem)
            return None
        self.problems += problems
        lines = lines_of(text)
        for fault in schema_faults(tree):
            source = excerpt(lines, fault.place)
            self.problems.append(
                Problem(code="bad-value", message=fault.message, place=fault.place, help=fault.help, source=source)
            )
        return value

    def include(self, document: Document, use: FileUse) -> None:
        name = use.scalar.text
        path, shown = _beside(document, name)
        if any(path == each for each, _ in self.chain):
            begin = next(at for at, (each, _) in enumerate(self.chain) if each == path)
            circle = [name for _, name in self.chain[begin:]] + [self.chain[begin][1]]
            message = f"{quoted(name)} would include itself without end: {' → '.join(circle)}"
            self.report(document, use, "include-cycle", message, "remove one of these includes")
            return
        if path not in self.documents:
            self.read_included(document, use, path, shown)
        included = self.documents.get(path)
        if included is not None:
            document.includes[name] = included
            self.measure(document, use, included)

    def read_included(self, document: Document, use: FileUse, path: str, shown: str) -> None:
        if len(self.chain) > DEEPEST_INCLUDE:
            self.too_deep(document, use)
            return
        try:
            content = content_of(path, shown)
        except NoFile as fault:
            code = "include-missing" if fault.code == "no-file" else fault.code
            self.report(document, use, code, fault.message, fault.help)
            return
        self.load(path, shown, content)

    def measure(self, document: Document, use: FileUse, included: Document) -> None:
        """Keep count of depth and size: the same file may be included in many places."""
        height = self.heights.get(included.path, 1) + 1
        if len(self.chain) + height - 1 > DEEPEST_INCLUDE + 1:
            self.too_deep(document, use)
            return
        self.heights[document.path] = max(self.heights[document.path], height)
        self.weights[document.path] += self.weights.get(included.path, 0)
        if self.weights[document.path] > MOST_NODES:
            message = f"with its includes the workflow holds more than {MOST_NODES:,} values"
            self.report(document, use, "too-big", message, "use a loop, or start several workflows")
            self.weights[document.path] = 0

    def too_deep(self, document: Document, use: FileUse) -> None:
        message = f"workflows include each other more than {DEEPEST_INCLUDE} deep"
        self.report(document, use, "include-depth", message, None)

    def report(self, document: Document, use: FileUse, code: str, message: str, help: str | None) -> None:
        place = use.scalar.place
        source = excerpt(document.lines, place)
        self.problems.append(
            Problem(code=code, message=message, place=place, help=help, trail=use.trail, source=source)
        )


def _beside(document: Document, name: str) -> tuple[str, str]:
    """Absolute real path of a file that a document names, and how to show it."""
    try:
        path = os.path.realpath(os.path.join(os.path.dirname(document.path), name))
    except ValueError:
        path = name
    return path, os.path.normpath(os.path.join(os.path.dirname(document.shown), name))
