"""Commands that read start quickly, because they load little: checked by names of modules, never by time."""

import subprocess
import sys

import pytest

from cli.runs_on_disk import Shop, done, output
from onward.model import events as ev
from onward.model.status import Status
from state.simulation import leaf, plan

HEAVY = {"asyncio", "concurrent", "jsonschema", "logging", "rich", "socket", "subprocess", "temporalio", "yaml"}
PARTS = {"onward.engine", "onward.plan", "onward.spec"}


@pytest.mark.parametrize(
    "words",
    [["status"], ["status", "--json"], ["runs"], ["runs", "--json"], ["logs"], ["show"], ["show", "w-1", "one"]],
    ids=" ".join,
)
def test_a_reading_command_loads_neither_yaml_nor_asyncio_nor_rich(shop: Shop, words: list[str]) -> None:
    folder = shop.make(plan(leaf("one")), [*done("one"), ev.WorkflowEnd(status=Status.SUCCEEDED)])
    output(folder, "one", b"x\n")
    loaded = loaded_by(shop, words)
    assert "onward.views.source" in loaded
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
    assert {".".join(name.split(".")[:2]) for name in loaded} & PARTS == set()


def test_a_check_drives_nothing(shop: Shop) -> None:
    (shop.folder / "w.yaml").write_text("task: [{one: {run: 'true'}}]", encoding="utf-8")
    loaded = loaded_by(shop, ["check", "w.yaml"])
    assert "onward.spec.load" in loaded
    assert {name.partition(".")[0] for name in loaded} & (HEAVY - {"yaml"}) == set()
    assert not any(name.startswith("onward.engine") for name in loaded)


def loaded_by(shop: Shop, words: list[str]) -> set[str]:
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "onward", *words],
        cwd=shop.folder,
        env={},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    lines = [line for line in ended.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}
