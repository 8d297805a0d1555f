"""`daily-sales`: a pipeline of shell commands, killed in each of its shapes, and with nothing done twice."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.workshop import Workshop

DAY = "2026-03-02"
PROGRAMS = ("clean", "load", "totals", "notify", "alarm")
DONE = {
    f"curl {DAY}.zip",
    "unzip",
    "clean orders.csv",
    "clean items.csv",
    "load orders orders.csv",
    "load items items.csv",
    f"totals --day {DAY}",
    f"notify --title Sales {DAY}, revenue 521.7",
}


@pytest.fixture
def shop(tmp_path: Path):
    found = Workshop(tmp_path / "example", "daily-sales", stand_ins=("curl", "unzip", "jq"))
    subprocess.run([sys.executable, found.root / "bin/sample", DAY], check=True, timeout=60)
    for name in PROGRAMS:
        found.note_program(f"bin/{name}")
    yield found
    found.finish()


def run(shop: Workshop) -> tuple[str, ...]:
    return ("run", "daily-sales.yaml", "--var", f"day={DAY}", "--var", f"source=file://{shop.root}/sample")


def products(shop: Workshop) -> dict[str, Any]:
    store = sqlite3.connect(shop.root / "sales.sqlite")
    tables = {name: sorted(store.execute(f"SELECT * FROM {name}").fetchall()) for name in ("orders", "items")}
    store.close()
    files = {path.name: path.read_text() for path in sorted((shop.root / "clean").iterdir())}
    return tables | files | {"totals": json.loads(shop.read("totals.json")), "messages": shop.read("messages.txt")}


def check_products(shop: Workshop) -> None:
    found = products(shop)
    assert found["orders.csv"] == "order,customer\n1,Ada\n2,Grace\n4,Edsger\n"
    assert [len(found["orders"]), len(found["items"])] == [3, 4]
    assert found["totals"] == {"day": DAY, "rows": 4, "revenue": 521.7}
    assert found["messages"].count("\n") == 2
    assert found["messages"].startswith(f"Sales {DAY}, revenue 521.7\n{{")
    assert sorted(path.name for path in (shop.root / "clean").iterdir()) == ["items.csv", "orders.csv"]
    assert not (shop.root / "raw" / DAY).exists(), "tidied up"


def test_it_loads_a_day_and_tells_the_totals(shop: Workshop):
    checked = shop.onward("check", "daily-sales.yaml").check()
    assert "warning" not in checked.out + checked.err
    shop.to_the_end(*run(shop))
    assert shop.did() == dict.fromkeys(DONE, 1)
    check_products(shop)


POINTS = {
    f"curl {DAY}.zip": (),
    "clean orders.csv": ("clean[items.csv]",),
    "load items items.csv": ("load-orders",),
    f"totals --day {DAY}": (),
}


@pytest.mark.parametrize("point", POINTS)
def test_killed_it_does_nothing_twice_that_had_ended(shop: Workshop, point: str):
    shop.killed_at(point, *run(shop), after=POINTS[point])
    shop.to_the_end("resume", "--yes")
    assert shop.did() == dict.fromkeys(DONE, 1)
    assert shop.did("begin")[point] == 2
    check_products(shop)


def test_after_a_failure_it_unpacks_again_what_was_tidied_up(shop: Workshop):
    real = shop.root / "bin" / "real-clean"
    text = real.read_text()
    real.write_text("#!/bin/sh\nexit 1\n")
    shop.onward(*run(shop)).check(1)
    assert shop.read("messages.txt").startswith(f"ALARM Sales {DAY} failed in run ")
    assert not (shop.root / "raw" / DAY).exists()
    real.write_text(text)
    (shop.root / "messages.txt").unlink()
    shop.to_the_end("resume", "--yes")
    assert shop.did()["unzip"] == 2
    assert shop.did()[f"curl {DAY}.zip"] == 1
    check_products(shop)
