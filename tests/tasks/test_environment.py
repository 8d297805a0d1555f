"""What a process finds in its environment, and where it works."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.tasks.context import caller_environment
from onward.tasks.environment import marker_of
from onward.tasks.failures import Failure
from onward.tasks.keeper_link import ProgramRequest
from tasks.conftest import MakeWorld
from tasks.world import CALLER, World, run_program

AWKWARD = "costs $5, $NOPE and ${NOPE}, `id`, $(id), {braces}, {{note}}, 100%, 'q' \"d\" \\ \n\ttab é 漢 🚀\r\n"
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=200)


def test_from_the_caller_to_onward_the_nearer_wins(world: MakeWorld) -> None:
    made = world(
        """
variables: {v: variable, w: variable, x: variable}
env: {w: root, x: root, ROOT: root}
task:
  - phase:
      env: {x: phase, PHASE: '{{v}}!'}
      task:
        - one: {run: "true", env: {ONE: one}}
""",
        environment={**CALLER, "v": "caller", "ONWARD_KEY": "of another run", "ONWARD_STORE": "/s"},
    )
    env = made.prepare("phase/one").env
    wanted = {"v": "variable", "w": "root", "x": "phase", "ROOT": "root", "PHASE": "variable!", "ONE": "one",
              "HOME": "/home-of-the-caller", "ONWARD_STORE": "/s", "ONWARD_RUN_ID": "w-1",
              "ONWARD_TASK": "phase/one", "ONWARD_ATTEMPT": "1", "ONWARD_KEY": "w-1:phase/one",
              "ONWARD_ATTEMPT_ID": marker_of(made.context.folder, "phase/one", 1),
              "ONWARD_DATETIME": "2026-01-31T10:00:00+01:00", "ONWARD_FEEDBACK": "/dev/null"}  # fmt: skip
    assert {name: env[name] for name in wanted} == wanted
    assert env["ONWARD_OUT"].startswith(made.context.attempt_folder("phase/one", 1))


def test_the_recorded_variable_wins_over_an_exported_one_on_every_resume(world: MakeWorld) -> None:
    text = "variables: {table: foo}\ntask:\n  - use: {run: 'echo use:$table'}\n"
    for caller in ({**CALLER}, {**CALLER, "table": "other"}):
        made = world(text, environment=caller)
        assert made.prepare("use").env["table"] == "foo"


def test_the_environment_of_the_driver_is_read_once(world: MakeWorld) -> None:
    caller = {**CALLER, "LATE": "before"}
    made = world("task:\n  - one: {run: 'true'}\n", environment=caller)
    caller["LATE"] = "after"
    assert made.prepare("one").env["LATE"] == "before"


def test_declared_secrets_and_their_sources_are_taken_out_and_released_by_name(world: MakeWorld) -> None:
    made = world(
        """
secrets: {TOKEN: {env: MY_TOKEN}, OTHER: {file: x}}
task:
  - open: {run: "true"}
  - with: {secrets: [TOKEN], task: [{inner: {run: "true"}}]}
  - lacking: {secrets: [OTHER], run: "true"}
""",
        environment={**CALLER, "MY_TOKEN": "s3cret", "TOKEN": "s3cret", "OTHER": "o"},
        secrets={"TOKEN": "s3cret"},
    )
    assert not {"TOKEN", "MY_TOKEN", "OTHER"} & made.prepare("open").env.keys()
    assert made.prepare("with/inner").env["TOKEN"] == "s3cret"
    with pytest.raises(Failure, match="OTHER"):
        made.prepare("lacking")


def test_text_loop_variables_are_there_and_the_inner_one_wins(world: MakeWorld) -> None:
    made = world("""
task:
  - outer:
      loop: {for-each: [a, b], as: x}
      task:
        - inner: {loop: {for-each: [1, 2], as: y}, run: "true", env: {BOTH: "{{x}}{{y}}"}}
""")
    made.items("outer", "a", "b")
    made.items("outer[b]/inner", 1, 2)
    env = made.prepare("outer[b]/inner[2]").env
    assert (env["x"], env["y"], env["BOTH"]) == ("b", "2", "b2")


def test_a_merge_step_inherits_what_does_not_differ_from_iteration_to_iteration(world: MakeWorld) -> None:
    made = world("""
task:
  - each:
      loop: {for-each: [a], as: x}
      env: {FIXED: "1", EACH: "{{x}}"}
      task: [{one: {run: "true"}}]
      merge: [{sum: {run: "true"}}]
""")
    made.items("each", "a")
    env = made.prepare("each/@merge/sum").env
    assert env["FIXED"] == "1"
    assert "EACH" not in env
    assert made.prepare("each[a]/one").env["EACH"] == "a"


def test_an_included_file_brings_its_own_variables_and_environment(world: MakeWorld, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.yaml").write_text(
        "variables: {v: inner}\nenv: {E: '{{v}} {{given}}', X: inner}\ntask:\n  - say: {run: 'true'}\n"
    )
    made = world("""
variables: {v: outer, w: outer}
task:
  - part: {include: sub/inner.yaml, with: {given: yes}, env: {OUTER: "{{v}}", X: outer}}
""")
    prepared = made.prepare("part/say")
    env = prepared.env
    assert (env["v"], env["given"], env["E"], env["OUTER"], env["X"]) == ("inner", "yes", "inner yes", "outer", "inner")
    assert "w" not in env
    assert prepared.cwd == str(tmp_path / "sub")


def test_a_rerun_by_hand_has_a_key_of_its_own(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true'}\n")
    before = made.prepare("one", 1).env["ONWARD_KEY"], made.prepare("one", 2).env["ONWARD_KEY"]
    made.at("one").generation = 2
    assert before == ("w-1:one", "w-1:one")
    assert made.prepare("one", 3).env["ONWARD_KEY"] == "w-1:one+2"


@pytest.mark.parametrize("value", ["x" * 65_537, "é" * 40_000])
def test_a_value_too_large_for_an_environment_is_refused_with_the_two_ways_round(world: MakeWorld, value: str) -> None:
    made = world("task:\n  - one: {run: 'true'}\n  - two: {run: 'true', env: {X: '{{one.text}}'}}\n")
    made.ended("one", text=value)
    with pytest.raises(Failure) as caught:
        made.prepare("two")
    assert caught.value.code == "too-big"
    assert "stdin:" in str(caught.value)
    assert "| path" in str(caught.value)


def test_a_large_variable_stays_out_unless_the_script_uses_it(world: MakeWorld) -> None:
    made = world(
        "variables: {big: x}\ntask:\n  - one: {run: 'echo big'}\n  - two: {run: 'echo \"${big}\"'}\n",
        variables={"big": "x" * 70_000},
        environment={**CALLER, "big": "of the caller"},
    )
    assert "big" not in made.prepare("one").env
    with pytest.raises(Failure, match="`big`"):
        made.prepare("two")


def test_a_call_gets_what_differs_from_its_worker(world: MakeWorld) -> None:
    made = world(
        "variables: {v: x, big: x}\nenv: {LANG: de}\ntask:\n  - one: {call: 'm:f'}\n",
        variables={"big": "x" * 70_000},
        environment={**CALLER, "big": "of the caller"},
    )
    prepared = made.prepare("one")
    whole = {**made.context.environment, **prepared.env}
    for name in prepared.unset:
        del whole[name]
    assert prepared.unset == ("big",)
    assert "PATH" not in prepared.env
    assert whole == made.around.environments.of(made.at("one"), _about(prepared.env))


def _about(env: object):  # type: ignore[no-untyped-def]
    from onward.tasks.environment import About

    assert isinstance(env, dict)
    return About(path="one", attempt=1, key=env["ONWARD_KEY"], marker=env["ONWARD_ATTEMPT_ID"], out=env["ONWARD_OUT"])


# --- case A15: values that look like code -------------------------------------------------------------------------


THREE_WAYS = """
variables: {note: x}
task:
  - env: {run: 'printf %s "$note"'}
  - own: {run: 'printf %s "$OTHER"', env: {OTHER: "{{note}}"}}
  - arg: {run: [printf, "%s", "{{note}}"]}
  - in: {run: [cat], stdin: "{{note}}"}
  - agent: {prompt: "{{note}}", adapter: echo}
"""


@pytest.mark.parametrize("path", ["env", "own", "arg", "in", "agent"])
def test_a_value_that_looks_like_code_arrives_byte_for_byte(world: MakeWorld, path: str) -> None:
    made = world(THREE_WAYS, variables={"note": AWKWARD})
    made.attempt(path)
    assert (Path(made.context.attempt_folder(path, 1)) / "out").read_bytes() == AWKWARD.encode()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS)
def test_any_text_arrives_byte_for_byte_in_every_way(tmp_path: Path, value: str) -> None:
    made = World(tmp_path, THREE_WAYS, variables={"note": value})
    for path in ("own", "arg", "in"):
        request = made.prepare(path).request()
        assert isinstance(request, ProgramRequest)
        out = Path(request.folder) / "out"
        out.unlink(missing_ok=True)
        run_program(request)
        assert (out.read_bytes() if out.exists() else b"") == value.encode()


def test_a_megabyte_goes_through_stdin_and_a_file(world: MakeWorld) -> None:
    made = world("""
task:
  - one: {run: "true"}
  - in: {run: [cat], stdin: "{{one.text}}"}
  - file: {run: [cat, "{{one.text | path}}"]}
""")
    value = (AWKWARD * 20_000)[:1_000_000]
    made.ended("one", text=value)
    for path in ("in", "file"):
        made.attempt(path)
        assert (Path(made.context.attempt_folder(path, 1)) / "out").read_bytes() == value.encode()


def test_a_scripts_own_braces_are_left_alone(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: \"printf %s '{{.Names}} {{#if x}}'\"}\n")
    assert made.attempt("one").outputs["text"].value == "{{.Names}} {{#if x}}"


# --- folders ------------------------------------------------------------------------------------------------------


def test_each_directory_is_relative_to_the_one_around_it(world: MakeWorld, tmp_path: Path) -> None:
    made = world("""
directory: base
variables: {v: deep}
task:
  - phase: {directory: a, task: [{one: {run: "true", directory: "{{v}}"}}, {two: {run: "true"}}]}
""")
    (tmp_path / "base" / "a" / "deep").mkdir(parents=True)
    assert made.prepare("phase/one").cwd == str(tmp_path / "base" / "a" / "deep")
    assert made.prepare("phase/two").cwd == str(tmp_path / "base" / "a")


def test_a_directory_that_is_not_there_is_named(world: MakeWorld, tmp_path: Path) -> None:
    made = world("task:\n  - one: {run: 'true', directory: nowhere}\n")
    with pytest.raises(Failure, match=str(tmp_path / "nowhere")):
        made.prepare("one")


def test_iterations_may_work_in_folders_of_their_own_and_merge_works_around_them(
    world: MakeWorld, tmp_path: Path
) -> None:
    made = world("""
task:
  - each:
      loop: {for-each: [a, b], as: x}
      directory: "in-{{x}}"
      task: [{one: {run: "true"}}]
      merge: [{sum: {run: "true"}}]
""")
    made.items("each", "a", "b")
    (tmp_path / "in-b").mkdir()
    assert made.prepare("each[b]/one").cwd == str(tmp_path / "in-b")
    assert made.prepare("each/@merge/sum").cwd == str(tmp_path)


def test_what_a_task_around_us_was_given_is_not_passed_on(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true'}\n")
    given = {"ONWARD_TASK": "x", "ONWARD_FEEDBACK": "y", "ONWARD_ENGINE": "embedded", "PWD": "/elsewhere"}
    left = caller_environment(made.plan, given)
    assert left == {"ONWARD_ENGINE": "embedded"}
