"""`onward.toml`, `[tool.onward]` and the environment: which setting counts, and what is said about a bad one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cli.runs_on_disk import Shop
from onward.cli.settings import BadSettings, Settings, settings_for

WORKFLOW = "task:\n  - ask: {prompt: hello}\n"


@pytest.fixture(autouse=True)
def _no_named_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONWARD_CONFIG", raising=False)


def test_the_nearest_file_above_counts(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "onward.toml").write_text('adapter = "far"\nlimit = 3\n')
    assert settings_for(below) == Settings(adapter="far", limit=3, file=tmp_path / "onward.toml")
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.onward]\nadapter = "near"\n')
    assert settings_for(below) == Settings(adapter="near", file=tmp_path / "a" / "pyproject.toml")
    (tmp_path / "a" / "onward.toml").write_text('adapter = "nearest"\n')
    assert settings_for(below).adapter == "nearest"


def test_a_project_file_that_says_nothing_about_onward_is_passed_over(tmp_path: Path) -> None:
    below = tmp_path / "a"
    below.mkdir()
    (tmp_path / "onward.toml").write_text("limit = 3\n")
    (below / "pyproject.toml").write_text('[project]\nname = "onward"\nthis is not TOML\n')
    assert settings_for(below).limit == 3


def test_a_store_is_relative_to_the_file_that_names_it(tmp_path: Path) -> None:
    below = tmp_path / "a"
    below.mkdir()
    (tmp_path / "onward.toml").write_text('store = "../runs"\n')
    assert settings_for(below).store == str(tmp_path.parent / "runs")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("limit = 1\nadaptor = 2\n", "onward.toml:2: there is no setting `adaptor`\nhelp: did you mean `adapter`?"),
        (
            "[colours]\n",
            "onward.toml:1: there is no setting `colours`\nhelp: known are: store, adapter, limit, engine, temporal",
        ),
        ("\nlimit = 0\n", "onward.toml:2: `limit` must be a whole number from 1, not 0"),
        ("limit = true\n", "onward.toml:1: `limit` must be a whole number from 1, not True"),
        ("store = 7\n", "onward.toml:1: `store` must be text, not 7"),
        ('engine = "steam"\n', "onward.toml:1: `engine` must be embedded or temporal, not 'steam'"),
        ("limit = \n", "onward.toml is not TOML: Invalid value (at line 1, column 9)"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "onward.toml").write_text(text)
    with pytest.raises(BadSettings) as failure:
        settings_for(tmp_path)
    assert str(failure.value) == f"{tmp_path}/{said}"


def test_the_place_in_a_project_file_is_that_of_our_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nlimt = 1\n[tool.onward]\nlimt = 1\n")
    with pytest.raises(BadSettings, match=r"pyproject.toml:4: there is no setting `limt`"):
        settings_for(tmp_path)


def test_the_file_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "onward.toml").write_text("limit = 3\n")
    if os.geteuid() == 0:
        os.chown(tmp_path / "onward.toml", 4242, -1)
    monkeypatch.setattr(os, "geteuid", lambda: 4243)
    with pytest.raises(BadSettings, match="belongs to another user"):
        settings_for(tmp_path)
    monkeypatch.setenv("ONWARD_CONFIG", str(tmp_path / "onward.toml"))
    assert settings_for(tmp_path).limit == 3


# ---------------------------------------------------------------- the commands


def adapter_of(shop: Shop, *words: str, **env: str) -> str | None:
    """The adapter that a run was started with."""
    (shop.folder / "w.yaml").write_text(WORKFLOW)
    shop.call("run", "w.yaml", "-q", *words, code=None, env=env)
    store = shop.folder / (env.get("ONWARD_STORE") or ".onward")
    first = max((store / "runs").iterdir(), key=os.path.getmtime) / "journal.jsonl"
    found: str | None = json.loads(first.read_text().splitlines()[0]).get("adapter")
    return found


def test_a_flag_is_stronger_than_the_environment_and_that_than_the_file(shop: Shop) -> None:
    assert adapter_of(shop, "--adapter", "echo") == "echo"
    (shop.folder / "onward.toml").write_text('adapter = "of-the-file"\n')
    assert adapter_of(shop) == "of-the-file"
    assert adapter_of(shop, ONWARD_ADAPTER="of-the-environment") == "of-the-environment"
    assert adapter_of(shop, "--adapter", "echo", ONWARD_ADAPTER="of-the-environment") == "echo"


def test_commands_find_the_store_that_the_file_names(shop: Shop) -> None:
    (shop.folder / "onward.toml").write_text('store = "kept"\n')
    (shop.folder / "w.yaml").write_text("task:\n  - a: {run: 'true'}\n")
    said = shop.run("run", "w.yaml", "--id", "r")
    assert said.returncode == 0
    assert b"onward status r\n" in said.stderr, "no --store is needed to find it again"
    assert (shop.folder / "kept" / "runs" / "r").is_dir()
    assert not (shop.folder / ".onward").exists()
    assert shop.data("runs")["runs"][0]["run"] == "r"
    assert shop.data("runs", "--store", "elsewhere")["runs"] == []


def test_a_workflow_elsewhere_brings_its_own_settings(shop: Shop) -> None:
    other = shop.folder / "other"
    other.mkdir()
    (other / "onward.toml").write_text('store = "kept"\n')
    (other / "w.yaml").write_text("task:\n  - a: {run: 'true'}\n")
    said = shop.run("run", "other/w.yaml", "--id", "r")
    assert (other / "kept" / "runs" / "r").is_dir()
    assert f"--store {other / 'kept'}".encode() in said.stderr


def test_an_engine_that_is_not_there_is_refused(shop: Shop) -> None:
    (shop.folder / "w.yaml").write_text("task:\n  - a: {run: 'true'}\n")
    assert b"there is no engine `steam`" in shop.run("run", "w.yaml", env={"ONWARD_ENGINE": "steam"}).stderr
    shop.call("run", "w.yaml", "-q", "--engine", "embedded")
