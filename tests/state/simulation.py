"""A pretend engine for the pure part: it answers every action with events, in any order, under a set clock."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from onward.model import events as ev
from onward.model.actions import (
    Action,
    AskCondition,
    BeginAttempt,
    CompletePause,
    EndRun,
    ExpireGate,
    FinishNode,
    OpenGate,
    ReadItems,
    StartNode,
    StopAttempt,
    Validate,
    WaitForLoop,
    WaitForRetry,
)
from onward.model.conditions import Condition, FileExists
from onward.model.nodes import Kind, Loop, Node, Plan, Run
from onward.model.status import Outcome, Where
from onward.model.values import Data
from onward.state.decide import decide
from onward.state.fold import fold, issue, replay, settle, wake
from onward.state.run_state import RunState

YES: Condition = FileExists(paths=("yes",))
NO: Condition = FileExists(paths=("no",))


def _placed(node: Node, prefix: str) -> Node:
    path = f"{prefix}/{node.name}" if prefix else node.name

    def inside(steps: tuple[tuple[Node, ...], ...], section: str = "") -> tuple[tuple[Node, ...], ...]:
        base = path if not section else (f"{path}/{section}" if path else section)
        return tuple(tuple(_placed(child, base) for child in step) for step in steps)

    return msgspec.structs.replace(
        node,
        path=path,
        steps=inside(node.steps),
        members=tuple(_placed(child, path) for child in node.members),
        merge=inside(node.merge, "@merge"),
        on_failure_steps=inside(node.on_failure_steps, "@on-failure"),
        finally_steps=inside(node.finally_steps, "@finally"),
    )


def leaf(name: str, **fields: object) -> Node:
    return Node(name=name, path="", kind=Kind.RUN, work=Run(argv=("true",)), **fields)  # type: ignore[arg-type]


def steps(*nodes: Node | tuple[Node, ...]) -> tuple[tuple[Node, ...], ...]:
    return tuple(node if isinstance(node, tuple) else (node,) for node in nodes)


def task(name: str, *nodes: Node | tuple[Node, ...], **fields: object) -> Node:
    return Node(name=name, path="", kind=Kind.TASK, steps=steps(*nodes), **fields)  # type: ignore[arg-type]


def parallel(name: str, *members: Node, **fields: object) -> Node:
    return Node(name=name, path="", kind=Kind.PARALLEL, members=members, **fields)  # type: ignore[arg-type]


def each(*items: str, **fields: object) -> Loop:
    return Loop(items=Data(value=list(items)), **fields)  # type: ignore[arg-type]


def plan(*nodes: Node | tuple[Node, ...], limit: int = 8, **fields: object) -> Plan:
    root = task("", *nodes, **fields)
    return Plan(name="w", file="/w.yaml", digest="d", root=_placed(root, ""), limit=limit)


Script = Callable[[str, int], Outcome]


@dataclass
class Simulation:
    """Drives `state` with pretend work. `script(path, attempt)` gives the outcome of each attempt."""

    plan: Plan
    script: Script = lambda path, attempt: Outcome.OK
    answers: Callable[[str, Where], bool] = lambda path, where: where not in (Where.SKIP_IF,)
    seed: int = 0
    now: float = 1_000_000.0
    events: list[ev.Event] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    highest: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.state = RunState(self.plan)
        self.pending: list[ev.Event] = []

    # events -----------------------------------------------------------------------------------------------

    def record(self, event: ev.Event) -> None:
        at = dt.datetime.fromtimestamp(self.now, dt.UTC)
        event = msgspec.structs.replace(event, seq=len(self.events) + 1, at=at, epoch=1)
        self.events.append(event)
        fold(self.state, event)

    def begin(self) -> Simulation:
        self.record(ev.WorkflowStart(run="r"))
        settle(self.state)
        return self

    def resume(
        self,
        events: Iterable[ev.Event],
        *,
        plan: Plan | None = None,
        reattach: bool = False,
        state: RunState | None = None,
    ) -> Simulation:
        """Another driver goes on from these events; attempts without an end were lost, or have ended meanwhile."""
        self.plan = plan or self.plan
        self.events = list(events)
        self.state = state or replay(self.plan, self.events)
        self.pending = []
        self.record(ev.WorkflowResume(resumed_count=self.state.facts.resumed_count + 1))
        for instance in self.state.running_leaves():
            outcome = self.script(instance.path, instance.attempt) if reattach else Outcome.INTERRUPTED
            self.record(ev.AttemptEnd(path=instance.path, attempt=instance.attempt, outcome=outcome))
        settle(self.state)
        return self

    # driving ----------------------------------------------------------------------------------------------

    def step(self) -> bool:
        """One decision or one answer; False when nothing is left to do."""
        wake(self.state, self.now)
        actions, due = decide(self.state, self.now)
        if actions:
            for action in actions:
                issue(self.state, action)
                self.perform(action)
            return True
        if self.pending:
            self.record(self.pending.pop(self.random.randrange(len(self.pending))))
            return True
        if due is not None and due > self.now:
            self.now = due
            return True
        return False

    def run(self, limit: int = 100_000) -> Simulation:
        for _ in range(limit):
            if not self.step():
                return self
            self.now += 0.001
        raise AssertionError("the run does not end")

    def perform(self, action: Action) -> None:
        match action:
            case StartNode(path):
                self.record(ev.NodeStart(path=path))
            case FinishNode(path, status, reason, _):
                self.record(ev.NodeEnd(path=path, status=status, reason=reason))
            case BeginAttempt(path, attempt):
                instance = self.state.get(path)
                assert instance is not None
                assert not instance.ended, f"{path} has ended and is started again"
                self.record(ev.AttemptStart(path=path, attempt=attempt))
                self.started.append(path)
                self.highest = max(self.highest, self.state.running)
                self.pending.append(ev.AttemptEnd(path=path, attempt=attempt, outcome=self.script(path, attempt)))
            case StopAttempt(path, reason):
                mine = [e for e in self.pending if isinstance(e, ev.AttemptEnd) and e.path == path]
                for event in mine:
                    self.pending.remove(event)
                    self.pending.append(
                        ev.AttemptEnd(path=path, attempt=event.attempt, outcome=Outcome.INTERRUPTED, error=reason)
                    )
            case AskCondition(path, where, _, _):
                self.pending.append(ev.ConditionAsked(path=path, where=where, result=self.answers(path, where)))
            case ReadItems(path):
                node = self.plan_node(path)
                assert node.loop is not None
                assert node.loop.items is not None
                items = tuple(ev.LoopItem(key=key) for key in node.loop.items.value)
                self.pending.append(ev.LoopItems(path=path, items=items))
            case WaitForRetry(path, attempt, delay_s, until_s):
                until = until_s if until_s is not None else self.now + delay_s
                self.record(ev.RetryWait(path=path, attempt=attempt, until=dt.datetime.fromtimestamp(until, dt.UTC)))
            case WaitForLoop(path, index, delay_s):
                until = dt.datetime.fromtimestamp(self.now + delay_s, dt.UTC)
                self.record(ev.LoopDelay(path=path, index=index, until=until))
            case Validate(path, attempt):
                self.pending.append(ev.Validation(path=path, attempt=attempt))
            case OpenGate(path, purpose):
                self.record(ev.GateOpen(path=path, purpose=purpose, choices=("approve", "reject")))
            case ExpireGate(path):
                self.record(ev.GateDecision(path=path, choice="reject", by="time limit"))
            case EndRun(status, reason):
                self.record(ev.WorkflowEnd(status=status, reason=reason))
            case CompletePause(active):
                self.record(ev.WorkflowPause(active=active))

    def plan_node(self, path: str) -> Node:
        instance = self.state.get(path)
        assert instance is not None
        assert instance.node is not None
        return instance.node

    # asking -----------------------------------------------------------------------------------------------

    def statuses(self) -> dict[str, str]:
        """Path -> status of every node but sections."""
        return {path: i.status.value for path, i in self.state.instances.items() if path and i.role.name != "SECTION"}

    def unfinished(self) -> str:
        """What holds the run up, for the message of a test that fails."""
        rows = [f"{i!r} cursor={i.cursor} open={[c.path for c in i.open or ()]} stopped={i.stopped} asked={i.asked!r}"
                for i in self.state.instances.values() if not i.ended]  # fmt: skip
        tail = [f"{e.seq} {type(e).__name__} {getattr(e, 'path', '')} {getattr(e, 'status', '')}" for e in self.events]
        return "\n".join([*rows, f"frontier={list(self.state.frontier)}", *tail])

    @property
    def end(self) -> str | None:
        end = self.state.facts.end
        return None if end is None else end.value


def run(the_plan: Plan, script: Script | None = None, **fields: object) -> Simulation:
    """A run from its start to its end."""
    simulation = Simulation(the_plan, **fields)  # type: ignore[arg-type]
    if script is not None:
        simulation.script = script
    return simulation.begin().run()
