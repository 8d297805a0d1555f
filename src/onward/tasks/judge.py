"""A question about a result -> an agent's verdict: its reply must end with PASS or FAIL."""

from __future__ import annotations

import re
from itertools import chain, repeat
from typing import TYPE_CHECKING

from onward import clock
from onward.model.conditions import Judge
from onward.model.nodes import Prompt
from onward.model.status import Outcome
from onward.state.instance import Instance
from onward.tasks import endings
from onward.tasks.answers import Answer
from onward.tasks.commands import RunCommand, Stopped, folder_for, run_program
from onward.tasks.environment import marker_of
from onward.tasks.failures import Failure
from onward.tasks.keeper_link import ProgramRequest
from onward.tasks.surroundings import Surroundings

if TYPE_CHECKING:
    from onward.tasks.agents.hearing import Heard

_VERDICT = re.compile(r"\b(PASS|FAIL)\W*\Z")
_ASK = "Say what you found, and end your answer with one word on a line of its own: PASS or FAIL."
_FILE = "prompt"
_WAITS_S = (60.0, 120.0, 300.0, 600.0, 1800.0)
"""for a limit whose end nobody named, the first time, the second …"""


async def judge(around: Surroundings, user: Instance, question: Judge, purpose: str, run: RunCommand) -> Answer:
    """Ask the agent; a limit is waited for. Raises `TaskError` when it gives no verdict, `Stopped`."""
    text = f"{around.resolver.text(user, question.prompt).rstrip()}\n\n{_ASK}\n"
    waits = chain(_WAITS_S, repeat(_WAITS_S[-1]))
    while True:
        heard = await _ask(around, user, question, text, purpose, run)
        if heard.ending.outcome is not Outcome.LIMITED:
            break
        wait_s = next(waits)
        if heard.reset_at is not None:
            wait_s = (heard.reset_at - clock.now()).total_seconds()
        await _wait(around, user, purpose, wait_s, run)
    if heard.ending.outcome is not Outcome.OK:
        raise Failure("no-verdict", f"the judge did not answer: {heard.ending.error}")
    return _answer_of(heard.text or "")


async def _ask(
    around: Surroundings, user: Instance, question: Judge, text: str, purpose: str, run: RunCommand
) -> Heard:
    from onward.tasks.agents.calls import Fill, argv_of
    from onward.tasks.agents.choice import agent_for, permission_of
    from onward.tasks.agents.hearing import Asked, hear

    agent = agent_for(Prompt(text="", adapter=question.adapter), around.context)
    folder = folder_for(around, user, purpose)
    permission = permission_of(agent, "read" if "read" in agent.permissions else None)
    fill = Fill(
        prompt=text,
        prompt_file=f"{folder}/{_FILE}",
        model=question.model,
        session=agent.new_session(),
        directory=around.directories.of(user),
        title=f"{around.context.run}:{user.path}:{purpose}",
        permission=permission.args,
    )
    ran = await run_program(
        around,
        user,
        purpose,
        folder,
        argv_of(agent, fill),
        run,
        made={_FILE: text.encode()},
        stdin=_FILE if agent.prompt == "stdin" else None,
        more_env={**agent.env, **permission.env},
    )
    assert user.node is not None
    ending = endings.of(ran.exit, user.node)
    if ending.outcome is not Outcome.OK:
        ending = endings.Ending(ending.outcome, ran.in_words(), started=ending.started)
    return hear(Asked(agent=agent, folder=folder, session=fill.session), ran.exit, ending, None)


async def _wait(around: Surroundings, user: Instance, purpose: str, seconds: float, run: RunCommand) -> None:
    """A command like any other, so that a pause ends it. Raises `Stopped`."""
    folder = folder_for(around, user, purpose)
    marker = marker_of(around.context.folder, user.path, folder.rpartition("/")[2])
    request = ProgramRequest(
        id=marker,
        folder=folder,
        argv=("sleep", f"{max(1.0, seconds):.0f}"),
        env={name: value for name, value in around.context.environment.items() if name == "PATH"},
        cwd="/",
        marker=marker,
    )
    if (await run(request)).ended_by is not None:
        raise Stopped


def _answer_of(reply: str) -> Answer:
    found = _VERDICT.search(reply)
    if found is None:
        raise Failure("no-verdict", "the judge's answer does not end with PASS or FAIL")
    said = reply[: found.start()].strip()
    return Answer(found[1] == "PASS", f"the judge said {found[1]}", printed=said)
