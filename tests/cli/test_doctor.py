"""`onward doctor`: what it finds, and that it starts nothing but agents, to ask for their version."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from cli.runs_on_disk import Shop
from onward.store.runs import Store
from onward.views import health


def checks(shop: Shop, *words: str, code: int = 0, **env: str) -> dict[str, Any]:
    found = shop.data("doctor", *words, code=code) if not env else None
    if found is None:
        import json

        found = json.loads(shop.call("doctor", "--json", *words, code=code, env=env))
    assert found["schema"] == 1
    assert found["ok"] is (code == 0)
    return {check["name"]: check for check in found["checks"]}


def program(folder: Path, name: str, version: str = "") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho \"$@\" >> '{folder / name}-asked'\necho '{version}'\n")
    (folder / name).chmod(0o755)


def test_a_sound_machine(shop: Shop) -> None:
    found = checks(shop)
    assert [name for name, check in found.items() if check["status"] == "bad"] == []
    assert found["store"]["text"].startswith(f"{shop.folder}/.onward (made by the first run) can be written")
    assert found["locks"]["status"] == "ok"
    assert list(shop.folder.iterdir()) == [], "it leaves nothing behind"
    assert "runs can work here" in shop.call("doctor")


def test_agents_are_found_and_asked_for_nothing_but_their_version(shop: Shop) -> None:
    tools = shop.folder / "tools"
    program(tools, "codex", "codex-cli 0.171.3")
    program(tools, "gemini", "0.99.0")
    program(tools, "qwen", "no number")
    program(tools, "bash")
    found = checks(shop, PATH=str(tools))
    assert found["agent codex"]["text"] == f"0.171.3 at {tools}/codex, a version that is known"
    assert found["agent gemini"]["text"] == f"0.99.0 at {tools}/gemini; known: 0.61"
    assert found["agent gemini"]["status"] == found["agent qwen"]["status"] == "note"
    assert "does not tell its version" in found["agent qwen"]["text"]
    assert found["shell"]["text"] == f"bash at {tools}/bash"
    assert (tools / "codex-asked").read_text() == "--version\n"
    assert not (tools / "bash-asked").exists()


def test_no_agent_at_all_is_worth_a_note(shop: Shop) -> None:
    program(shop.folder / "tools", "bash")
    found = checks(shop, PATH=str(shop.folder / "tools"))
    assert found["agents"]["text"].startswith("none of claude, codex, gemini")


def test_without_bash_a_task_must_say_sh_and_without_any_shell_it_is_bad(shop: Shop) -> None:
    tools = shop.folder / "tools"
    tools.mkdir()
    assert checks(shop, code=1, PATH=str(tools))["shell"]["status"] == "bad"
    program(tools, "sh")
    check = checks(shop, PATH=str(tools))["shell"]
    assert check["status"] == "note"
    assert "shell: sh" in check["help"]


def test_the_chosen_agent_is_missed(shop: Shop) -> None:
    tools = shop.folder / "tools"
    program(tools, "bash")
    assert "not on the PATH" in checks(shop, PATH=str(tools), ONWARD_ADAPTER="gemini")["adapter"]["text"]
    assert "adapter" not in checks(shop, PATH=str(tools), ONWARD_ADAPTER="echo")
    (shop.folder / "onward.toml").write_text('adapter = "ours"\n')
    assert "declare it" in checks(shop, PATH=str(tools))["adapter"]["text"]


def test_bad_settings_are_told_and_the_rest_is_looked_at(shop: Shop) -> None:
    (shop.folder / "onward.toml").write_text("limt = 2\n")
    found = checks(shop, code=1)
    assert "no setting `limt`" in found["settings"]["text"]
    assert found["settings"]["help"] == "did you mean `limit`?"
    assert found["store"]["status"] == "ok"
    assert "1 thing to mend" in shop.call("doctor", code=1)


def test_a_store_that_cannot_be_written_is_bad(shop: Shop) -> None:
    (shop.folder / "file").write_text("")
    found = checks(shop, "--store", "/proc/onward-cannot-be-here", code=1)
    assert found["store"]["status"] == "bad"
    assert "locks" not in found


def test_locks_that_hold_nobody_off_are_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", lambda *_: None)
    found = {check.name: check for check in health.store_checks(Store(tmp_path))}
    assert found["locks"].status == health.BAD


@pytest.mark.parametrize(
    ("free", "status"), [(10**12, health.GOOD), (100 * 10**6, health.NOTE), (10**6, health.BAD)], ids=str
)
def test_room_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: str) -> None:
    real = os.statvfs(tmp_path)
    values = list(real)
    values[1], values[4] = 1, free  # f_frsize, f_bavail
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result(values))
    found = {check.name: check for check in health.store_checks(Store(tmp_path))}
    assert found["disk"].status == status


def test_quiet_says_only_what_is_worth_knowing(shop: Shop) -> None:
    assert "ok " not in shop.call("doctor", "-q")
