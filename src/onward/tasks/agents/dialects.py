"""The events of each family of agent programs → what they mean for a `Reading`.

What a dialect does not know it passes over: programs add kinds of events with every version. An event of a known kind
may lack any field, or hold another type there, and is then read as far as it goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from onward.tasks.agents.reading import Dialect, Reading, Told

_TOO_MANY_REQUESTS = 429
_OPENCODE_ROUNDS = 20
"""calls of the model that ended in nothing, after which opencode is taken to go round for ever"""


def _in(value: Any, *way: str) -> Any:
    """What stands at the end of the way, or None."""
    for step in way:
        if not isinstance(value, Mapping):
            return None
        value = value.get(step)
    return value


def _texts(content: Any) -> str | None:
    """The text parts of a message, joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part["text"] for part in content if isinstance(_in(part, "text"), str) and _in(part, "type") == "text"]
    return "\n".join(texts) if texts else None


def _count(found: Any, names: Mapping[str, str], put: Callable[[str, object], None]) -> None:
    if isinstance(found, Mapping):
        for theirs, ours in names.items():
            if theirs in found:
                put(ours, found[theirs])


# ---------------------------------------------------------------- claude, and those that speak as it does

_CLAUDE_USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}
_CLAUDE_MODEL_USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cached_tokens",
    "cacheCreationInputTokens": "cache_write_tokens",
}


def claude(reading: Reading, event: dict[str, Any]) -> None:
    """One JSON value a line, each with `type` and `session_id`; the last is `result`."""
    reading.names_session(event.get("session_id"))
    match event.get("type"):
        case "system":
            _claude_system(reading, event)
        case "assistant":
            reading.text = _texts(_in(event, "message", "content")) or reading.text
            reading.has_problem(event.get("error"))
            if event.get("error") == "rate_limit":
                reading.limit = reading.limit or Told()
        case "rate_limit_event":
            _claude_limit(reading, event.get("rate_limit_info"))
        case "result":
            _claude_result(reading, event)


def _claude_system(reading: Reading, event: dict[str, Any]) -> None:
    match event.get("subtype"):
        case "api_retry":
            reading.tries_again(_seconds(event.get("retry_delay_ms")))
            reading.has_problem(event.get("error"))
        case "retry":
            reading.tries_again(_seconds(_in(event, "data", "delayMs")))


def _seconds(milliseconds: object) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int | float) else None


def _claude_limit(reading: Reading, info: Any) -> None:
    if _in(info, "status") == "rejected":
        at = _in(info, "resetsAt")
        reading.limit = Told(at=at) if isinstance(at, int | float) else Told()
    elif _in(info, "status") is not None:
        reading.limit = None


def _claude_result(reading: Reading, event: dict[str, Any]) -> None:
    _claude_usage(reading, event)
    result = event.get("result")
    if event.get("subtype") == "success" and not event.get("is_error"):
        reading.text = result if isinstance(result, str) else reading.text
        reading.ends_well()
        return
    if event.get("api_error_status") == _TOO_MANY_REQUESTS:
        reading.limit = reading.limit or Told()
    said = [result, event.get("error"), _in(event, "error", "message"), event.get("startup_failure_reason")]
    errors = event.get("errors")
    said += errors if isinstance(errors, list) else []
    words = [text for text in said if isinstance(text, str) and text.strip()]
    reading.ends_badly("; ".join(words) or event.get("terminal_reason") or event.get("subtype"))


def _claude_usage(reading: Reading, event: dict[str, Any]) -> None:
    """`usage` leaves out what sub-agents used, `modelUsage` has everything."""
    models = event.get("modelUsage")
    if isinstance(models, Mapping) and models:
        for used in models.values():
            _count(used, _CLAUDE_MODEL_USAGE, reading.adds)
    else:
        _count(event.get("usage"), _CLAUDE_USAGE, reading.counts)
    reading.counts("usd", event.get("total_cost_usd"))


# ---------------------------------------------------------------- codex

_CODEX_USAGE = {
    "input_tokens": "input_tokens",
    "cached_input_tokens": "cached_tokens",
    "cache_write_input_tokens": "cache_write_tokens",
    "output_tokens": "output_tokens",
    "reasoning_output_tokens": "reasoning_tokens",
}


def codex(reading: Reading, event: dict[str, Any]) -> None:
    """`thread.started`, then items, then `turn.completed` or `turn.failed`; `error` is also each lost connection."""
    match event.get("type"):
        case "thread.started":
            reading.names_session(event.get("thread_id"))
        case "turn.started":
            reading.done = False
        case "item.completed" if _in(event, "item", "type") == "agent_message":
            text = _in(event, "item", "text")
            reading.text = text if isinstance(text, str) else reading.text
        case "item.completed" if _in(event, "item", "type") == "error":
            reading.has_problem(_in(event, "item", "message"))
        case "turn.completed":
            _count(event.get("usage"), _CODEX_USAGE, reading.counts)
            reading.ends_well()
        case "turn.failed":
            reading.ends_badly(_in(event, "error", "message"))
        case "error":
            reading.has_problem(event.get("message"))
            if str(event.get("message")).startswith("Reconnecting"):
                reading.tries_again()


# ---------------------------------------------------------------- gemini

_GEMINI_USAGE = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "cached": "cached_tokens"}


def gemini(reading: Reading, event: dict[str, Any]) -> None:
    """Messages come in pieces; the last message begins after the last use of a tool. Ends with `result`."""
    match event.get("type"):
        case "init":
            reading.names_session(event.get("session_id"))
        case "message" if event.get("role") == "assistant":
            piece = event.get("content")
            if isinstance(piece, str):
                reading.text = (reading.text or "") + piece if event.get("delta") else piece
                reading.failed = None
        case "message" | "tool_use" | "tool_result":
            reading.text = None
        case "error":
            reading.has_problem(event.get("message"))
            if event.get("severity") != "warning":
                reading.failed = str(event.get("message") or "it failed without saying why")
        case "result":
            _gemini_result(reading, event)


def _gemini_result(reading: Reading, event: dict[str, Any]) -> None:
    _count(event.get("stats"), _GEMINI_USAGE, reading.counts)
    if event.get("status") != "success":
        reading.ends_badly(_in(event, "error", "message") or reading.failed)
    elif reading.failed is None:  # after a broken stream it tells of an error, then of a success
        reading.ends_well()


# ---------------------------------------------------------------- opencode

_OPENCODE_USAGE = {"input": "input_tokens", "output": "output_tokens", "reasoning": "reasoning_tokens"}


def opencode(reading: Reading, event: dict[str, Any]) -> None:
    """Steps, each one call of the model; the reply is the text of the step that ended with `stop`."""
    reading.names_session(event.get("sessionID"))
    part = event.get("part")
    match event.get("type"):
        case "step_start":
            reading.text, reading.done = None, False
        case "text":
            text = _in(part, "text")
            reading.text = "\n".join(each for each in (reading.text, text) if isinstance(each, str))
        case "step_finish":
            _opencode_step(reading, part)
        case "error":
            _opencode_error(reading, event.get("error"))


def _opencode_step(reading: Reading, part: Any) -> None:
    _count(_in(part, "tokens"), _OPENCODE_USAGE, reading.adds)
    reading.adds("cached_tokens", _in(part, "tokens", "cache", "read"))
    reading.adds("cache_write_tokens", _in(part, "tokens", "cache", "write"))
    reading.adds("usd", _in(part, "cost"))
    if _in(part, "reason") == "stop":
        reading.ends_well()
    elif _in(part, "reason") == "unknown":
        reading.has_problem("the model's answer broke off")
        if len(reading.problems) >= _OPENCODE_ROUNDS:
            reading.ends_badly("it calls the model again and again, and each answer breaks off")
            reading.goes_round = True


def _opencode_error(reading: Reading, error: Any) -> None:
    reading.ends_badly(_in(error, "data", "message") or _in(error, "name"))
    if _in(error, "data", "statusCode") != _TOO_MANY_REQUESTS:
        return
    after = _in(error, "data", "responseHeaders", "retry-after")
    reading.limit = Told(in_s=float(after)) if isinstance(after, str) and after.isdecimal() else Told()


# ---------------------------------------------------------------- copilot

_COPILOT_USAGE = {
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadTokens": "cached_tokens",
    "cacheWriteTokens": "cache_write_tokens",
}


def copilot(reading: Reading, event: dict[str, Any]) -> None:
    """`{type, data}`; it is done when the session is idle or shut down."""
    data = event.get("data")
    match event.get("type"):
        case "session.start" | "session.resume":
            reading.names_session(_in(data, "sessionId"))
        case "assistant.message":
            text = _in(data, "content")
            reading.text = text if isinstance(text, str) and text else reading.text
        case "assistant.usage":
            _count(data, _COPILOT_USAGE, reading.adds)
        case "session.error":
            reading.ends_badly(_in(data, "message") or _in(data, "errorCode"))
            if _in(data, "errorType") == "rate_limit":
                reading.limit = Told()
        case "session.idle" | "session.shutdown" if reading.failed is None:
            reading.ends_well()


# ---------------------------------------------------------------- goose

_GOOSE_USAGE = {"input_tokens": "input_tokens", "output_tokens": "output_tokens", "cost_usd": "usd"}


def goose(reading: Reading, event: dict[str, Any]) -> None:
    """Messages, then `complete` or `error`; no session id."""
    match event.get("type"):
        case "message" if _in(event, "message", "role") == "assistant":
            reading.text = _texts(_in(event, "message", "content")) or reading.text
        case "error":
            reading.ends_badly(event.get("error"))
        case "complete":
            _count(event, _GOOSE_USAGE, reading.counts)
            if reading.failed is None:
                reading.ends_well()


DIALECTS: dict[str, Dialect] = {
    "claude": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "copilot": copilot,
    "goose": goose,
}


