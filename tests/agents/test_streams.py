"""What agents print, as files: each is read in whole and in pieces, and means what it should."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from onward.model.nodes import Kind, Node
from onward.model.status import Outcome
from onward.tasks import endings
from onward.tasks.agents.dialects import DIALECTS
from onward.tasks.agents.hearing import Asked, Heard, hear
from onward.tasks.agents.outcome import GOES_ROUND
from onward.tasks.agents.reading import StreamReader, read_stream
from onward.tasks.agents.table import AGENTS
from onward.tasks.attempt_folder import Exit, Usage

STREAMS = Path(__file__).with_name("streams")
AT = dt.datetime(2026, 9, 21, 10, 0, tzinfo=dt.UTC)
RESET = dt.datetime.fromtimestamp(1_790_000_000, dt.UTC)  # 2026-09-21 14:13:20
NODE = Node(name="a", path="a", kind=Kind.PROMPT)
OK, ERROR, LIMITED, TIMEOUT = Outcome.OK, Outcome.ERROR, Outcome.LIMITED, Outcome.TIMEOUT

# stream -> exit code (or what ended it), outcome, and the reply, what the error says, or when the limit is over
EXPECTED: dict[str, tuple[int | str, Outcome, Any]] = {
    "claude-reply": (0, OK, "There is one file, a.txt."),
    "claude-limit-event": (1, LIMITED, RESET),
    "claude-limit-event-ms": (1, LIMITED, RESET),
    "claude-limit-text": (1, LIMITED, "2026-09-22T02:00+00:00"),
    "claude-limit-old-text": (1, LIMITED, RESET),
    "claude-max-turns": (1, ERROR, "error_max_turns"),
    "claude-auth": (1, ERROR, "Invalid API key"),
    "claude-cut": ("SIGKILL", ERROR, "killed by SIGKILL"),
    "claude-retrying": ("idle", LIMITED, "2026-09-21T10:00:08+00:00"),
    "claude-overloaded": (1, ERROR, "529 overloaded"),
    "claude-unknown-events": (0, OK, ""),
    "qwen-reply": (0, OK, "done"),
    "qwen-error": (1, ERROR, "401 Incorrect API key"),
    "qwen-waits": ("idle", LIMITED, "2026-09-21T10:01+00:00"),
    "cursor-reply": (0, OK, "hello"),
    "cursor-nothing": (1, ERROR, "exit code 1"),
    "amp-reply": (0, OK, "hello"),
    "amp-error": (1, ERROR, "the thread is gone"),
    "codex-reply": (0, OK, "There is one file."),
    "codex-reconnected": (0, OK, "There."),
    "codex-usage-limit": (1, LIMITED, "2026-09-21T20:10+00:00"),
    "codex-usage-limit-date": (1, LIMITED, "2026-09-22T20:10+00:00"),
    "codex-usage-limit-later": (1, LIMITED, None),
    "codex-429": (1, LIMITED, None),
    "codex-quota": (1, ERROR, "Quota exceeded"),
    "codex-401": (1, ERROR, "401 Unauthorized"),
    "codex-capacity": (1, ERROR, "at capacity"),
    "codex-cut": (0, ERROR, "without saying that it had finished"),
    "codex-retrying": ("idle", LIMITED, None),
    "codex-about-limits": (0, OK, "The server says: You've hit your usage limit, try again at 8:10 PM (HTTP 429)."),
    "gemini-reply": (0, OK, "There is one file."),
    "gemini-429": (173, LIMITED, "2026-09-21T12:00+00:00"),
    "gemini-daily": (173, LIMITED, None),
    "gemini-interrupted": (0, ERROR, "without saying that it had finished"),
    "gemini-broken-stream": (0, ERROR, "broke off"),
    "gemini-untrusted": (55, ERROR, "exit code 55"),
    "opencode-reply": (0, OK, "There is one file."),
    "opencode-refused": (0, ERROR, "without saying that it had finished"),
    "opencode-429": (1, LIMITED, "2026-09-21T10:00:30+00:00"),
    "opencode-error": (1, ERROR, "The server had an error."),
    "opencode-empty-answers": ("timeout", TIMEOUT, "timed out"),
    "copilot-reply": (0, OK, "hello"),
    "copilot-limit": (1, LIMITED, "2026-09-21T12:00+00:00"),
    "copilot-quota": (1, LIMITED, None),
    "goose-reply": (0, OK, "hello"),
    "goose-error": (1, LIMITED, "2026-09-21T10:00:20+00:00"),
}

USAGE = {
    "claude-reply": {
        "input_tokens": 1500, "output_tokens": 350, "cached_tokens": 9000, "cache_write_tokens": 50, "usd": 0.032,
    },
    "qwen-reply": {"input_tokens": 203, "output_tokens": 40, "cached_tokens": 20},
    "codex-reply": {
        "input_tokens": 203, "output_tokens": 40, "cached_tokens": 20, "cache_write_tokens": 0, "reasoning_tokens": 10,
    },
    "gemini-reply": {"input_tokens": 101, "output_tokens": 20, "cached_tokens": 10},
    "opencode-reply": {
        "input_tokens": 202, "output_tokens": 40, "reasoning_tokens": 10, "cached_tokens": 20, "cache_write_tokens": 0,
        "usd": 0.75,
    },
    "copilot-reply": {"input_tokens": 150, "output_tokens": 10, "cached_tokens": 2},
    "goose-reply": {"input_tokens": 10, "output_tokens": 2, "usd": 0.01},
}  # fmt: skip

SESSIONS = {
    "claude-reply": "5f0c6d1e-7c1b-4a46-9d2b-0c8f2a3b4c5d",
    "claude-cut": "5f0c6d1e-7c1b-4a46-9d2b-0c8f2a3b4c5d",
    "codex-usage-limit": "01a22f90-f6e8-7fa1-9826-df1cc0e8c095",
    "gemini-interrupted": "7a0d4c3b-1f2e-4d5c-8b9a-0f1e2d3c4b5a",
    "opencode-429": "ses_5f0c6d1effe7c1b4a469d2b0c8",
    "copilot-reply": "7a0d4c3b-1f2e-4d5c-8b9a-0f1e2d3c4b5a",
    "amp-reply": "T-1234",
    "goose-reply": None,
}


def exit_of(how: int | str, size: int) -> Exit:
    code = how if isinstance(how, int) else None
    signal = None if isinstance(how, int) else how if how.startswith("SIG") else "SIGTERM"
    return Exit(
        code=code,
        signal=signal,
        error=None,
        ended_by=how if how in ("idle", "timeout") else None,
        started=AT.timestamp() - 1,
        duration_s=1.0,
        usage=Usage(user_s=0, system_s=0, max_rss_kb=0),
        out=size,
        err=0,
        left_behind=0,
    )


def heard(tmp_path: Path, name: str, how: int | str, **asked: Any) -> Heard:
    data = (STREAMS / f"{name}.jsonl").read_bytes()
    (tmp_path / "out").write_bytes(data)
    exit = exit_of(how, len(data))
    agent = AGENTS[name.partition("-")[0]]
    return hear(Asked(agent=agent, folder=str(tmp_path), tz="UTC", **asked), exit, endings.of(exit, NODE), None)


def test_every_stream_has_a_meaning() -> None:
    assert {path.stem for path in STREAMS.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_stream_means(name: str, tmp_path: Path) -> None:
    how, outcome, what = EXPECTED[name]
    found = heard(tmp_path, name, how)
    assert found.ending.outcome is outcome, found.ending.error
    match outcome:
        case Outcome.OK:
            assert found.text == what
        case Outcome.LIMITED:
            named = dt.datetime.fromisoformat(what) if isinstance(what, str) else what
            assert (found.reset_at is None) is (named is None)
            if named is not None and found.reset_at is not None:
                assert dt.timedelta() <= found.reset_at - named <= dt.timedelta(seconds=91)
        case _:
            assert what in (found.ending.error or "")


@pytest.mark.parametrize("name", USAGE)
def test_usage_has_one_set_of_names(name: str, tmp_path: Path) -> None:
    assert heard(tmp_path, name, 0).usage == USAGE[name]


@pytest.mark.parametrize("name", SESSIONS)
def test_the_session_is_found_whatever_the_end(name: str, tmp_path: Path) -> None:
    assert heard(tmp_path, name, EXPECTED[name][0]).session == SESSIONS[name]


@pytest.mark.parametrize("name", ["claude-auth", "codex-401", "codex-quota", "qwen-error"])
def test_what_another_try_cannot_mend_is_final(name: str, tmp_path: Path) -> None:
    assert heard(tmp_path, name, 1).ending.final


@pytest.mark.parametrize("name", [name for name, case in EXPECTED.items() if case[1] is Outcome.OK])
@pytest.mark.parametrize("how", [1, 3, "SIGTERM", "SIGKILL", "idle"])
def test_no_success_without_exit_0(name: str, how: int | str, tmp_path: Path) -> None:
    assert heard(tmp_path, name, how).ending.outcome is not Outcome.OK


@pytest.mark.parametrize("name", [name for name, case in EXPECTED.items() if case[1] is Outcome.OK])
def test_a_stream_that_lacks_its_end_is_no_success(name: str, tmp_path: Path) -> None:
    lines = [line for line in (STREAMS / f"{name}.jsonl").read_bytes().splitlines(keepends=True) if line[:1] == b"{"]
    (tmp_path / "out").write_bytes(b"".join(lines[:-1]))
    exit = exit_of(0, 1)
    agent = AGENTS[name.partition("-")[0]]
    found = hear(Asked(agent=agent, folder=str(tmp_path)), exit, endings.of(exit, NODE), None)
    assert found.ending.outcome is Outcome.ERROR


@pytest.mark.parametrize("name", EXPECTED)
def test_a_stream_that_grows_byte_by_byte_says_the_same(name: str, tmp_path: Path) -> None:
    data = (STREAMS / f"{name}.jsonl").read_bytes()
    dialect = DIALECTS[AGENTS[name.partition("-")[0]].dialect]
    path = tmp_path / "grows"
    reader = StreamReader(dialect, str(path))
    reader.advance()
    with open(path, "wb", buffering=0) as file:
        for start in range(0, len(data), 37):
            file.write(data[start : start + 37])
            reader.advance(1)
    while (before := reader._at) < len(data):
        reader.advance(1)
        if reader._at == before:
            break  # the last line lacks its end
    whole = read_stream(dialect, str(STREAMS / f"{name}.jsonl"))
    assert (reader.reading.session, reader.reading.done) == (whole.session, whole.done)
    assert reader.reading.usage == whole.usage


def test_an_agent_that_goes_round_for_ever_was_stopped_and_has_failed(tmp_path: Path) -> None:
    name = "opencode-empty-answers"
    (tmp_path / "out").write_bytes((STREAMS / f"{name}.jsonl").read_bytes())
    exit = exit_of("SIGTERM", 1)._replace(ended_by="stop")
    asked = Asked(agent=AGENTS["opencode"], folder=str(tmp_path))
    found = hear(asked, exit, endings.of(exit, NODE, GOES_ROUND), GOES_ROUND)
    assert found.ending.outcome is Outcome.ERROR
    assert "again and again" in (found.ending.error or "")


def test_another_session_than_asked_for_is_an_error_even_of_a_success(tmp_path: Path) -> None:
    found = heard(tmp_path, "codex-reply", 0, session="another", continued=True)
    assert found.ending.outcome is Outcome.ERROR
    assert "another conversation" in (found.ending.error or "")
    assert found.session == "another", "what is known of the session stays"


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "line",
    ['{"type": null}', '{"type": "result"}', '{"type": "error"}', '{"type": "item.completed", "item": 3}',
     '{"type": "assistant", "message": [1]}', '{"type": "message", "message": "x", "role": "assistant"}',
     '{"type": "step_finish", "part": {"tokens": [], "cost": "x"}}', '{"type": "session.error", "data": null}',
     '{"type": "rate_limit_event", "rate_limit_info": 5}', '{"type": "complete", "cost_usd": {}}', "{", "[]", "\x00"],
)  # fmt: skip
def test_an_event_may_lack_anything(dialect: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text(line + "\n")
    assert read_stream(DIALECTS[dialect], str(tmp_path / "out")).text is None
