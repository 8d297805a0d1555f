"""The agent programs that need no declaration.

The facts were found out with the program itself where `seen` is `run`, else read in its help, source or documents.
`permission` is `edit` (files may be changed, commands only as far as the program fences them in) where a program has
such a mode, else the most careful one that it has.
"""

from __future__ import annotations

from onward.tasks.agents.agent import MODEL, OWN, PERMISSION, Agent, Permission, SessionId, UsageOf

DEFAULT = "claude"

_MODEL = ("--model", "{model}")
_ID = "{session}"
_CLAUDE = ("-p", "--output-format", "stream-json", "--verbose")
_CURSOR = ("-p", "--output-format", "stream-json", "--trust", "--workspace", "{directory}")
_COPILOT = ("--output-format", "json", "--no-ask-user", "--no-auto-update")


def _args(*args: str) -> Permission:
    return Permission(args=args)


_ROWS = (
    Agent(
        name="claude",
        dialect="claude",
        program=("claude",),
        start=(*_CLAUDE, "--session-id", _ID, PERMISSION, MODEL),
        resume=(*_CLAUDE, "--resume", _ID, PERMISSION, MODEL),
        fork=(*_CLAUDE, "--resume", _ID, "--fork-session", PERMISSION, MODEL),
        model=_MODEL,
        permissions={
            "read": _args("--permission-mode", "plan"),
            "edit": _args("--permission-mode", "acceptEdits"),
            "full": _args("--permission-mode", "bypassPermissions"),
        },
        permission="edit",
        session=SessionId.CHOSEN,
        usage_of=UsageOf.SESSION,
        known=("2.1",),
    ),
    Agent(
        name="codex",
        dialect="codex",
        program=("codex",),
        start=("exec", "-C", "{directory}", PERMISSION, "--skip-git-repo-check", "--json", MODEL, "-"),
        resume=("exec", "-C", "{directory}", PERMISSION, "--skip-git-repo-check", "resume", "--json", MODEL, _ID, "-"),
        fork=("exec", "-C", "{directory}", PERMISSION, "--skip-git-repo-check", "fork", "--json", MODEL, _ID, "-"),
        model=("-m", "{model}"),
        permissions={
            "read": _args("-s", "read-only"),
            "edit": _args("-s", "workspace-write"),
            "full": _args("--dangerously-bypass-approvals-and-sandbox"),
        },
        permission="edit",
        session=SessionId.STREAM,
        any_directory=True,
        usage_of=UsageOf.SESSION,
        known=("0.163", "0.171"),
        seen="run",
    ),
    Agent(
        name="gemini",
        dialect="gemini",
        program=("gemini",),
        start=("-o", "stream-json", "--skip-trust", "--session-id", _ID, PERMISSION, MODEL),
        resume=("-o", "stream-json", "--skip-trust", "-r", _ID, PERMISSION, MODEL),
        model=("-m", "{model}"),
        permissions={
            "read": _args("--approval-mode", "plan"),
            "edit": _args("--approval-mode", "auto_edit"),
            "full": _args("--approval-mode", "yolo"),
        },
        permission="edit",
        session=SessionId.CHOSEN,
        own_tmp=True,
        known=("0.61",),
        seen="run",
        limited_exits=(173,),
    ),
    Agent(
        name="qwen",
        dialect="claude",
        program=("qwen",),
        start=("-o", "stream-json", "--session-id", _ID, PERMISSION, MODEL),
        resume=("-o", "stream-json", "-r", _ID, PERMISSION, MODEL),
        fork=("-o", "stream-json", "-r", _ID, "--fork-session", PERMISSION, MODEL),
        model=("-m", "{model}"),
        permissions={
            "read": _args("--approval-mode", "plan"),
            "edit": _args("--approval-mode", "auto-edit"),
            "full": _args("--approval-mode", "yolo"),
        },
        permission="edit",
        session=SessionId.CHOSEN,
        usage_of=UsageOf.SESSION,
        known=("0.15", "0.24"),
        seen="run",
    ),
    Agent(
        name="opencode",
        dialect="opencode",
        program=("opencode",),
        # Without `--title` it asks the model for one, which costs; without `--dir` it trusts the variable PWD.
        start=("run", "--format", "json", "--dir", "{directory}", "--title", "{title}", PERMISSION, MODEL),
        resume=("run", "--format", "json", "--dir", "{directory}", "-s", _ID, PERMISSION, MODEL),
        fork=("run", "--format", "json", "--dir", "{directory}", "-s", _ID, "--fork", PERMISSION, MODEL),
        model=("-m", "{model}"),
        permissions={
            "read": Permission(env={"OPENCODE_PERMISSION": '{"edit":"deny","bash":"deny"}'}),
            "edit": Permission(env={"OPENCODE_PERMISSION": '{"edit":"allow","bash":"deny"}'}),
            "full": _args("--auto"),
        },
        permission="edit",
        session=SessionId.STREAM,
        env={"OPENCODE_DISABLE_AUTOUPDATE": "1"},
        known=("1.18",),
        seen="run",
    ),
    Agent(
        name="copilot",
        dialect="copilot",
        program=("copilot",),
        # `--session-id` continues the session if it is there, and begins it if not.
        start=(*_COPILOT, "--session-id", _ID, PERMISSION, MODEL),
        resume=(*_COPILOT, "--session-id", _ID, PERMISSION, MODEL),
        model=_MODEL,
        permissions={
            "read": _args("--allow-all-tools", "--deny-tool", "write", "--deny-tool", "shell"),
            "edit": _args("--allow-all-tools", "--deny-tool", "shell"),
            "full": _args("--allow-all"),
        },
        permission="edit",
        session=SessionId.CHOSEN,
        known=("1.0",),
        seen="help",
    ),
    Agent(
        name="cursor",
        dialect="claude",
        program=("cursor-agent",),
        start=(*_CURSOR, PERMISSION, MODEL),
        resume=(*_CURSOR, "--resume", _ID, PERMISSION, MODEL),
        model=_MODEL,
        # It proposes changes and makes none unless it is forced; there is nothing in between.
        permissions={"read": Permission(), "full": _args("--force")},
        permission="read",
        session=SessionId.STREAM,
    ),
    Agent(
        name="amp",
        dialect="claude",
        program=("amp",),
        start=("-x", "--stream-json", "--no-archive-after-execute", MODEL),
        resume=("threads", "continue", _ID, "-x", "--stream-json", MODEL),
        model=("-m", "{model}"),
        permission=OWN,
        session=SessionId.STREAM,
        any_directory=True,
        known=("0.0",),
        seen="help",
    ),
    Agent(
        name="goose",
        dialect="goose",
        program=("goose",),
        start=("run", "-i", "-", "--output-format", "stream-json", "--name", _ID, MODEL),
        resume=("run", "-i", "-", "--output-format", "stream-json", "--resume", "--name", _ID, MODEL),
        model=_MODEL,
        # Its other modes ask, and nobody would answer.
        permissions={
            "read": Permission(env={"GOOSE_MODE": "chat"}),
            "full": Permission(env={"GOOSE_MODE": "auto"}),
        },
        permission="read",
        session=SessionId.NAMED,
        env={"GOOSE_DISABLE_SESSION_NAMING": "1"},
        known=("1",),
        seen="source",
    ),
    Agent(
        name="aider",
        dialect="text",
        program=("aider",),
        start=(
            "--message-file", "{prompt_file}", "--yes-always", "--no-stream", "--no-pretty", "--no-check-update",
            "--no-auto-commits", "--no-dirty-commits", PERMISSION, MODEL,
        ),
        prompt="file",
        model=_MODEL,
        permissions={
            "read": _args("--chat-mode", "ask", "--no-suggest-shell-commands"),
            "edit": _args("--no-suggest-shell-commands"),
            "full": Permission(),
        },
        permission="edit",
        known=("0.86",),
        seen="source",
        failures=(
            r"The API provider has rate limited you",
            r"not able to authenticate you",
            r"^litellm\.\w*(?:Error|Exception)",
        ),
    ),
    Agent(name="echo", dialect="text", program=("cat",), version=(), seen="run"),
)  # fmt: skip

AGENTS = {row.name: row for row in _ROWS}
