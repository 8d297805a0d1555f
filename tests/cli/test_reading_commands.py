"""`status`, `runs`, `logs`, `show`, `verify`, `check`: what they print, as words and as data, and their exit codes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cli.runs_on_disk import Shop, attempt, done, failed, output
from onward.model import events as ev
from onward.model.nodes import Plan
from onward.model.status import Outcome, Status
from onward.model.values import Artifact, Value
from onward.store.folder import RunFolder
from state.simulation import leaf, parallel, plan, task

REVIEW = plan(
    leaf("fetch", title="Fetch the changes"),
    parallel("review", leaf("security"), leaf("tests"), leaf("docs")),
    leaf("sign-off"),
)
BROKEN_OFF = [
    *done("fetch"),
    ev.NodeStart(path="review"),
    *done("review/docs"),
    *failed("review/security", exit=3, error="exit code 3"),
    *attempt("review/tests", 1, None),
]
FINISHED = [*done("one"), ev.WorkflowEnd(status=Status.SUCCEEDED)]
ONE = plan(leaf("one"))


def without_times(text: str) -> str:
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d\d:\d\d", "TIME", text)
    text = re.sub(r"just now|\d+ (?:second|minute)s? ago", "AGO", text)
    return re.sub(r"\b\d+\.\ds\b", "0.0s", text)


# ---------------------------------------------------------------- status


def test_the_status_of_an_interrupted_run_in_words(shop: Shop) -> None:
    shop.make(REVIEW, BROKEN_OFF)
    assert without_times(shop.call("status")) == (
        "w-1\n"
        "interrupted: it has not ended, and nothing drives it\n"
        "2 of 5 tasks done (40%), step 2 of 3, started TIME (AGO)\n"
        "\n"
        "  ✓ fetch  Fetch the changes  0.0s\n"
        "  ! review  1 of 3, interrupted\n"
        "    ✗ security  failed: exit code 3, 0.0s\n"
        "    ! tests  interrupted\n"
        "    ✓ docs  0.0s\n"
        "  · sign-off\n"
        "note: review/tests: was running when the run was interrupted\n"
        "\n"
        "next: onward resume w-1\n"
    )


def test_the_status_of_a_run_that_waits_shows_the_question_and_the_answering_command(shop: Shop) -> None:
    gate = ev.GateOpen(path="one", question="Post it?\nReally?", choices=("approve", "reject"))
    shop.make(ONE, [gate])
    assert without_times(shop.call("status")).endswith(
        "  ? one  waiting\n"
        "\n"
        "question at one:\n"
        "  Post it?\n"
        "  Really?\n"
        "  choices: approve, reject\n"
        "answer: onward approve w-1 one\n"
    )


def test_the_status_of_a_driven_run_names_its_driver(shop: Shop) -> None:
    shop.make(ONE, attempt("one", 1, None), driven=True)
    said = shop.call("status")
    assert "\nrunning\n" in said
    assert f"driven by process {os.getpid()} on " in said
    data = shop.data("status")
    assert data["status"] == "running"
    assert data["driver"]["pid"] == os.getpid()
    assert data["driver"]["alive"] is True
    assert data["next"] is None


def test_status_ends_with_0_whatever_became_of_the_run(shop: Shop) -> None:
    shop.make(ONE, [*failed("one"), ev.WorkflowEnd(status=Status.FAILED)])
    assert shop.data("status", code=0)["status"] == "failed"


def test_status_without_any_run_says_so_and_ends_with_2(shop: Shop) -> None:
    ended = shop.run("status")
    assert ended.returncode == 2
    assert b"there is no run in" in ended.stderr
    assert ended.stdout == b""


def test_a_run_is_found_by_the_beginning_of_its_id(shop: Shop) -> None:
    shop.make(ONE, FINISHED, "alpha-1")
    shop.make(ONE, FINISHED, "beta-1")
    assert shop.data("status", "al")["run"] == "alpha-1"
    assert shop.data("status")["run"] == "beta-1"
    assert shop.run("status", "gamma").returncode == 2


def test_nodes_can_be_left_out(shop: Shop) -> None:
    shop.make(REVIEW, BROKEN_OFF)
    assert shop.data("status", "--nodes", "none")["nodes"] == []
    assert "fetch" not in [node["path"] for node in shop.data("status", "--nodes", "open")["nodes"]]


def test_a_store_elsewhere_is_named_in_the_command_that_goes_on(shop: Shop, tmp_path: Path) -> None:
    shop.make(REVIEW, BROKEN_OFF)
    (tmp_path / "other").mkdir()
    elsewhere = Shop(tmp_path / "other")
    store = str(shop.store.root)
    near = elsewhere.data("status", "--store", store)["next"]
    assert near == "onward resume w-1"  # found upwards from there
    assert elsewhere.data("status", "--store", store)["run"] == "w-1"
    (tmp_path / "other" / ".onward").mkdir()
    assert elsewhere.data("status", "--store", store)["next"] == f"onward resume w-1 --store {store}"


def test_the_environment_names_the_store(shop: Shop, tmp_path: Path) -> None:
    shop.make(REVIEW, BROKEN_OFF)
    (tmp_path / "other" / ".onward").mkdir(parents=True)
    said = Shop(tmp_path / "other").call("status", env={"ONWARD_STORE": str(shop.store.root)})
    assert "next: onward resume w-1\n" in said


def test_watching_ends_when_the_run_has_ended(shop: Shop) -> None:
    shop.make(ONE, FINISHED)
    assert "succeeded" in shop.call("status", "--watch")


def test_watching_shows_a_change_and_then_ends(shop: Shop) -> None:
    folder = shop.make(ONE, attempt("one", 1, None))
    process = subprocess.Popen(
        [sys.executable, "-m", "onward", "status", "--watch", "--json"],
        cwd=shop.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["status"] == "interrupted"
        add(folder, ev.AttemptEnd(path="one", attempt=1, outcome=Outcome.OK))
        add(folder, ev.NodeEnd(path="one", status=Status.SUCCEEDED), ev.WorkflowEnd(status=Status.SUCCEEDED))
        last = process.stdout.read().splitlines()[-1]
        assert json.loads(last)["status"] == "succeeded"
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def add(folder: RunFolder, *events: ev.Event) -> None:
    from onward.journal.reader import read
    from onward.journal.writer import Journal

    position = read(folder.journal).finish().position
    with Journal.open(folder.journal, position, epoch=position.epoch) as journal:
        for event in events:
            journal.add(msgspec.structs.replace(event))
        journal.flush()


def test_damage_in_the_journal_is_named_and_the_rest_is_shown(shop: Shop) -> None:
    folder = shop.make(REVIEW, BROKEN_OFF)
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3][: len(lines[3]) // 2] + b"\n"
    folder.journal.write_bytes(b"".join(lines))
    data = shop.data("status")
    (damage,) = [one for one in data["findings"] if one["severity"] == "choice"]
    assert "line 4 " in damage["text"]
    assert damage["choices"][0]["command"] == "onward resume w-1 --accept-damage"
    assert {node["path"]: node["status"] for node in data["nodes"]}["review/docs"] == "succeeded"


@pytest.mark.parametrize("spoil", [lambda path: path.unlink(), lambda path: path.write_bytes(b"{")])
def test_a_run_without_its_definition_is_shown_by_its_journal(shop: Shop, spoil: Any) -> None:
    spoil(shop.make(REVIEW, BROKEN_OFF).plan)
    data = shop.data("status")
    assert "fetch" in [node["path"] for node in data["nodes"]]
    assert "the stored definition" in data["findings"][0]["text"]


def test_a_run_without_its_journal_ends_with_4(shop: Shop) -> None:
    shop.make(ONE, FINISHED).journal.unlink()
    ended = shop.run("status")
    assert ended.returncode == 4
    assert b"has no journal" in ended.stderr


# ---------------------------------------------------------------- runs


def test_runs_are_listed_newest_first_with_how_they_stand(shop: Shop) -> None:
    shop.make(ONE, FINISHED, "a-1")
    shop.make(ONE, [*failed("one"), ev.WorkflowEnd(status=Status.FAILED, reason="`one` failed")], "b-1")
    shop.make(ONE, attempt("one", 1, None), "c-1")
    shop.make(ONE, [ev.PauseRequest(reason="lunch"), ev.WorkflowPause()], "d-1")
    assert without_times(shop.call("runs")) == (
        "= d-1  paused: lunch  AGO\n"
        "! c-1  interrupted  AGO\n"
        "✗ b-1  failed: `one` failed  AGO\n"
        "✓ a-1  succeeded  AGO\n"
    )


def test_the_rows_have_the_documented_shape(shop: Shop) -> None:
    shop.make(ONE, FINISHED)
    shop.make(ONE, attempt("one", 1, None), "w-2")
    data = shop.data("runs")
    assert set(data) == {"schema", "runs"}
    assert data["schema"] == 1
    shape = {"run", "workflow", "title", "status", "reason", "started_at", "ended_at", "driven"}
    assert [set(row) for row in data["runs"]] == [shape, shape]


def test_runs_can_be_chosen(shop: Shop) -> None:
    shop.make(ONE, FINISHED, "a-1")
    shop.make(ONE, FINISHED, "b-1", name="other")
    shop.make(ONE, attempt("one", 1, None), "c-1")
    assert [row["run"] for row in shop.data("runs", "--status", "succeeded")["runs"]] == ["b-1", "a-1"]
    assert [row["run"] for row in shop.data("runs", "--workflow", "other")["runs"]] == ["b-1"]
    assert [row["run"] for row in shop.data("runs", "--limit", "1")["runs"]] == ["c-1"]
    assert b"`bad` is none of running" in shop.run("runs", "--status", "bad").stderr


def test_an_empty_store_is_told(shop: Shop) -> None:
    ended = shop.run("runs")
    assert (ended.returncode, ended.stdout) == (0, b"")
    assert b"no run in" in ended.stderr
    assert shop.data("runs") == {"schema": 1, "runs": []}


def test_a_run_that_was_resumed_after_its_end_has_not_ended(shop: Shop) -> None:
    events = [*failed("one"), ev.WorkflowEnd(status=Status.FAILED), ev.WorkflowResume(resumed_count=1)]
    shop.make(ONE, events)
    assert shop.data("runs")["runs"][0]["status"] == "interrupted"


def test_a_run_that_cannot_be_read_is_a_row_of_its_own(shop: Shop) -> None:
    shop.make(ONE, FINISHED, "a-1")
    shop.make(ONE, FINISHED, "b-1").journal.unlink()
    rows = {row["run"]: row["status"] for row in shop.data("runs")["runs"]}
    assert rows == {"a-1": "succeeded", "b-1": "unreadable"}


# ---------------------------------------------------------------- logs

BYTES = b"\x80\xff\ncaf\xc3\xa9\n"


def test_bytes_that_are_no_text_become_replacement_signs_and_letters_are_whole(shop: Shop) -> None:
    folder = shop.make(ONE, failed("one", exit=3))
    output(folder, "one", BYTES)
    for environment in ({"LC_ALL": "C.UTF-8"}, {"PYTHONIOENCODING": "utf-8"}):
        assert shop.run("logs", "one", env=environment).stdout.decode() == "\ufffd\ufffd\ncafé\n"
    assert (Path(folder.attempt_path("one", 1)) / "out").read_bytes() == BYTES
    assert shop.run("logs", "one", "--raw").stdout == BYTES


@pytest.mark.parametrize("environment", [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "POSIX"}], ids=str)
def test_a_locale_without_letters_loses_no_line(shop: Shop, environment: dict[str, str]) -> None:
    output(shop.make(ONE, failed("one", exit=3)), "one", BYTES)
    ended = shop.run("logs", "one", env=environment)
    assert ended.returncode == 0
    assert ended.stdout.decode() == "\ufffd\ufffd\ncafé\n"
    assert "✗ one  failed" in shop.run("status", env={"LC_ALL": "C"}).stdout.decode()
    assert "x one  failed" in shop.run("status", env={"PYTHONIOENCODING": "ascii"}).stdout.decode()


def test_several_tasks_have_their_names_before_each_line(shop: Shop) -> None:
    folder = shop.make(REVIEW, BROKEN_OFF)
    output(folder, "fetch", b"got it\n")
    output(folder, "review/security", b"looking\n", b"bad\nvery bad")
    assert shop.call("logs") == (
        "fetch | got it\n"
        "review/security | looking\n"
        "review/security ! bad\n"
        "review/security ! very bad\n"
    )
    assert shop.call("logs", "review") == shop.call("logs").partition("\n")[2]
    assert shop.call("logs", "w-1", "review/security", "--err") == "bad\nvery bad\n"
    assert shop.call("logs", "--tail", "1").splitlines()[-1] == "review/security ! very bad"


def test_one_word_is_a_run_if_one_matches_else_a_path(shop: Shop) -> None:
    output(shop.make(ONE, FINISHED, "w-1"), "one", b"first\n")
    output(shop.make(ONE, FINISHED, "one-more"), "one", b"second\n")
    assert shop.call("logs", "one") == "one | second\n"
    assert shop.call("logs", "w-1", "one") == "first\n"
    ended = shop.run("logs", "two")
    assert ended.returncode == 2
    assert b"there is no run `two`" in ended.stderr


def test_an_unknown_path_gets_the_nearest_one(shop: Shop) -> None:
    shop.make(REVIEW, BROKEN_OFF)
    ended = shop.run("logs", "w-1", "review/secrity")
    assert ended.returncode == 2
    assert b"did you mean `review/security`?" in ended.stderr


def test_an_attempt_is_chosen_by_its_number(shop: Shop) -> None:
    folder = shop.make(ONE, [*attempt("one", 1, Outcome.ERROR), *attempt("one", 2)])
    output(folder, "one", b"first\n", attempt=1)
    output(folder, "one", b"second\n", attempt=2)
    assert shop.call("logs", "w-1", "one") == "second\n"
    assert shop.call("logs", "w-1", "one", "--attempt", "1") == "first\n"
    assert b"there is no attempt 3: there were 2 attempts" in shop.run("logs", "w-1", "one", "--attempt", "3").stderr


def test_escape_sequences_do_not_reach_the_reader_and_no_line_is_swallowed(shop: Shop) -> None:
    printed = b"<b>x</b>\n\x1b[31mred\x1b[0m\x1b]0;new title\x07\n10%\r20%\rdone\n"
    output(shop.make(ONE, FINISHED), "one", printed)
    assert shop.call("logs", "w-1", "one") == "<b>x</b>\nred\n10%\n20%\ndone\n"


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_the_last_lines_are_found_in_a_long_file(shop: Shop, count: int) -> None:
    lines = [f"line {n} " + "x" * (n % 5000) for n in range(60)]
    output(shop.make(ONE, FINISHED), "one", "\n".join(lines).encode())
    wanted = "".join(f"{line}\n" for line in lines[len(lines) - count :])
    assert shop.call("logs", "w-1", "one", "--tail", str(count)) == wanted


def test_logs_as_data(shop: Shop) -> None:
    folder = shop.make(ONE, FINISHED)
    output(folder, "one", b"a\nb\n\xff")
    data = shop.data("logs")
    assert set(data) == {"schema", "run", "logs"}
    out, err = data["logs"]
    assert out == {
        "path": "one",
        "attempt": 1,
        "stream": "out",
        "file": f"{folder.attempt_path('one', 1)}/out",
        "bytes": 5,
        "lines": ["a", "b", "\ufffd"],
        "truncated": False,
    }
    assert (err["stream"], err["lines"]) == ("err", [])
    assert shop.data("logs", "--tail", "1")["logs"][0]["truncated"] is True


def test_following_shows_what_comes_and_ends_with_the_run(shop: Shop) -> None:
    folder = shop.make(ONE, attempt("one", 1, None), driven=True)
    place = folder.attempt_folder("one", 1)
    (place / "out").write_bytes(b"first\ncaf\xc3")
    command = [sys.executable, "-u", "-m", "onward", "logs", "-f"]
    process = subprocess.Popen(command, cwd=shop.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"one | first\n"
        with open(place / "out", "ab") as file:
            file.write(b"\xa9\nlast")
        assert process.stdout.readline() == "one | café\n".encode()
        add(folder, *FINISHED[1:])
        assert process.stdout.read() == b"one | last\n"
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_following_an_interrupted_run_ends(shop: Shop) -> None:
    output(shop.make(ONE, attempt("one", 1, None)), "one", b"x")
    assert shop.call("logs", "-f") == "one | x\n"


# ---------------------------------------------------------------- show

TRIED = [
    ev.AttemptStart(path="one", attempt=1, key="k1", adapter="claude", model="m"),
    ev.AttemptEnd(path="one", attempt=1, outcome=Outcome.ERROR, exit=3, error="exit code 3", duration_s=1.5),
    ev.AttemptStart(path="one", attempt=2, key="k1"),
    ev.AttemptEnd(
        path="one",
        attempt=2,
        outcome=Outcome.OK,
        exit=0,
        duration_s=2,
        outputs={"text": Value(type="text", bytes=5, value="hello")},
    ),
    ev.NodeEnd(
        path="one", status=Status.SUCCEEDED, artifacts=(Artifact(path="a.txt", bytes=3, sha256="0" * 64),)
    ),
]


def test_the_record_of_a_node_in_words(shop: Shop) -> None:
    shop.make(ONE, [*TRIED, ev.WorkflowResume(resumed_count=1)])
    assert without_times(shop.call("show", "w-1", "one")) == (
        "one\n"
        "run, done: kept over 1 resume: it had ended before, done\n"
        "attempt 1  error in 0.0s: exit code 3\n"
        "  agent claude m\n"
        "attempt 2  ok in 0.0s\n"
        "result text  text, 5 bytes\n"
        "  | hello\n"
        "artifact a.txt  3 bytes  sha256 000000000000\n"
        "\n"
        "TIME  attempt 1 started\n"
        "TIME  attempt 1 ended: error, exit code 3\n"
        "TIME  attempt 2 started\n"
        "TIME  attempt 2 ended: ok\n"
        "TIME  ended, done\n"
        "TIME  the run was resumed\n"
    )


def test_the_record_of_a_node_as_data(shop: Shop) -> None:
    shop.make(ONE, TRIED)
    data = shop.data("show", "w-1", "one")
    assert set(data) == {
        "schema", "run", "path", "kind", "title", "status", "reason", "why", "definition_sha256", "inputs_sha256",
        "attempts", "results", "artifacts", "metrics", "items", "secrets", "history",
    }  # fmt: skip
    assert data["why"] == "it ran, in 2 attempts"
    tried = [(one["attempt"], one["outcome"], one["exit"]) for one in data["attempts"]]
    assert tried == [(1, "error", 3), (2, "ok", 0)]
    assert data["results"]["text"] == {"type": "text", "bytes": 5, "value": "hello", "file": None}


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "it was not reached"),
        (attempt("one", 1, None), "it has not ended"),
        ([ev.Override(path="one", action="done", by="ada", reason="I saw it")], "taken as done by ada: I saw it"),
        ([ev.Override(path="one", action="skip")], "skipped"),
        ([*done("one"), ev.Override(path="one", action="rerun", reason="--rerun")], "it is to be done again: --rerun"),
        ([ev.NodeEnd(path="one", status=Status.SKIPPED, reason="a.txt exists")], "left out: a.txt exists"),
    ],
)
def test_why_a_node_ran_or_not(shop: Shop, events: list[ev.Event], why: str) -> None:
    shop.make(ONE, events)
    assert shop.data("show", "w-1", "one")["why"] == why


def test_the_record_of_the_run(shop: Shop) -> None:
    events = [
        ev.PauseRequest(reason="lunch", by="ada"),
        ev.WorkflowPause(),
        ev.WorkflowResume(resumed_count=1),
        ev.Note(text="mended", level="warning"),
        *FINISHED,
    ]
    shop.make(ONE, events, variables={"a": "b"})
    said = without_times(shop.call("show"))
    assert "variable a = b\n" in said
    assert said.endswith(
        "TIME  started\n"
        "TIME  a pause was asked for by ada: lunch\n"
        "TIME  paused\n"
        "TIME  resumed\n"
        "TIME  warning: mended\n"
        "TIME  ended, succeeded\n"
    )
    assert set(shop.data("show")) == {
        "schema", "run", "workflow", "title", "file", "folder", "directory", "status", "definition_sha256",
        "variables", "resumed_count", "outputs", "history",
    }  # fmt: skip


# ---------------------------------------------------------------- verify


def test_a_run_that_is_whole_is_verified(shop: Shop) -> None:
    shop.make(ONE, FINISHED)
    assert "journal: 5 lines, none altered or removed" in shop.call("verify")
    data = shop.data("verify")
    assert set(data) == {"schema", "run", "ok", "journal", "values", "artifacts", "faults"}
    assert data["ok"] is True
    assert data["journal"]["proven"] == data["journal"]["last"] == 5


def test_an_altered_journal_is_found(shop: Shop) -> None:
    folder = shop.make(ONE, FINISHED)
    folder.journal.write_bytes(folder.journal.read_bytes().replace(b'"outcome":"ok"', b'"outcome":"error"'))
    data = shop.data("verify", code=4)
    assert data["ok"] is False
    assert data["faults"][0]["kind"] == "journal"
    assert "line 3 " in data["faults"][0]["text"]
    assert "proven up to event 2" in shop.call("verify", code=4)


def test_a_stored_result_that_is_gone_is_found(shop: Shop) -> None:
    value = Value(type="text", bytes=9000, sha256="ab" * 32)
    ended = ev.AttemptEnd(path="one", attempt=1, outcome=Outcome.OK, outputs={"text": value})
    shop.make(ONE, [ev.AttemptStart(path="one", attempt=1), ended])
    data = shop.data("verify", code=4)
    assert (data["values"], data["faults"][0]["kind"]) == ({"total": 1, "intact": 0}, "value")


def test_artifacts_that_are_missing_or_different_are_found_and_are_no_fault_of_the_state(shop: Shop) -> None:
    made = (
        Artifact(path="kept.txt", bytes=3, sha256="ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        Artifact(path="gone.txt", bytes=3, sha256="0" * 64),
        Artifact(path="other.txt", bytes=3, sha256="0" * 64),
    )
    shop.make(ONE, [*attempt("one"), ev.NodeEnd(path="one", status=Status.SUCCEEDED, artifacts=made)])
    (shop.folder / "kept.txt").write_text("abc", encoding="utf-8")
    (shop.folder / "other.txt").write_text("abc", encoding="utf-8")
    data = shop.data("verify", code=1)
    assert data["artifacts"] == {"total": 3, "intact": 1}
    assert [fault["text"] for fault in data["faults"]] == [
        "the artifact gone.txt is missing",
        "the artifact other.txt is not what was recorded",
    ]


# ---------------------------------------------------------------- check

GOOD = "task:\n  - one:\n      run: 'true'\n"
BAD = "task:\n  - one:\n      runn: 'true'\n"
USING = "task:\n  - one:\n      run: [echo, '{{pr_number}}']\n"


def test_a_good_file_is_told_and_ends_with_0(shop: Shop) -> None:
    (shop.folder / "w.yaml").write_text(GOOD, encoding="utf-8")
    assert shop.call("check", "w.yaml") == "w.yaml: no errors, 1 task\n"
    assert shop.call("check", "w.yaml", "-q").strip() == ""


def test_mistakes_of_all_files_are_on_stdout_with_their_places_and_end_with_2(shop: Shop) -> None:
    for name in ("a.yaml", "b.yaml"):
        (shop.folder / name).write_text(BAD, encoding="utf-8")
    (shop.folder / "good.yaml").write_text(GOOD, encoding="utf-8")
    said = shop.call("check", "a.yaml", "good.yaml", "b.yaml", code=2)
    assert "a.yaml:3:7: error[unknown-key]: " in said
    assert "b.yaml:3:7: error[unknown-key]: " in said
    assert "good.yaml: no errors, 1 task\n" in said


def test_an_undeclared_name_is_a_warning_and_none_when_it_is_given(shop: Shop) -> None:
    (shop.folder / "w.yaml").write_text(USING, encoding="utf-8")
    said = shop.call("check", "w.yaml")
    assert "warning[undeclared]" in said
    assert "no errors, 1 warning" in said
    assert shop.call("check", "w.yaml", "--var", "pr_number=1") == "w.yaml: no errors, 1 task\n"
    (shop.folder / "vars.yaml").write_text("pr_number: 1\n", encoding="utf-8")
    assert shop.call("check", "w.yaml", "--vars-file", "vars.yaml") == "w.yaml: no errors, 1 task\n"


def test_values_that_are_given_are_checked(shop: Shop) -> None:
    text = "variables: {day: {required: true, matches: '^[0-9]+$'}}\n" + GOOD
    (shop.folder / "w.yaml").write_text(text, encoding="utf-8")
    said = shop.call("check", "w.yaml", "--var", "day=monday", code=2)
    assert "does not match" in said
    assert shop.call("check", "w.yaml") == "w.yaml: no errors, 1 task\n"
    assert b"there is no `=` in it" in shop.run("check", "w.yaml", "--var", "day").stderr


def test_check_as_data(shop: Shop) -> None:
    (shop.folder / "w.yaml").write_text(BAD, encoding="utf-8")
    data = shop.data("check", "w.yaml", code=2)
    assert set(data) == {"schema", "files"}
    (file,) = data["files"]
    assert set(file) == {"file", "ok", "name", "problems"}
    assert file["ok"] is False
    assert set(file["problems"][0]) == {
        "severity", "code", "message", "file", "line", "column", "help", "trail", "source",
    }  # fmt: skip
    assert (3, 7, "unknown-key") in [(one["line"], one["column"], one["code"]) for one in file["problems"]]


def test_a_file_that_is_not_there_is_an_error_with_its_name(shop: Shop) -> None:
    assert "nothing.yaml" in shop.call("check", "nothing.yaml", code=2)


# ---------------------------------------------------------------- all of them


@pytest.fixture
def hostile(shop: Shop) -> Shop:
    """A run whose names, titles, question and output would like to act on the terminal."""
    evil = "\x1b]0;new title\x07\x1b[2J<script>"
    the_plan: Plan = plan(leaf("print", title=evil), task("ask", leaf("gate", title=evil)))
    gate = ev.GateOpen(path="ask/gate", question=f"{evil} go on?", choices=("approve", evil))
    bad = [*failed("print", error=evil), ev.Note(text=evil, level="warning"), gate]
    output(shop.make(the_plan, bad, title=evil, variables={"v": evil}), "print", evil.encode())
    (shop.folder / "w.yaml").write_text(f"task:\n  - one:\n      {'{'}x: y{'}'}: 'true'\n", encoding="utf-8")
    return shop


COMMANDS = [
    ["status"], ["runs"], ["logs"], ["logs", "-f"], ["logs", "w-1", "print"], ["show"], ["show", "w-1", "print"],
    ["show", "w-1", "ask/gate"], ["verify"], ["check", "w.yaml"],
]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_plain_output_has_no_control_character_and_each_command_ends_with_a_closed_stdin(
    hostile: Shop, words: list[str]
) -> None:
    for environment in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
        ended = hostile.run(*words, env=environment)
        assert ended.returncode in (0, 2)
        assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", ended.stdout + ended.stderr)
        assert ended.stdout


@pytest.mark.parametrize("words", [*COMMANDS[:3], *COMMANDS[4:]], ids=" ".join)
def test_data_of_every_command_is_one_json_object_with_a_schema(hostile: Shop, words: list[str]) -> None:
    assert hostile.data(*words, code=None)["schema"] == 1


@pytest.mark.parametrize("words", [["status"], ["logs", "w-1", "print"], ["show"]], ids=" ".join)
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {}], ids=str)
def test_on_a_terminal_colours_are_the_only_escape_sequences(
    hostile: Shop, words: list[str], environment: dict[str, str]
) -> None:
    said = on_terminal(hostile, words, environment)
    coloured = re.sub(rb"\x1b\[[0-9;]*m", b"", said)
    assert b"\x1b" not in coloured
    if environment:
        assert b"\x1b" not in said


def on_terminal(shop: Shop, words: list[str], environment: dict[str, str]) -> bytes:
    import pexpect

    child = pexpect.spawn(
        sys.executable,
        ["-m", "onward", *words],
        cwd=str(shop.folder),
        env={"PATH": os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", **environment},
        timeout=30,
    )
    try:
        child.expect(pexpect.EOF)
        return bytes(child.before)
    finally:
        child.close(force=True)


def test_a_reader_that_goes_away_is_no_bug(shop: Shop) -> None:
    output(shop.make(ONE, FINISHED), "one", b"x\n" * 100_000)
    command = [sys.executable, "-m", "onward", "logs", "w-1", "one"]
    process = subprocess.Popen(
        command, cwd=shop.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    try:
        assert process.wait(30) == 141
        assert b"bug" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_ctrl_c_while_watching_is_no_bug(shop: Shop) -> None:
    shop.make(ONE, attempt("one", 1, None))
    command = [sys.executable, "-m", "onward", "status", "--watch", "--json"]
    process = subprocess.Popen(
        command, cwd=shop.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert b"Traceback" not in process.stderr.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
