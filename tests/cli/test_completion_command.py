"""`onward completion`: the scripts, and what a real bash makes of its one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.runs_on_disk import Shop


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_script_asks_onward(shop: Shop, shell: str) -> None:
    script = shop.call("completion", shell)
    assert f"_ONWARD_COMPLETE={shell}_complete" in script
    assert shop.call("completion", env={"SHELL": f"/usr/local/bin/{shell}"}) == script
    program = shutil.which(shell)
    if program is not None:
        subprocess.run([program, "-n", "-c", script], check=True, timeout=30)


def test_an_unknown_shell_is_told(shop: Shop) -> None:
    assert b"'tcsh' is not one of 'bash', 'zsh', 'fish'" in shop.run("completion", "tcsh").stderr
    assert b"name one of bash, zsh, fish" in shop.run("completion", env={"SHELL": "/bin/tcsh"}).stderr


def completed(shop: Shop, *typed: str) -> list[str]:
    """What bash offers after these words."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    tools = shop.folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "onward").write_text(f'#!/bin/sh\nexec {sys.executable} -m onward "$@"\n')
    (tools / "onward").chmod(0o755)
    (shop.folder / "script").write_text(shop.call("completion", "bash"))
    words = " ".join(f"'{word}'" for word in ("onward", *typed))
    ask = f"source ./script; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _onward_completion onward; "
    said = subprocess.run(
        [bash, "-c", ask + 'printf "%s\\n" "${COMPREPLY[@]}"'],
        cwd=shop.folder,
        env={"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(Path.home())},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return said.stdout.split()


def test_bash_completes_commands_and_options(shop: Shop) -> None:
    assert completed(shop, "res") == ["resume"]
    assert "--older-than" in completed(shop, "clean", "--o")
    assert completed(shop, "graph", "--format", "s") == ["svg"]
