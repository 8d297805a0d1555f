"""Bytes → the tree of a YAML document, with the place of every value; what is not the format's YAML is reported.

Events of PyYAML's base loader are built into the tree here, so that no recursion, no typing by spelling and no lost
duplicate can come from the library (`format.md` 3.1). Limits: `docs/decisions/0003-yaml-limits.md`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

import yaml

from onward.errors import Place, Problem
from onward.spec.document import Entry, Mapping, Scalar, Sequence, Tree
from onward.spec.excerpts import excerpt, quoted
from onward.spec.syntax import explain, quoted_reference

LARGEST_FILE = 16 * 1024 * 1024
MOST_NODES = 2_000_000
"""values and keys in one file, as written and with aliases"""
MOST_FROM_ALIASES = 50_000
"""values and keys that aliases add"""
DEEPEST = 100
STEP_LISTS = ("task", "merge", "finally")

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_CONTROL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Unreadable(Exception):
    """Reading ended at this problem: nothing after it can be trusted."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Reading(NamedTuple):
    """The tree of a file, what is wrong with it as YAML, and how many values and keys it has with its aliases."""

    tree: Tree
    problems: list[Problem]
    size: int


def text_of(content: bytes, shown: str) -> str:
    """The bytes of a file as text; Unreadable when they are no UTF-8 text or too many."""
    if len(content) > LARGEST_FILE:
        _refuse(shown, "too-big", f"the file is larger than {LARGEST_FILE // 1024 // 1024} MiB", help=_SPLIT)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse_bytes(content, shown, error.start)
    if "\x00" in text:
        _refuse(shown, "not-text", "the file is binary, not text")
    return text


def read(text: str, shown: str) -> Reading:
    """The tree of a YAML text; Unreadable when it is no YAML."""
    found = _CONTROL.search(text)
    if found is not None:
        _refuse_character(text, shown, found.start())
    lines = lines_of(text)
    builder = _Builder(shown, lines)
    parser = _LOADER(text)
    try:
        builder.build(parser)
    except yaml.YAMLError as error:
        raise Unreadable(explain(error, shown, lines)) from None
    finally:
        parser.dispose()
    root = builder.root
    if root is None or (isinstance(root, Scalar) and root.plain and not root.text):
        _refuse(shown, "empty-file", "the file holds nothing", help=_EMPTY)
    return Reading(root, builder.problems, builder.count)


def lines_of(text: str) -> list[str]:
    """The lines of a text as YAML counts them."""
    return _LINE_END.split(text)


_SPLIT = "split it into several files and `include` them"
_EMPTY = "a workflow needs `task:` with a list of steps"


def _refuse(shown: str, code: str, message: str, *, help: str | None = None) -> NoReturn:
    raise Unreadable(Problem(code=code, message=message, place=Place(file=shown), help=help))


def _refuse_bytes(content: bytes, shown: str, offset: int) -> NoReturn:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        _refuse(shown, "not-text", "the file is UTF-16, not UTF-8", help="save it as UTF-8")
    if b"\x00" in content[:4096]:
        _refuse(shown, "not-text", "the file is binary, not text")
    before = lines_of(content[:offset].decode("utf-8-sig"))
    place = Place(file=shown, line=len(before), column=len(before[-1]) + 1)
    message = f"byte 0x{content[offset]:02x} is not UTF-8"
    raise Unreadable(Problem(code="not-text", message=message, place=place, help="save the file as UTF-8"))


def _refuse_character(text: str, shown: str, offset: int) -> NoReturn:
    before = lines_of(text[:offset])
    place = Place(file=shown, line=len(before), column=len(before[-1]) + 1)
    source = excerpt(lines_of(text), place)
    message = f"the control character U+{ord(text[offset]):04X} cannot stand in YAML"
    help = 'remove it, or write it in double quotes as an escape, such as "\\x1b"'
    raise Unreadable(Problem(code="not-text", message=message, place=place, source=source, help=help))


class _Frame:
    """A list or mapping that is being read."""

    __slots__ = ("anchor", "before", "broken", "height", "is_key", "key", "merges", "odd", "pairs", "place", "values")

    def __init__(self, place: Place, mapping: bool, anchor: str | None, before: int, is_key: bool) -> None:
        self.place = place
        self.values: list[Tree] = []
        self.pairs: list[Entry] | None = [] if mapping else None
        self.key: Scalar | None = None
        self.anchor = anchor
        self.before = before
        self.height = 1
        self.is_key = is_key
        self.merges = False
        self.broken = False
        """the mapping is a `{{reference}}` without quotes"""
        self.odd = False
        """a key of the mapping is no text"""


class _Builder:
    """Builds the tree from events, with a stack of its own instead of recursion."""

    def __init__(self, shown: str, lines: list[str]) -> None:
        self.shown = shown
        self.lines = lines
        self.problems: list[Problem] = []
        self.root: Tree | None = None
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Tree, int, int]] = {}
        self.count = 0
        self.from_aliases = 0
        self.documents = 0
        self.line = 0
        self.words: dict[str, str] = {}

    def build(self, parser: Any) -> None:
        next_event = parser.get_event
        handlers = {
            yaml.ScalarEvent: self.scalar,
            yaml.SequenceStartEvent: self.open,
            yaml.MappingStartEvent: self.open,
            yaml.SequenceEndEvent: self.close,
            yaml.MappingEndEvent: self.close,
            yaml.AliasEvent: self.alias,
            yaml.DocumentStartEvent: self.document,
        }
        while (event := next_event()) is not None:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)

    def document(self, event: Any) -> None:
        self.documents += 1
        if self.documents > 1:
            self.stop("yaml", "a second document begins here", self.place(event), help="one file holds one workflow")

    def scalar(self, event: Any) -> None:
        # Most of a file are scalars: what the other events leave to `place`, `grow` and `add` is written out here.
        mark = event.start_mark
        line = mark.line + 1
        if line != self.line:
            self.line = line
        # One number object for all places of a line, one text for all keys of a word: a seventh less memory.
        place = Place(self.shown, self.line, mark.column + 1)
        style = event.style
        frame = self.stack[-1] if self.stack else None
        is_key = frame is not None and frame.pairs is not None and frame.key is None
        text = self.words.setdefault(event.value, event.value) if is_key else event.value
        node = Scalar(text=text, place=place, plain=not style)
        self.count += 1
        if event.tag is not None or event.anchor is not None or style == '"' or self.count > MOST_NODES:
            self.look_closer(event, node)
        if frame is not None and frame.pairs is not None and frame.key is not None:
            frame.pairs.append(Entry(key=frame.key, value=node))
            frame.key = None
        else:
            self.add(node)

    def look_closer(self, event: Any, node: Scalar) -> None:
        if event.tag is not None:
            self.refuse_tag(event.tag, node.place)
        if event.style == '"' and _UNSTORABLE.search(node.text):
            self.report("not-text", "a text cannot hold U+0000 or half of a surrogate pair", node.place)
        if event.anchor is not None:
            self.anchors[event.anchor] = (node, 1, 0)
        self.grow(0, node.place)

    def open(self, event: Any) -> None:
        place = self.place(event)
        if event.tag is not None:
            self.refuse_tag(event.tag, place)
        if len(self.stack) >= DEEPEST:
            self.stop_too_deep(place)
        parent = self.stack[-1] if self.stack else None
        is_key = parent is not None and parent.pairs is not None and parent.key is None
        if is_key and parent is not None:
            self.key_that_is_no_text(parent, place)
        self.stack.append(_Frame(place, type(event) is yaml.MappingStartEvent, event.anchor, self.count, is_key))
        self.grow(1, place)

    def close(self, event: Any) -> None:
        frame = self.stack.pop()
        node = self.finished(frame, event)
        if frame.anchor is not None:
            self.anchors[frame.anchor] = (node, self.count - frame.before, frame.height)
        if self.stack:
            parent = self.stack[-1]
            parent.height = max(parent.height, frame.height + 1)
        if frame.is_key:
            self.stand_in(self.stack[-1], frame.place)
        else:
            self.add(node)

    def finished(self, frame: _Frame, event: Any) -> Tree:
        if frame.pairs is None:
            return Sequence(items=tuple(frame.values), place=frame.place)
        if frame.broken:
            end = event.end_mark
            line = self.lines[frame.place.line - 1]
            text = line[frame.place.column - 1 : end.column if end.line == frame.place.line - 1 else None]
            return Scalar(text=text, place=frame.place, plain=False)
        pairs = [entry for entry in frame.pairs if entry.key.text] if frame.odd else frame.pairs
        return Mapping(entries=self.entries(pairs, frame.merges), place=frame.place)

    def alias(self, event: Any) -> None:
        place = self.place(event)
        name = event.anchor
        found = self.anchors.get(name)
        if any(frame.anchor == name for frame in self.stack):
            self.stop("recursive-alias", f"`*{name}` stands inside what `&{name}` names, so it would never end", place)
        if found is None:
            self.unknown_alias(name, place)
            return
        node, size, height = found
        self.from_aliases += size
        if self.from_aliases > MOST_FROM_ALIASES:
            message = f"aliases would add more than {MOST_FROM_ALIASES:,} values to this file"
            self.stop("too-big", message, place, help="use a loop or an `include`")
        if len(self.stack) + height > DEEPEST:
            self.stop_too_deep(place)
        self.grow(size, place)
        if self.stack:
            self.stack[-1].height = max(self.stack[-1].height, height + 1)
        self.add(node)

    def add(self, node: Tree) -> None:
        """Put a finished value where it belongs: the root, an item, a key or a value."""
        if not self.stack:
            self.root = node
            return
        frame = self.stack[-1]
        if frame.pairs is None:
            frame.values.append(node)
        elif frame.key is None:
            self.take_key(frame, node)
        else:
            frame.pairs.append(Entry(key=frame.key, value=node))
            frame.key = None

    def take_key(self, frame: _Frame, node: Tree) -> None:
        if not isinstance(node, Scalar):
            self.key_that_is_no_text(frame, node.place)
            self.stand_in(frame, node.place)
        elif not node.text:
            self.report("bad-key", "a key is empty", node.place)
            self.stand_in(frame, node.place)
        else:
            frame.key = node
            if node.plain and node.text == "<<":
                frame.merges = True

    def stand_in(self, frame: _Frame, place: Place) -> None:
        """Take an odd key as one that is left out when the mapping is finished."""
        frame.odd = True
        frame.key = Scalar(text="", place=place)

    def key_that_is_no_text(self, frame: _Frame, place: Place) -> None:
        """`{{name}}` without quotes reaches us as a mapping whose key is a mapping."""
        line = self.lines[frame.place.line - 1]
        start = frame.place.column - 1
        if line.startswith("{{", start):
            frame.broken = True
            # As the key of a block mapping the same braces are met twice.
            if not self.problems or self.problems[-1].place != frame.place:
                message, help = quoted_reference(line, start)
                self.report("unquoted-reference", message, frame.place, help=help)
        else:
            self.report("bad-key", "a key must be text, not a list or a mapping", place)

    def entries(self, pairs: list[Entry], merges: bool) -> dict[str, Entry]:
        if merges:
            return self.merged(pairs)
        entries = {entry.key.text: entry for entry in pairs}
        if len(entries) < len(pairs):
            return self.without_duplicates(pairs)
        return entries

    def without_duplicates(self, pairs: list[Entry]) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for entry in pairs:
            first = entries.setdefault(entry.key.text, entry)
            if first is not entry:
                self.duplicate(entry.key, first.key)
        return entries

    def duplicate(self, key: Scalar, first: Scalar) -> None:
        owner = self.owner()
        inside = f" in {quoted(owner)}" if owner else ""
        message = (
            f"{quoted(key.text)} appears twice{inside} (first on line {first.place.line}); "
            "YAML would keep only the last"
        )
        self.report("duplicate-key", message, key.place, help="remove one")

    def merged(self, pairs: list[Entry]) -> dict[str, Entry]:
        """`<<` put in its place: own keys win, and of several sources the first."""
        own = self.without_duplicates([entry for entry in pairs if not _is_merge(entry.key)])
        if sum(_is_merge(entry.key) for entry in pairs) > 1:
            first, *others = [entry.key for entry in pairs if _is_merge(entry.key)]
            for key in others:
                self.duplicate(key, first)
        entries: dict[str, Entry] = {}
        for entry in pairs:
            if _is_merge(entry.key):
                for source in self.merge_sources(entry.value):
                    for name, inherited in source.entries.items():
                        entries.setdefault(name, own.get(name, inherited))
            else:
                entries[entry.key.text] = own[entry.key.text]
        return entries

    def merge_sources(self, value: Tree) -> list[Mapping]:
        values = value.items if isinstance(value, Sequence) else (value,)
        for each in values:
            if not isinstance(each, Mapping):
                help = "write `<<: *name`, or `<<: [*one, *two]`"
                self.report("bad-value", "`<<` takes a mapping or a list of mappings", each.place, help=help)
        return [each for each in values if isinstance(each, Mapping)]

    def unknown_alias(self, name: str, place: Place) -> None:
        message = f"`*{name}` names nothing: no `&{name}` stands before it"
        help = f'for the text itself use quotes: "*{name}"'
        self.report("unknown-alias", message, place, help=help)
        self.grow(1, place)
        self.add(Scalar(text=f"*{name}", place=place, plain=False))

    def refuse_tag(self, tag: str, place: Place) -> None:
        written = tag.replace("tag:yaml.org,2002:", "!!")
        message = f"tags such as `{written}` are not used in a workflow file"
        self.report("tag", message, place, help="remove it; for text that begins with `!` use quotes")

    def grow(self, size: int, place: Place) -> None:
        self.count += size
        if self.count > MOST_NODES:
            self.stop("too-big", f"the file holds more than {MOST_NODES:,} values", place, help=_SPLIT)

    def place(self, event: Any) -> Place:
        mark = event.start_mark
        return Place(self.shown, mark.line + 1, mark.column + 1)

    def owner(self) -> str | None:
        """The key whose value is being finished, None at the top and in list items."""
        return self.stack[-1].key.text if self.stack and self.stack[-1].key is not None else None

    def trail(self) -> tuple[str, ...]:
        """The names of the nodes around: keys of a step, members of a `parallel`, and the other step lists."""
        names: list[str] = []
        keys = [None if frame.key is None else frame.key.text for frame in self.stack]
        for at, (frame, key) in enumerate(zip(self.stack, keys, strict=True)):
            if key is None:
                continue
            step = at > 1 and self.stack[at - 1].pairs is None and keys[at - 2] in STEP_LISTS
            member = at > 0 and keys[at - 1] == "parallel"
            if step or member or (frame.pairs is not None and key in ("merge", "finally", "on-failure")):
                names.append(key)
        return tuple(names)

    def report(self, code: str, message: str, place: Place, *, help: str | None = None) -> None:
        self.problems.append(self.problem(code, message, place, help))

    def problem(self, code: str, message: str, place: Place, help: str | None) -> Problem:
        source = excerpt(self.lines, place)
        return Problem(code=code, message=message, place=place, source=source, help=help, trail=self.trail())

    def stop_too_deep(self, place: Place) -> NoReturn:
        self.stop("too-deep", f"lists and mappings are nested more than {DEEPEST} deep", place, help=_SPLIT)

    def stop(self, code: str, message: str, place: Place, *, help: str | None = None) -> NoReturn:
        raise Unreadable(self.problem(code, message, place, help))


def _is_merge(key: Scalar) -> bool:
    return key.plain and key.text == "<<"
