"""`onward init`: what it writes can be checked and run, it asks on a terminal, and overwrites nothing."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pexpect
import pytest

from cli.runs_on_disk import Shop
from onward.cli.starters import STARTERS
from onward.spec.schema import schema_text


@pytest.mark.parametrize("template", STARTERS)
def test_a_starter_has_no_faults_and_runs(shop: Shop, template: str) -> None:
    shop.call("init", "--template", template)
    assert shop.call("check", "workflow.yaml").startswith("workflow.yaml: no errors, ")
    assert "warning" not in shop.call("check", "workflow.yaml")
    shop.call("run", "workflow.yaml", "-q")
    assert shop.data("status")["status"] == "succeeded"


def test_the_first_line_leads_an_editor_to_the_schema(shop: Shop) -> None:
    below = shop.folder / "deep" / "flows"
    below.mkdir(parents=True)
    shop.store.make()
    shop.call("init", "deep/flows/nightly.yaml", "--template", "shell")
    first, *_ = (below / "nightly.yaml").read_text().split("\n")
    assert first == "# yaml-language-server: $schema=../../.onward/workflow.schema.json"
    assert (below / "../../.onward/workflow.schema.json").read_text("utf-8") == schema_text()
    assert not (below / ".onward").exists(), "there is a store above"
    assert "name: nightly\n" in (below / "nightly.yaml").read_text()


def test_it_says_what_it_made(shop: Shop) -> None:
    made = shop.data("init", "x.yaml", "--template", "python")
    assert made["files"] == ["x.yaml", "steps.py"]
    assert Path(made["editor_schema"]).is_file()
    assert shop.call("init", "y.yaml", "--template", "shell") == "y.yaml\n"


@pytest.mark.parametrize("there", ["workflow.yaml", "steps.py"])
def test_nothing_is_overwritten(shop: Shop, there: str) -> None:
    (shop.folder / there).write_text("mine")
    said = shop.run("init", "--template", "python")
    assert said.returncode == 2
    assert f"{there} is there already; nothing was written".encode() in said.stderr
    assert [path.name for path in shop.folder.iterdir()] == [there]
    assert (shop.folder / there).read_text() == "mine"


def test_a_link_that_leads_nowhere_is_not_written_through(shop: Shop) -> None:
    (shop.folder / "workflow.yaml").symlink_to("elsewhere.yaml")
    shop.call("init", "--template", "shell", code=2)
    assert not (shop.folder / "elsewhere.yaml").exists()


def test_without_a_terminal_the_template_must_be_named(shop: Shop) -> None:
    said = shop.run("init")
    assert (said.returncode, list(shop.folder.iterdir())) == (2, [])
    assert b"--template shell|agents|python" in said.stderr
    assert b"there is no template `rust`" in shop.run("init", "--template", "rust").stderr


def test_a_folder_that_is_not_there_is_told(shop: Shop) -> None:
    said = shop.run("init", "nowhere/w.yaml", "--template", "shell")
    assert said.returncode == 2
    assert b"there is no folder nowhere" in said.stderr
    assert list(shop.folder.iterdir()) == []


def at_a_terminal(shop: Shop, *keys: str) -> tuple[int | None, str]:
    child = pexpect.spawn(
        sys.executable,
        ["-m", "onward", "init"],
        cwd=str(shop.folder),
        env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8"},
        encoding="utf-8",
        timeout=30,
    )
    try:
        for key in keys:
            child.expect("A number or a name")
            child.send(key)
        child.expect(pexpect.EOF)
        child.wait()
        return child.exitstatus, child.before
    finally:
        child.close(force=True)


def test_it_asks_at_a_terminal(shop: Shop) -> None:
    code, _ = at_a_terminal(shop, "7\r", "agents\r")
    assert code == 0
    assert "prompt:" in (shop.folder / "workflow.yaml").read_text()


def test_the_end_of_what_was_typed_is_no_answer(shop: Shop) -> None:
    code, said = at_a_terminal(shop, "\x04")
    assert code == 2
    assert "--template" in said
    assert list(shop.folder.iterdir()) == []
