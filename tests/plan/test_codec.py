"""A plan is stored as JSON and read back without YAML, and is lean."""

import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from onward.errors import StateError
from onward.plan.codec import decode_plan, encode_plan
from onward.plan.make import make_plan
from onward.spec.load import load
from plan.planning import Workshop

EXAMPLES = sorted((Path(__file__).parent / "workflows").glob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_plan_comes_back_as_it_was(path: Path) -> None:
    plan, _ = make_plan(load(path))
    assert decode_plan(encode_plan(plan)) == plan
    assert encode_plan(decode_plan(encode_plan(plan))) == encode_plan(plan)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_worked_examples_need_nothing_but_what_they_say(path: Path) -> None:
    plan, warnings = make_plan(load(path), ["pr_number"])
    assert [str(each) for each in warnings] == []
    assert len({node.path for node in plan.root.walk()}) == sum(1 for _ in plan.root.walk())


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b'{"name": 1}', b"\xff"])
def test_a_damaged_plan_is_an_error_of_ours(text: bytes) -> None:
    with pytest.raises(StateError) as caught:
        decode_plan(text)
    assert caught.value.help


def test_reading_a_stored_plan_loads_no_yaml() -> None:
    program = (
        "import sys, onward.plan.codec, onward.plan.diff; print('yaml' in sys.modules, 'onward.spec' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split() == ["False", "False"]


def test_ten_thousand_tasks_make_a_small_plan(w: Workshop) -> None:
    lines = "\n".join(f"  - t{i}: {{run: 'echo {i}', title: 'T {{{{v}}}}'}}" for i in range(10_000))
    (w.folder / "w.yaml").write_text(f"variables: {{v: x}}\ntask:\n{lines}\n")
    document = load(w.folder / "w.yaml")
    tracemalloc.start()
    try:
        plan, _ = make_plan(document)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 15_000_000
    first, second = (step[0] for step in plan.root.steps[:2])
    assert first.env is second.env
    assert first.title.parts[1] is second.title.parts[1]  # type: ignore[union-attr]
