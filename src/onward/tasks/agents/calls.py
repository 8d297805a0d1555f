"""An agent and what is wanted of it in one attempt -> its command line."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from onward.tasks.agents.agent import MODEL, PERMISSION, Agent
from onward.tasks.failures import Failure
from onward.tasks.insertion import in_place


class Fill(Struct, frozen=True, kw_only=True):
    """What stands for the placeholders of one attempt. `prompt` goes into argv only where the agent wants it there.

    `session` is the one that begins or goes on; `continues` tells which. `permission` are arguments.
    """

    prompt: str
    prompt_file: str
    model: str | None = None
    session: str | None = None
    continues: bool = False
    directory: str | None = None
    title: str | None = None
    permission: tuple[str, ...] = ()


def can_continue(agent: Agent, session: str | None) -> bool:
    """Whether a conversation can go on."""
    return session is not None and bool(agent.resume)


def argv_of(agent: Agent, fill: Fill) -> tuple[str, ...]:
    """The whole command line: a new conversation, or the one of `fill.session` continued."""
    command = (*agent.program, *_expanded(agent, fill))
    filled = [_filled(element, agent, fill) for element in command]
    match agent.prompt:
        case "argument":
            filled.append(in_place(fill.prompt, f"the prompt, an argument for the adapter `{agent.name}`,"))
        case "file" if not any("{prompt_file}" in element for element in command):
            filled.append(fill.prompt_file)
    return tuple(filled)


def _expanded(agent: Agent, fill: Fill) -> Iterator[str]:
    """The arguments with those of model and permission in their place (of the model: at the end, where it has none)."""
    own = agent.resume if fill.continues else agent.start
    model = _model_of(agent, own, fill.model)
    for element in own:
        if element == MODEL:
            yield from model
        elif element == PERMISSION:
            yield from fill.permission
        else:
            yield element
    if MODEL not in own:
        yield from model


def _model_of(agent: Agent, command: tuple[str, ...], model: str | None) -> tuple[str, ...]:
    if model is None or any("{model}" in element for element in command):
        return ()
    if not agent.model:
        raise Failure(
            "no-model",
            f"the adapter `{agent.name}` does not say how a model is chosen",
            help="add `model: [--model, '{model}']` to it, or leave out `model`",
        )
    return agent.model


def _filled(element: str, agent: Agent, fill: Fill) -> str:
    if "{" not in element:
        return element
    if "{model}" in element and fill.model is None:
        raise Failure("no-model", f"the adapter `{agent.name}` needs a `model`", help="give the task a `model`")
    for placeholder, value in (
        ("{session}", fill.session),
        ("{model}", fill.model),
        ("{prompt_file}", fill.prompt_file),
        ("{directory}", fill.directory),
        ("{title}", fill.title),
    ):
        if value is not None and placeholder in element:
            # A value that holds another placeholder must stay as it is: only an element's own text is looked through.
            return value.join(_filled(part, agent, fill) for part in element.split(placeholder))
    return element
