"""Conditions (`format.md` 3.6) → true, false, or an error, each with what was seen in plain words.

A condition that cannot be worked out is an error and not false (`settled.md` 42); only a missing file is false.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onward import clock
from onward.errors import TaskError
from onward.model import conditions as c
from onward.model.status import Status
from onward.model.values import Data, Text
from onward.state.instance import Instance
from onward.tasks.attempt_folder import Exit
from onward.tasks.directory import Directories
from onward.tasks.environment import About, Environments, key_of, marker_of
from onward.tasks.failures import Failure, in_words
from onward.tasks.insertion import in_place
from onward.tasks.json_text import shown
from onward.tasks.keeper_link import ProgramRequest
from onward.tasks.resolve import Resolver, written

COMMAND_S = 60.0
"""the time limit of a command whose node has none (`settled.md` 43)"""
MOST_BYTES = 64 * 1024 * 1024
_TAIL_BYTES = 300

RunCommand = Callable[[ProgramRequest], Awaitable[Exit]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`detail` says in plain words what decided."""

    result: bool
    detail: str = ""
    error: bool = False


class Interrupted(Exception):
    """The run itself stopped the command of a condition: there is no answer, it is asked again later."""


class Conditions:
    """Asks the conditions of a run."""

    def __init__(self, resolver: Resolver, environments: Environments, directories: Directories) -> None:
        self._resolver = resolver
        self._context = resolver.context
        self._environments = environments
        self._directories = directories

    async def ask(self, conditions: Sequence[c.Condition], user: Instance, where: str, run: RunCommand) -> Answer:
        """Whether all hold; asked in order up to the first that does not. Raises `Interrupted`."""
        asked = _Asked(user, where, run)
        detail = ""
        for condition in conditions:
            try:
                result, detail = await self._one(condition, asked)
            except TaskError as error:
                return Answer(result=False, detail=f"condition-error: {in_words(error)}", error=True)
            except (OSError, ValueError, re.error) as error:
                return Answer(result=False, detail=f"condition-error: {error}", error=True)
            if not result:
                return Answer(result=False, detail=detail)
        return Answer(result=True, detail=detail)

    async def _one(self, condition: c.Condition, asked: _Asked) -> tuple[bool, str]:
        match condition:
            case c.All(conditions=inner):
                return await self._all(inner, asked)
            case c.Any(conditions=inner):
                return await self._any(inner, asked)
            case c.Not(condition=inner_one):
                result, detail = await self._one(inner_one, asked)
                return not result, detail
            case c.Command():
                return await self._command(condition, asked)
            case c.Judge():
                raise Failure("no-judge", "a judge prompt is not asked here")
            case _:
                return self._at_once(condition, asked.user)

    async def _all(self, conditions: Sequence[c.Condition], asked: _Asked) -> tuple[bool, str]:
        detail = ""
        for condition in conditions:
            result, detail = await self._one(condition, asked)
            if not result:
                return False, detail
        return True, detail

    async def _any(self, conditions: Sequence[c.Condition], asked: _Asked) -> tuple[bool, str]:
        details = []
        for condition in conditions:
            result, detail = await self._one(condition, asked)
            if result:
                return True, detail
            details.append(detail)
        return False, "; ".join(details)

    # --- what needs no process ----------------------------------------------------------------------------------

    def _at_once(self, condition: c.Condition, user: Instance) -> tuple[bool, str]:
        match condition:
            case c.FileExists(paths=paths):
                missing = [path for path in self._paths(user, paths) if not os.path.exists(self._full(user, path))]
                return not missing, f"{missing[0]} is not there" if missing else f"{_listed(paths)} there"
            case c.FileMissing(paths=paths):
                there = [path for path in self._paths(user, paths) if os.path.exists(self._full(user, path))]
                return not there, f"{there[0]} is there" if there else f"{_listed(paths)} not there"
            case c.FileContains():
                return self._contains(condition, user)
            case c.Newer(file=file, than=than):
                return self._newer(user, file, than)
            case c.Equals(left=left, right=right):
                return self._equals(user, left, right)
            case c.Matches(text=text, regex=regex):
                pattern = self._resolver.text(user, regex)
                found = re.search(pattern, self._resolver.text(user, text)) is not None
                return found, f"{written(text)} {'matches' if found else 'does not match'} {pattern!r}"
            case c.Empty(value=value):
                return self._empty(user, value)
            case c.AtLeast(left=left, right=right):
                a, b = self._number(user, left), self._number(user, right)
                return a >= b, f"{a:g} is {'at least' if a >= b else 'less than'} {b:g}"
            case c.AtMost(left=left, right=right):
                a, b = self._number(user, left), self._number(user, right)
                return a <= b, f"{a:g} is {'at most' if a <= b else 'more than'} {b:g}"
            case c.Succeeded(node=ref):
                return self._has_status(user, ref, Status.SUCCEEDED)
            case c.Failed(node=ref):
                return self._has_status(user, ref, Status.FAILED)
            case other:
                raise Failure("bad-condition", f"a condition of a kind that is not known: {other!r}")

    def _paths(self, user: Instance, paths: Sequence[Text]) -> list[str]:
        return [self._resolver.path_text(user, path) for path in paths]

    def _full(self, user: Instance, path: str) -> str:
        return os.path.join(self._directories.path(user), path)

    def _contains(self, condition: c.FileContains, user: Instance) -> tuple[bool, str]:
        name = self._resolver.path_text(user, condition.path)
        path = self._full(user, name)
        if not os.path.exists(path):
            return False, f"{name} is not there"
        text = _text_of(path, name)
        if condition.matches is not None:
            found = re.search(condition.matches, text) is not None
            return found, f"{name} {'has' if found else 'has no'} match of {condition.matches!r}"
        wanted = self._resolver.text(user, condition.text or "")
        return wanted in text, f"{name} {'contains' if wanted in text else 'does not contain'} {shown(wanted)}"

    def _newer(self, user: Instance, file: Text, than: Sequence[Text]) -> tuple[bool, str]:
        name = self._resolver.path_text(user, file)
        try:
            mine = os.stat(self._full(user, name)).st_mtime_ns
        except FileNotFoundError:
            return False, f"{name} is not there"
        for other in self._paths(user, than):
            try:
                theirs = os.stat(self._full(user, other)).st_mtime_ns
            except FileNotFoundError:
                continue  # nothing can be older than what is not there
            if mine <= theirs:
                return False, f"{name} is not newer than {other}"
        return True, f"{name} is newer"

    def _equals(self, user: Instance, left: Data, right: Data) -> tuple[bool, str]:
        a, b = self._resolver.data(user, left), self._resolver.data(user, right)
        same = _same(a, b)
        return same, f"{shown(_as_text(a))} {'equals' if same else 'is not'} {shown(_as_text(b))}"

    def _empty(self, user: Instance, value: Data) -> tuple[bool, str]:
        from onward.errors import ValueMissing

        try:
            found = self._resolver.data(user, value)
        except ValueMissing:
            return True, "there is no value"
        empty = found is None or found in ("", [], {})
        return empty, "the value is empty" if empty else f"the value is {shown(_as_text(found))}"

    def _number(self, user: Instance, data: Data) -> float:
        value = self._resolver.data(user, data)
        if isinstance(value, str):
            try:
                return float(value.strip())
            except ValueError as error:
                raise Failure("not-a-number", f"{shown(value)} is not a number") from error
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Failure("not-a-number", f"{shown(_as_text(value))} is not a number")
        return float(value)

    def _has_status(self, user: Instance, ref: Any, status: Status) -> tuple[bool, str]:
        target = self._resolver.target(user, ref)
        found = target.status if target is not None else Status.PENDING
        name = target.path if target is not None else ref.node
        return found is status, f"`{name}` is {found}"

    # --- commands -----------------------------------------------------------------------------------------------

    async def _command(self, condition: c.Command, asked: _Asked) -> tuple[bool, str]:
        user, node = asked.user, asked.user.node
        asked.count += 1
        name = f"{asked.where}-{asked.count}-{clock.token_hex(6)}"
        folder = f"{self._context.node_folder(user.path)}/{name}"
        marker = marker_of(self._context.run, user.path, name)
        about = About(
            path=user.path,
            attempt=max(1, user.attempt),
            key=key_of(self._context.run, user),
            marker=marker,
            out=f"{folder}/outputs",
        )
        request = ProgramRequest(
            id=marker,
            folder=Path(folder),
            argv=self._argv(condition, user),
            env=self._environments.of(user, about, condition.script),
            cwd=Path(self._directories.of(user)),
            marker=marker,
            timeout_s=(node.timeout_s if node is not None else None) or COMMAND_S,
        )
        exit = await asked.run(request)
        what = written(condition.script) if condition.script is not None else " ".join(request.argv)
        return _judged(exit, shown(what.strip()), folder)

    def _argv(self, condition: c.Command, user: Instance) -> tuple[str, ...]:
        if condition.script is not None:
            return (*condition.shell, condition.script)
        return tuple(in_place(self._resolver.text(user, part), "a command of a condition") for part in condition.argv)


@dataclass(slots=True)
class _Asked:
    """Who asks, where, and how commands are run; `count` numbers the commands."""

    user: Instance
    where: str
    run: RunCommand
    count: int = 0


def _judged(exit: Exit, what: str, folder: str) -> tuple[bool, str]:
    if exit.ended_by == "stop":
        raise Interrupted
    if exit.ended_by is not None:
        raise Failure("condition-timeout", f"the command {what} took too long and was ended ({exit.ended_by})")
    if exit.error is not None:
        raise Failure("condition-command", f"the command {what} could not be started: {exit.error}")
    if exit.signal is not None:
        raise Failure("condition-command", f"the command {what} was killed by {exit.signal}")
    if exit.code in (126, 127):
        said = _tail(folder)
        raise Failure("condition-command", f"the command {what} was not found or cannot be run: {said}")
    said = _tail(folder)
    return exit.code == 0, f"{what} ended with exit code {exit.code}" + (f": {said}" if said and exit.code else "")


def _tail(folder: str) -> str:
    for name in ("err", "out"):
        try:
            with open(f"{folder}/{name}", "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                text = file.read().decode("utf-8", "replace").strip()
        except OSError:
            continue
        if text:
            return text.splitlines()[-1]
    return ""


def _text_of(path: str, name: str) -> str:
    if os.path.isdir(path):
        raise Failure("condition-error", f"{name} is a folder")
    if os.stat(path).st_size > MOST_BYTES:
        raise Failure("too-big", f"{name} is larger than {MOST_BYTES:,} bytes")
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Failure("not-text", f"{name} is not UTF-8 text (byte {error.start})") from error


def _listed(paths: Sequence[Text]) -> str:
    return ", ".join(written(path) for path in paths) + (" is" if len(paths) == 1 else " are")


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, str) != isinstance(b, str) and not isinstance(a, list | dict) and not isinstance(b, list | dict):
        return _as_text(a) == _as_text(b)
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    return bool(a == b)


def _as_text(value: Any) -> str:
    from onward.tasks.json_text import to_json

    return value if isinstance(value, str) else to_json(value)
