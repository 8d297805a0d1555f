"""A row of the table, or an adapter of a file, becomes a command line."""

from __future__ import annotations

import pytest

from onward.model.nodes import Adapter
from onward.tasks.agents.calls import Fill, argv_of
from onward.tasks.agents.choice import declared
from onward.tasks.failures import Failure

MINE = Adapter(
    name="mine",
    command=("agent", "--in={prompt_file}"),
    resume=("agent", "resume", "{session}", "{prompt_file}"),
    model=("-m", "{model}"),
    prompt="file",
)


def fill(**more: str) -> Fill:
    return Fill(prompt="do it", prompt_file="/p", continues="session" in more, **more)


def argv(adapter: Adapter, fill: Fill) -> tuple[str, ...]:
    return argv_of(declared(adapter), fill)


def test_placeholders_are_filled_where_they_stand() -> None:
    assert argv(MINE, fill()) == ("agent", "--in=/p")
    assert argv(MINE, fill(model="big")) == ("agent", "--in=/p", "-m", "big")
    assert argv(MINE, fill(session="s1", model="big")) == ("agent", "resume", "s1", "/p", "-m", "big")


def test_what_a_value_holds_is_no_placeholder() -> None:
    adapter = Adapter(name="a", command=("x", "{session}{model}"), resume=("x", "{session}{model}"))
    assert argv(adapter, fill(session="{model}", model="{prompt_file}")) == ("x", "{model}{prompt_file}")


def test_other_braces_are_left_alone() -> None:
    adapter = Adapter(name="a", command=("x", "{}", '{"json": 1}', "{other}"))
    assert argv(adapter, fill()) == ("x", "{}", '{"json": 1}', "{other}")


def test_a_model_needs_an_adapter_that_takes_one_and_the_other_way_round() -> None:
    with pytest.raises(Failure, match="does not say how a model is chosen"):
        argv(Adapter(name="a", command=("x",)), fill(model="big"))
    with pytest.raises(Failure, match="needs a `model`"):
        argv(Adapter(name="a", command=("x", "{model}")), fill())


def test_a_prompt_that_is_too_large_for_an_argument_is_refused() -> None:
    adapter = Adapter(name="a", command=("x",), prompt="argument")
    assert argv(adapter, fill()) == ("x", "do it")
    with pytest.raises(Failure) as caught:
        argv(adapter, Fill(prompt="x" * 70_000, prompt_file="/p"))
    assert caught.value.code == "too-big"
