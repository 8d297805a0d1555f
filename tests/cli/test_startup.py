"""Starting is quick because little is loaded: checked by names of modules, never by time."""

import subprocess
import sys

import pytest

HEAVY = {
    "asyncio", "backports", "concurrent", "cryptography", "jsonschema", "logging", "msgspec", "rich",
    "socket", "sqlite3", "subprocess", "temporalio", "yaml",
}  # fmt: skip
PARTS = {
    "onward.engine", "onward.journal", "onward.mirrors", "onward.model", "onward.plan", "onward.recovery",
    "onward.spec", "onward.state", "onward.store", "onward.tasks", "onward.views",
}  # fmt: skip


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["no-such-command"]], ids=" ".join)
def test_only_click_is_loaded_to_print_a_list_or_a_version(words: list[str]) -> None:
    loaded = _loaded_by(words)
    assert "onward.cli.main" in loaded
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
    assert {".".join(name.split(".")[:2]) for name in loaded} & PARTS == set()


def test_no_command_is_loaded_to_list_them() -> None:
    ours = {name for name in _loaded_by(["--help"]) if name.startswith("onward.cli.")}
    assert ours == {"onward.cli.main"}


def test_no_command_is_loaded_to_complete_a_word() -> None:
    asks = {"_ONWARD_COMPLETE": "bash_complete", "COMP_WORDS": "onward ", "COMP_CWORD": "1"}
    ours = {name for name in _loaded_by([], asks) if name.startswith("onward.cli.")}
    assert ours == {"onward.cli.main"}


def _loaded_by(words: list[str], environment: dict[str, str] | None = None) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "onward", *words]
    ended = subprocess.run(
        command,
        env=environment or {},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [line for line in ended.stderr.splitlines() if line.startswith("import time:")]
    assert lines, ended.stderr
    return {line.rpartition("|")[2].strip() for line in lines}
