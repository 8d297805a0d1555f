"""The driver's hands: actions that need the world become requests to the keeper, and answers become events.

Programs run under the keeper, calls in warm workers; both outlive this process. What an earlier driver left running
is found by its folder and waited for (`attach`).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from onward.engine.embedded.agents import Agents
from onward.engine.embedded.leftovers import Leftovers
from onward.engine.embedded.records import finish_node
from onward.engine.embedded.workers import Workers
from onward.engine.observer import Observer
from onward.errors import StateError, TaskError
from onward.model import events as ev
from onward.model.actions import (
    Action,
    AskCondition,
    ExpireGate,
    FinishNode,
    OpenGate,
    ReadItems,
    Validate,
)
from onward.model.nodes import Approve, Kind
from onward.model.status import Outcome, Where
from onward.state.fold import withdraw
from onward.state.instance import Instance
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.tasks.attempt_folder import Exit, lock_attempt
from onward.tasks.commands import Stopped
from onward.tasks.conditions import ask
from onward.tasks.context import RunContext
from onward.tasks.ending import end_process_tree
from onward.tasks.environment import marker_of
from onward.tasks.failures import in_words
from onward.tasks.gates import gate_of
from onward.tasks.gather import gather
from onward.tasks.items import read_items, what_is_new
from onward.tasks.keeper_link import (
    KILL_AFTER_S,
    Blocked,
    CallEnded,
    CallRequest,
    Exited,
    KeeperLink,
    KeeperLost,
    ProgramRequest,
    WorkerEnded,
)
from onward.tasks.prepare import Prepared, prepare, prepared_before
from onward.tasks.surroundings import Surroundings
from onward.tasks.validators import validate

ANSWER_WITHIN_S = 4 * KILL_AFTER_S
"""a stopped task ends within `KILL_AFTER_S`, and its end is told a moment later"""


class Begun(Struct, frozen=True, kw_only=True):
    """An attempt that is about to begin: its record, and what to start once that is on disk (None: it cannot be)."""

    event: ev.AttemptStart
    marker: str = ""
    prepared: Prepared | None = None
    problem: TaskError | None = None
    left_over: bool = False


Happened = Callable[..., None]


class Work:
    """Everything that runs for one driver."""

    def __init__(
        self, state: RunState, context: RunContext, folder: RunFolder, link: KeeperLink, observer: Observer
    ) -> None:
        self._state = state
        self._context = context
        self._folder = folder
        self._link = link
        self._observer = observer
        self._around = Surroundings(state, context)
        self._running: dict[str, Begun] = {}
        self._paths: dict[str, str] = {}
        self._commands: dict[str, asyncio.Future[Exit]] = {}
        self._errands: set[asyncio.Task[None]] = set()
        self._stopping: dict[str, str] = {}
        self._keepers_lost = 0
        self._lost_keeper: set[str] = set()
        self._happened: Happened = lambda *_: None
        self._fail: Callable[[BaseException], None] = lambda _: None
        self._workers = Workers(link, folder, context, self._call_ended)
        self._agents = Agents(lambda event: self._happened(event), self.stop)
        self._leftovers = Leftovers(folder, context.run, self._leftover_ended)

    @property
    def busy(self) -> bool:
        """Whether anything runs whose end will be told."""
        return bool(self._running or self._errands or self._commands or self._leftovers.busy)

    def connect(
        self, loop: asyncio.AbstractEventLoop, happened: Happened, fail: Callable[[BaseException], None]
    ) -> None:
        """From here on answers are told to `happened`, and what makes going on impossible to `fail`."""
        self._happened, self._fail = happened, fail
        loop.add_reader(self._link.fileno(), self._hear_keeper)

    def disconnect(self) -> None:
        """Leave everything to the keeper."""
        asyncio.get_running_loop().remove_reader(self._link.fileno())
        for errand in self._errands:
            errand.cancel()
        self._workers.close()
        self._leftovers.close()
        self._agents.close()
        if self._keepers_lost:
            self._link.close()

    # --- attempts ---------------------------------------------------------------------------------------------

    def prepare(self, path: str, attempt: int) -> Begun:
        """Work out what an attempt needs; its values are those of this moment."""
        instance = self._state.instances[path]
        try:
            prepared = prepare(self._around, instance, attempt)
        except TaskError as error:
            event = ev.AttemptStart(path=path, attempt=attempt, definition_sha256=_digest(instance))
            return Begun(event=event, problem=error)
        return Begun(event=prepared.event, marker=prepared.marker, prepared=prepared)

    def begin(self, begun: Begun) -> None:
        """Start an attempt whose record is on disk."""
        path, attempt = begun.event.path, begun.event.attempt
        if begun.prepared is None:
            assert begun.problem is not None
            self._happened(_could_not_start(path, attempt, begun.problem, final=True))
            return
        self._running[path] = begun
        if begun.prepared.agent is not None:
            self._errand(self._begin_agent(begun, begun.prepared))
        else:
            self._begin_now(begun, begun.prepared)

    async def _begin_agent(self, begun: Begun, prepared: Prepared) -> None:
        path, attempt = begun.event.path, begun.event.attempt
        leaf = self._state.instances[path]
        earlier = [marker_of(self._context.folder, leaf.called(number), number) for number in range(1, attempt)]
        problem: TaskError | None = None
        try:
            await self._agents.clear_the_way(prepared, earlier)
        except TaskError as error:
            problem = error
        if self._running.get(path) is not begun:
            return
        if path in self._stopping:
            self._lost(path)
        elif problem is not None:
            self._forget(path)
            self._happened(_could_not_start(path, attempt, problem, final=True))
        else:
            self._begin_now(begun, prepared)

    def _begin_now(self, begun: Begun, prepared: Prepared) -> None:
        path, attempt = begun.event.path, begun.event.attempt
        try:
            request = prepared.request()
            self._paths[request.id] = path
            if isinstance(request, CallRequest):
                self._workers.call(request)
            else:
                self._start(request)
            self._agents.begun(prepared)
        except KeeperLost:
            self._keeper_lost()
        except TaskError as error:
            self._forget(path)
            self._happened(_could_not_start(path, attempt, error, final=True))
        except StateError as error:
            self._fail(error)

    def _start(self, request: ProgramRequest) -> None:
        self._link.start(request, lock_attempt(request.folder))

    def stop(self, path: str, reason: str) -> None:
        """End the running attempt of a leaf; its `AttemptEnd` follows."""
        begun = self._running.get(path)
        self._stopping[path] = reason
        if begun is None:
            return
        if begun.left_over:
            self._leftovers.stop(path)
        elif begun.marker and not self._workers.stop(begun.marker):
            self._link.stop(begun.marker, reason="stop")
        asyncio.get_running_loop().call_later(ANSWER_WITHIN_S, self._overdue, begun)

    def _overdue(self, begun: Begun) -> None:
        """A task that was stopped has not ended: whoever looks after it was stopped itself, and is not waited for."""
        if self._running.get(begun.event.path) is begun:
            self._fail(
                KeeperLost(
                    f"`{begun.event.path}` was stopped, and its end was not told within {ANSWER_WITHIN_S:g} s",
                    help=f"`onward resume {self._context.run}` finds out what is left of it and goes on",
                )
            )

    def stop_all(self, reason: str) -> None:
        """End everything that runs: attempts are interrupted, commands of conditions are asked again later."""
        for path in self._running:
            if path not in self._stopping:
                self.stop(path, reason)
        for marker in self._commands:
            self._link.stop(marker, reason="stop")

    def _hear_keeper(self) -> None:
        try:
            for message in self._link.receive():
                self._take(message)
            if self._link.lost:
                self._keeper_lost()
        except Exception as error:  # noqa: BLE001 - a callback of the loop: whatever it is ends the drive
            self._fail(error)

    def _take(self, message: object) -> None:
        match message:
            case Exited(id=id, exit=exit):
                command = self._commands.pop(id, None)
                if command is not None:
                    if not command.done():
                        command.set_result(exit)
                else:
                    self._attempt_ended(id, exit)
            case WorkerEnded():
                self._workers.ended(message)
            case Blocked(error=error):
                text = f"the output of a task cannot be written: {error}"
                self._fail(StateError(text, help="free space, then `onward resume`"))
            case _:
                pass

    def _call_ended(self, ended: CallEnded) -> None:
        self._attempt_ended(ended.id, ended.exit)

    def _attempt_ended(self, id: str, exit: Exit) -> None:
        path = self._paths.get(id)
        begun = self._running.get(path) if path is not None else None
        if path is None or begun is None:
            return
        prepared = begun.prepared or self._before(path)
        version = self._agents.version_to_come(prepared)
        if version is not None:
            version.add_done_callback(lambda _: self._attempt_ended(id, exit))
            return
        reason = self._stopping.get(path)
        self._forget(path)
        try:
            event = self._agents.with_version(prepared, prepared.collect(self._around, exit, stopped=reason))
        except StateError as error:
            self._fail(error)
            return
        self._happened(event)

    def _forget(self, path: str) -> None:
        begun = self._running.pop(path, None)
        self._stopping.pop(path, None)
        self._agents.forget(path)
        if begun is not None:
            self._paths.pop(begun.marker, None)

    def _keeper_lost(self) -> None:
        """The keeper was killed: its tasks lost their output, and most ended by that. They count as interrupted.

        Another keeper takes its place. A task that loses its keeper twice has failed: once it may have been chance.
        """
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._link.fileno())
        self._keepers_lost += 1
        self._observer.message("warning", "the process that looks after tasks was killed; another takes its place")
        self._workers.close()
        self._link.close()
        self._link = KeeperLink.launch()
        self._workers = Workers(self._link, self._folder, self._context, self._call_ended)
        loop.add_reader(self._link.fileno(), self._hear_keeper)
        for command in self._commands.values():
            if not command.done():
                command.set_exception(Stopped())
        self._commands.clear()
        for path, begun in self._running.items():
            if not begun.left_over:
                sweep = partial(end_process_tree, None, [begun.marker], kill_after_s=KILL_AFTER_S)
                ended = loop.run_in_executor(None, sweep)
                ended.add_done_callback(partial(self._swept, path, begun))

    def _swept(self, path: str, begun: Begun, _: object) -> None:
        """Nothing is left of an attempt whose keeper was killed."""
        if self._running.get(path) is not begun:
            return
        if path not in self._lost_keeper:
            self._lost_keeper.add(path)
            self._lost(path)
            return
        self._forget(path)
        text = "the process that looks after it was killed twice"
        attempt = begun.event.attempt
        self._happened(ev.AttemptEnd(path=path, attempt=attempt, outcome=Outcome.ERROR, error=text, final=True))

    # --- what an earlier driver left ----------------------------------------------------------------------------

    def attach(self, leaves: Sequence[Instance]) -> None:
        """Find out about attempts without a recorded end: ended meanwhile, still running, or lost."""
        for instance in leaves:
            event = ev.AttemptStart(path=instance.path, attempt=instance.attempt)
            attempt = instance.attempt
            marker = marker_of(self._context.folder, instance.called(attempt), attempt)
            self._running[instance.path] = Begun(event=event, marker=marker, left_over=True)
            self._paths[marker] = instance.path
            is_call = instance.node is not None and instance.node.kind is Kind.CALL
            word = self._leftovers.look(instance.path, instance.attempt, marker, is_call)
            self._observer.message("note", f"`{instance.path}`: {word}")
            self._agents.begun(self._before(instance.path))

    def _leftover_ended(self, path: str, marker: str, exit: Exit | None) -> None:
        if exit is not None:
            self._attempt_ended(marker, exit)
        else:
            self._lost(path)

    def _lost(self, path: str) -> None:
        """Nobody knows how an attempt ended, and nothing is left of it."""
        begun = self._running[path]
        reason = self._stopping.get(path)
        self._forget(path)
        prepared = begun.prepared or self._before(path)
        try:
            prepared.mask_what_is_left()
        except StateError as error:
            self._fail(error)
            return
        self._happened(
            ev.AttemptEnd(
                path=path,
                attempt=begun.event.attempt,
                outcome=Outcome.INTERRUPTED,
                error=reason or "interrupted",
                session=self._agents.session_said(prepared),
            )
        )

    def _before(self, path: str) -> Prepared:
        return prepared_before(self._around, self._state.instances[path])

    # --- everything else ----------------------------------------------------------------------------------------

    def perform(self, action: Action) -> None:
        """Answer an action that is no attempt; the answer comes as an event."""
        match action:
            case AskCondition():
                self._errand(self._ask(action))
            case Validate():
                self._errand(self._validate(action))
            case ReadItems():
                self._errand(self._read_items(action))
            case FinishNode():
                self._answer(action.path, partial(self._finish, action))
            case OpenGate():
                self._answer(action.path, partial(self._open_gate, action))
            case ExpireGate(path):
                self._expire(path)
            case _:
                raise AssertionError(f"no hand for {action}")

    def _errand(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._errands.add(task)
        task.add_done_callback(self._errand_done)

    def _errand_done(self, task: asyncio.Task[None]) -> None:
        self._errands.discard(task)
        if not task.cancelled() and task.exception() is not None:
            error = task.exception()
            assert error is not None
            self._fail(error)

    def _answer(self, path: str, make: Callable[[], Sequence[ev.Event]]) -> None:
        try:
            self._happened(*make())
        except TaskError as error:
            self._happened(ev.ConditionAsked(path=path, where=Where.ARTIFACTS, result=False, detail=in_words(error)))

    async def _ask(self, action: AskCondition) -> None:
        asker = self._state.instances[action.asker]
        if action.where is Where.ARTIFACTS:
            self._answer(action.path, partial(self._have_artifacts, asker))
            return
        try:
            answer = await ask(self._around, asker, action.conditions, action.where.value, self._command)
        except Stopped:
            self._state_again(action.asker)
            return
        self._happened(
            ev.ConditionAsked(
                path=action.path,
                where=action.where,
                result=answer.result,
                detail=answer.detail,
                error=answer.error,
            )
        )

    def _have_artifacts(self, instance: Instance) -> Sequence[ev.Event]:
        gather(self._around, instance)
        return (ev.ConditionAsked(path=instance.path, where=Where.ARTIFACTS, result=True),)

    def _state_again(self, path: str) -> None:
        """A question that was not answered is asked again when work may go on."""
        withdraw(self._state, path)
        self._happened()

    async def _validate(self, action: Validate) -> None:
        leaf = self._state.instances[action.path]
        try:
            self._happened(await validate(self._around, leaf, action.attempt, self._command))
        except Stopped:
            self._state_again(action.path)

    async def _read_items(self, action: ReadItems) -> None:
        try:
            loop = self._state.instances[action.path]
            items = await read_items(self._around, loop, self._command)
            self._happened(items, *what_is_new(loop, items))
        except Stopped:
            self._state_again(action.path)
        except TaskError as error:
            self._happened(
                ev.ConditionAsked(path=action.path, where=Where.ITEMS, result=False, detail=in_words(error), error=True)
            )

    async def _command(self, request: ProgramRequest) -> Exit:
        """Run a command of a condition under the keeper."""
        future: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._commands[request.id] = future
        try:
            os.makedirs(request.folder, mode=0o700, exist_ok=True)
            self._start(request)
        except BaseException:
            self._commands.pop(request.id, None)
            raise
        return await future

    def _finish(self, action: FinishNode) -> Sequence[ev.Event]:
        instance = self._state.instances[action.path]
        gathered = gather(self._around, instance)
        return finish_node(self._state, action, gathered)

    # --- gates --------------------------------------------------------------------------------------------------

    def _open_gate(self, action: OpenGate) -> Sequence[ev.Event]:
        return (gate_of(self._around, self._state.instances[action.path], action.purpose),)

    def _expire(self, path: str) -> None:
        instance = self._state.instances[path]
        work = instance.node.work if instance.node is not None else None
        choice = work.on_timeout if isinstance(work, Approve) else "stop"
        if choice == "pause":
            gate = self._state.gates[path]
            self._happened(msgspec.structs.replace(gate, seq=0, at=ev.UNSTAMPED, expires_at=None))
        else:
            self._happened(ev.GateDecision(path=path, choice=choice, by="time limit"))


def _digest(instance: Instance) -> str:
    return instance.node.digest if instance.node is not None else ""


def _could_not_start(path: str, attempt: int, error: TaskError, *, final: bool) -> ev.AttemptEnd:
    return ev.AttemptEnd(path=path, attempt=attempt, outcome=Outcome.ERROR, error=in_words(error), final=final)
