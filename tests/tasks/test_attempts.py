"""An attempt from its preparation to its end: what is started, what is kept, what the next attempt hears."""

from __future__ import annotations

from pathlib import Path

import pytest

from onward.model.events import AttemptEnd
from onward.model.status import Outcome
from onward.tasks import exit_record, output_files
from onward.tasks.environment import marker_of
from onward.tasks.failures import Failure
from onward.tasks.keeper_link import CallRequest, ProgramRequest
from onward.tasks.prepare import prepared_before
from tasks.conftest import MakeWorld
from tasks.world import World, exit_of, run_program


def one(made: World, **stopped: str) -> AttemptEnd:
    return made.attempt("one", **stopped)


def run(script: str, more: str = "") -> str:
    """One `run` task whose text somebody uses."""
    block = "\n".join(f"        {line}" for line in script.splitlines())
    return f"task:\n  - one:\n      run: |\n{block}\n{more}\n  - use: {{prompt: '{{{{one.text}}}}'}}\n"


def returned(made: World, text: str, path: str = "one") -> AttemptEnd:
    """The end of a call that returned this JSON."""
    prepared = made.prepare(path)
    made.tell(prepared.event)
    end = prepared.collect(made.around, exit_of(0, result=text))
    made.tell(end)
    return end


# --- requests -----------------------------------------------------------------------------------------------------


def test_a_script_is_one_argument_of_its_shell(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'echo \"$0\"', shell: sh, timeout: 5s}\n")
    request = made.prepare("one").request()
    assert isinstance(request, ProgramRequest)
    assert request.argv == ("sh", "-eu", "-c", 'echo "$0"')
    assert (request.stdin, request.timeout_s, request.idle_s) == (None, 5.0, None)
    assert request.id == request.marker == marker_of(made.context.folder, "one", 1)


def test_preparing_changes_nothing_on_the_disk(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: [cat], stdin: text}\n")
    made.prepare("one")
    assert not Path(made.context.folder).exists()


@pytest.mark.parametrize(
    ("shell", "start"),
    [("bash", ["bash", "-euo", "pipefail"]), ("sh", ["sh", "-eu"]), ("[bash, -ec]", ["bash", "-e"])],
)
def test_a_long_script_is_run_from_a_file(world: MakeWorld, shell: str, start: list[str]) -> None:
    script = "# " + "x" * 70_000 + "\\nprintf done"
    made = world(f'task:\n  - one: {{run: "{script}", shell: {shell}}}\n')
    request = made.prepare("one").request()
    assert isinstance(request, ProgramRequest)
    assert [*request.argv[:-1]] == start
    assert Path(request.argv[-1]).stat().st_size > 70_000
    assert one(world(f'task:\n  - one: {{run: "{script}", shell: {shell}}}\n')).outputs["text"].value == "done"


def test_a_long_script_for_a_shell_that_takes_no_file_is_refused(world: MakeWorld) -> None:
    made = world(f"task:\n  - one: {{run: '{'x' * 70_000}', shell: [python3, -I]}}\n")
    with pytest.raises(Failure) as caught:
        made.prepare("one")
    assert caught.value.code == "too-big"


def test_a_call_gets_its_arguments_with_their_types(world: MakeWorld) -> None:
    made = world("""
task:
  - zero: {call: "m:f"}
  - one: {call: "pkg.mod:function", timeout: 2s, with: {n: 3, t: "x {{zero.json.a}}", v: "{{zero.json}}"}}
""")
    made.ended("zero", json={"a": 1})
    request = made.prepare("one").request()
    assert isinstance(request, CallRequest)
    assert request.target == "pkg.mod:function"
    assert request.arguments == {"n": 3, "t": "x 1", "v": {"a": 1}}
    assert request.timeout_s == 2.0
    assert not Path(request.folder).exists()


def test_the_start_of_an_attempt_says_what_is_begun(world: MakeWorld, tmp_path: Path) -> None:
    made = world("variables: {v: a}\ntask:\n  - one: {prompt: '{{v}}', adapter: echo}\n")
    event = made.prepare("one", 3).event
    assert (event.path, event.attempt, event.key, event.adapter) == ("one", 3, "w-1:one", "echo")
    assert event.definition_sha256 == made.at("one").node.digest
    assert event.session_directory == str(tmp_path)
    assert event.inputs_sha256 == made.around.resolver.inputs_digest(made.at("one"))


# --- how it ended -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("exit 3", "exit code 3"),
        ("kill -9 $$", "killed by SIGKILL (137)"),
        ("kill -TERM $$", "killed by SIGTERM (143)"),
        ("bash -c 'kill -9 $$'", "exit code 137 (as after SIGKILL)"),
    ],
)
def test_what_ended_badly_says_how(world: MakeWorld, script: str, words: str) -> None:
    end = one(world(run(f"echo part\n{script}\necho rest")))
    assert (end.outcome, end.error, end.final) == (Outcome.ERROR, words, False)
    assert end.outputs["text"].value == "part"


def test_a_missing_program_is_an_outcome_that_no_retry_can_mend(world: MakeWorld) -> None:
    end = one(world("task:\n  - one: {run: [no-such-program-here]}\n"))
    assert end.outcome is Outcome.ERROR
    assert end.final
    assert "no-such-program-here" in (end.error or "")


@pytest.mark.parametrize(
    ("fields", "stopped", "outcome", "words"),
    [
        ({"ended_by": "timeout", "code": 0}, None, Outcome.TIMEOUT, "timed out after 2 m"),
        ({"ended_by": "idle", "signal": "SIGTERM"}, None, Outcome.TIMEOUT, "printed nothing for its time"),
        ({"ended_by": "stop", "signal": "SIGTERM"}, "paused", Outcome.INTERRUPTED, "paused"),
        ({"ended_by": "stop", "signal": "SIGKILL"}, None, Outcome.INTERRUPTED, "stopped"),
        ({"code": 0}, "paused", Outcome.OK, None),
    ],
)
def test_who_ended_it_decides_the_outcome(
    world: MakeWorld, fields: dict[str, object], stopped: str | None, outcome: Outcome, words: str | None
) -> None:
    made = world("task:\n  - one: {run: 'true', timeout: 2m}\n")
    prepared = made.prepare("one")
    prepared.request()
    end = prepared.collect(made.around, exit_of(fields.pop("code", None), **fields), stopped=stopped)  # type: ignore[arg-type]
    assert (end.outcome, end.error, end.final) == (outcome, words, False)


# --- text ---------------------------------------------------------------------------------------------------------


def test_text_is_what_was_printed_without_its_last_newline(world: MakeWorld) -> None:
    end = one(world(run(r"printf ' a\r\n\n b\n\n'")))
    assert end.outputs["text"].value == " a\r\n\n b\n"
    assert end.stdout is not None
    assert end.stdout["bytes"] == 9


def test_a_large_text_lies_in_the_store_and_a_small_one_in_the_event(world: MakeWorld) -> None:
    made = world(run("head -c 5000 /dev/zero | tr '\\0' x; echo"))
    value = one(made).outputs["text"]
    assert (value.bytes, value.value) == (5000, None)
    assert made.values.load(value) == "x" * 5000


def test_a_text_that_nobody_uses_is_kept_only_when_short(world: MakeWorld) -> None:
    assert one(world("task:\n  - one: {run: 'seq 3'}\n")).outputs["text"].value == "1\n2\n3"
    assert one(world("task:\n  - one: {run: 'seq 2000'}\n")).outputs == {}


def test_bytes_that_are_no_text_are_an_error_only_where_somebody_uses_them(world: MakeWorld) -> None:
    script = r"printf '\200\377\n'; printf 'caf\303'; printf '\251\n'"
    unused = one(world(f"task:\n  - one:\n      run: {script}\n"))
    assert (unused.outcome, unused.outputs) == (Outcome.OK, {})
    used = one(world(run(script)))
    assert used.outcome is Outcome.INVALID
    assert "not UTF-8" in (used.error or "")
    failed = one(world(run(script + "; exit 3")))
    assert (failed.outcome, failed.error, failed.outputs) == (Outcome.ERROR, "exit code 3", {})


def test_a_nul_byte_is_no_text_either(world: MakeWorld) -> None:
    assert "NUL" in (one(world(run(r"printf 'a\0b'"))).error or "")


def test_a_letter_cut_in_two_by_a_chunk_is_still_a_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_files, "_CHUNK", 3)
    output_files.check_text("aé漢🚀".encode() * 3, "x")
    with pytest.raises(Failure):
        output_files.check_text("aé".encode()[:-1], "x")


def test_a_text_that_is_too_large_is_refused_with_its_size_and_the_limit(
    world: MakeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_files, "MOST_BYTES", 10_000)
    end = one(world(run("head -c 20000 /dev/zero | tr '\\0' x")))
    assert end.outcome is Outcome.INVALID
    assert "20,000 bytes; the limit for a value is 10,000" in (end.error or "")
    assert one(world("task:\n  - one: {run: \"head -c 20000 /dev/zero | tr '\\\\0' x\"}\n")).outcome is Outcome.OK


def test_a_log_that_is_shorter_than_its_record_is_not_taken(world: MakeWorld) -> None:
    made = world(run("echo something"))
    prepared = made.prepare("one")
    prepared.request()
    end = prepared.collect(made.around, exit_of(0, out=10))
    assert end.outcome is Outcome.INVALID


# --- outputs ------------------------------------------------------------------------------------------------------

OUTPUTS = """      outputs: {title: text, files: lines, facts: json}"""


def test_outputs_are_read_from_their_files(world: MakeWorld) -> None:
    made = world(run(
        'echo "a title" > "$ONWARD_OUT/title"\nprintf "a\\n\\nb c\\n" > "$ONWARD_OUT/files"\n'
        'echo \'{"n": 998877665544332211009988776655}\' > "$ONWARD_OUT/facts"', OUTPUTS))  # fmt: skip
    end = one(made)
    values = {name: made.values.load(value) for name, value in end.outputs.items()}
    big = 998877665544332211009988776655
    assert values == {"text": "", "title": "a title", "files": ["a", "b c"], "facts": {"n": big}}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ('echo x > "$ONWARD_OUT/title"; echo y > "$ONWARD_OUT/files"', "output `facts` is missing"),
        ('touch "$ONWARD_OUT/"{title,files}; echo "{" > "$ONWARD_OUT/facts"', "is not JSON"),
        ('mkdir "$ONWARD_OUT/title"', "is no file"),
        ('mkfifo "$ONWARD_OUT/title"', "is no file"),
        ("printf '\\377' > \"$ONWARD_OUT/title\"", "not UTF-8"),
    ],
)
def test_an_output_that_does_not_fit_makes_the_attempt_invalid(world: MakeWorld, script: str, words: str) -> None:
    end = one(world(run(script, OUTPUTS)))
    assert end.outcome is Outcome.INVALID
    assert words in (end.error or "")


def test_a_task_whose_text_is_used_as_json_fails_when_it_ends(world: MakeWorld) -> None:
    text = "task:\n  - one: {run: '%s'}\n  - use: {prompt: '{{one.json.x}}'}\n"
    assert one(world(text % 'echo "{}"')).outcome is Outcome.OK
    end = one(world(text % "echo no"))
    assert end.outcome is Outcome.INVALID
    assert "its output is not JSON" in (end.error or "")


def test_numbers_that_a_task_measured_are_kept(world: MakeWorld) -> None:
    end = one(world(run('echo \'{"lines": 3, "ratio": 0.5, "word": "x", "yes": true}\' > "$ONWARD_OUT/metrics"')))
    assert end.metrics == {"lines": 3, "ratio": 0.5}
    assert one(world(run('echo broken > "$ONWARD_OUT/metrics"'))).outcome is Outcome.OK


@pytest.mark.parametrize(("text", "value"), [("null", None), ('{"a": [1, 2.5, "ü"]}', {"a": [1, 2.5, "ü"]})])
def test_what_a_call_returns_is_its_json(world: MakeWorld, text: str, value: object) -> None:
    made = world("task:\n  - one: {call: 'm:f'}\n")
    assert made.values.load(returned(made, text).outputs["json"]) == value


def test_a_large_return_value_comes_from_its_file(world: MakeWorld) -> None:
    made = world("task:\n  - one: {call: 'm:f'}\n")
    prepared = made.prepare("one")
    Path(prepared.folder).mkdir(parents=True)
    Path(prepared.folder, exit_record.RESULT_FILE).write_text('["' + "x" * 50_000 + '"]')
    end = prepared.collect(made.around, exit_of(0, result_file=True))
    assert made.values.load(end.outputs["json"]) == ["x" * 50_000]


def test_the_outputs_of_a_call_are_fields_of_what_it_returns(world: MakeWorld) -> None:
    text = "task:\n  - one: {call: 'm:f', outputs: {n: text, l: lines, j: json}}\n"
    made = world(text)
    end = returned(made, '{"n": 3, "l": ["a"], "j": null}')
    assert {n: made.values.load(v) for n, v in end.outputs.items() if n != "json"} == {"n": "3", "l": ["a"], "j": None}
    assert "output `n` is missing" in (returned(world(text), "[]").error or "")
    assert "declared as lines" in (returned(world(text), '{"n": "", "l": [1], "j": 1}').error or "")


def test_a_failed_call_says_what_was_raised(world: MakeWorld) -> None:
    made = world("task:\n  - one: {call: 'm:f'}\n")
    end = made.prepare("one").collect(made.around, exit_of(1, error="ValueError: no"))
    assert (end.outcome, end.error, end.final) == (Outcome.ERROR, "ValueError: no", False)


# --- schema -------------------------------------------------------------------------------------------------------

SCHEMA = "schema: {type: object, required: [n], properties: {n: {type: integer}}}"


def test_a_result_is_checked_against_its_schema(world: MakeWorld) -> None:
    pytest.importorskip("jsonschema")
    text = f"task:\n  - one: {{call: 'm:f', {SCHEMA}}}\n"
    assert returned(world(text), '{"n": 3}').outcome is Outcome.OK
    end = returned(world(text), '{"n": "three"}')
    assert end.outcome is Outcome.INVALID
    assert "at .n: 'three' is not of type 'integer'" in (end.error or "")


def test_a_schema_that_points_elsewhere_asks_no_server(world: MakeWorld) -> None:
    pytest.importorskip("jsonschema")
    made = world("task:\n  - one: {call: 'm:f', schema: {$ref: 'http://localhost:9/x.json'}}\n")
    end = returned(made, "{}")
    assert end.outcome is Outcome.INVALID
    assert "the schema cannot be used" in (end.error or "")


def test_without_the_package_the_message_says_how_to_get_it(world: MakeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "jsonschema.validators", None)
    end = returned(world(f"task:\n  - one: {{call: 'm:f', {SCHEMA}}}\n"), '{"n": 1}')
    assert "onward[schema]" in (end.error or "")


# --- agents -------------------------------------------------------------------------------------------------------

AGENT = """
adapters:
  mine:
    command: [sh, -c, '{script}', agent]
    prompt: {prompt}
    reply: {reply}
    session: 'jsonl:session'
    continue: [sh, -c, '{script}', again, '{{session}}']
    model: ['--model', '{{model}}']
    usage: 'jsonl:usage'
    cost: 'jsonl:cost'
    limit: 'jsonl:limit.resets_at'
task:
  - one: {{prompt: "do {{{{run_id}}}}", adapter: mine, {more}}}
"""


def agent(script: str, *, prompt: str = "stdin", reply: str = "jsonl:reply", more: str = "session: keep") -> str:
    return AGENT.format(script=script.replace("'", "''"), prompt=prompt, reply=reply, more=more)


def test_echo_repeats_the_prompt(world: MakeWorld) -> None:
    made = world("task:\n  - one: {prompt: \"hello\\n\"}\n", adapter="echo")
    assert one(made).outputs["text"].value == "hello"


def test_a_prompt_without_an_adapter_goes_to_claude(world: MakeWorld) -> None:
    prepared = world("task:\n  - one: {prompt: hello}\n").prepare("one")
    assert prepared.argv[0] == "claude"
    assert prepared.event.session is not None, "its session has a name before it starts"


@pytest.mark.parametrize("prompt", ["stdin", "argument", "file"])
def test_the_prompt_goes_where_the_adapter_wants_it(world: MakeWorld, prompt: str) -> None:
    read = {"stdin": "cat", "argument": 'printf "%s" "$3"', "file": 'cat "$3"'}[prompt]
    made = world(agent(f"{read}; echo \" $1 $2\"", prompt=prompt, reply="text", more="model: big"))
    assert one(made).outputs["text"].value == "do w-1 --model big"


def test_reply_session_usage_and_cost_are_found_in_the_lines(world: MakeWorld) -> None:
    script = (
        'echo warning; echo \'{"session": "s1", "reply": "first"}\'; '
        'echo \'{"usage": {"in": 3, "more": {"out": 4}}}\'; '
        'echo \'{"reply": "last", "cost": 0.25}\'; echo \'{"other": 1}\''
    )
    end = one(world(agent(script)))
    assert (end.outcome, end.outputs["text"].value, end.session) == (Outcome.OK, "last", "s1")
    assert end.usage == {"in": 3.0, "more.out": 4.0, "usd": 0.25}


def test_a_reply_may_be_one_json_value(world: MakeWorld) -> None:
    made = world(agent('echo \'{"a": [{"text": "deep"}]}\'', reply="json:a.0.text", more="model: x"))
    assert one(made).outputs["text"].value == "deep"


def test_exit_code_0_without_a_reply_is_no_success(world: MakeWorld) -> None:
    end = one(world(agent("echo '{\"session\": \"s1\"}'")))
    assert end.outcome is Outcome.ERROR
    assert "without a reply" in (end.error or "")
    assert end.session == "s1"


@pytest.mark.parametrize("code", [0, 1])
def test_a_limit_is_no_failure_and_says_until_when(world: MakeWorld, code: int) -> None:
    end = one(world(agent(f"echo '{{\"limit\": {{\"resets_at\": 1900000000}}}}'; exit {code}")))
    assert end.outcome is Outcome.LIMITED
    assert end.reset_at is not None
    assert end.reset_at.timestamp() == 1_900_000_000


def test_a_retry_continues_the_kept_conversation_with_the_feedback_alone(world: MakeWorld) -> None:
    script = 'cat > "got-$0"; echo "{\\"session\\": \\"s1\\", \\"reply\\": \\"$1\\"}"; test "$0" = again'
    made = world(agent(script))
    first = one(made)
    assert first.outcome is Outcome.ERROR
    second = made.attempt("one", 2)
    assert (second.outcome, second.outputs["text"].value) == (Outcome.OK, "s1")
    assert made.prepare("one", 2).event.session == "s1"
    assert (made.folder / "got-agent").read_text() == "do w-1"
    said = (made.folder / "got-again").read_text()
    assert "do w-1" not in said
    assert "exit code 1" in said


def test_an_answer_from_another_conversation_is_no_success(world: MakeWorld) -> None:
    made = world(agent('echo "{\\"session\\": \\"s$0\\", \\"reply\\": \\"x\\"}"; test "$0" = again'))
    one(made)
    end = made.attempt("one", 2)
    assert end.outcome is Outcome.ERROR
    assert "another conversation" in (end.error or "")


def test_an_interrupted_conversation_is_told_so(world: MakeWorld) -> None:
    made = world(agent('cat; echo "{\\"session\\": \\"s1\\", \\"reply\\": \\"x\\"}"; exit 1'))
    prepared = made.prepare("one")
    made.tell(prepared.event)
    prepared.request()
    made.tell(AttemptEnd(path="one", attempt=1, outcome=Outcome.INTERRUPTED, session="s1"))
    assert b"You were interrupted" in made.prepare("one", 2).files["prompt"]


def test_a_rerun_by_hand_begins_a_new_conversation(world: MakeWorld) -> None:
    made = world(agent('echo "{\\"session\\": \\"s1\\", \\"reply\\": \\"x\\"}"'))
    made.do("one")
    leaf = made.at("one")
    leaf.generation, leaf.used = 1, 0
    assert made.prepare("one", 2).event.session is None


# --- feedback -----------------------------------------------------------------------------------------------------


def test_the_next_attempt_finds_what_was_wrong_in_a_file(world: MakeWorld) -> None:
    made = world(run('cat "$ONWARD_FEEDBACK" > told; echo "no luck" >&2; exit 4'))
    first = one(made)
    assert (made.folder / "told").read_text() == ""
    assert first.feedback_sha256 is not None
    made.attempt("one", 2)
    assert (made.folder / "told").read_text() == "exit code 4\n\nno luck"


def test_a_prompt_is_given_again_with_the_feedback_quoted_behind_it(world: MakeWorld) -> None:
    made = world(agent("cat >&2; exit 1", more="retry: {attempts: 2}"))
    one(made)
    prompt = made.prepare("one", 2).files["prompt"].decode()
    assert prompt.startswith("do w-1\n\n")
    assert "```\nexit code 1\n\ndo w-1\n```" in prompt


def test_an_interruption_does_not_swallow_the_feedback_before_it(world: MakeWorld) -> None:
    made = world(run("exit 4"))
    one(made)
    prepared = made.prepare("one", 2)
    made.tell(prepared.event)
    prepared.request()
    made.tell(AttemptEnd(path="one", attempt=2, outcome=Outcome.INTERRUPTED))
    assert made.prepare("one", 3).files == {"feedback-given": b"exit code 4"}


def test_feedback_is_the_end_of_what_was_said(world: MakeWorld) -> None:
    made = world(run("seq 5000 >&2; exit 4"))
    one(made)
    told = (Path(made.context.attempt_folder("one", 1)) / "feedback").read_text()
    assert len(told) <= 8192
    assert told.endswith("4999\n5000")



@pytest.mark.parametrize(
    ("task", "own"),
    [
        ("run: './measure'", False),
        ("run: [./measure, x]", False),
        ("run: 'echo 1 > \"$ONWARD_OUT/x\"'", True),
        ("run: [sh, -c, 'echo 1 > \"$ONWARD_OUT/x\"']", True),
        ("run: './measure', outputs: {x: text}", True),
    ],
)
def test_outputs_have_a_folder_of_their_own_where_there_may_be_any(world: MakeWorld, task: str, own: bool) -> None:
    prepared = world(f"task:\n  - one: {{{task}}}\n").prepare("one")
    prepared.request()
    assert (prepared.env["ONWARD_OUT"] != prepared.folder) is own
    assert Path(prepared.env["ONWARD_OUT"]).is_dir()


def test_a_program_that_is_not_known_to_measure_may_do_so(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'sh ./measure'}\n")
    (made.folder / "measure").write_text('echo \'{"n": 3}\' > "$ONWARD_OUT/metrics"')
    assert one(made).metrics == {"n": 3}


def test_the_result_of_an_attempt_of_an_earlier_driver_is_taken_from_its_folder(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'echo 7; echo 8 > \"$ONWARD_OUT/x\"', outputs: {x: text}}\n")
    prepared = made.prepare("one")
    made.tell(prepared.event)
    request = prepared.request()
    assert isinstance(request, ProgramRequest)
    exit = run_program(request)
    end = prepared_before(made.around, made.at("one")).collect(made.around, exit)
    assert end == prepared.collect(made.around, exit)
    assert end.outputs["x"].value == "8"


def test_an_agent_whose_adapter_is_gone_has_no_reply(world: MakeWorld) -> None:
    made = world("task:\n  - one: {prompt: hello}\n", adapter="gone")
    end = prepared_before(made.around, made.at("one")).collect(made.around, exit_of(0, out=3))
    assert end.outcome is Outcome.ERROR
    assert "adapter" in (end.error or "")
