"""A question about a result -> an agent's verdict: its reply must end with PASS or FAIL."""

from __future__ import annotations

import re

from onward.model.conditions import Judge
from onward.model.nodes import Prompt
from onward.state.instance import Instance
from onward.tasks.adapters import Fill, adapter_for, argv_of
from onward.tasks.answers import Answer
from onward.tasks.commands import RunCommand, folder_for, run_program
from onward.tasks.failures import Failure
from onward.tasks.replies import read_reply
from onward.tasks.surroundings import Surroundings

_VERDICT = re.compile(r"\b(PASS|FAIL)\W*\Z")
_ASK = "Say what you found, and end your answer with one word on a line of its own: PASS or FAIL."
_FILE = "prompt"


async def judge(around: Surroundings, user: Instance, question: Judge, purpose: str, run: RunCommand) -> Answer:
    """Ask the agent. Raises `TaskError` when it gives no verdict, `Stopped`."""
    adapter = adapter_for(Prompt(text="", adapter=question.adapter), around.context)
    text = f"{around.resolver.text(user, question.prompt).rstrip()}\n\n{_ASK}\n"
    folder = folder_for(around, user, purpose)
    argv = argv_of(adapter, Fill(prompt=text, prompt_file=f"{folder}/{_FILE}", model=question.model))
    ran = await run_program(
        around,
        user,
        purpose,
        folder,
        argv,
        run,
        made={_FILE: text.encode()},
        stdin=_FILE if adapter.prompt == "stdin" else None,
    )
    if not ran.ok:
        raise Failure("no-verdict", f"the judge did not answer: {ran.in_words()}")
    reply = read_reply(adapter, f"{folder}/out", ran.exit.out).text or ""
    found = _VERDICT.search(reply)
    if found is None:
        raise Failure("no-verdict", "the judge's answer does not end with PASS or FAIL")
    said = reply[: found.start()].strip()
    return Answer(found[1] == "PASS", f"the judge said {found[1]}", printed=said)
