"""A run that was interrupted → the question what to do with it, and the answer as options of `onward resume`.

Everything is asked on stderr and read from the terminal; whoever answers nothing (end of input, Ctrl-C) has changed
nothing.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import ParamSpec, TypeVar

import click
import msgspec
from msgspec import Struct

from onward import clock
from onward.cli.common import Common
from onward.cli.drawing import draw
from onward.engine.embedded.launch import ResumeOptions
from onward.engine.embedded.looking import Ahead, look_ahead
from onward.engine.embedded.requests import Decision
from onward.engine.embedded.requests import decide as decide_gate
from onward.errors import OnwardError
from onward.model.status import RunStatus
from onward.recovery.findings import directory_of
from onward.recovery.made import made_so_far
from onward.store.folder import RunFolder
from onward.store.lock import this_process
from onward.store.runs import Store
from onward.views import words
from onward.views.recovery_made import made_lines
from onward.views.recovery_names import name_of
from onward.views.recovery_words import Option, failed_tasks, option_lines, screen
from onward.views.table import Line

MOST_RUNS = 9

P = ParamSpec("P")
R = TypeVar("R")


class Way(StrEnum):
    """What was decided."""

    GO_ON = "go on"
    FRESH = "fresh"


class Left(OnwardError):
    """Nobody answered; everything is as it was."""

    code = "nothing-chosen"
    exit_code = 3


class Answer(Struct, frozen=True, kw_only=True):
    """The way, and the options that lead along it."""

    way: Way
    options: ResumeOptions


def is_worth_asking(ahead: Ahead) -> bool:
    """Interrupted or failed, or something was found; a run that somebody paused just goes on (`settled.md` 12)."""
    if ahead.ended is not None or ahead.seen.driver is not None:
        return False
    found = ahead.diagnosis.waits or any(one.severity == "warning" for one in ahead.diagnosis.findings)
    return ahead.was in (RunStatus.RUNNING, RunStatus.WAITING, RunStatus.FAILED) or bool(found)


def _unless_interrupted(question: Callable[P, R]) -> Callable[P, R]:
    """Ctrl-C at any moment of a question is the answer that changes nothing."""

    @wraps(question)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return question(*args, **kwargs)
        except KeyboardInterrupt:
            click.echo(err=True)
            raise Left("nothing was chosen; everything is as it was") from None

    return asked


@_unless_interrupted
def decide(options: ResumeOptions, common: Common, at: str) -> Answer:
    """Look at the run and ask where that is worth it; else it simply goes on. Raises `Left`."""
    ahead = look_ahead(options)
    if not is_worth_asking(ahead):
        return Answer(way=Way.GO_ON, options=options)
    return ask(ahead, options, common, at)


def ask(ahead: Ahead, options: ResumeOptions, common: Common, at: str) -> Answer:
    """Show the screen and ask until it is decided. Raises `Left`."""
    state, diagnosis = ahead.seen.state, ahead.diagnosis
    shown = screen(state, diagnosis, clock.now().timestamp())
    _draw(shown.lines, common)
    while True:
        _draw(list(option_lines(shown.options)), common)
        option = _chosen(shown.options)
        if option.id == "view":
            _draw([Line(""), *_made(ahead)], common)
            continue
        command = f"onward resume {options.run.run_id} {option.flags}{at}"
        _draw([Line(f"The same without a question: {command}", "command")], common)
        if option.id == "continue":
            _ask_open_questions(ahead, common, at)
        return _answer(option, options, ahead)


def _made(ahead: Ahead) -> list[Line]:
    seen = ahead.seen
    made = made_so_far(seen.folder, seen.state, directory_of(seen.plan))
    return list(made_lines(seen.state, ahead.diagnosis, made))


def _answer(option: Option, options: ResumeOptions, ahead: Ahead) -> Answer:
    waits = {choice.id for one in ahead.diagnosis.waits for choice in one.choices}
    options = msgspec.structs.replace(
        options,
        yes=True,
        accept_damage=options.accept_damage or "accept-damage" in waits,
        original=options.original or "original" in waits,
    )
    match option.id:
        case "fresh":
            return Answer(way=Way.FRESH, options=options)
        case "skip":
            options = msgspec.structs.replace(options, skip=(*options.skip, *failed_tasks(ahead.diagnosis)))
        case "remake":
            changed = ahead.diagnosis.artifacts.different
            options = msgspec.structs.replace(options, rerun=(*options.rerun, *changed))
    return Answer(way=Way.GO_ON, options=options)


# --- open questions ---------------------------------------------------------------------------------------------


def _ask_open_questions(ahead: Ahead, common: Common, at: str) -> None:
    """Show each question that is open, and take an answer; an empty line leaves it open.

    One with fields to fill in is left to `onward approve`, which the resume shows.
    """
    for gate in list(ahead.seen.state.gates.values()):
        if gate.fields:
            continue
        name = name_of(ahead.seen.state, gate.path)
        shown = [Line(f"  {words.one_line(one.path)}") for one in gate.show]
        lines = [Line(""), Line(f"{name}: {words.one_line(gate.question)}", "head"), *shown]
        _draw(lines, common)
        choice = _choice_of(list(gate.choices) or ["approve", "reject"])
        if choice is None:
            continue
        decision = Decision(path=gate.path, choice=choice, by=this_process().user)
        decide_gate(ahead.seen.folder, decision, lambda _, text: common.note(text))
        flags = f"{ahead.seen.folder.run_id} {shlex.quote(gate.path)} --choice {shlex.quote(choice)}{at}"
        _draw([Line(f"The same without a question: onward approve {flags}", "command")], common)


def _choice_of(choices: list[str]) -> str | None:
    listed = ", ".join(f"({number}) {words.one_line(one)}" for number, one in enumerate(choices, 1))
    while True:
        said = _line(f"\nYour answer – {listed}, or Enter to leave it open: ").strip()
        if not said:
            return None
        if said in choices:
            return said
        if said.isdecimal() and 1 <= int(said) <= len(choices):
            return choices[int(said) - 1]
        click.echo("Please answer with a number, or one of the words.", err=True)


# --- asking -----------------------------------------------------------------------------------------------------


def _chosen(options: list[Option]) -> Option:
    letters = "/".join(option.letter for option in options)
    while True:
        said = _line(f"\nYour choice ({letters}): ").strip().strip("()").upper()
        for option in options:
            if said == option.letter:
                return option
        click.echo(f"Please answer with one of {letters}; Ctrl-C leaves everything as it is.", err=True)


def _line(prompt: str) -> str:
    """One line of the terminal. Raises `Left` at the end of input."""
    click.echo(prompt, nl=False, err=True)
    line = sys.stdin.readline()
    if not line:
        click.echo(err=True)
        raise Left("nothing was chosen; everything is as it was")
    return line


def _draw(lines: list[Line], common: Common) -> None:
    draw(lines, common, sys.stderr)


# --- which run --------------------------------------------------------------------------------------------------


@_unless_interrupted
def choose_run(store: Store, common: Common) -> RunFolder:
    """The run that is meant where none was named: the newest, or with several to go on with the one that is chosen."""
    from onward.views.recovery_runs import Waiting, waiting_runs

    found = waiting_runs(store, MOST_RUNS)
    if len(found) < 2:
        return store.find(found[0].run if found else None)
    now = clock.now().timestamp()

    def line(number: int, one: Waiting) -> Line:
        return Line(f"  ({number}) “{one.feature}” – {one.how}, {words.age(now - one.last_at)}")

    _draw([Line("Several workflows can go on:", "head"), *(line(n, one) for n, one in enumerate(found, 1))], common)
    while True:
        said = _line(f"\nWhich one (1-{len(found)}): ").strip()
        if said.isdecimal() and 1 <= int(said) <= len(found):
            return store.find(found[int(said) - 1].run)
        click.echo("Please answer with a number; Ctrl-C leaves everything as it is.", err=True)
