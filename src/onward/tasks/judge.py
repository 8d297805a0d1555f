"""A question about a result -> an agent's verdict: its reply must end with PASS or FAIL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from onward.model.conditions import Judge
from onward.model.nodes import Prompt
from onward.model.status import Outcome
from onward.state.instance import Instance
from onward.tasks import endings
from onward.tasks.answers import Answer
from onward.tasks.commands import Ran, RunCommand, folder_for, run_program
from onward.tasks.failures import Failure
from onward.tasks.surroundings import Surroundings

if TYPE_CHECKING:
    from onward.tasks.agents.agent import Agent

_VERDICT = re.compile(r"\b(PASS|FAIL)\W*\Z")
_ASK = "Say what you found, and end your answer with one word on a line of its own: PASS or FAIL."
_FILE = "prompt"


async def judge(around: Surroundings, user: Instance, question: Judge, purpose: str, run: RunCommand) -> Answer:
    """Ask the agent. Raises `TaskError` when it gives no verdict, `Stopped`."""
    from onward.tasks.agents.calls import Fill, argv_of
    from onward.tasks.agents.choice import agent_for, permission_of

    agent = agent_for(Prompt(text="", adapter=question.adapter), around.context)
    text = f"{around.resolver.text(user, question.prompt).rstrip()}\n\n{_ASK}\n"
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
    return _answer_of(_reply_of(agent, ran, user, fill.session))


def _reply_of(agent: Agent, ran: Ran, user: Instance, session: str | None) -> str:
    from onward.tasks.agents.hearing import Asked, hear

    assert user.node is not None
    ending = endings.of(ran.exit, user.node)
    heard = hear(Asked(agent=agent, folder=ran.folder, session=session), ran.exit, ending, None)
    if heard.ending.outcome is not Outcome.OK:
        said = ran.in_words() if agent.places is not None else heard.ending.error
        raise Failure("no-verdict", f"the judge did not answer: {said}")
    return heard.text or ""


def _answer_of(reply: str) -> Answer:
    found = _VERDICT.search(reply)
    if found is None:
        raise Failure("no-verdict", "the judge's answer does not end with PASS or FAIL")
    said = reply[: found.start()].strip()
    return Answer(found[1] == "PASS", f"the judge said {found[1]}", printed=said)
