"""Conditions (`format.md` 3.6) -> whether they hold, with words that say what was seen.

A condition that cannot be worked out (a folder where a file should be, no number, no such program) is neither true nor
false: the node that asks fails (`settled.md` 42). A missing file is simply not there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, assert_never

from msgspec import structs

from onward.errors import TaskError, ValueMissing
from onward.model import conditions as model
from onward.model.conditions import Condition
from onward.model.status import Status, Where
from onward.model.values import Data, Ref, Text
from onward.state.instance import Instance, Role
from onward.tasks.answers import Answer
from onward.tasks.commands import RunCommand, check_was_found, run_command
from onward.tasks.failures import Failure, in_words
from onward.tasks.json_text import to_json
from onward.tasks.judge import judge
from onward.tasks.output_files import check_text, read_whole
from onward.tasks.resolve import written
from onward.tasks.surroundings import Surroundings

_MOST_SHOWN = 60
_NUMBER = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*")


async def ask(
    around: Surroundings, user: Instance, conditions: Sequence[Condition], purpose: str, run: RunCommand
) -> Answer:
    """Whether all of them hold; they are tried in order up to the first that does not. Raises `Stopped`.

    `purpose` is the field that they stand in (`skip-if`, `until` …); `user` the node that asks, or its loop.
    """
    return await _Question(around, _seen_from(around, user, purpose), purpose, run).all_of(conditions)


async def ask_one(
    around: Surroundings, user: Instance, condition: Condition, purpose: str, run: RunCommand
) -> Answer:
    """Whether one condition holds. Raises `Stopped`."""
    return await _Question(around, user, purpose, run).answered(condition)


def _seen_from(around: Surroundings, user: Instance, purpose: str) -> Instance:
    """A loop asks `until` and `while` with the eyes of the round that has just ended."""
    if user.role is not Role.LOOP or purpose not in (Where.UNTIL, Where.WHILE):
        return user
    over = user.cursor + (1 if purpose == Where.UNTIL else 0)
    return around.state.iteration(user, str(max(1, over)))


class _Question:
    """One asking, on behalf of one instance."""

    def __init__(self, around: Surroundings, user: Instance, purpose: str, run: RunCommand) -> None:
        self._around = around
        self._resolver = around.resolver
        self._user = user
        self._purpose = purpose
        self._run = run

    async def all_of(self, conditions: Sequence[Condition]) -> Answer:
        answer = Answer(True)
        told = []
        for condition in conditions:
            answer = await self.answered(condition)
            if answer.error or not answer.result:
                return answer
            told.append(answer.detail)
        return Answer(True, "; ".join(told), printed=answer.printed)

    async def answered(self, condition: Condition) -> Answer:
        """The answer; what went wrong on the way is an answer too."""
        try:
            answer = await self._one(condition)
        except TaskError as error:
            answer = Answer(False, f"`{_name(condition)}` cannot be worked out: {in_words(error)}", error=True)
        mask = self._around.context.secrets.masked
        return structs.replace(answer, detail=mask(answer.detail), printed=mask(answer.printed))

    async def _one(self, condition: Condition) -> Answer:
        match condition:
            case model.All(conditions=inner):
                return await self.all_of(inner)
            case model.Any(conditions=inner):
                return await self._any_of(inner)
            case model.Not(condition=inside):
                answer = await self.answered(inside)
                return answer if answer.error else Answer(not answer.result, answer.detail, printed=answer.printed)
            case model.Command():
                return await self._command(condition)
            case model.Judge():
                return await judge(self._around, self._user, condition, self._purpose, self._run)
            case _:
                return self._look(condition)

    async def _any_of(self, conditions: Sequence[Condition]) -> Answer:
        told = []
        for condition in conditions:
            answer = await self.answered(condition)
            if answer.error or answer.result:
                return answer
            told.append(answer.detail)
        return Answer(False, "none holds: " + "; ".join(told))

    async def _command(self, condition: model.Command) -> Answer:
        ran = await run_command(self._around, self._user, condition, self._purpose, self._run)
        check_was_found(ran)
        return Answer(ran.ok, f"`{_command_text(condition)}`: {ran.in_words()}", printed=ran.all_printed())

    def _look(
        self,
        condition: model.FileExists
        | model.FileMissing
        | model.FileContains
        | model.Newer
        | model.Equals
        | model.Matches
        | model.Empty
        | model.AtLeast
        | model.AtMost
        | model.Succeeded
        | model.Failed,
    ) -> Answer:
        match condition:
            case model.FileExists(paths=paths):
                return self._files(paths, wanted=True)
            case model.FileMissing(paths=paths):
                return self._files(paths, wanted=False)
            case model.FileContains():
                return self._contains(condition)
            case model.Newer(file=file, than=than):
                return self._newer(file, than)
            case model.Equals(left=left, right=right):
                return self._equal(left, right)
            case model.Matches(text=text, regex=regex):
                return self._matches(self._resolver.text(self._user, text), self._resolver.text(self._user, regex))
            case model.Empty(value=value):
                return self._empty(value)
            case model.AtLeast(left=left, right=right):
                return self._compare(left, right, at_least=True)
            case model.AtMost(left=left, right=right):
                return self._compare(left, right, at_least=False)
            case model.Succeeded(node=ref):
                return self._ended(ref, Status.SUCCEEDED)
            case model.Failed(node=ref):
                return self._ended(ref, Status.FAILED)
            case _:
                assert_never(condition)

    # --- files --------------------------------------------------------------------------------------------

    def _path(self, text: Text) -> tuple[str, str]:
        """As it is written, and where it is."""
        path = self._resolver.path_text(self._user, text)
        return path, os.path.join(self._around.directories.path(self._user), path)

    def _files(self, paths: tuple[Text, ...], *, wanted: bool) -> Answer:
        named = [self._path(text) for text in paths]
        wrong = [path for path, where in named if (_stat(path, where) is not None) is not wanted]
        if wrong:
            return Answer(False, _listed(wrong, "does not exist" if wanted else "exists"))
        return Answer(True, _listed([path for path, _ in named], "exists" if wanted else "does not exist"))

    def _contains(self, condition: model.FileContains) -> Answer:
        path, where = self._path(condition.path)
        facts = _stat(path, where)
        if facts is None:
            return Answer(False, f"{path} does not exist")
        data = read_whole(where, path) or b""
        check_text(data, path)
        if condition.matches is not None:
            found, what = _search(condition.matches, data.decode()), f"a match of `{condition.matches}`"
        else:
            text = self._resolver.text(self._user, condition.text or "")
            found, what = text.encode() in data, _shown(text)
        return Answer(found, f"{path} {'holds' if found else 'does not hold'} {what}")

    def _newer(self, file: Text, than: tuple[Text, ...]) -> Answer:
        path, where = self._path(file)
        facts = _stat(path, where)
        if facts is None:
            return Answer(False, f"{path} does not exist")
        for text in than:
            other, other_where = self._path(text)
            other_facts = _stat(other, other_where)
            if other_facts is None:
                return Answer(False, f"{other} does not exist")
            if facts.st_mtime_ns <= other_facts.st_mtime_ns:
                return Answer(False, f"{path} is not newer than {other}")
        return Answer(True, f"{path} is newer than {', '.join(written(text) for text in than)}")

    # --- values -------------------------------------------------------------------------------------------

    def _equal(self, left: Data, right: Data) -> Answer:
        a, b = self._resolver.data(self._user, left), self._resolver.data(self._user, right)
        same = _as_text(a) == _as_text(b) if isinstance(a, str) or isinstance(b, str) else same_json(a, b)
        return Answer(same, f"{_shown(a)} {'equals' if same else 'is not'} {_shown(b)}")

    def _matches(self, text: str, regex: str) -> Answer:
        found = _search(regex, text)
        return Answer(found, f"{_shown(text)} {'matches' if found else 'does not match'} `{regex}`")

    def _empty(self, data: Data) -> Answer:
        try:
            value = self._resolver.data(self._user, data)
        except ValueMissing:
            return Answer(True, "there is no value")
        empty = value is None or (isinstance(value, str | list | dict) and not value)
        return Answer(empty, f"{_shown(value)} is {'empty' if empty else 'not empty'}")

    def _compare(self, left: Data, right: Data, *, at_least: bool) -> Answer:
        a, b = self._number(left), self._number(right)
        holds = a >= b if at_least else a <= b
        word = "at least" if at_least else "at most"
        return Answer(holds, f"{a} is {'' if holds else 'not '}{word} {b}")

    def _number(self, data: Data) -> Decimal:
        value = self._resolver.data(self._user, data)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Decimal(repr(value))
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            try:
                return Decimal(value.strip())
            except InvalidOperation as error:
                raise Failure("not-a-number", f"{_shown(value)} is no number") from error
        raise Failure("not-a-number", f"{_shown(value)} is no number")

    def _ended(self, ref: Ref, wanted: Status) -> Answer:
        target = self._resolver.target(self._user, ref)
        status = Status.PENDING if target is None else target.status
        if target is not None and not target.ended and target.result is not None:
            status = target.result  # its work is over, and only `on-failure` or `finally` steps of it are left
        return Answer(status is wanted, f"`{ref.source}` {'was not reached' if target is None else f'is {status}'}")


def same_json(a: Any, b: Any) -> bool:
    """Equal as JSON: 1 equals 1.0, and nothing but true equals true."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_json(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_json(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def _search(regex: str, text: str) -> bool:
    try:
        return re.search(regex, text) is not None
    except re.error as error:
        raise Failure("bad-regex", f"`{regex}` is no regular expression: {error}") from error


def _stat(path: str, where: str) -> os.stat_result | None:
    try:
        return os.stat(where)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Failure("cannot-look", f"{path} cannot be looked at: {reason}") from error


def _listed(paths: list[str], verb: str) -> str:
    shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
    plural = {"exists": "exist", "does not exist": "do not exist"}
    return f"{shown} {verb if len(paths) == 1 else plural[verb]}"


def _shown(value: Any) -> str:
    text = to_json(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _command_text(condition: model.Command) -> str:
    text = condition.script if condition.script is not None else " ".join(written(each) for each in condition.argv)
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"


def _name(condition: Condition) -> str:
    return str(condition.__struct_config__.tag)
