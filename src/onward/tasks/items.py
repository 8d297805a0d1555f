"""The source of a `for-each` loop -> its items and their keys (`format.md` 3.5)."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from onward.model.conditions import Command
from onward.model.events import LoopItem, LoopItems, Note
from onward.model.nodes import Glob, Loop
from onward.model.values import Text
from onward.state.instance import Instance, Role
from onward.tasks.commands import RunCommand, check_was_found, run_command
from onward.tasks.failures import Failure
from onward.tasks.globs import Pattern
from onward.tasks.insertion import lines_of
from onward.tasks.output_files import read_text_bytes
from onward.tasks.resolve import written
from onward.tasks.surroundings import Surroundings

PURPOSE = "for-each"

_UNFIT = re.compile(r"[\[\]\x00-\x1f\x7f]")
_LONGEST_KEY = 80
_SHOWN_KEYS = 5


async def read_items(around: Surroundings, loop: Instance, run: RunCommand) -> LoopItems:
    """Read the items once; the list then holds whatever becomes of its source. Raises `TaskError`, `Stopped`."""
    node = loop.node
    assert node is not None
    assert node.loop is not None
    rules = node.loop
    values, source = await _values(around, loop, rules, run)
    if not values and rules.on_empty_fail:
        raise Failure("no-items", f"there is nothing to go through: {source} is empty")
    if len(values) > rules.max:
        raise Failure(
            "too-many-items",
            f"{source} has {len(values):,} items; the limit is {rules.max:,}",
            help=f"add `max: {len(values)}` to the loop if that is meant",
        )
    keys = _keys(around, loop, rules, values)
    _refuse_duplicates(keys, source)
    items, again = _items(around, keys, values), loop.items is not None
    return LoopItems(path=loop.path, items=items, source=source, refreshed=again)


def what_is_new(loop: Instance, read: LoopItems) -> list[Note]:
    """A note for what a refresh has added, and for what is gone from the source; nothing at the first reading."""
    if not read.refreshed or loop.items is None:
        return []
    before, now = [key for key, _ in loop.items], [item.key for item in read.items]
    added, gone = [key for key in now if key not in set(before)], [key for key in before if key not in set(now)]
    told = [
        f"{len(keys)} {word}: {', '.join(keys[:_SHOWN_KEYS])}{' …' if len(keys) > _SHOWN_KEYS else ''}"
        for keys, word in ((added, "new"), (gone, "gone (what has ended well stays)"))
        if keys
    ]
    text = f"items read again from {read.source}: {'; '.join(told) or 'the same as before'}"
    return [Note(text=text, path=loop.path)]


def iteration_key(text: str) -> str:
    """How a key is written in a path (`format.md` 3.3)."""
    if text and len(text) <= _LONGEST_KEY and not _UNFIT.search(text):
        return text
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


# --- where they come from -----------------------------------------------------------------------------------------


async def _values(around: Surroundings, loop: Instance, rules: Loop, run: RunCommand) -> tuple[Sequence[Any], str]:
    if rules.glob is not None:
        return _matches(around, loop, rules.glob)
    if rules.command is not None:
        return await _printed(around, loop, rules.command, run)
    assert rules.items is not None
    value = around.resolver.data(loop, rules.items)
    whole = rules.items.holes[0].template if rules.items.holes and not rules.items.holes[0].at else None
    source = f"`{written(whole)}`" if whole is not None else "the list"
    if not isinstance(value, list):
        raise Failure("no-list", f"`for-each` needs a list, and {source} is none")
    return value, source


def _matches(around: Surroundings, loop: Instance, rule: Glob) -> tuple[list[str], str]:
    """Names relative to the folder, sorted by bytes."""
    folder = os.path.join(around.directories.of(loop), around.resolver.path_text(loop, rule.folder))
    if not os.path.isdir(folder):
        raise Failure(
            "no-directory", f"the folder {folder} does not exist", help="make it before the loop, or mend `in`"
        )
    pattern = Pattern.of(around.resolver, loop, rule.pattern)
    names = [name for name in glob.glob(pattern.text, root_dir=folder, recursive=True) if name]
    for name in names:
        if _is_no_text(name):
            raise Failure("not-text", f"a file in {folder} has a name that is no UTF-8 text: {name!r}")
    names.sort(key=os.fsencode)
    return names, f"`{written(rule.pattern)}` in {written(rule.folder)}"


def _is_no_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return True
    return False


async def _printed(
    around: Surroundings, loop: Instance, command: Command, run: RunCommand
) -> tuple[list[str], str]:
    ran = await run_command(around, loop, command, PURPOSE, run)
    check_was_found(ran)
    if not ran.ok:
        raise Failure("command-failed", f"the command that lists the items failed: {ran.in_words()}")
    text = read_text_bytes(f"{ran.folder}/out", ran.exit.out, "what the command printed").decode()
    return lines_of(text), "what the command printed"


# --- their keys ---------------------------------------------------------------------------------------------------


def _keys(around: Surroundings, loop: Instance, rules: Loop, values: Sequence[Any]) -> list[str]:
    if rules.key is not None:
        return _filled_keys(around, loop, rules.key, values)
    return [
        iteration_key(value) if isinstance(value, str) else str(number) for number, value in enumerate(values, 1)
    ]


def _filled_keys(around: Surroundings, loop: Instance, key: Text, values: Sequence[Any]) -> list[str]:
    """`key` is written as if inside an iteration, and there are none yet: they are made up, with these items."""
    shadow = Instance(path=loop.path, node=loop.node, parent=loop.parent, role=Role.LOOP)
    keep = around.context.values.to_value
    shadow.items = [(str(number), keep(_form(value), value)) for number, value in enumerate(values, 1)]
    keys = []
    for position, (name, _) in enumerate(shadow.items):
        path = f"{loop.path}[{name}]"
        iteration = Instance(path=path, node=loop.node, parent=shadow, role=Role.ITERATION)
        iteration.position = position
        keys.append(iteration_key(around.resolver.text(iteration, key)))
    return keys


def _refuse_duplicates(keys: list[str], source: str) -> None:
    if len(set(keys)) == len(keys):
        return
    seen: set[str] = set()
    twice = sorted({key for key in keys if key in seen or seen.add(key)})  # type: ignore[func-returns-value]
    shown = ", ".join(f"`{key}`" for key in twice[:_SHOWN_KEYS]) + (" …" if len(twice) > _SHOWN_KEYS else "")
    raise Failure(
        "duplicate-item",
        f"two items of {source} have the same key: {shown}",
        help="keys identify iterations on resume; give the loop a `key` that differs",
    )


def _items(around: Surroundings, keys: list[str], values: Sequence[Any]) -> tuple[LoopItem, ...]:
    """An item that is its own key needs no value."""
    keep = around.context.values.to_value
    return tuple(
        LoopItem(key=key) if value == key else LoopItem(key=key, value=keep(_form(value), value))
        for key, value in zip(keys, values, strict=True)
    )


def _form(value: Any) -> str:
    return "text" if isinstance(value, str) else "json"
