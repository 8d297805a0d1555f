"""The engine suite: stories that are told to both engines, and end alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engines.conftest import Told
from stories.project import Said

pytestmark = pytest.mark.temporal


def run(project: Told, text: str, *arguments: str, code: int = 0) -> Said:
    project.workflow(text)
    return project.onward("run", "w.yaml", "--id", project.run, *arguments).check(code)


def statuses(project: Told) -> dict[str, str]:
    return {node["path"]: node["status"] for node in project.status(project.run)["nodes"]}


def resume(project: Told, *arguments: str, code: int = 0) -> Said:
    return project.onward("resume", project.run, "--yes", *arguments).check(code)


def go_on(project: Told, code: int = 0) -> None:
    """After an answer: Temporal goes on by itself."""
    if project.environment["ONWARD_ENGINE"] == "embedded":
        resume(project, code=code)
    project.wait_for_event("workflow_end")


def test_a_sequence_hands_results_on(project: Told):
    project.write("adding.py", "def add(a, b):\n    return a + b\n")
    run(project, """
        variables: {who: world}
        task:
          - hello: {run: [echo, "hello {{who}}"]}
          - add: {call: "adding:add", with: {a: 2, b: 40}}
          - last: {run: 'echo "$SAID/$SUM" >> ledger.txt', env: {SAID: "{{hello.text}}", SUM: "{{add.json}}"}}
    """, "--var", "who=you")
    assert project.ledger == ["hello you/42"]
    assert project.onward("logs", project.run, "hello").check().out == "hello you\n"
    project.onward("verify", project.run).check()


def test_a_task_that_fails_ends_the_run_and_is_tried_again_by_a_resume(project: Told):
    said = run(project, """
        task:
          - a: {run: 'echo a >> ledger.txt'}
          - b: {run: 'echo b >> ledger.txt; test -e mended'}
          - c: {run: 'echo c >> ledger.txt'}
    """, code=1)
    assert "b" in said.err
    assert statuses(project) == {"a": "succeeded", "b": "failed", "c": "pending"}
    project.touch("mended")
    resume(project)
    assert project.ledger == ["a", "b", "b", "c"]
    assert project.status(project.run)["resumed_count"] == 1


def test_retries_are_counted_once_and_wait_as_they_are_told(project: Told):
    run(project, """
        task:
          - flaky:
              run: 'echo "$ONWARD_ATTEMPT" >> ledger.txt; test "$ONWARD_ATTEMPT" = 3'
              retry: {attempts: 3, delay: 1s}
    """)
    assert project.ledger == ["1", "2", "3"]
    assert project.node("flaky")["attempts"] == 3


def test_members_run_side_by_side_within_their_limit_and_after_what_they_need(project: Told):
    run(project, """
        task:
          - all:
              limit: 2
              parallel:
                a: {run: 'echo a >> ledger.txt'}
                b: {run: 'echo b >> ledger.txt'}
                c: {needs: [a, b], run: 'echo c >> ledger.txt'}
                d: {needs: [c], run: 'echo d >> ledger.txt'}
    """)
    assert sorted(project.ledger[:2]) == ["a", "b"]
    assert project.ledger[2:] == ["c", "d"]


def test_fail_fast_ends_what_runs_with_its_children(project: Told):
    run(project, """
        task:
          - all:
              fail-fast: true
              parallel:
                bad: {run: 'until [ -e began ]; do sleep 0.05; done; exit 3'}
                long: {run: 'touch began; sleep 60 & wait; echo never >> ledger.txt'}
    """, code=1)
    assert statuses(project) == {"all": "failed", "all/bad": "failed", "all/long": "cancelled"}
    assert project.ledger == []
    assert project.tasks() == []


def test_loops_over_items_and_until_a_condition_holds(project: Told):
    run(project, """
        task:
          - list: {run: 'printf "red\\ngreen\\nblue\\n"'}
          - paint:
              loop: {for-each: "{{list.lines}}", as: colour, limit: 2}
              run: 'echo "$colour" >> ledger.txt'
          - poll:
              loop: {until: {file-exists: ready}, max: 5, delay: 1s}
              env: {ROUND: "{{index}}"}
              run: 'echo "round $ROUND" >> ledger.txt; if [ "$ROUND" = 3 ]; then touch ready; fi'
    """)
    assert sorted(project.ledger[:3]) == ["blue", "green", "red"]
    assert project.ledger[3:] == ["round 1", "round 2", "round 3"]


def test_conditions_skip_check_and_validate(project: Told):
    run(project, """
        task:
          - not-now: {skip-if: {command: "true"}, run: 'echo skipped >> ledger.txt'}
          - sure:
              run: 'echo sure >> ledger.txt'
              ensure: {before: {file-missing: ledger.txt}, after: {file-exists: ledger.txt}}
          - valid:
              run: 'echo try >> ledger.txt; echo "$ONWARD_ATTEMPT"'
              validators: [{command: 'test "$ONWARD_ATTEMPT" = 2'}]
              retry: {attempts: 2, on: [invalid]}
          - unsure: {run: 'true', ensure: {after: {file-exists: nowhere}}}
    """, code=1)
    assert project.ledger == ["sure", "try", "try"]
    assert statuses(project) == {"not-now": "skipped", "sure": "succeeded", "valid": "succeeded", "unsure": "failed"}


def test_a_question_is_answered_and_the_answer_is_a_result(project: Told):
    run(project, """
        task:
          - ask: {approve: "how many?", choices: [some, reject], fields: {n: text}}
          - use: {run: [sh, -c, 'echo "$1 $2" >> ledger.txt', sh, "{{ask.n}}", "{{ask.by}}"]}
    """, code=3)
    status = project.status(project.run)
    assert status["status"] == "waiting"
    assert status["gates"][0]["question"] == "how many?"
    assert "n" in project.onward("approve", project.run, "--choice", "some").check(2).err
    project.onward("approve", project.run, "--choice", "some", "--field", "n=7", "--by", "ada").check()
    go_on(project)
    assert project.ledger == ["7 ada"]


def test_a_rejected_question_fails_its_node(project: Told):
    run(project, 'task: [{ask: {approve: "go?"}}, {a: {run: "echo a >> ledger.txt"}}]', code=3)
    project.onward("reject", project.run, "--note", "not today", "--by", "ada").check()
    go_on(project, 1)
    assert "rejected by ada: not today" in project.node("ask")["reason"]
    assert project.ledger == []


def test_a_question_whose_time_is_over_is_answered_by_its_rule(project: Told):
    run(project, """
        task:
          - ask: {approve: "go?", timeout: 1s, on-timeout: approve}
          - a: {run: 'echo went >> ledger.txt'}
    """)
    assert project.ledger == ["went"]


def test_a_pause_stops_what_runs_and_a_resume_does_it_again(project: Told):
    project.workflow("""
        task:
          - a: {run: 'echo a >> ledger.txt'}
          - long: {run: 'echo long >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done'}
          - b: {run: 'echo b >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", project.run)
    project.wait_for_file("began")
    project.onward("pause", project.run, "--now", "--reason", "lunch", "--json").check()
    assert driver.wait(20) == 3
    status = project.status(project.run)
    assert status["status"] == "paused"
    assert "lunch" in status["reason"]
    assert project.tasks() == []
    project.touch("go")
    resume(project)
    assert project.ledger == ["a", "long", "long", "b"]


def test_a_cancelled_run_still_does_its_finally_steps(project: Told):
    project.workflow("""
        task:
          - long: {run: 'touch began; sleep 60'}
        finally:
          - tidy: {run: 'echo tidy >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", project.run)
    project.wait_for_file("began")
    project.onward("cancel", project.run, "--reason", "enough").check()
    assert driver.wait(20) == 130
    assert project.status(project.run)["status"] == "cancelled"
    assert project.ledger == ["tidy"]


def test_a_failure_is_handled_and_passed_over(project: Told):
    run(project, """
        task:
          - bad: {run: 'exit 3', on-failure: {task: [{help: {run: 'echo help >> ledger.txt'}}], then: continue}}
          - group:
              task: [{inner: {run: 'exit 4'}}]
              on-failure: continue
              finally: [{sweep: {run: 'echo sweep >> ledger.txt'}}]
          - end: {run: 'echo end >> ledger.txt'}
    """)
    assert project.ledger == ["help", "sweep", "end"]


def test_time_limits_end_tasks_and_containers(project: Told):
    run(project, """
        task:
          - slow: {run: 'sleep 60', timeout: 1s, on-failure: continue}
          - group:
              timeout: 1s
              task: [{one: {run: 'echo one >> ledger.txt'}}, {two: {run: 'sleep 60'}}]
              on-failure: continue
    """)
    status = {node["path"]: node for node in project.status(project.run)["nodes"]}
    assert "timed out" in status["slow"]["reason"] or "timeout" in status["slow"]["reason"]
    assert status["group"]["status"] == "failed"
    assert project.ledger == ["one"]
    assert project.tasks() == []


def test_large_results_go_through_the_store(project: Told):
    run(project, """
        task:
          - big: {run: 'python3 -c "print(\\"x\\" * 3000000, end=str())"'}
          - size: {run: 'wc -c | tr -d " " >> ledger.txt', stdin: "{{big.text}}"}
    """)
    assert project.ledger == ["3000000"]


def test_artifacts_outputs_and_hand_offs_are_gathered(project: Told):
    run(project, """
        task:
          - phase:
              task: [{make: {run: 'echo data > out.txt; echo 5', artifacts: [out.txt]}}]
              outputs: {number: "{{make.text}}"}
              artifacts: [out.txt]
              hand-off: {summary: it was made}
          - use: {run: [sh, -c, 'echo "$1" >> ledger.txt', sh, "{{phase.number}}"]}
    """)
    assert project.ledger == ["5"]
    assert "artifacts: 2 of 2 intact" in project.onward("verify", project.run).check().out


def test_an_included_workflow_has_a_scope_of_its_own(project: Told):
    project.write("inner.yaml", """
        variables: {word: }
        task:
          - say: {run: [sh, -c, 'echo "$1" >> ledger.txt', sh, "{{word}}"]}
    """)
    run(project, 'task: [{in: {include: inner.yaml, with: {word: inside}}}]')
    assert project.ledger == ["inside"]


def test_an_edited_workflow_goes_on_with_what_is_new(project: Told):
    run(project, "task: [{a: {run: 'echo a >> ledger.txt'}}, {b: {run: 'exit 3'}}]", code=1)
    project.workflow("task: [{a: {run: 'echo a >> ledger.txt'}}, {b: {run: 'echo b >> ledger.txt'}}, "
                     "{c: {run: 'echo c >> ledger.txt'}}]")
    resume(project)
    assert project.ledger == ["a", "b", "c"]


def test_reruns_and_new_values_are_taken(project: Told):
    run(project, """
        variables: {v: one}
        task: [{a: {run: 'echo "a $v" >> ledger.txt'}}, {b: {run: 'echo "b $v" >> ledger.txt'}}]
    """)
    resume(project, "--rerun", "b", "--var", "v=two")
    assert project.ledger == ["a one", "b one", "b two"]


def test_a_prompt_goes_to_its_agent(project: Told):
    run(project, 'task: [{ask: {prompt: "say this", adapter: echo}}]')
    assert "say this" in project.onward("logs", project.run, "ask").check().out


KEYS = ["schema", "run", "workflow", "status", "reason", "resumed_count", "progress", "step", "gates", "findings"]


def _comparable(status: dict[str, Any]) -> dict[str, Any]:
    shown = {key: status[key] for key in KEYS}
    shown["nodes"] = [(node["path"], node["kind"], node["status"], node["attempts"]) for node in status["nodes"]]
    return shown


def test_what_commands_print_for_programs_is_the_same(project: Told):
    run(project, """
        task:
          - a: {run: 'echo a'}
          - all: {parallel: {x: {run: 'exit 3'}, y: {run: 'true'}}}
    """, code=1)
    assert _comparable(project.status(project.run)) == {
        "schema": 1,
        "run": project.run,
        "workflow": "w",
        "status": "failed",
        "reason": "`all` failed",
        "resumed_count": 0,
        "progress": {"total": 3, "done": 2, "percent": 66},
        "step": {"index": 1, "of": 2},
        "gates": [],
        "findings": project.status(project.run)["findings"],
        "nodes": [
            ("a", "run", "succeeded", 1),
            ("all", "parallel", "failed", 0),
            ("all/x", "run", "failed", 1),
            ("all/y", "run", "succeeded", 1),
        ],
    }
    rows = json.loads(project.onward("runs", "--json").check().out)["runs"]
    assert [(row["run"], row["status"]) for row in rows] == [(project.run, "failed")]
    project.onward("graph", project.run).check()
    project.onward("show", project.run, "all/x", "--json").check()


def test_a_pause_and_a_failure_leave_snapshots_and_the_state_file_is_kept_up(project: Told):
    run(
        project,
        """
        checkpoint: {state-file: state.json, cleanup-policy: never}
        task:
          - a: {run: 'echo a >> ledger.txt'}
          - b: {run: 'exit 3'}
    """,
        code=1,
    )
    kept = json.loads(project.read("state.json"))
    assert kept["completed_tasks"] == ["a"]
    assert kept["failed_tasks"] == ["b"]
    listed = json.loads(project.onward("snapshot", "list", project.run, "--json").check().out)
    assert [one["cause"] for one in listed["snapshots"]] == ["failure"]
