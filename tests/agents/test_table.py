"""The table: every row becomes the command line that its program is known to take."""

from __future__ import annotations

import pytest

from onward.model.nodes import Adapter, Plan
from onward.plan.declarations import AGENTS as NAMES
from onward.spec.records import PERMISSIONS
from onward.tasks.agents.agent import Agent, SessionId
from onward.tasks.agents.calls import Fill, argv_of
from onward.tasks.agents.choice import declared, permission_of
from onward.tasks.agents.dialects import DIALECTS
from onward.tasks.agents.table import AGENTS
from onward.tasks.failures import Failure

REAL = [agent for agent in AGENTS.values() if agent.name != "echo"]


def call(agent: Agent, *, session: str | None = "S", model: str | None = None, permission: str | None = None) -> str:
    continues = session == "again"
    fill = Fill(
        prompt="P", prompt_file="/f", model=model, session=session, continues=continues, directory="/d", title="T",
        permission=permission_of(agent, permission).args,
    )  # fmt: skip
    return " ".join(argv_of(agent, fill))


def test_the_format_names_the_rows_of_the_table() -> None:
    assert set(NAMES) == set(AGENTS)


@pytest.mark.parametrize(
    ("name", "start", "resume"),
    [
        (
            "claude",
            "claude -p --output-format stream-json --verbose --session-id S --permission-mode acceptEdits",
            "claude -p --output-format stream-json --verbose --resume again --permission-mode acceptEdits",
        ),
        (
            "codex",
            "codex exec -C /d -s workspace-write --skip-git-repo-check --json -",
            "codex exec -C /d -s workspace-write --skip-git-repo-check resume --json again -",
        ),
        (
            "gemini",
            "gemini -o stream-json --skip-trust --session-id S --approval-mode auto_edit",
            "gemini -o stream-json --skip-trust -r again --approval-mode auto_edit",
        ),
        (
            "qwen",
            "qwen -o stream-json --session-id S --approval-mode auto-edit",
            "qwen -o stream-json -r again --approval-mode auto-edit",
        ),
        (
            "opencode",
            "opencode run --format json --dir /d --title T",
            "opencode run --format json --dir /d -s again",
        ),
        (
            "copilot",
            ("copilot --output-format json --no-ask-user --no-auto-update --session-id S --allow-all-tools "
            "--deny-tool shell"),
            ("copilot --output-format json --no-ask-user --no-auto-update --session-id again --allow-all-tools "
            "--deny-tool shell"),
        ),
        (
            "cursor",
            "cursor-agent -p --output-format stream-json --trust --workspace /d",
            "cursor-agent -p --output-format stream-json --trust --workspace /d --resume again",
        ),
        (
            "amp",
            "amp -x --stream-json --no-archive-after-execute",
            "amp threads continue again -x --stream-json",
        ),
        (
            "goose",
            "goose run -i - --output-format stream-json --name S",
            "goose run -i - --output-format stream-json --resume --name again",
        ),
    ],
)
def test_a_session_begins_and_goes_on(name: str, start: str, resume: str) -> None:
    assert call(AGENTS[name]) == start
    assert call(AGENTS[name], session="again") == resume


def test_aider_has_no_sessions_and_reads_its_prompt_from_a_file() -> None:
    said = call(AGENTS["aider"], session=None)
    assert said.startswith("aider --message-file /f --yes-always ")
    assert "--no-auto-commits" in said
    assert AGENTS["aider"].resume == ()


@pytest.mark.parametrize("agent", REAL, ids=lambda agent: agent.name)
def test_a_row_is_whole(agent: Agent) -> None:
    assert agent.dialect in DIALECTS or agent.dialect == "text"
    assert agent.permission == "own" or agent.permission in agent.permissions
    assert set(agent.permissions) < set(PERMISSIONS)
    assert agent.permission != "full", "nobody gets everything without asking for it"
    assert call(agent, model="big").split().count("big") == 1
    named = agent.session in (SessionId.CHOSEN, SessionId.NAMED)
    assert named is any("{session}" in element for element in agent.start)
    assert (agent.session is SessionId.NONE) is (not agent.resume)
    assert agent.prompt != "argument", "a prompt is too long for an argument, and others would see it"


@pytest.mark.parametrize("agent", REAL, ids=lambda agent: agent.name)
def test_every_permission_is_said_differently(agent: Agent) -> None:
    ways = [(way.args, tuple(way.env.items())) for way in agent.permissions.values()]
    assert len(set(ways)) == len(ways)
    assert permission_of(agent, "own").args == ()


def test_a_name_for_a_session_is_chosen_where_the_program_lets_us() -> None:
    first, second = AGENTS["claude"].new_session(), AGENTS["claude"].new_session()
    assert first is not None
    assert len(first) == 36
    assert first != second
    assert AGENTS["codex"].new_session() is None


def test_like_a_built_in_one_with_another_program() -> None:
    mine = declared(Adapter(name="mine", command=("npx", "codex"), like="codex", permission="read"))
    assert call(mine) == "npx codex exec -C /d -s read-only --skip-git-repo-check --json -"
    assert call(mine, permission="full").startswith("npx codex exec -C /d --dangerously-bypass")


def test_a_mode_that_a_program_lacks_is_refused_with_those_it_has() -> None:
    with pytest.raises(Failure) as caught:
        permission_of(AGENTS["cursor"], "edit")
    assert "read, full, own" in (caught.value.help or "")


@pytest.mark.parametrize(
    ("version", "known"), [("0.171.0", True), ("0.171", True), ("0.1710.0", False), ("1.171.0", False)]
)
def test_versions_are_known_by_their_beginning(version: str, known: bool) -> None:
    assert AGENTS["codex"].knows(version) is known


def test_a_plan_may_give_a_built_in_name_another_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    from onward.model.nodes import Kind, Node
    from onward.tasks.agents.choice import agent_named

    root = Node(name="", path="", kind=Kind.TASK)
    plan = Plan(name="w", file="/w", root=root, digest="", adapters=(Adapter(name="claude", command=("mine",)),))
    assert call(agent_named("claude", plan), session=None) == "mine"
