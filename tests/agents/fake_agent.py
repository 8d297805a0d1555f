"""A program that behaves as coding agents do, without any model: it speaks two of their dialects, and breaks on demand.

    python fake_agent.py claude -p --output-format stream-json --verbose --session-id ID
    python fake_agent.py codex exec -C DIR -s workspace-write --json -

The prompt comes on standard input. A line `FAKE one two …` in any prompt of a session says how the first, second …
process that works on it behaves; all further ones answer as asked. The reply names every MARK-… that the session has
seen, so a continued session proves itself. Sessions and a ledger lie in the folder `$FAKE_AGENT_HOME`.

    die-first       killed before it has said anything
    die-said        killed when it has told its session
    die-mid         killed in the middle of its reply
    silent          ends with 0 and without the event that ends the stream
    error           tells of an error, ends with 0
    fail            tells that it has failed, ends with 1
    done-3          tells that it is done, ends with 3
    limit:N         a usage limit that is over in N seconds
    busy            a rate limit, nobody knows for how long
    other           goes on in another session than asked for
    hang            says nothing any more
    retrying        says that it tries again after a limit, then nothing
    sleeps:N        says that it tries again in N seconds, and waits
    wait:FILE       says a part of its reply, then waits until FILE is there
    stray           leaves a shell behind, in a session of its own, and dies
    stray-hang      the same, and says nothing any more
    unknown         does not know the session
    verdict         replies PASS
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOME = Path(os.environ.get("FAKE_AGENT_HOME", "fake-agent-home"))
LONGEST_S = 60.0


def say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def note(**facts: Any) -> None:
    with open(HOME / "ledger.jsonl", "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"pid": os.getpid(), **facts}) + "\n")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Session:
    """What is kept of a conversation; only one process may have it at a time."""

    def __init__(self, id: str, *, new: bool) -> None:
        self.id = id
        self.path = HOME / f"session-{id}.json"
        if not new and not self.path.exists():
            raise LookupError(id)
        self.lock = open(HOME / f"lock-{id}", "w")  # noqa: SIM115 - held until the process ends
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            note(what="two agents on one session", session=id)
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.directory: str = known.get("directory", os.getcwd())
        self.prompts: list[str] = known.get("prompts", [])
        self.turns: int = known.get("turns", 0)
        self.verdict = False

    def hear(self, prompt: str) -> None:
        self.prompts.append(prompt)
        self.turns += 1
        self.path.write_text(
            json.dumps({"directory": self.directory, "prompts": self.prompts, "turns": self.turns})
        )

    @property
    def reply(self) -> str:
        if self.verdict:
            return "It is as it should be.\nPASS"
        marks = list(dict.fromkeys(re.findall(r"MARK-\w+", "\n".join(self.prompts))))
        return f"turn {self.turns}, seen {','.join(marks) or 'nothing'}"


def next_step(prompts: list[str]) -> str:
    """How this process is to behave: the next word of the FAKE line, as often as processes have asked."""
    found = re.search(r"^FAKE (.*)$", "\n".join(prompts), re.MULTILINE)
    if found is None:
        return "answer"
    words = found[1].split()
    with open(HOME / f"count-{uuid.uuid5(uuid.NAMESPACE_OID, found[1])}", "a+") as count:
        fcntl.flock(count, fcntl.LOCK_EX)
        count.seek(0)
        asked = len(count.read())
        count.write("x")
    return words[asked] if asked < len(words) else "answer"


class Claude:
    """`system/init`, `assistant`, `result`; session and counters of the whole session on every `result`."""

    def __init__(self, arguments: list[str]) -> None:
        self.id = _after(arguments, "--session-id") or _after(arguments, "--resume") or str(uuid.uuid4())
        self.new = "--resume" not in arguments

    def no_session(self) -> None:
        say(type="result", subtype="error_during_execution", is_error=True, session_id=str(uuid.uuid4()))
        sys.exit(f"No conversation found with session ID: {self.id}")

    def begin(self) -> None:
        say(type="system", subtype="init", session_id=self.id, cwd=os.getcwd(), tools=["Bash"])

    def part(self, text: str) -> None:
        content = [{"type": "text", "text": text}]
        say(type="assistant", session_id=self.id, message={"role": "assistant", "content": content})

    def retry(self, seconds: float) -> None:
        say(
            type="system", subtype="api_retry", session_id=self.id, attempt=1, max_retries=10,
            retry_delay_ms=int(seconds * 1000), error_status=429, error="rate_limit",
        )  # fmt: skip

    def warning(self, text: str) -> None:
        say(type="system", subtype="warning", session_id=self.id, error="unknown", message=text)

    def done(self, session: Session) -> None:
        used = {"inputTokens": 100 * session.turns, "outputTokens": 20 * session.turns, "costUSD": 0.25 * session.turns}
        say(
            type="result", subtype="success", is_error=False, session_id=self.id, result=session.reply,
            total_cost_usd=0.25 * session.turns, modelUsage={"fake": used}, num_turns=1,
        )  # fmt: skip

    def failed(self, text: str) -> None:
        say(type="result", subtype="error_during_execution", is_error=True, session_id=self.id, errors=[text])

    def limit(self, seconds: float | None) -> None:
        if seconds is not None:
            info = {"status": "rejected", "resetsAt": time.time() + seconds, "rateLimitType": "five_hour"}
            say(type="rate_limit_event", session_id=self.id, rate_limit_info=info)
        say(type="result", subtype="success", is_error=True, session_id=self.id, result="You've hit your limit")


class Codex:
    """`thread.started`, items, `turn.completed`; the id is the program's own."""

    def __init__(self, arguments: list[str]) -> None:
        place = next((n for n, word in enumerate(arguments) if word == "resume"), None)
        self.new = place is None
        self.id = str(uuid.uuid4()) if place is None else arguments[-2]
        os.chdir(_after(arguments, "-C") or ".")

    def no_session(self) -> None:
        sys.exit(f"Error: no rollout found for thread id {self.id}")

    def begin(self) -> None:
        say(type="thread.started", thread_id=self.id)
        say(type="turn.started")

    def part(self, text: str) -> None:
        say(type="item.completed", item={"id": "item_0", "type": "agent_message", "text": text})

    def retry(self, seconds: float) -> None:
        say(type="error", message=f"Reconnecting... 1/5 (429 Too Many Requests, in {seconds} s)")

    def warning(self, text: str) -> None:
        say(type="item.completed", item={"id": "item_1", "type": "error", "message": text})

    def done(self, session: Session) -> None:
        self.part(session.reply)
        used = {"input_tokens": 100 * session.turns, "cached_input_tokens": 0, "output_tokens": 20 * session.turns}
        say(type="turn.completed", usage=used)

    def failed(self, text: str) -> None:
        say(type="error", message=text)
        say(type="turn.failed", error={"message": text})

    def limit(self, seconds: float | None) -> None:
        when = f"Try again in {seconds:g} seconds." if seconds is not None else "Try again later."
        self.failed(f"You’ve hit your usage limit. {when}")


def _after(arguments: list[str], flag: str) -> str | None:
    return arguments[arguments.index(flag) + 1] if flag in arguments else None


def behave(agent: Claude | Codex, session: Session, step: str) -> int:
    """Everything after the session was told; the exit code."""
    word, _, value = step.partition(":")
    if word == "wait":
        agent.part("the first half")
        Path(f"waits-{os.getpid()}").touch()
        until(lambda: Path(value).exists())
    session.verdict = word == "verdict"
    match word:
        case "die-mid":
            agent.part("half a rep")
            die()
        case "silent":
            agent.part("half a rep")
            return 0
        case "error":
            agent.part("half a rep")
            agent.warning("something broke")
            return 0
        case "fail":
            agent.failed("the model has no idea")
            return 1
        case "done-3":
            agent.done(session)
            return 3
        case "limit" | "busy":
            agent.limit(float(value) if value else None)
            return 1
        case "hang":
            agent.part("let me think")
            time.sleep(LONGEST_S)
        case "retrying" | "sleeps":
            agent.retry(float(value or 1))
            time.sleep(LONGEST_S)
        case "stray-hang":
            stray()
            time.sleep(LONGEST_S)
        case "stray":
            stray()
            die()
    agent.warning("a warning is no failure")
    agent.done(session)
    return 0


def stray() -> None:
    """A shell that no signal to the group of this process reaches, and that would work on."""
    shell = subprocess.Popen(["sleep", str(LONGEST_S)], start_new_session=True, stdout=2)
    note(what="stray", stray=shell.pid)


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST_S
    while not ready() and time.monotonic() < end:
        time.sleep(0.02)


def main(arguments: list[str]) -> int:
    if "--version" in arguments:
        print("9.8.7 (Fake Agent)")
        return 0
    HOME.mkdir(exist_ok=True)
    agent = (Claude if arguments[0] == "claude" else Codex)(arguments[1:])
    prompt = sys.stdin.read()
    note(what="call", arguments=arguments, prompt=prompt, session=agent.id, cwd=os.getcwd(), new=agent.new)
    try:
        session = Session(agent.id, new=agent.new)
    except LookupError:
        agent.no_session()
    if isinstance(agent, Claude) and session.directory != os.getcwd():
        agent.no_session()
    step = next_step([*session.prompts, prompt])
    if step == "die-first":
        die()
    if step == "unknown":
        agent.no_session()
    if step == "other":
        agent.id = str(uuid.uuid4())
    print("a warning that is no event", flush=True)
    agent.begin()
    if step == "die-said":
        die()
    session.hear(prompt)
    return behave(agent, session, step)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
