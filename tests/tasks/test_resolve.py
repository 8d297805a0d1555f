"""References become values: texts filled in once, data with its types, paths that stay inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.errors import StoreError, TaskError, ValueMissing
from onward.model.status import Status
from onward.model.values import Data
from onward.tasks.failures import Failure
from onward.tasks.insertion import fenced, lines_of
from tasks.conftest import MakeWorld
from tasks.world import World

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

TWO = """
task:
  - one: {run: "true"}
  - two: {prompt: 'before {{one.text}} after'}
"""


def prompt_about(reference: str, first: str = 'run: "true"') -> str:
    return f"task:\n  - one: {{{first}}}\n  - two: {{prompt: '{reference}'}}\n"


def filled(world: MakeWorld, reference: str, first: str = 'run: "true"', **outputs: Any) -> str:
    made = world(prompt_about(reference, first))
    made.ended("one", **outputs)
    return made.text("two")


@QUICK
@given(TEXTS)
def test_a_text_arrives_as_it_is(tmp_path: Path, value: str) -> None:
    made = World(tmp_path, TWO)
    made.ended("one", text=value)
    assert made.text("two") == f"before {value} after"


@QUICK
@given(TEXTS)
def test_a_value_is_never_scanned_again(tmp_path: Path, value: str) -> None:
    made = World(tmp_path, TWO)
    made.ended("one", text="{{two.text}} {{nothing}} " + value)
    assert made.text("two") == "before {{two.text}} {{nothing}} " + value + " after"


@QUICK
@given(JSON)
def test_the_json_filter_gives_text_that_reads_back_as_the_value(tmp_path: Path, value: Any) -> None:
    made = World(tmp_path, prompt_about("{{one.json | json}}", 'call: "m:f"'))
    made.ended("one", json=[value])
    assert json.loads(made.text("two")) == [value]


@QUICK
@given(st.text(st.sampled_from("`~a\n ")))
def test_a_fence_is_longer_than_any_inside_and_holds_the_text_unchanged(text: str) -> None:
    lines = fenced(text).split("\n")
    fence = lines[0]
    assert fence == lines[-1]
    assert set(fence) == {"`"}
    assert fence not in text
    inside = "\n".join(lines[1:-1])
    assert inside + "\n" in (text, text + "\n")


def test_numbers_and_truth_values_print_as_json(world: MakeWorld) -> None:
    source = "{{one.json.a}} {{one.json.b}} {{one.json.c}} {{one.json.big}}"
    values = {"a": 1, "b": True, "c": 1.5, "big": 998877665544332211009988776655}
    assert filled(world, source, 'call: "m:f"', json=values) == "1 true 1.5 998877665544332211009988776655"


@pytest.mark.parametrize("value", [["x"], {"x": 1}, None])
def test_a_list_mapping_or_null_in_text_is_refused_and_the_help_names_the_filter(world: MakeWorld, value: Any) -> None:
    with pytest.raises(Failure) as caught:
        filled(world, "say {{one.json.x}}", 'call: "m:f"', json={"x": value})
    assert caught.value.code == "needs-json"
    assert "{{one.json.x | json}}" in str(caught.value)


def test_a_value_with_a_nul_byte_is_no_text(world: MakeWorld) -> None:
    with pytest.raises(Failure, match="NUL"):
        filled(world, "say {{one.json.x}}", 'call: "m:f"', json={"x": "a\0b"})


def test_the_default_stands_for_a_skipped_node_and_for_a_part_that_is_not_there(world: MakeWorld) -> None:
    source = '{{one.text | default "none"}}'
    made = world(prompt_about(source))
    made.end("one", Status.SKIPPED)
    assert made.text("two") == "none"
    assert filled(world, '{{one.json.a.b | default "nothing" | fence}}', 'call: "m:f"', json={"a": 1}) == (
        "```\nnothing\n```"
    )


def test_a_default_does_not_replace_a_value_that_is_empty(world: MakeWorld) -> None:
    assert filled(world, '[{{one.text | default "none"}}]', text="") == "[]"


def test_a_missing_value_is_named_as_it_is_written(world: MakeWorld) -> None:
    made = world(prompt_about("{{one.text | fence}}"))
    made.end("one", Status.SKIPPED)
    with pytest.raises(ValueMissing) as caught:
        made.text("two")
    assert "`{{one.text | fence}}` has no value" in str(caught.value)
    assert "was skipped" in str(caught.value)


def test_keys_and_numbers_lead_into_json_and_lists(world: MakeWorld) -> None:
    source = '{{one.json.a[1].b}} {{one.json["c d"]}} {{one.json.list[0]}}'
    assert filled(world, source, 'call: "m:f"', json={"a": [0, {"b": "x"}], "c d": "y", "list": ["z"]}) == "x y z"


def test_lines_are_those_that_are_not_empty(world: MakeWorld) -> None:
    assert filled(world, "{{one.lines | json}}", text="a\r\n\n b\n\nc") == '["a"," b","c"]'
    assert lines_of("\n\n") == []


def test_json_comes_from_the_text_of_a_command_and_from_the_last_fence_of_a_reply(world: MakeWorld) -> None:
    assert filled(world, "{{one.json.x}}", text='{"x": 3}') == "3"
    reply = 'First:\n```json\n{"x": 1}\n```\nNo, rather:\n```json\n{"x": 2}\n```\nDone.'
    assert filled(world, "{{one.json.x}}", "prompt: go", text=reply) == "2"


@pytest.mark.parametrize("text", ["no json", "NaN", '{"x": 1e999}', "[" * 100_000])
def test_text_that_is_no_json_is_told_and_not_guessed(world: MakeWorld, text: str) -> None:
    with pytest.raises(Failure) as caught:
        filled(world, "{{one.json | json}}", text=text)
    assert caught.value.code == "not-json"


def test_a_lone_reference_keeps_its_type_in_data(world: MakeWorld) -> None:
    made = world("""
task:
  - one: {call: "m:f"}
  - two: {call: "m:g", with: {whole: "{{one.json}}", part: "n={{one.json.n}}", deep: {list: [1, "{{one.json.n}}"]}}}
""")
    made.ended("one", json={"n": 3})
    instance = made.at("two")
    assert made.around.resolver.data(instance, instance.node.work.arguments) == {
        "whole": {"n": 3},
        "part": "n=3",
        "deep": {"list": [1, 3]},
    }
    plain = Data(value={"a": [1]})
    assert made.around.resolver.data(instance, plain) is plain.value


@pytest.mark.parametrize("size", [0, 10, 100_000])
def test_the_path_filter_names_a_file_that_holds_the_value(world: MakeWorld, size: int) -> None:
    path = filled(world, "{{one.text | path}}", text="é" * size)
    assert path.startswith("/")
    assert Path(path).read_text(encoding="utf-8") == "é" * size


def test_the_path_of_json_holds_json(world: MakeWorld) -> None:
    path = filled(world, "{{one.json.a | path}}", 'call: "m:f"', json={"a": [1, "ü"]})
    assert Path(path).read_text(encoding="utf-8") == '[1,"ü"]'


@pytest.mark.parametrize("value", ["../x", "/etc/passwd", "a/../../x", "", "a\0b"])
def test_a_path_with_a_value_stays_inside(world: MakeWorld, value: str) -> None:
    made = world("variables: {v: x}\ntask:\n  - one: {run: 'true', artifacts: ['{{v}}']}\n", variables={"v": value})
    instance = made.at("one")
    with pytest.raises(TaskError):
        made.around.resolver.path_text(instance, instance.node.artifacts[0].path)


def test_a_path_with_dots_in_a_name_is_fine(world: MakeWorld) -> None:
    made = world("variables: {v: x}\ntask:\n  - one: {run: 'true', artifacts: ['a/{{v}}']}\n", variables={"v": "..x"})
    instance = made.at("one")
    assert made.around.resolver.path_text(instance, instance.node.artifacts[0].path) == "a/..x"


# --- results, loops, includes -------------------------------------------------------------------------------------


def test_results_of_a_group_say_status_text_json_and_outputs(world: MakeWorld) -> None:
    made = world("""
task:
  - group:
      parallel:
        a: {run: "true", outputs: {n: text}}
        b: {call: "m:f"}
        c: {run: "false", on-failure: continue}
        d: {run: "true"}
  - two: {prompt: "{{group.results | json}}"}
""")
    made.ended("group/a", text="ta", n="7")
    made.ended("group/b", json=[1])
    made.ended("group/c", Status.FAILED, text="why")
    made.end("group/d", Status.SKIPPED)
    made.end("group")
    assert json.loads(made.text("two")) == {
        "a": {"status": "succeeded", "text": "ta", "outputs": {"n": "7"}},
        "b": {"status": "succeeded", "json": [1], "outputs": {}},
        "c": {"status": "failed", "text": "why", "outputs": {}},
        "d": {"status": "skipped", "outputs": {}},
    }


def test_iterations_are_reached_by_key_and_all_together(world: MakeWorld) -> None:
    made = world("""
task:
  - each: {loop: {for-each: [x, y]}, run: "true"}
  - two: {prompt: '{{each["y"].text}} {{each.results["x"].text}} {{each.results | json}}'}
""")
    made.items("each", "x", "y")
    for key in ("x", "y"):
        made.ended(f"each[{key}]", text=f"<{key}>")
    made.end("each")
    start, _, rest = made.text("two").partition(" <x> ")
    assert start == "<y>"
    assert list(json.loads(rest)) == ["x", "y"]


def test_the_item_and_index_of_a_loop_are_those_of_the_iteration(world: MakeWorld) -> None:
    made = world("""
task:
  - each:
      loop: {for-each: [{n: 1}, {n: 2}], as: row}
      task:
        - say: {prompt: "{{index}}: {{row.n}}"}
""")
    made.items("each", {"n": 10}, {"n": 20})
    assert made.text("each[2]/say") == "2: 20"


def test_the_last_round_is_seen_from_the_next(world: MakeWorld) -> None:
    made = world("""
task:
  - repair:
      loop: {until: {succeeded: check}, max: 5}
      task:
        - fix: {prompt: '{{previous.check.text | default "none yet"}}'}
        - check: {run: "false", on-failure: continue}
""")
    made.ended("repair[1]/check", Status.FAILED, text="red")
    assert made.text("repair[1]/fix") == "none yet"
    assert made.text("repair[2]/fix") == "red"


def test_an_included_file_sees_its_own_variables_only(world: MakeWorld, tmp_path: Path) -> None:
    (tmp_path / "inner.yaml").write_text(
        "variables: {a: {required: true}, b: two}\noutputs: {got: '{{a}}'}\ntask:\n"
        "  - say: {prompt: '{{a | json}} {{b}}'}\n"
    )
    made = world("variables: {a: outer}\ntask:\n  - part: {include: inner.yaml, with: {a: ['{{a}}', 1]}}\n")
    assert made.text("part/say") == '["outer",1] two'
    outputs = made.at("part").node.values
    assert made.around.resolver.data(made.at("part"), outputs[0].value) == ["outer", 1]


def test_a_failed_leaf_is_seen_from_its_own_failure_steps(world: MakeWorld) -> None:
    made = world("""
task:
  - deploy:
      run: "false"
      on-failure: {task: [{tell: {prompt: "{{deploy.status}}: {{deploy.text}}"}}]}
""")
    made.attempt("deploy")
    assert made.text("deploy/@on-failure/tell") == "failed: "


def test_the_attempt_number_is_that_of_the_attempt_in_the_making(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: [echo, '{{attempt}} {{run_id}} {{datetime}}']}\n")
    made.tell(*[made.prepare("one", 1).event])
    assert made.prepare("one", 2).argv[1] == "2 w-1 2026-01-31T10:00:00+01:00"


# --- the digest of inputs -----------------------------------------------------------------------------------------


def test_inputs_without_references_have_no_digest(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true'}\n")
    assert made.around.resolver.inputs_digest(made.at("one")) is None


def test_the_digest_follows_the_values_and_not_where_they_lie(world: MakeWorld) -> None:
    made = world("""
variables: {v: a}
task:
  - one: {run: "true"}
  - two: {run: [echo, "{{one.text | path}}"], env: {V: "{{v}}"}}
""")
    digests = []
    for text, variable in (("x", "a"), ("y", "a"), ("y", "b"), ("x", "a"), ("x" * 9000, "a"), ("x" * 9000, "a")):
        made.ended("one", text=text)
        made.state.facts.variables["v"] = variable
        digests.append(made.around.resolver.inputs_digest(made.at("two")))
    assert len(set(digests)) == 4
    assert digests[0] == digests[3]
    assert digests[4] == digests[5]


def test_values_that_a_container_puts_into_the_environment_count_too(world: MakeWorld) -> None:
    made = world("""
task:
  - one: {run: "true"}
  - phase: {env: {X: "{{one.text}}"}, task: [{two: {run: "true"}}]}
""")
    made.ended("one", text="x")
    before = made.around.resolver.inputs_digest(made.at("phase/two"))
    made.ended("one", text="y")
    assert before is not None
    assert made.around.resolver.inputs_digest(made.at("phase/two")) != before


def test_a_result_that_nothing_used_when_it_ended_is_read_from_its_log(world: MakeWorld, tmp_path: Path) -> None:
    made = world("task:\n  - one: {run: 'seq 2000'}\n")
    end = made.do("one")
    assert "text" not in end.outputs
    later = world("task:\n  - one: {run: 'seq 2000'}\n  - two: {prompt: '{{one.lines[1999]}}'}\n")
    later.tell(made.prepare("one").event, end)
    later.end("one")
    assert later.text("two") == "2000"
    (Path(made.context.attempt_folder("one", 1)) / "out").write_text("cut")
    with pytest.raises(ValueMissing):
        later.text("two")


def test_a_large_result_is_handed_on_as_the_file_that_it_is(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = world("""
task:
  - one: {run: "true"}
  - in: {run: [cat], stdin: "{{one.text}}"}
  - arg: {run: [cat, "{{one.text | path}}"]}
""")
    made.ended("one", text="x" * 9000)
    made.values.flush()
    monkeypatch.setattr(made.values, "get", lambda digest: pytest.fail("it was read"))
    path = made.values.path(made.at("one").outputs["text"].sha256 or "")
    assert made.prepare("in").stdin == path
    assert made.prepare("arg").argv == ("cat", path)


def test_a_stored_result_that_was_altered_is_not_handed_on(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true'}\n  - in: {run: [cat], stdin: '{{one.text}}'}\n")
    made.ended("one", text="x" * 9000)
    made.values.flush()
    Path(made.values.path(made.at("one").outputs["text"].sha256 or "")).write_text("other")
    with pytest.raises(StoreError, match="altered"):
        made.prepare("in")
