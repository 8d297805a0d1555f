"""Conditions: which hold, what is said about them, and which cannot be worked out."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from onward.model.conditions import Condition
from onward.model.status import Status
from onward.state.instance import Stage
from onward.tasks.answers import Answer
from onward.tasks.attempt_folder import Exit
from onward.tasks.commands import Stopped
from onward.tasks.conditions import ask, same_json
from onward.tasks.keeper_link import ProgramRequest
from tasks.conftest import MakeWorld
from tasks.world import World, exit_of

TEXT = """
variables: {{v: x, n: "3", m: nan, empty: ""}}
task:
  - done: {{run: "true"}}
  - called: {{call: "m:f"}}
  - one: {{run: "true", skip-if: {condition}}}
"""


@pytest.fixture
def asked(world: MakeWorld, tmp_path: Path):  # type: ignore[no-untyped-def]
    def answer(condition: str, **variables: str) -> Answer:
        made = world(TEXT.format(condition=condition), variables=variables)
        made.ended("done", text="3")
        made.ended("called", json={"n": 3, "l": [1], "t": True, "e": {}, "nothing": None})
        return made.ask("one", *conditions_of(made))

    (tmp_path / "file.txt").write_text("first\nprice: $5\n", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    (tmp_path / "bytes").write_bytes(b"\x80\xff")
    for name, moment in (("old", 1000), ("new", 2000), ("same", 2000)):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (moment, moment))
    return answer


def conditions_of(made: World, path: str = "one") -> tuple[Condition, ...]:
    node = made.at(path).node
    return node.skip_if or node.after  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("condition", "holds", "words"),
    [
        ("{file-exists: file.txt}", True, "file.txt exists"),
        ("{file-exists: [file.txt, folder]}", True, "file.txt, folder exist"),
        ("{file-exists: [file.txt, none, neither]}", False, "none, neither do not exist"),
        ("{file-exists: file.txt/below}", False, "does not exist"),
        ("{file-missing: none}", True, "none does not exist"),
        ("{file-missing: folder}", False, "folder exists"),
        ("{file-contains: {path: file.txt, text: 'price: $5'}}", True, "holds"),
        ("{file-contains: {path: file.txt, text: '{{v}}'}}", False, 'does not hold "x"'),
        ("{file-contains: {path: file.txt, matches: '(?m)^price'}}", True, "a match of `(?m)^price`"),
        ("{file-contains: {path: none, text: x}}", False, "none does not exist"),
        ("{newer: {file: new, than: old}}", True, "new is newer than old"),
        ("{newer: {file: new, than: [old, same]}}", False, "new is not newer than same"),
        ("{newer: {file: none, than: old}}", False, "none does not exist"),
        ("{newer: {file: new, than: none}}", False, "none does not exist"),
        ("{command: 'test -e file.txt'}", True, "exit code 0"),
        ("{command: 'echo no such thing >&2; exit 3'}", False, "exit code 3: no such thing"),
        ("{command: [test, '{{v}}', '=', x]}", True, "`test {{v}} = x`"),
        ("{command: 'kill -9 $$'}", False, "killed by SIGKILL"),
        ("{equals: ['{{v}}', x]}", True, '"x" equals "x"'),
        ("{equals: ['{{done.text}}', 3]}", True, "equals"),
        ("{equals: ['{{called.json.n}}', '{{n}}']}", True, "equals"),
        ("{equals: ['{{called.json.t}}', 1]}", False, "true is not 1"),
        ("{equals: ['{{called.json.l}}', [1.0]]}", True, "equals"),
        ("{equals: ['{{called.json.nothing}}', x]}", False, 'null is not "x"'),
        ("{matches: ['{{v}}', '^X$']}", False, "does not match"),
        ("{matches: ['{{v}}', '(?i)^X$']}", True, "matches"),
        ("{empty: '{{empty}}'}", True, "is empty"),
        ("{empty: '{{called.json.e}}'}", True, "is empty"),
        ("{empty: '{{called.json.nothing}}'}", True, "is empty"),
        ("{empty: '{{called.json.not.there}}'}", True, "there is no value"),
        ("{empty: '{{done.text}}'}", False, '"3" is not empty'),
        ("{at-least: ['{{done.text}}', 3]}", True, "3 is at least 3"),
        ("{at-least: ['10', 9]}", True, "10 is at least 9"),
        ("{at-most: ['{{called.json.n}}', '2.5']}", False, "3 is not at most 2.5"),
        ("{succeeded: done}", True, "`done` is succeeded"),
        ("{failed: done}", False, "`done` is succeeded"),
        ("{all: [{succeeded: done}, {file-exists: none}, {command: 'touch reached'}]}", False, "none does not exist"),
        ("{any: [{file-exists: none}, {file-exists: folder}]}", True, "folder exists"),
        ("{any: [{file-exists: none}, {failed: done}]}", False, "none holds: none does not exist; `done` is"),
        ("{not: {file-exists: none}}", True, "none does not exist"),
        ("[{file-exists: folder}, {succeeded: done}]", True, "folder exists; `done` is succeeded"),
    ],
)
def test_a_condition_holds_or_not_and_says_what_was_seen(asked, condition: str, holds: bool, words: str) -> None:  # type: ignore[no-untyped-def]
    answer = asked(condition)
    assert (answer.result, answer.error) == (holds, False), answer.detail
    assert words in answer.detail


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("{file-contains: {path: folder, text: x}}", "folder is no file"),
        ("{file-contains: {path: bytes, text: x}}", "not UTF-8"),
        ("{at-least: ['{{v}}', 1]}", '"x" is no number'),
        ("{at-least: ['{{m}}', 1]}", "is no number"),
        ("{at-most: ['{{called.json.t}}', 1]}", "true is no number"),
        ("{matches: [x, '{{v}}(']}", "is no regular expression"),
        ("{command: [no-such-program-here]}", "cannot be started"),
        ("{command: 'no-such-program-here'}", "cannot be run: exit code 127"),
        ("{equals: ['{{called.json.not.there}}', x]}", "has no value"),
        ("{file-exists: '{{n}}'}", "may lead out of"),
        ("{not: {command: no-such-program-here}}", "cannot be run"),
        ("{any: [{command: no-such-program-here}, {succeeded: done}]}", "cannot be run"),
    ],
)
def test_what_cannot_be_worked_out_is_an_error_and_not_false(asked, condition: str, words: str) -> None:  # type: ignore[no-untyped-def]
    answer = asked(condition, n="../x")
    assert (answer.result, answer.error) == (False, True)
    assert words in answer.detail
    assert "cannot be worked out" in answer.detail


def test_a_list_stops_at_the_first_that_does_not_hold(asked, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    asked("[{file-exists: none}, {command: 'touch reached'}]")
    assert not (tmp_path / "reached").exists()


def test_a_command_has_the_environment_and_folder_of_its_node_and_a_folder_of_its_own(
    world: MakeWorld, tmp_path: Path
) -> None:
    made = world("""
variables: {v: x}
task:
  - one:
      run: "true"
      directory: sub
      env: {E: "{{v}}"}
      skip-if: [{command: 'echo $v $E $ONWARD_TASK > seen'}, {command: "true"}]
""")
    (tmp_path / "sub").mkdir()
    assert made.ask("one", *conditions_of(made)).result
    assert (tmp_path / "sub" / "seen").read_text() == "x x one\n"
    first, second = made.requests
    assert first.folder != second.folder
    assert first.marker != second.marker
    assert Path(first.folder).parent == Path(made.context.node_folder("one"))


@pytest.mark.parametrize(("timeout", "limit"), [("", 60.0), ("timeout: 5m,", 300.0)])
def test_a_command_has_the_time_of_its_node_or_a_minute(world: MakeWorld, timeout: str, limit: float) -> None:
    made = world(f"task:\n  - one: {{run: 'true', {timeout} skip-if: {{command: 'true'}}}}\n")
    made.ask("one", *conditions_of(made))
    assert made.requests[0].timeout_s == limit


def ended(made: World, exit: Exit) -> Answer:
    async def run(request: ProgramRequest) -> Exit:
        return exit

    return asyncio.run(ask(made.around, made.at("one"), conditions_of(made), "skip-if", run))


def test_a_command_that_takes_too_long_gives_no_answer(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true', skip-if: {command: 'sleep 90'}}\n")
    answer = ended(made, exit_of(None, signal="SIGTERM", ended_by="timeout"))
    assert answer.error
    assert "did not end within 1 m" in answer.detail


def test_a_command_that_was_stopped_by_a_pause_is_no_answer_at_all(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true', skip-if: {command: 'sleep 90'}}\n")
    with pytest.raises(Stopped):
        ended(made, exit_of(None, signal="SIGTERM", ended_by="stop"))


def test_what_comes_after_the_work_sees_its_own_result_and_outputs(world: MakeWorld) -> None:
    made = world("""
task:
  - one:
      run: 'echo 7; echo out > "$ONWARD_OUT/x"'
      ensure: {after: [{equals: ["{{self.text}}", 7]}, {command: 'grep -q out "$ONWARD_OUT/x"'}]}
""")
    made.attempt("one")
    assert made.ask("one", *conditions_of(made), purpose="after").result


def test_until_sees_the_round_that_has_just_ended(world: MakeWorld) -> None:
    made = world("""
task:
  - repair:
      loop: {until: [{succeeded: check}, {equals: ["{{check.text}}", "{{index}}"]}], max: 5}
      task:
        - check: {run: "true", on-failure: continue}
""")
    loop = made.at("repair")
    until = loop.node.loop.until
    made.ended("repair[1]/check", Status.FAILED, text="red")
    assert not made.ask("repair", *until, purpose="until").result
    loop.cursor = 1
    made.ended("repair[2]/check", text="2")
    assert made.ask("repair", *until, purpose="until").result


def test_while_sees_the_round_before_and_nothing_before_the_first(world: MakeWorld) -> None:
    made = world("""
task:
  - go:
      loop: {while: {not: {equals: ['{{check.text | default "none"}}', stop]}}, max: 5}
      task: [{check: {run: "true"}}]
""")
    loop = made.at("go")
    assert made.ask("go", *loop.node.loop.while_, purpose="while").result
    made.ended("go[1]/check", text="stop")
    loop.cursor = 1
    assert not made.ask("go", *loop.node.loop.while_, purpose="while").result


def test_a_node_that_failed_is_seen_so_by_its_own_final_steps(world: MakeWorld) -> None:
    made = world("""
task:
  - deploy:
      task: [{a: {run: "false"}}]
      finally: [{tell: {run: "true", skip-if: {succeeded: deploy}}}]
""")
    deploy = made.at("deploy")
    deploy.stage, deploy.result = Stage.CLOSING, Status.FAILED
    tell = made.at("deploy/@finally/tell")
    assert made.ask(tell.path, *tell.node.skip_if).detail == "`deploy` is failed"


def test_json_values_are_equal_as_json() -> None:
    assert same_json({"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]})
    assert not same_json(True, 1)
    assert not same_json([0], [False])
    assert not same_json({"a": 1}, {"a": 1, "b": 1})


def test_in_a_folder_that_is_not_there_yet_nothing_exists(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'true', directory: later, skip-if: {file-exists: done.txt}}\n")
    answer = made.ask("one", *conditions_of(made))
    assert (answer.result, answer.error) == (False, False)
