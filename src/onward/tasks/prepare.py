"""A leaf and its attempt → what is asked of the keeper: a program, or a call in a worker.

`Preparer.prepare` works out every value and changes nothing outside; `Prepared.request` makes the attempt's folder and
the files that the task is given, and comes after the attempt's start is on disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onward import files
from onward.model.events import AttemptStart
from onward.model.nodes import Adapter, Call, Node, Prompt, Run
from onward.state.instance import Instance
from onward.tasks.adapters import Fill, adapter_for, argv_of, continues
from onward.tasks.context import RunContext
from onward.tasks.directory import Directories
from onward.tasks.environment import About, Environments, key_of, marker_of, script_of
from onward.tasks.failures import Failure
from onward.tasks.insertion import in_place
from onward.tasks.keeper_link import CallRequest, ProgramRequest
from onward.tasks.resolve import Resolver

OUT_FOLDER = "outputs"
STDIN_FILE = "stdin"
PROMPT_FILE = "prompt"
SCRIPT_FILE = "script"
SCRIPT_BYTES = 64 * 1024
"""a longer script is run from a file (`format.md` 4.4)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Everything that an attempt is given. `files`: what is written into its folder, by name, before it starts."""

    event: AttemptStart
    marker: str
    folder: str
    cwd: str
    env: Mapping[str, str]
    argv: tuple[str, ...] = ()
    call: tuple[str, Any] | None = None
    stdin: str | None = None
    files: Mapping[str, bytes]
    timeout_s: float | None = None
    idle_s: float | None = None
    adapter: Adapter | None = None

    @property
    def is_call(self) -> bool:
        """Whether a worker does it."""
        return self.call is not None

    def request(self) -> ProgramRequest | CallRequest:
        """Make the folder and its files. Raises `StoreError`."""
        files.make_folder(f"{self.folder}/{OUT_FOLDER}")
        for name, data in self.files.items():
            files.create(f"{self.folder}/{name}", data, durable=False)
        if self.call is not None:
            target, arguments = self.call
            return CallRequest(
                id=self.marker,
                folder=Path(self.folder),
                target=target,
                arguments=arguments,
                env=self.env,
                cwd=Path(self.cwd),
                timeout_s=self.timeout_s,
            )
        return ProgramRequest(
            id=self.marker,
            folder=Path(self.folder),
            argv=self.argv,
            env=self.env,
            cwd=Path(self.cwd),
            marker=self.marker,
            stdin=None if self.stdin is None else Path(self.folder, self.stdin),
            timeout_s=self.timeout_s,
            idle_s=self.idle_s,
        )


class Preparer:
    """Prepares the attempts of a run."""

    def __init__(self, resolver: Resolver, environments: Environments, directories: Directories) -> None:
        self._resolver = resolver
        self._context: RunContext = resolver.context
        self._environments = environments
        self._directories = directories

    def prepare(self, instance: Instance, attempt: int) -> Prepared:
        """Work out an attempt with the values of this moment. Raises `TaskError`."""
        node = instance.node
        assert node is not None
        run, path = self._context.run, instance.path
        folder = self._context.attempt_folder(path, attempt)
        marker = marker_of(run, path, attempt)
        about = About(
            path=path, attempt=attempt, key=key_of(run, instance), marker=marker, out=f"{folder}/{OUT_FOLDER}"
        )
        asked = _Asked(instance, node, attempt, about, folder, marker)
        match node.work:
            case Run():
                return self._run(asked, node.work)
            case Call():
                return self._call(asked, node.work)
            case Prompt():
                return self._prompt(asked, node.work)
            case work:
                raise Failure("no-work", f"`{path}` is a {node.kind} and has no work to start: {work!r}")

    def _run(self, asked: _Asked, work: Run) -> Prepared:
        given: dict[str, bytes] = {}
        if work.script is not None:
            argv, more = self._script(asked, work.script, work.shell)
            given.update(more)
        else:
            argv = self._argv(asked.instance, work.argv)
        if work.stdin is not None:
            given[STDIN_FILE] = self._resolver.text(asked.instance, work.stdin).encode("utf-8", "surrogateescape")
        return self._prepared(asked, argv=argv, given=given, stdin=STDIN_FILE if work.stdin is not None else None)

    def _script(self, asked: _Asked, script: str, shell: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, bytes]]:
        data = script.encode("utf-8", "surrogateescape")
        if len(data) <= SCRIPT_BYTES:
            return (*shell, script), {}
        # The last element of a shell is the flag that takes the script as an argument: a file goes in its place.
        return (*shell[:-1], f"{asked.folder}/{SCRIPT_FILE}"), {SCRIPT_FILE: data}

    def _argv(self, instance: Instance, argv: tuple[Any, ...]) -> tuple[str, ...]:
        return tuple(
            element
            if isinstance(element, str)
            else in_place(self._resolver.text(instance, element), f"element {number} of `run`")
            for number, element in enumerate(argv, 1)
        )

    def _call(self, asked: _Asked, work: Call) -> Prepared:
        arguments = self._resolver.data(asked.instance, work.arguments)
        return self._prepared(asked, call=(work.target, arguments))

    def _prompt(self, asked: _Asked, work: Prompt) -> Prepared:
        adapter = adapter_for(work, self._context)
        prompt = self._resolver.text(asked.instance, work.text)
        model = None if work.model is None else self._resolver.text(asked.instance, work.model)
        session = asked.instance.session if work.keep_session else None
        fill = Fill(
            prompt=prompt,
            prompt_file=f"{asked.folder}/{PROMPT_FILE}",
            model=model,
            session=session if continues(adapter, session) else None,
        )
        data = prompt.encode("utf-8", "surrogateescape")
        return self._prepared(
            asked,
            argv=argv_of(adapter, fill),
            given={PROMPT_FILE: data},
            stdin=PROMPT_FILE if adapter.prompt == "stdin" else None,
            adapter=adapter,
            model=model,
            session=fill.session,
        )

    def _prepared(
        self,
        asked: _Asked,
        *,
        argv: tuple[str, ...] = (),
        call: tuple[str, Any] | None = None,
        given: Mapping[str, bytes] | None = None,
        stdin: str | None = None,
        adapter: Adapter | None = None,
        model: str | None = None,
        session: str | None = None,
    ) -> Prepared:
        instance, node = asked.instance, asked.node
        cwd = self._directories.of(instance)
        return Prepared(
            event=AttemptStart(
                path=instance.path,
                attempt=asked.attempt,
                key=asked.about.key,
                definition_sha256=node.digest,
                inputs_sha256=self._resolver.inputs_digest(instance),
                adapter=None if adapter is None else adapter.name,
                model=model,
                session=session,
                session_directory=cwd if session is not None else None,
            ),
            marker=asked.marker,
            folder=asked.folder,
            cwd=cwd,
            env=self._environments.of(instance, asked.about, script_of(node.work)),
            argv=argv,
            call=call,
            stdin=stdin,
            files=given or {},
            timeout_s=node.timeout_s,
            idle_s=node.idle_s,
            adapter=adapter,
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """The attempt that is prepared."""

    instance: Instance
    node: Node
    attempt: int
    about: About
    folder: str
    marker: str
