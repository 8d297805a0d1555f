"""Workers that are killed, a server that is restarted, answers while nobody works: every task is done exactly once."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.conftest import Told, settle_in
from engines.server import Server, Workers

pytestmark = [pytest.mark.temporal, pytest.mark.crash]

SLOW = """
    task:
      - before: {run: 'echo before >> ledger.txt'}
      - slow:
          run: 'echo slow >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done; echo slept >> ledger.txt'
      - after: {run: 'echo after >> ledger.txt'}
"""


def begin(project: Told, text: str, *arguments: str) -> None:
    project.workflow(text)
    project.onward("run", "w.yaml", "--id", project.run, "--detach", *arguments).check()


def test_a_worker_that_starts_again_finds_the_task_that_its_predecessor_left(there: Told, workers: Workers):
    first = workers.start()
    begin(there, SLOW)
    there.wait_for_file("began")
    workers.kill(first)
    workers.start()
    there.touch("go")
    assert there.ended() == "succeeded"
    assert there.ledger == ["before", "slow", "slept", "after"]
    assert there.node("slow")["attempts"] == 1
    there.onward("verify", there.run).check()


def test_a_worker_that_is_told_to_stop_leaves_its_task_to_the_next_one(there: Told, workers: Workers):
    first = workers.start()
    begin(there, SLOW)
    there.wait_for_file("began")
    workers.stop(first)
    workers.start()
    there.touch("go")
    assert there.ended() == "succeeded"
    assert there.ledger == ["before", "slow", "slept", "after"]


def test_a_task_that_ended_while_no_worker_lived_is_not_done_again(there: Told, workers: Workers):
    first = workers.start()
    begin(there, SLOW)
    there.wait_for_file("began")
    workers.kill(first)
    there.touch("go")
    there.wait("the task has ended", lambda: "slept" in there.ledger)
    workers.start()
    assert there.ended() == "succeeded"
    assert there.ledger == ["before", "slow", "slept", "after"]


def test_a_task_that_is_lost_with_its_worker_is_tried_again(there: Told, workers: Workers):
    first = workers.start()
    begin(there, SLOW)
    there.wait_for_file("began")
    there.kill_all(first)  # type: ignore[arg-type]
    there.touch("go")
    workers.start()
    assert there.ended() == "succeeded"
    assert there.ledger == ["before", "slow", "slow", "slept", "after"]


def test_a_lost_task_that_may_not_be_repeated_becomes_a_question(there: Told, workers: Workers):
    first = workers.start()
    begin(there, SLOW.replace("- slow:\n", "- slow:\n          on-resume: ask\n"))
    there.wait_for_file("began")
    there.kill_all(first)  # type: ignore[arg-type]
    workers.start()
    there.wait_for_event("gate_open")
    there.onward("approve", there.run, "slow", "--choice", "done").check()
    assert there.ended() == "succeeded"
    assert there.ledger == ["before", "slow", "after"]


def test_a_question_is_answered_while_no_worker_lives(there: Told, workers: Workers):
    first = workers.start()
    begin(there, "task: [{ask: {approve: 'go?'}}, {a: {run: 'echo a >> ledger.txt'}}]")
    there.wait_for_event("gate_open")
    workers.kill(first)
    there.onward("approve", there.run, "ask", "--by", "ada").check()
    assert there.ledger == []
    workers.start()
    assert there.ended() == "succeeded"
    assert there.ledger == ["a"]


def test_a_pause_holds_across_workers(there: Told, workers: Workers):
    first = workers.start()
    begin(there, SLOW)
    there.wait_for_file("began")
    there.onward("pause", there.run, "--now").check()
    workers.kill(first)
    assert there.status(there.run)["status"] == "paused"
    second = workers.start()
    there.touch("go")
    there.onward("resume", there.run, "--yes").check()
    workers.kill(second)
    assert there.ledger == ["before", "slow", "slow", "slept", "after"]


def test_a_long_run_is_handed_on_before_its_history_grows_long(there: Told, workers: Workers):
    workers.start()
    there.write("onward.toml", there.read("onward.toml") + "history-soft = 50\nhistory-hard = 90\n")
    begin(there, """
        task:
          - all:
              loop: {for-each: {command: seq 40}, as: n, limit: 4}
              run: 'echo "$n" >> ledger.txt'
          - last: {run: 'echo last >> ledger.txt'}
    """)
    assert there.ended() == "succeeded"
    assert sorted(there.ledger[:-1], key=int) == [str(n) for n in range(1, 41)]
    assert there.ledger[-1] == "last"
    there.onward("verify", there.run).check()


def test_workers_killed_at_random_lose_and_repeat_nothing(there: Told, workers: Workers):
    running = [workers.start(), workers.start()]
    begin(there, """
        task:
          - all:
              loop: {for-each: {command: seq 30}, as: n, limit: 4}
              run: 'echo "$n" >> ledger.txt; sleep 0.3'
    """)
    for number in range(3):
        seen = len(there.ledger)
        there.wait("it goes on", lambda seen=seen: len(there.ledger) >= min(seen + 5, 26), within_s=40)
        workers.kill(running[number % 2])
        running[number % 2] = workers.start(wait=False)
    assert there.ended() == "succeeded"
    assert sorted(there.ledger, key=int) == [str(n) for n in range(1, 31)]
    there.onward("verify", there.run).check()


def test_a_server_that_is_restarted_goes_on(tmp_path: Path, there: Told):
    own = Server(tmp_path)
    own.start()
    workers = Workers(own, tmp_path, "q")
    try:
        settle_in(there, own, "q")
        workers.start()
        begin(there, SLOW)
        there.wait_for_file("began")
        own.stop()
        there.touch("go")
        there.wait("the task has ended", lambda: "slept" in there.ledger)
        own.start()
        assert there.ended() == "succeeded"
        assert there.ledger == ["before", "slow", "slept", "after"]
    finally:
        workers.finish()
        own.stop()


def test_a_task_goes_to_the_queue_that_it_names(there: Told, workers: Workers, server: Server, tmp_path: Path):
    workers.start()
    other = Workers(server, tmp_path, f"{workers.queue}-gpu")
    begin(there, f"""
        task:
          - a: {{run: 'echo a >> ledger.txt'}}
          - big: {{queue: {workers.queue}-gpu, run: 'echo "big $WHERE" >> ledger.txt'}}
          - b: {{run: 'echo b >> ledger.txt'}}
    """)
    there.wait("the first is done", lambda: there.ledger == ["a"])
    try:
        other.start(WHERE="there")
        assert there.ended() == "succeeded"
    finally:
        other.finish()
    assert there.ledger == ["a", "big there", "b"]


def test_a_run_moves_to_temporal_and_back_at_a_pause(there: Told, workers: Workers):
    workers.start(WHERE="there")
    there.workflow("""
        task:
          - a: {run: 'echo "a $WHERE" >> ledger.txt'}
          - ask: {approve: "go?"}
          - b: {run: 'echo "b $WHERE" >> ledger.txt'}
          - again: {approve: "go?"}
          - c: {run: 'echo "c $WHERE" >> ledger.txt'}
    """)
    here = {"ONWARD_ENGINE": "embedded", "WHERE": "here"}
    there.onward("run", "w.yaml", "--id", there.run, **here).check(3)
    there.onward("pause", there.run).check()
    there.onward("approve", there.run, "ask").check()
    there.onward("resume", there.run, "--yes", "--engine", "temporal").check(3)
    there.onward("pause", there.run).check()
    there.onward("resume", there.run, "--yes", "--engine", "embedded", **here).check(3)
    there.onward("approve", there.run, "again").check()
    there.onward("resume", there.run, "--yes", **here).check()
    assert there.ledger == ["a here", "b there", "c here"]
    there.onward("verify", there.run).check()


def test_a_run_is_found_by_its_status_and_shows_itself(there: Told, workers: Workers, server: Server):
    names = ["--name", "OnwardStatus", "--type", "Keyword", "--name", "OnwardWorkflow", "--type", "Keyword"]
    server.temporal("operator", "search-attribute", "create", *names)
    workers.start()
    there.write("onward.toml", there.read("onward.toml") + "search-attributes = true\nsame-host = true\n")
    begin(there, "task: [{a: {run: 'true'}}, {ask: {approve: 'go?'}}, {b: {run: 'true'}}]")
    there.wait_for_event("gate_open")
    query = f"OnwardStatus = 'waiting' AND WorkflowId = 'onward-{there.run}'"
    there.wait("it is listed", lambda: there.run in server.temporal("workflow", "list", "--query", query))
    said = server.temporal("workflow", "query", "--workflow-id", f"onward-{there.run}", "--type", "status")
    assert '"waiting"' in said
    there.onward("snapshot", "create", there.run).check()
    there.onward("approve", there.run).check()
    assert there.ended() == "succeeded"
    described = server.temporal("workflow", "show", "--workflow-id", f"onward-{there.run}", "--output", "json")
    assert f"{workers.queue}@" in described


def test_commands_say_what_to_do_when_no_server_answers(there: Told):
    there.workflow("task: [{a: {run: 'true'}}]")
    said = there.onward("run", "w.yaml", "--address", "127.0.0.1:1").check(2)
    assert "no Temporal server answers at 127.0.0.1:1" in said.err
    assert there.onward("runs").check().out == ""


def test_a_worker_without_a_secret_is_told_and_another_one_goes_on(there: Told, workers: Workers):
    first = workers.start()
    begin(there, """
        secrets: {TOKEN: {env: TOKEN_OF_THE_TEST}}
        task: [{a: {secrets: [TOKEN], run: 'echo "${#TOKEN}" >> ledger.txt; echo "$TOKEN"'}}]
    """)
    there.wait_for_event("note")
    assert any("TOKEN" in finding["text"] for finding in there.status(there.run)["findings"])
    workers.kill(first)
    workers.start(TOKEN_OF_THE_TEST="hidden-value")
    assert there.ended() == "succeeded"
    assert there.ledger == ["12"]
    assert "hidden-value" not in there.onward("logs", there.run, "a").check().out
