"""How agent programs are called, as data: the built-in table, and an adapter filled in for one attempt."""

from __future__ import annotations

from dataclasses import dataclass

from onward.model.nodes import Adapter, Plan, Prompt
from onward.tasks.context import RunContext
from onward.tasks.failures import Failure
from onward.tasks.insertion import in_place

DEFAULT = "claude"
BUILT_IN = {"echo": Adapter(name="echo", command=("cat",))}
LATER = ("claude", "codex", "gemini", "opencode", "qwen", "copilot", "cursor", "amp", "goose", "crush", "aider")
"""names that a later version gives a meaning to; a file may declare an adapter of that name itself"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fill:
    """What stands for the placeholders of one attempt. `prompt` goes into argv only where the adapter says so."""

    prompt: str
    prompt_file: str
    model: str | None = None
    session: str | None = None


def adapter_for(prompt: Prompt, context: RunContext) -> Adapter:
    """The adapter of a prompt: its own, then the one given for the run, then `claude`."""
    return adapter_named(prompt.adapter or context.adapter or DEFAULT, context.plan)


def adapter_named(name: str, plan: Plan) -> Adapter:
    """The adapter of that name: one of the file's, else a built-in one."""
    for adapter in plan.adapters:
        if adapter.name == name:
            return adapter
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name in LATER:
        raise Failure(
            "no-adapter",
            f"the adapter `{name}` comes with a later version",
            help="declare it under `adapters:` with the command that calls it, or choose another with --adapter",
        )
    known = ", ".join(sorted({*BUILT_IN, *(adapter.name for adapter in plan.adapters)}))
    raise Failure("no-adapter", f"there is no adapter `{name}`", help=f"known are: {known}")


def continues(adapter: Adapter, session: str | None) -> bool:
    """Whether a conversation can go on."""
    return session is not None and bool(adapter.resume)


def argv_of(adapter: Adapter, fill: Fill) -> tuple[str, ...]:
    """The whole command line: a new conversation, or the one of `fill.session` continued."""
    command = adapter.resume if fill.session is not None else adapter.command
    argv = [*command, *_model_of(adapter, command, fill.model)]
    filled = [_filled(element, adapter, fill) for element in argv]
    match adapter.prompt:
        case "argument":
            filled.append(in_place(fill.prompt, f"the prompt, an argument for the adapter `{adapter.name}`,"))
        case "file" if not any("{prompt_file}" in element for element in argv):
            filled.append(fill.prompt_file)
    return tuple(filled)


def _model_of(adapter: Adapter, command: tuple[str, ...], model: str | None) -> tuple[str, ...]:
    if model is None or any("{model}" in element for element in command):
        return ()
    if not adapter.model:
        raise Failure(
            "no-model",
            f"the adapter `{adapter.name}` does not say how a model is chosen",
            help="add `model: [--model, '{model}']` to it, or leave out `model`",
        )
    return adapter.model


def _filled(element: str, adapter: Adapter, fill: Fill) -> str:
    if "{" not in element:
        return element
    if "{model}" in element and fill.model is None:
        raise Failure("no-model", f"the adapter `{adapter.name}` needs a `model`", help="give the task a `model`")
    for placeholder, value in (
        ("{session}", fill.session),
        ("{model}", fill.model),
        ("{prompt_file}", fill.prompt_file),
    ):
        if value is not None and placeholder in element:
            # A value that holds another placeholder must stay as it is: only an element's own text is looked through.
            return value.join(_filled(part, adapter, fill) for part in element.split(placeholder))
    return element
