"""`onward approve` and `onward reject`: answer a question that a run waits on."""

from __future__ import annotations

import time
from typing import Any

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.elsewhere import elsewhere
from onward.cli.target import at, print_json, run_and_path, store_of
from onward.cli.variables import given_variables
from onward.engine.embedded.requests import Decision, check_decision, decide
from onward.errors import UsageError
from onward.model.events import GateOpen
from onward.state.gate_rules import APPROVE, REJECT, choice_for
from onward.store.folder import RunFolder
from onward.store.lock import this_process
from onward.views.source import Source
from onward.views.words import one_line

WAIT_S = 10.0
THERE_S = 3.0
"""how long a worker of Temporal is waited for: there may be none"""
LOOK_S = 0.05


def _options(function: Any) -> Any:
    for option in reversed(
        (
            click.argument("words", nargs=-1, metavar="[RUN] [PATH]"),
            click.option("--run", "run_id", metavar="RUN", help="The run, where one word could be a run or a path."),
            click.option("--choice", metavar="CHOICE", help="Which of the choices."),
            click.option("--note", default="", metavar="TEXT", help="A remark, for the record."),
            click.option("--field", "fields", multiple=True, metavar="K=V", help="A field of the question."),
            click.option("--by", metavar="NAME", help="Who decides; by default the login name."),
        )
    ):
        function = option(function)
    return function


@click.command("approve")
@_options
@common_options(json=True)
def command(common: Common, **given: Any) -> int:
    """Answer an open question: approve, or any of its choices. Also while the run is paused."""
    return _decide(common, APPROVE, **given)


@click.command("reject")
@_options
@common_options(json=True)
def reject(common: Common, **given: Any) -> int:
    """Answer an open question with no: the node fails."""
    return _decide(common, REJECT, **given)


def _decide(
    common: Common,
    word: str,
    words: tuple[str, ...],
    run_id: str | None,
    choice: str | None,
    note: str,
    fields: tuple[str, ...],
    by: str | None,
) -> int:
    store = store_of(common)
    if run_id is not None:
        folder, path = store.find(run_id), words[0] if words else None
    else:
        folder, path = run_and_path(store, words)
    source = Source(folder)
    gate = _gate(source, path)
    chosen = choice_for(gate, word, choice)
    if chosen is None:
        raise UsageError(
            f"`{gate.path}` has several choices", help=f"give one with --choice: {', '.join(gate.choices)}"
        )
    decision = Decision(
        path=gate.path, choice=chosen, by=by or this_process().user, note=note, fields=given_variables(fields)
    )
    check_decision(source.state, _directory(source), decision)
    there = elsewhere(folder)
    if there is not None:
        there.decide(decision.path, decision.choice, decision.by, decision.note, decision.fields)
        _taken(source, gate.path, THERE_S)
        if gate.path in source.state.gates:
            common.note("Temporal keeps the answer until a worker takes it")
        return _tell(common, folder, decision, at(store), driven=True)
    driven = decide(folder, decision, lambda _, text: common.note(text))
    return _tell(common, folder, decision, at(store), driven=driven and _taken(source, gate.path))


def _gate(source: Source, path: str | None) -> GateOpen:
    gates = source.state.gates
    if path is not None and path in gates:
        return gates[path]
    listed = "\n".join(f"  {gate.path}: {one_line(gate.question)}" for gate in gates.values())
    if path is not None:
        raise UsageError(f"no question is open at `{path}`", help=f"open questions:\n{listed}" if listed else None)
    if len(gates) == 1:
        return next(iter(gates.values()))
    if not gates:
        raise UsageError(f"no question of run `{source.run_id}` is open")
    raise UsageError(f"{len(gates)} questions are open; say which:\n{listed}")


def _directory(source: Source) -> Any:
    from pathlib import Path

    return Path(source.place(source.state.facts.directory))


def _taken(source: Source, path: str, within_s: float = WAIT_S) -> bool:
    """Wait until the driver has recorded the answer, so that what is said here is so."""
    until = clock.monotonic() + within_s
    while path in source.state.gates and clock.monotonic() < until:
        time.sleep(LOOK_S)
        source.refresh()
    return True


def _tell(common: Common, folder: RunFolder, decision: Decision, where: str, *, driven: bool) -> int:
    following = None if driven else f"onward resume {folder.run_id}{where}"
    if common.json:
        print_json(
            {
                "schema": 1,
                "run": folder.run_id,
                "path": decision.path,
                "choice": decision.choice,
                "by": decision.by,
                "next": following,
            }
        )
    common.note(f"`{decision.path}`: {decision.choice}, decided by {decision.by}")
    if following:
        common.note(f"go on with: {following}")
    return 0
