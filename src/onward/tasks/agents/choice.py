"""The name of an adapter -> what is known of it: an entry of the file's `adapters`, else a row of the table."""

from __future__ import annotations

import msgspec

from onward.model.nodes import Adapter, Plan, Prompt
from onward.tasks.agents.agent import Agent, Permission, SessionId
from onward.tasks.agents.table import AGENTS, DEFAULT
from onward.tasks.context import RunContext
from onward.tasks.failures import Failure


def agent_for(prompt: Prompt, context: RunContext) -> Agent:
    """The agent of a prompt: its own, then the one given for the run, then `claude`."""
    return agent_named(prompt.adapter or context.adapter or DEFAULT, context.plan)


def agent_named(name: str, plan: Plan) -> Agent:
    """The agent of that name: one of the file's, else a built-in one."""
    for adapter in plan.adapters:
        if adapter.name == name:
            return declared(adapter)
    if name in AGENTS:
        return AGENTS[name]
    known = ", ".join(sorted({*AGENTS, *(adapter.name for adapter in plan.adapters)}))
    raise Failure("no-adapter", f"there is no adapter `{name}`", help=f"known are: {known}")


def declared(adapter: Adapter) -> Agent:
    """An adapter of a workflow file: `like` a row with another program, or described by itself."""
    if adapter.like is not None:
        row = AGENTS.get(adapter.like)
        if row is None:
            text = f"the adapter `{adapter.name}` is like `{adapter.like}`, which is not built in"
            raise Failure("no-adapter", text, help=f"built in are: {', '.join(AGENTS)}")
        changed = {"name": adapter.name, "program": adapter.command}
        if adapter.permission is not None:
            changed["permission"] = adapter.permission
        return msgspec.structs.replace(row, **changed)
    return Agent(
        name=adapter.name,
        dialect="places",
        start=adapter.command,
        resume=adapter.resume,
        prompt=adapter.prompt,
        model=adapter.model,
        session=SessionId.NONE if adapter.session is None else SessionId.STREAM,
        any_directory=True,
        version=(),
        limited_exits=(75,),  # EX_TEMPFAIL
        places=adapter,
    )


def permission_of(agent: Agent, wanted: str | None) -> Permission:
    """How the program is told what it may do. Raises `Failure` when it has no such mode."""
    mode = wanted or agent.permission
    if mode == "own":
        return Permission()
    if mode in agent.permissions:
        return agent.permissions[mode]
    has = ", ".join((*agent.permissions, "own"))
    raise Failure(
        "no-permission",
        f"the adapter `{agent.name}` cannot be told `permission: {mode}`",
        help=f"it knows {has}; with `own` the settings of the program itself hold",
    )
