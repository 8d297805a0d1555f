"""The real Codex, driven by `onward run`: a reply, SIGKILL in mid reply and a resume, a usage limit.

Everything happens in a network namespace with nothing but a loopback interface, in an empty home, against a model of
our own: nothing leaves the machine. Needs the program: `pip install openai-codex-cli-bin`, or its path in
`ONWARD_TEST_CODEX`. As it is run by `unshare`, this file is a script as well as a test.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
CONFIG = """
model = "fake-model"
model_provider = "fake"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "{url}"
env_key = "FAKE_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
"""


# ---------------------------------------------------------------- the test


def codex() -> str | None:
    """The program, if it is installed for these tests; one on the PATH is somebody's own."""
    named = os.environ.get("ONWARD_TEST_CODEX")
    if named:
        return named
    package = find_spec("codex_cli_bin")
    places = list(package.submodule_search_locations or []) if package is not None else []
    found = [place for folder in places if os.access(place := f"{folder}/bin/codex", os.X_OK)]
    return found[0] if found else None


def alone() -> list[str] | None:
    """The command that gives a program a network of its own, where that is allowed."""
    if shutil.which("unshare") is None:
        return None
    ways = (["unshare", "-n"], ["unshare", "-rn"])
    return next((way for way in ways if subprocess.run([*way, "true"], capture_output=True).returncode == 0), None)


@pytest.mark.parametrize(
    "story", ["reply", "killed", "limit", pytest.param("limit-over", marks=pytest.mark.slow)]
)
def test_codex(tmp_path: Path, story: str):
    program, network = codex(), alone()
    if program is None:
        pytest.skip("there is no codex: pip install openai-codex-cli-bin, or name it in ONWARD_TEST_CODEX")
    if network is None:
        pytest.skip("no network namespace can be made here, and without one codex would call its maker")
    done = subprocess.run(
        [*network, sys.executable, __file__, story, program, str(tmp_path)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(TESTS), "FAKE_KEY": "none"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- in the namespace


class Codex:
    """A project whose prompts go to codex, and what became of them."""

    def __init__(self, program: str, folder: Path) -> None:
        from agents.fake_model_server import FakeModel
        from stories.project import Project

        (folder / "project").mkdir()
        (folder / ".codex").mkdir()
        self.project = Project(folder / "project")
        self.model = FakeModel(self.project.root / "go")
        (folder / ".codex" / "config.toml").write_text(CONFIG.format(url=self.model.url))
        self.program = program

    def workflow(self, prompt: str) -> None:
        adapter = {"like": "codex", "command": [self.program]}
        task = {"prompt": prompt, "adapter": "mine", "session": "keep", "timeout": "60s"}
        self.project.workflow(json.dumps({"adapters": {"mine": adapter}, "task": [{"ask": task}]}))

    def events(self, type: str) -> list[dict[str, Any]]:
        journals = list((self.project.root / ".onward" / "runs").glob("*/journal.jsonl"))
        found = [json.loads(line) for journal in journals for line in journal.read_text().split("\n")[:-1]]
        return [event for event in found if event["type"] == type]

    def tell(self) -> None:
        for type in ("attempt_start", "attempt_session", "attempt_end", "retry_wait"):
            for event in self.events(type):
                left_out = ("chain", "batch", "epoch", "seq", "definition_sha256", "inputs_sha256")
                print(json.dumps({name: value for name, value in event.items() if name not in left_out}))


def reply(codex: Codex) -> None:
    codex.workflow("say MARK-a")
    codex.project.onward("run", "w.yaml").check()
    [end], [told] = codex.events("attempt_end"), codex.events("attempt_session")
    assert end["outputs"]["text"]["value"] == "the model has seen MARK-a"
    assert end["session"] == told["session"]
    assert end["usage"]["input_tokens"] == 100
    assert end["adapter_version"].startswith("0.")


def killed(codex: Codex) -> None:
    codex.workflow("say MARK-a MODEL-WAIT")
    driver = codex.project.start("run", "w.yaml")
    assert codex.model.half_sent.wait(30)
    codex.project.wait("its session is in the journal", lambda: bool(codex.events("attempt_session")))
    codex.project.kill_all(driver)
    print(codex.project.onward("resume", "--yes").check().err)
    [told] = codex.events("attempt_session")
    lost, end = codex.events("attempt_end")
    second = codex.events("attempt_start")[-1]
    assert (lost["outcome"], end["outcome"]) == ("interrupted", "ok")
    assert second["session"] == end["session"] == told["session"]
    assert second["continued"] is True
    assert end["outputs"]["text"]["value"] == "the model has seen MARK-a"
    last = codex.model.prompts[-1]
    assert "You were interrupted" in last[-1]
    assert any("MARK-a" in prompt for prompt in last[:-1]), "the first prompt is in the history, and was not sent again"
    assert "MARK" not in last[-1]


def limit(codex: Codex) -> None:
    codex.workflow("say MARK-a MODEL-LIMIT")
    driver = codex.project.start("run", "w.yaml")
    codex.project.wait("it waits", lambda: bool(codex.events("retry_wait")))
    status = codex.project.status()
    print(status["status"], status["reason"])
    assert status["status"] == "waiting"
    [end], [wait] = codex.events("attempt_end"), codex.events("retry_wait")
    assert end["outcome"] == "limited"
    assert end["reset_at"] == wait["until"], "codex names a time of the day, cut to minutes"
    codex.project.kill_all(driver)


def limit_over(codex: Codex) -> None:
    codex.workflow("say MARK-a MODEL-LIMIT")
    codex.project.onward("run", "w.yaml", within_s=100).check()
    limited, end = codex.events("attempt_end")
    assert limited["outcome"] == "limited"
    assert end["outputs"]["text"]["value"] == "the model has seen MARK-a"
    assert end["session"] == limited["session"]


def lo_up() -> None:
    set_flags, up = 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH14s", b"lo", up, b""))


def main(story: str, program: str, folder: str) -> None:
    lo_up()
    codex = Codex(program, Path(folder))
    with codex.model:
        try:
            {"reply": reply, "killed": killed, "limit": limit, "limit-over": limit_over}[story](codex)
        finally:
            codex.tell()
            codex.project.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
