"""Prompts through an agent program that is killed, stops, hangs, hits limits, and lies about how it ended."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stories.project import Project

FAKE = Path(__file__).parents[1] / "agents" / "fake_agent.py"
DIALECTS = ("claude", "codex")


class Agents:
    """A project whose prompts go to the fake agent."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.environment["FAKE_AGENT_HOME"] = str(project.root / "agent-home")

    def workflow(self, dialect: str, prompt: str, **fields: Any) -> None:
        task = {"prompt": prompt, "session": "keep", **fields}
        adapter = {"like": dialect, "command": [sys.executable, str(FAKE), dialect]}
        whole = {"defaults": {"prompt": {"adapter": "fake"}}, "adapters": {"fake": adapter}, "task": [{"ask": task}]}
        self.project.workflow(json.dumps(whole, indent=1))

    def ledger(self, what: str = "call") -> list[dict[str, Any]]:
        path = self.project.root / "agent-home" / "ledger.jsonl"
        if not path.exists():
            return []
        return [fact for line in path.read_text().splitlines() if (fact := json.loads(line))["what"] == what]

    def events(self, type: str = "") -> list[dict[str, Any]]:
        journals = list((self.project.root / ".onward" / "runs").glob("*/journal.jsonl"))
        found = [json.loads(line) for journal in journals for line in journal.read_text().split("\n")[:-1]]
        return [event for event in found if not type or event["type"] == type]

    def ends(self) -> list[dict[str, Any]]:
        return self.events("attempt_end")

    def reply(self) -> str:
        return str(self.ends()[-1]["outputs"]["text"]["value"])

    def wait_until_it_waits(self) -> None:
        self.project.wait("the agent waits", lambda: any(self.project.root.glob("waits-*")))

    def one_at_a_time(self) -> bool:
        return not self.ledger("two agents on one session")


@pytest.fixture
def agents(project: Project) -> Iterator[Agents]:
    return Agents(project)


# ---------------------------------------------------------------- how it ends


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_is_the_result_and_session_usage_and_version_are_recorded(agents: Agents, dialect: str):
    agents.workflow(dialect, "say MARK-a", permission="read", model="small")
    agents.project.onward("run", "w.yaml").check()
    [end] = agents.ends()
    [start] = agents.events("attempt_start")
    [call] = agents.ledger()
    assert agents.reply() == "turn 1, seen MARK-a"
    assert (end["outcome"], end["session"], end["adapter_version"]) == ("ok", call["session"], "9.8.7")
    assert end["usage"]["input_tokens"] == 100
    assert (start["adapter"], start["model"]) == ("fake", "small")
    assert start["session_directory"] == call["cwd"] == str(agents.project.root)
    assert "small" in call["arguments"]
    assert {"plan", "read-only"} & set(call["arguments"]), "what it may do is said"
    said = agents.project.onward("show", agents.project.status()["run"], "ask").check().out
    assert f"session {call['session']}" in said
    assert "9.8.7" in said


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("silent", "ended without saying that it had finished"),
        ("error", "ended without saying that it had finished"),
        ("fail", "the model has no idea"),
        ("done-3", "ended with exit code 3"),
        ("die-mid", "killed by SIGKILL"),
    ],
)
def test_only_a_success_that_was_told_and_exit_0_together_are_one(
    agents: Agents, dialect: str, step: str, words: str
):
    agents.workflow(dialect, f"work\nFAKE {step}")
    agents.project.onward("run", "w.yaml").check(1)
    [end] = agents.ends()
    assert end["outcome"] == "error"
    assert words in end["error"]
    assert words in agents.project.node("ask")["reason"]


def test_a_retry_goes_on_in_the_kept_session_and_pays_for_its_own_part_alone(agents: Agents):
    agents.workflow("claude", "say MARK-a\nFAKE silent", retry={"attempts": 2})
    agents.project.onward("run", "w.yaml").check()
    first, second = agents.ledger()
    assert (second["new"], second["session"]) == (False, first["session"])
    assert "not accepted" in second["prompt"]
    assert "MARK-a" not in second["prompt"], "the session knows its task"
    assert agents.reply() == "turn 2, seen MARK-a"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_counters_of_a_continued_session_are_not_paid_twice(agents: Agents, dialect: str):
    agents.workflow(
        dialect, "say MARK-a", retry={"attempts": 3}, validators=[{"at-least": ["{{attempt}}", "3"]}]
    )
    agents.project.onward("run", "w.yaml").check()
    ends = agents.ends()
    assert [end["usage"]["input_tokens"] for end in ends] == [100, 100, 100]
    assert [end["session_usage"]["input_tokens"] for end in ends] == [100, 200, 300]
    if dialect == "claude":
        assert [end["usage"]["usd"] for end in ends] == [0.25, 0.25, 0.25]


def test_an_answer_from_another_session_is_no_success(agents: Agents):
    agents.workflow("claude", "work\nFAKE silent other", retry={"attempts": 2})
    agents.project.onward("run", "w.yaml").check(1)
    assert "another conversation" in agents.ends()[-1]["error"]


def test_an_agent_that_hangs_is_ended_and_tried_again_in_its_session(agents: Agents):
    agents.workflow("codex", "say MARK-a\nFAKE hang", idle="1s", retry={"attempts": 2})
    agents.project.onward("run", "w.yaml").check()
    first, second = agents.ends()
    assert (first["outcome"], first["error"]) == ("timeout", "printed nothing for 1 s")
    assert second["session"] == first["session"]
    assert agents.one_at_a_time()


def test_a_permission_that_an_agent_does_not_have_is_refused_before_it_starts(agents: Agents):
    agents.workflow("cursor", "work", permission="edit")
    agents.project.onward("run", "w.yaml").check(1)
    assert "cannot be told `permission: edit`" in agents.project.node("ask")["reason"]
    assert agents.ledger() == []


def test_a_program_that_is_not_there_is_named_and_not_tried_again(agents: Agents):
    agents.project.workflow("""
        adapters: {gone: {like: claude, command: [no-such-agent]}}
        task:
          - ask: {prompt: x, adapter: gone, retry: {attempts: 3}}
    """)
    said = agents.project.onward("run", "w.yaml").check(1)
    assert "the agent program `no-such-agent` is not on the PATH" in said.err
    assert len(agents.ends()) == 1


# ---------------------------------------------------------------- sessions and accidents


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_session_is_in_the_journal_while_the_agent_works(agents: Agents, dialect: str):
    agents.workflow(dialect, "work\nFAKE wait:go")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    [call] = agents.ledger()

    def known() -> bool:
        told = [event.get("session") for event in agents.events() if event["type"].startswith("attempt_")]
        return call["session"] in told

    agents.project.wait("its session is in the journal", known)
    assert agents.events("attempt_end") == []
    assert bool(agents.events("attempt_session")) is (dialect == "codex"), "claude is told its session at the start"
    agents.project.touch("go")
    assert driver.wait(30) == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_driver_is_killed_and_the_agent_works_on(agents: Agents, dialect: str):
    agents.workflow(dialect, "say MARK-a\nFAKE wait:go")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    agents.project.kill_driver(driver)
    agents.project.touch("go")
    agents.project.onward("resume", "--yes").check()
    assert len(agents.ledger()) == 1
    assert agents.reply() == "turn 1, seen MARK-a"
    assert agents.ends()[-1]["session"] == agents.ledger()[0]["session"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_everything_is_killed_in_mid_reply_and_the_session_goes_on(agents: Agents, dialect: str):
    agents.workflow(dialect, "say MARK-a\nFAKE wait:never")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    agents.project.kill_all(driver)
    agents.project.onward("resume", "--yes").check()
    first, second = agents.ledger()
    assert (second["new"], second["session"]) == (False, first["session"])
    assert "You were interrupted" in second["prompt"]
    assert agents.reply() == "turn 2, seen MARK-a"
    assert agents.one_at_a_time()
    assert [end["outcome"] for end in agents.ends()] == ["interrupted", "ok"]
    assert agents.events("attempt_start")[-1]["continued"] is True


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_paused_prompt_goes_on_in_its_session(agents: Agents, dialect: str):
    agents.workflow(dialect, "say MARK-a\nFAKE wait:never")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    agents.project.onward("pause", "--now").check()
    assert driver.wait(30) == 3
    agents.project.onward("resume", "--yes").check()
    first, second = agents.ledger()
    assert (second["new"], second["session"]) == (False, first["session"])
    assert agents.reply() == "turn 2, seen MARK-a"
    assert [end["outcome"] for end in agents.ends()] == ["interrupted", "ok"]


def test_a_program_of_ones_own_goes_on_too(agents: Agents):
    script = (
        'echo "$0" >> ledger.txt; echo "{\\"id\\": \\"s-1\\"}"; touch began; '
        'test "$0" = s-1 || sleep 60; echo "{\\"reply\\": \\"done\\"}"'
    )
    adapter = {
        "command": ["sh", "-c", script, "new"],
        "continue": ["sh", "-c", script, "{session}"],
        "session": "jsonl:id",
        "reply": "jsonl:reply",
    }
    task = {"prompt": "work", "adapter": "mine", "session": "keep"}
    agents.project.workflow(json.dumps({"adapters": {"mine": adapter}, "task": [{"ask": task}]}))
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait_for_file("began")
    agents.project.wait("its session is in the journal", lambda: bool(agents.events("attempt_session")))
    agents.project.kill_all(driver)
    agents.project.onward("resume", "--yes").check()
    assert agents.project.ledger == ["new", "s-1"]
    assert agents.reply() == "done"


def test_a_fresh_session_gets_the_whole_prompt_again(agents: Agents):
    agents.workflow("claude", "say MARK-a\nFAKE wait:never", session="fresh")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    agents.project.kill_all(driver)
    agents.project.onward("resume", "--yes").check()
    first, second = agents.ledger()
    assert (second["new"], second["prompt"]) == (True, first["prompt"])
    assert second["session"] != first["session"]


@pytest.mark.parametrize(
    ("dialect", "step"),
    [("claude", "die-first"), ("claude", "die-said"), ("codex", "die-first"), ("codex", "die-said")],
)
def test_a_session_that_was_never_begun_is_begun_anew_with_the_whole_prompt(agents: Agents, dialect: str, step: str):
    agents.workflow(dialect, f"say MARK-a\nFAKE {step}", retry={"attempts": 2})
    agents.project.onward("run", "w.yaml").check()
    calls = agents.ledger()
    assert calls[-1]["new"] is True
    assert "MARK-a" in calls[-1]["prompt"]
    assert agents.reply() == "turn 1, seen MARK-a"
    if dialect == "claude":
        assert [end["outcome"] for end in agents.ends()] == ["error", "interrupted", "ok"]


def test_a_session_belongs_to_its_agent(agents: Agents):
    agents.workflow("claude", "say MARK-a\nFAKE wait:never")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    agents.project.kill_all(driver)
    agents.workflow("codex", "say MARK-a")
    agents.project.workflow(agents.project.read("w.yaml").replace('"fake"', '"other"'))
    agents.project.onward("resume", "--yes").check()
    assert [call["new"] for call in agents.ledger()] == [True, True]
    assert agents.reply() == "turn 1, seen MARK-a"


def test_an_attempt_is_heard_as_it_was_begun_whatever_is_chosen_later(agents: Agents):
    agents.workflow("codex", "say MARK-a\nFAKE wait:go")
    text = agents.project.read("w.yaml")
    driver = agents.project.start("run", "w.yaml")
    agents.wait_until_it_waits()
    agents.project.kill_driver(driver)
    agents.project.workflow(text.replace('"adapter": "fake"', '"adapter": "echo"'))
    agents.project.touch("go")
    agents.project.onward("resume", "--yes").check()
    assert agents.reply() == "turn 1, seen MARK-a"


def test_a_session_belongs_to_its_folder(agents: Agents):
    agents.workflow("claude", "say MARK-a\nFAKE wait:never", directory="one")
    for name in ("one", "two"):
        (agents.project.root / name).mkdir()
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("the agent waits", lambda: any((agents.project.root / "one").glob("waits-*")))
    agents.project.kill_all(driver)
    agents.workflow("claude", "say MARK-a", directory="two")
    agents.project.onward("resume", "--yes").check()
    assert [call["new"] for call in agents.ledger()] == [True, True]
    assert agents.reply() == "turn 1, seen MARK-a"


def test_what_an_agent_left_in_a_session_of_its_own_is_ended_before_the_next_attempt(agents: Agents):
    agents.workflow("codex", "work\nFAKE stray", retry={"attempts": 2})
    agents.project.onward("run", "w.yaml").check()
    [stray] = agents.ledger("stray")
    assert not _alive(stray["stray"])
    assert agents.one_at_a_time()


def test_strays_are_found_although_their_driver_keeper_and_agent_were_killed(agents: Agents):
    agents.workflow("codex", "work\nFAKE stray-hang")
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("it left something", lambda: bool(agents.ledger("stray")))
    [stray], [call] = agents.ledger("stray"), agents.ledger()
    keepers = agents.project.keepers(driver.pid)
    agents.project.kill_driver(driver)
    for pid in (*keepers, call["pid"]):
        os.kill(pid, signal.SIGKILL)
    assert _alive(stray["stray"])
    said = agents.project.onward("resume", "--yes").check()
    assert "was interrupted" in said.err
    assert not _alive(stray["stray"])
    assert agents.one_at_a_time()


def _alive(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_limit_is_waited_for_and_the_run_goes_on_by_itself(agents: Agents, dialect: str):
    agents.workflow(dialect, "say MARK-a\nFAKE limit:2")
    begun = time.time()
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("it waits", lambda: bool(agents.events("retry_wait")))
    status = agents.project.status()
    assert status["status"] == "waiting"
    assert "usage limit" in status["reason"]
    assert driver.wait(30) == 0
    assert time.time() - begun >= 2
    limited, end = agents.ends()
    assert limited["outcome"] == "limited"
    assert end["outcome"] == "ok", "and no retry was asked for"
    assert agents.reply() == "turn 2, seen MARK-a"
    assert [call["session"] for call in agents.ledger()] == [agents.ledger()[0]["session"]] * 2


def test_a_limit_outlives_its_driver_and_what_is_left_of_it_is_waited_for(agents: Agents):
    agents.workflow("claude", "say MARK-a\nFAKE limit:4")
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("it waits", lambda: bool(agents.events("retry_wait")))
    agents.project.kill_all(driver)
    [waits] = agents.events("retry_wait")
    agents.project.onward("resume", "--yes").check()
    assert agents.events("retry_wait") == [waits], "the time stands"
    start = agents.events("attempt_start")[-1]
    assert start["at"] >= waits["until"]
    assert agents.reply() == "turn 2, seen MARK-a"


def test_a_limit_without_a_time_is_waited_for_longer_and_longer(agents: Agents):
    agents.workflow("codex", "work\nFAKE busy")
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("it waits", lambda: bool(agents.events("retry_wait")))
    agents.project.kill_all(driver)
    [end], [wait] = agents.ends(), agents.events("retry_wait")
    assert end["outcome"] == "limited"
    assert "reset_at" not in end
    assert 59 < _seconds(wait["until"]) - _seconds(end["at"]) < 62


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_agent_that_goes_silent_after_a_retry_has_reached_a_limit(agents: Agents, dialect: str):
    agents.workflow(dialect, "work\nFAKE retrying", idle="1s")
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("it waits", lambda: bool(agents.events("retry_wait")))
    agents.project.kill_all(driver)
    assert agents.ends()[0]["outcome"] == "limited"


def test_an_agent_that_would_sleep_for_long_is_stopped_and_the_run_waits(agents: Agents):
    agents.workflow("claude", "work\nFAKE sleeps:3600")
    driver = agents.project.start("run", "w.yaml")
    agents.project.wait("it waits", lambda: bool(agents.events("retry_wait")))
    agents.project.kill_all(driver)
    [end], [wait] = agents.ends(), agents.events("retry_wait")
    assert end["outcome"] == "limited"
    assert 3590 < _seconds(wait["until"]) - _seconds(end["at"]) < 3610


def _seconds(at: str) -> float:
    import datetime as dt

    return dt.datetime.fromisoformat(at).timestamp()


def test_a_limit_of_a_judge_is_waited_for_too(agents: Agents):
    agents.workflow("claude", "say MARK-a", validators=[{"prompt": "PASS or not?\nMARK-judge\nFAKE limit:1 verdict"}])
    agents.project.onward("run", "w.yaml").check()
    judged = [call for call in agents.ledger() if "MARK-judge" in call["prompt"]]
    assert [call["new"] for call in judged] == [True, True]
    assert "plan" in judged[0]["arguments"], "a judge may read, and no more"
