"""A leaf and the number of its next attempt -> its start as an event, and the request that begins it.

All values are found first (`prepare`), while nothing is on the disk; files and folders are made when the start of the
attempt is (`Prepared.request`), just before its process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, structs

from onward import files
from onward.errors import StateError
from onward.model.events import AttemptEnd, AttemptStart
from onward.model.nodes import Call, Node, Prompt, Run
from onward.model.values import Text
from onward.state.instance import Conversation, Instance
from onward.tasks.attempt_folder import Exit
from onward.tasks.collect import collect
from onward.tasks.context import RunContext
from onward.tasks.environment import About, key_of, marker_of
from onward.tasks.failures import Failure
from onward.tasks.feedback import GIVEN_FILE, feedback_before, in_prompt, in_session, was_cut_off
from onward.tasks.insertion import in_place
from onward.tasks.keeper_link import KILL_AFTER_S, CallRequest, ProgramRequest
from onward.tasks.out import out_folder
from onward.tasks.resolve import written
from onward.tasks.scripts import argv_of_script
from onward.tasks.surroundings import Surroundings
from onward.tasks.time_limits import time_limits

if TYPE_CHECKING:
    from onward.tasks.agents.agent import Agent, Permission
    from onward.tasks.agents.calls import Fill
    from onward.tasks.secret_forms import Forms

_PROMPT = "prompt"
_SCRIPT = "script"
_STDIN = "stdin"


class Prepared(Struct, frozen=True, kw_only=True):
    """An attempt that only needs to be started. `files` are written into its folder before, by name.

    `stdin` is the name of one of them, or an absolute path.
    Of a call, `env` and `unset` are what differs from the environment of its worker.
    """

    event: AttemptStart
    node: Node
    marker: str
    folder: str
    cwd: str
    env: Mapping[str, str]
    unset: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()
    stdin: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    agent: Agent | None = None
    call: Call | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    masks: Forms | None = None

    def __repr__(self) -> str:  # a message of the event loop may show it
        return f"Prepared({self.marker!r})"

    @property
    def is_call(self) -> bool:
        """Whether a worker does it."""
        return self.call is not None

    @property
    def out(self) -> str:
        """The folder that the task knows as `$ONWARD_OUT`."""
        return out_folder(self.node, self.folder)

    def request(self) -> ProgramRequest | CallRequest:
        """Make the folder of the attempt and what must lie in it; what to ask the keeper (or a worker) for."""
        if self.call is not None:
            return self._call_request(self.call)
        self._make_folders()
        for name, data in self.files.items():
            files.write_atomic(f"{self.folder}/{name}", data, durable=False)
        limits = time_limits(self.node)
        return ProgramRequest(
            id=self.marker,
            folder=self.folder,
            argv=self.argv,
            env=self.env,
            cwd=self.cwd,
            marker=self.marker,
            stdin=None if self.stdin is None else os.path.join(self.folder, self.stdin),
            timeout_s=limits.timeout_s,
            idle_s=limits.idle_s,
            kill_after_s=KILL_AFTER_S,
            masks=self.masks,
        )

    def collect(self, around: Surroundings, exit: Exit, *, stopped: str | None = None) -> AttemptEnd:
        """How the attempt ended and what it leaves. `stopped` is why it was ended by us."""
        return collect(around, self, exit, stopped)

    def mask_what_is_left(self) -> None:
        """For an attempt whose keeper was killed, and could not do it. Raises `StateError`."""
        if self.masks is None:
            return
        from onward.tasks.masked_output import mask_files
        from onward.tasks.masking import finder_of

        try:
            mask_files(self.folder, finder_of(self.masks))
        except OSError as error:
            message = f"what an interrupted task left in {self.folder} cannot be masked: {error.strerror}"
            raise StateError(message, help="free space, then `onward resume`") from error

    def _call_request(self, call: Call) -> CallRequest:
        for name, data in self.files.items():
            files.make_folder(self.folder)
            files.write_atomic(f"{self.folder}/{name}", data, durable=False)
        return CallRequest(
            id=self.marker,
            folder=self.folder,
            target=call.target,
            arguments=self.arguments,
            env=self.env,
            unset=self.unset,
            cwd=self.cwd,
            timeout_s=self.node.timeout_s,
            kill_after_s=KILL_AFTER_S,
            secrets=self.secrets,
            masks=self.masks,
        )

    def _make_folders(self) -> None:
        if self.event.attempt == 1:
            files.make_folder(os.path.dirname(self.folder))
        files.make_folder(self.folder)
        if self.out != self.folder:
            files.make_folder(self.out)


def prepare(around: Surroundings, leaf: Instance, attempt: int) -> Prepared:
    """Find everything an attempt needs. Raises `TaskError` when it cannot begin."""
    return _Preparation(around, leaf, attempt).prepared()


def prepared_before(around: Surroundings, leaf: Instance) -> Prepared:
    """What has to be known of an attempt that an earlier driver began, to take its result. Never fails."""
    node, context = leaf.node, around.context
    assert node is not None
    continued = leaf.conversation is not None and leaf.conversation.continued
    return Prepared(
        event=AttemptStart(path=leaf.path, attempt=leaf.attempt, session=leaf.session, continued=continued),
        node=node,
        marker=marker_of(context.folder, leaf.path, leaf.attempt),
        folder=context.attempt_folder(leaf.path, leaf.attempt),
        cwd=context.directory,
        env={},
        agent=_known_agent(node.work, leaf, context) if isinstance(node.work, Prompt) else None,
        call=node.work if isinstance(node.work, Call) else None,
        masks=_known_masks(around, leaf),
    )


def _known_masks(around: Surroundings, leaf: Instance) -> Forms | None:
    try:
        return around.environments.masks(leaf)
    except Failure:  # a secret that nothing needs any more
        return None


def _known_agent(work: Prompt, leaf: Instance, context: RunContext) -> Agent | None:
    """The agent that the attempt was begun with, whatever the file says by now."""
    from onward.tasks.agents.choice import agent_for, agent_named

    begun_with = leaf.conversation.adapter if leaf.conversation is not None else None
    try:
        return agent_for(work, context) if begun_with is None else agent_named(begun_with, context.plan)
    except Failure:  # it was taken out of the file; `collect` says so
        return None


class _Preparation:
    """One attempt in the making."""

    def __init__(self, around: Surroundings, leaf: Instance, attempt: int) -> None:
        assert leaf.node is not None
        self._around = around
        self._resolver = around.resolver
        self._leaf = leaf
        self._node = leaf.node
        self._attempt = attempt
        self._run = around.context.run
        self._marker = marker_of(around.context.folder, leaf.path, attempt)
        self._key = key_of(self._run, leaf)
        self._folder = around.context.attempt_folder(leaf.path, attempt)
        self._resolver.begin(leaf, attempt)
        self._feedback = feedback_before(around.context, leaf, attempt) if attempt > 1 else None

    def prepared(self) -> Prepared:
        prepared = self._without_masks()
        secrets = self._around.environments.secrets(self._leaf)
        if not secrets:
            return prepared
        return structs.replace(prepared, secrets=secrets, masks=self._around.environments.masks(self._leaf))

    def _without_masks(self) -> Prepared:
        work = self._node.work
        match work:
            case Run():
                return self._program(work)
            case Call():
                return self._called(work)
            case Prompt():
                return self._prompted(work)
            case _:
                raise AssertionError(f"{self._leaf.path} does no work")

    def _program(self, work: Run) -> Prepared:
        made = self._files()
        argv = self._argv(work, made)
        stdin = None if work.stdin is None else self._stdin(work.stdin, made)
        return Prepared(
            event=self._event(),
            node=self._node,
            marker=self._marker,
            folder=self._folder,
            cwd=self._around.directories.of(self._leaf),
            env=self._environment(work.script),
            argv=argv,
            stdin=stdin,
            files=made,
        )

    def _stdin(self, text: Text, made: dict[str, bytes]) -> str:
        """A result that lies in the store is read from there; anything else from a file of the attempt."""
        file = self._resolver.lone_file(self._leaf, text)
        if file is not None:
            return file
        made[_STDIN] = self._resolver.text(self._leaf, text).encode()
        return _STDIN

    def _argv(self, work: Run, made: dict[str, bytes]) -> tuple[str, ...]:
        if work.script is None:
            return argv_filled(self._around, self._leaf, work.argv)
        argv, script_file = argv_of_script(work.shell, work.script, f"{self._folder}/{_SCRIPT}")
        if script_file is not None:
            made[_SCRIPT] = script_file
        return argv

    def _called(self, work: Call) -> Prepared:
        arguments = self._resolver.data(self._leaf, work.arguments)
        if not isinstance(arguments, dict):
            raise Failure("bad-arguments", f"`with` of `{self._leaf.path}` is no mapping of arguments")
        env, unset = self._around.environments.changes(self._leaf, self._about())
        return Prepared(
            event=self._event(),
            node=self._node,
            marker=self._marker,
            folder=self._folder,
            cwd=self._around.directories.of(self._leaf),
            env=env,
            unset=unset,
            files=self._files(),
            call=work,
            arguments=arguments,
        )

    def _prompted(self, work: Prompt) -> Prepared:
        from onward.tasks.agents.calls import Fill, argv_of
        from onward.tasks.agents.choice import agent_for, permission_of

        agent = agent_for(work, self._around.context)
        cwd = os.path.realpath(self._around.directories.of(self._leaf))
        kept = self._session(work, agent, cwd)
        text = self._prompt_text(work, kept)
        permission = permission_of(agent, work.permission)
        fill = Fill(
            prompt=text,
            prompt_file=f"{self._folder}/{_PROMPT}",
            model=None if work.model is None else self._resolver.text(self._leaf, work.model),
            session=kept or agent.new_session(),
            continues=kept is not None,
            directory=cwd,
            title=self._marker,
            permission=permission.args,
        )
        return Prepared(
            event=self._event(agent.name, fill),
            node=self._node,
            marker=self._marker,
            folder=self._folder,
            cwd=cwd,
            env=self._agent_environment(agent, permission),
            argv=argv_of(agent, fill),
            stdin=_PROMPT if agent.prompt == "stdin" else None,
            files={**self._files(), _PROMPT: text.encode()},
            agent=agent,
        )

    def _session(self, work: Prompt, agent: Agent, directory: str) -> str | None:
        """The conversation that goes on: one of this node, agent and folder, and none from before a rerun by hand."""
        leaf = self._leaf
        if not work.keep_session or leaf.session is None or not agent.resume:
            return None
        known = leaf.conversation or Conversation()
        if known.adapter not in (None, agent.name):
            return None
        if known.directory not in (None, directory) and not agent.any_directory:
            return None
        begun_anew = leaf.generation > 0 and leaf.used == 0 and not was_cut_off(leaf)
        return None if begun_anew else leaf.session

    def _agent_environment(self, agent: Agent, permission: Permission) -> Mapping[str, str]:
        """What the program needs goes below what the workflow says; what it may do is said by `permission` alone."""
        own = {"TMPDIR": self._folder} if agent.own_tmp else {}
        return {**own, **agent.env, **self._environment(None), **permission.env}

    def _prompt_text(self, work: Prompt, session: str | None) -> str:
        if session is not None:
            return in_session(self._feedback, interrupted=was_cut_off(self._leaf))
        text = self._resolver.text(self._leaf, work.text)
        return text if self._feedback is None else in_prompt(text, self._feedback)

    def _files(self) -> dict[str, bytes]:
        return {} if self._feedback is None else {GIVEN_FILE: self._feedback.encode()}

    def _environment(self, script: str | None) -> Mapping[str, str]:
        return self._around.environments.of(self._leaf, self._about(), script)

    def _about(self) -> About:
        return About(
            path=self._leaf.path,
            attempt=self._attempt,
            key=self._key,
            marker=self._marker,
            out=out_folder(self._node, self._folder),
            feedback=os.devnull if self._feedback is None else f"{self._folder}/{GIVEN_FILE}",
        )

    def _event(self, adapter: str | None = None, fill: Fill | None = None) -> AttemptStart:
        return AttemptStart(
            path=self._leaf.path,
            attempt=self._attempt,
            key=self._key,
            definition_sha256=self._node.digest,
            inputs_sha256=self._resolver.inputs_digest(self._leaf),
            adapter=adapter,
            model=fill.model if fill is not None else None,
            session=fill.session if fill is not None else None,
            session_directory=fill.directory if fill is not None else None,
            continued=fill is not None and fill.continues,
        )


def argv_filled(around: Surroundings, user: Instance, argv: tuple[Any, ...]) -> tuple[str, ...]:
    """An argv list with its values; each element stays one."""
    if all(isinstance(each, str) for each in argv):
        return argv
    resolver = around.resolver
    return tuple(
        each if isinstance(each, str) else in_place(resolver.text(user, each), f"the argument `{written(each)}`")
        for each in argv
    )
