"""A workflow file, a state, a store and a stand-in for the keeper: enough to do the work of one task after another."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onward.model import events as ev
from onward.model.conditions import Condition
from onward.model.nodes import Plan
from onward.model.status import Outcome, Status
from onward.plan.make import make_plan
from onward.spec.load import load
from onward.state.fold import fold
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.store.values import Values
from onward.tasks import exit_record
from onward.tasks.answers import Answer
from onward.tasks.attempt_folder import Exit, Usage
from onward.tasks.conditions import ask
from onward.tasks.context import RunContext, context_of
from onward.tasks.keeper_link import ProgramRequest
from onward.tasks.prepare import Prepared, prepare
from onward.tasks.secrets import Secrets
from onward.tasks.surroundings import Surroundings

RUN = "w-1"
PATH = os.environ.get("PATH", os.defpath)
CALLER = {"PATH": PATH, "HOME": "/home-of-the-caller", "LANG": "C.UTF-8"}


def plan_of(folder: Path, text: str, given: tuple[str, ...] = ()) -> Plan:
    """The plan of a workflow file written into the folder."""
    file = folder / "w.yaml"
    file.write_text(text, encoding="utf-8")
    plan, _ = make_plan(load(file), given)
    return plan


@dataclass
class World:
    """One run in a folder."""

    folder: Path
    source: str
    variables: dict[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=lambda: CALLER)
    adapter: str | None = None
    secrets: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.plan = plan_of(self.folder, self.source, tuple(self.variables))
        self.state = RunState(self.plan)
        defaults = {each.name: each.default for each in self.plan.variables if each.default is not None}
        self.tell(ev.WorkflowStart(run=RUN, name="w", datetime="2026-01-31T10:00:00+01:00",
                                   workflow_file="w.yaml", variables=defaults | self.variables))  # fmt: skip
        store = self.folder / "store"
        self.values = Values(store / "values")
        self.context: RunContext = context_of(
            self.plan, run=RUN, folder=store, values=self.values, environment=self.environment,
            adapter=self.adapter, secrets=Secrets.given(self.secrets),
        )  # fmt: skip
        self.around = Surroundings(self.state, self.context)
        self.requests: list[ProgramRequest] = []

    def tell(self, *events: ev.Event) -> None:
        """These things happened."""
        for event in events:
            fold(self.state, event)

    def at(self, path: str) -> Instance:
        return self.state.ensure(path)

    # --- work ---------------------------------------------------------------------------------------------

    def prepare(self, path: str, attempt: int = 1) -> Prepared:
        return prepare(self.around, self.at(path), attempt)

    def attempt(self, path: str, attempt: int = 1, **stopped: str) -> ev.AttemptEnd:
        """Do the work of a leaf (a program) and take its result."""
        prepared = self.prepare(path, attempt)
        self.tell(prepared.event)
        request = prepared.request()
        assert isinstance(request, ProgramRequest)
        end = prepared.collect(self.around, run_program(request), **stopped)
        self.tell(end)
        return end

    def do(self, path: str) -> ev.AttemptEnd:
        """Do the work of a leaf, and end it."""
        end = self.attempt(path)
        self.end(path, Status.SUCCEEDED if end.outcome is Outcome.OK else Status.FAILED)
        return end

    def end(self, path: str, status: Status = Status.SUCCEEDED, **fields: Any) -> None:
        self.tell(ev.NodeEnd(path=path, status=status, **fields))

    def ended(self, path: str, status: Status = Status.SUCCEEDED, /, **outputs: Any) -> None:
        """A leaf ended with these outputs: text where they are texts, else JSON."""
        values = {
            name: self.values.to_value("text" if isinstance(value, str) else "json", value)
            for name, value in outputs.items()
        }
        outcome = Outcome.OK if status is Status.SUCCEEDED else Outcome.ERROR
        self.tell(ev.AttemptStart(path=path, attempt=1))
        self.tell(ev.AttemptEnd(path=path, attempt=1, outcome=outcome, outputs=values))
        self.end(path, status)

    def items(self, path: str, *items: Any) -> None:
        """The items of a loop: texts are their own keys, the others are numbered."""
        rows = [
            ev.LoopItem(key=item) if isinstance(item, str)
            else ev.LoopItem(key=str(number), value=self.values.to_value("json", item))
            for number, item in enumerate(items, 1)
        ]  # fmt: skip
        self.tell(ev.LoopItems(path=path, items=tuple(rows)))
        for position, row in enumerate(rows):
            self.at(f"{path}[{row.key}]").position = position

    # --- questions ----------------------------------------------------------------------------------------

    def text(self, path: str, field: str = "work.text") -> str:
        """A text field of a node, filled in."""
        instance = self.at(path)
        value: Any = instance.node
        for name in field.split("."):
            value = value[int(name)] if name.isdigit() else getattr(value, name)
        return self.around.resolver.text(instance, value)

    def ask(self, path: str, *conditions: Condition, purpose: str = "skip-if") -> Answer:
        return asyncio.run(ask(self.around, self.at(path), conditions, purpose, self.command))

    async def command(self, request: ProgramRequest) -> Exit:
        self.requests.append(request)
        return run_program(request)


def run_program(request: ProgramRequest, within_s: float = 30) -> Exit:
    """What a keeper does, without its care: run the program, keep its output, say how it ended."""
    folder = Path(request.folder)
    folder.mkdir(parents=True, exist_ok=True)
    stdin = open(request.stdin, "rb") if request.stdin is not None else subprocess.DEVNULL  # noqa: SIM115
    env = {**request.env, "ONWARD_ATTEMPT_ID": request.marker}
    try:
        done = subprocess.run(
            request.argv, env=env, cwd=request.cwd, stdin=stdin, capture_output=True, timeout=within_s, check=False
        )
    except OSError as error:
        return exit_of(None, error=f"the program `{request.argv[0]}` cannot be started: {error.strerror}")
    finally:
        if not isinstance(stdin, int):
            stdin.close()
    for name, data in (("out", done.stdout), ("err", done.stderr)):
        if data:
            (folder / name).write_bytes(data)
    code: int | None = done.returncode if done.returncode >= 0 else None
    name = signal.Signals(-done.returncode).name if done.returncode < 0 else None
    exit = exit_of(code, signal=name, out=len(done.stdout), err=len(done.stderr))
    exit_record.write(os.fspath(folder), exit_record.FILE, exit_record.as_json(exit[:10]))
    return exit


def exit_of(code: int | None = 0, **fields: Any) -> Exit:
    """A record of an end."""
    plain = {"signal": None, "error": None, "ended_by": None, "started": 1_770_000_000.0, "duration_s": 0.5,
             "usage": Usage(), "out": 0, "err": 0, "left_behind": 0}  # fmt: skip
    return Exit(code=code, **{**plain, **fields})
