"""Loops and questions to people survive interruption at any point."""

from __future__ import annotations

from stories.project import Project

PAINT = """
    name: paint
    task:
      - paint-all:
          loop: {for-each: {command: cat colours.txt}, as: colour}
          task:
            - ask: {approve: "paint {{colour}} ({{index}}/3)?"}
            - paint: {run: 'echo "$colour" >> ledger.txt'}
      - end: {run: 'echo end >> ledger.txt'}
"""


def test_a_question_in_a_loop_is_asked_once_for_each_item_of_the_list_that_was_read_at_the_start(project: Project):
    project.workflow(PAINT)
    project.write("colours.txt", "red\ngreen\nblue\n")
    asked = []
    said = project.onward("run", "w.yaml", "--id", "r").check(3)
    for colour in ("red", "green", "blue"):
        asked.append(project.status("r")["gates"][0]["question"])
        project.onward("approve", "r", f"paint-all[{colour}]/ask").check()
        project.write("colours.txt", project.read("colours.txt") + "black\n")
        said = project.onward("resume", "r", "--yes")
    said.check()
    assert asked == ["paint red (1/3)?", "paint green (2/3)?", "paint blue (3/3)?"]
    assert project.ledger == ["red", "green", "blue", "end"]


def test_a_rejected_question_fails_its_node_and_is_not_asked_again(project: Project):
    project.workflow('task: [{ask: {approve: "go?"}}, {a: {run: "echo a >> ledger.txt"}}]')
    project.onward("run", "w.yaml", "--id", "r").check(3)
    project.onward("reject", "r", "--note", "not today", "--by", "ada").check()
    said = project.onward("resume", "r", "--yes").check(1)
    assert "rejected by ada: not today" in said.err
    assert project.ledger == []


def test_an_answer_that_a_question_does_not_offer_is_refused_with_what_it_offers(project: Project):
    project.workflow("""
        task:
          - ask: {approve: "which?", choices: [left, right, reject], fields: {why: text, size: [small, large]}}
          - a: {run: [echo, "{{ask.choice}} {{ask.size}}"]}
    """)
    project.onward("run", "w.yaml", "--id", "r").check(3)
    assert "left, right, reject" in project.onward("approve", "r").check(2).err
    assert "left, right, reject" in project.onward("approve", "r", "--choice", "up").check(2).err
    assert "why" in project.onward("approve", "r", "--choice", "left", "--field", "size=small").check(2).err
    assert "small, large" in (
        project.onward("approve", "r", "--choice", "left", "--field", "size=x", "--field", "why=y").check(2).err
    )
    project.onward("approve", "r", "--choice", "left", "--field", "size=small", "--field", "why=so").check()
    project.onward("resume", "r").check()
    assert project.onward("logs", "r", "a").out == "left small\n"
    assert "no question" in project.onward("approve", "r").check(2).err


def test_a_decision_on_a_file_that_changed_since_it_was_shown_is_refused(project: Project):
    project.workflow("""
        task:
          - make: {run: 'echo one > plan.txt'}
          - ask: {approve: "good?", show: [plan.txt]}
    """)
    project.onward("run", "w.yaml", "--id", "r").check(3)
    project.write("plan.txt", "two\n")
    said = project.onward("approve", "r").check(2)
    assert "plan.txt" in said.err
    assert "changed since it was shown" in said.err


def test_a_living_driver_goes_on_as_soon_as_its_question_is_answered(project: Project):
    project.workflow("""
        task:
          - ask: {approve: "go?"}
            busy: {run: 'touch began; until [ -e done ]; do sleep 0.05; done'}
          - after: {run: 'echo after >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.onward("approve", "r").check()
    project.touch("done")
    assert driver.wait(20) == 0
    assert project.ledger == ["after"]


def test_a_paused_run_takes_an_answer_and_stays_paused(project: Project):
    project.workflow("""
        task:
          - ask: {approve: "go?"}
            busy: {run: 'touch began; sleep 30'}
          - after: {run: 'echo after >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.onward("pause", "r", "--now", "--reason", "lunch").check()
    assert driver.wait(20) == 3
    project.onward("approve", "r").check()
    status = project.status("r")
    assert status["status"] == "paused"
    assert status["gates"] == []
    assert project.ledger == []


def test_pausing_what_has_ended_or_is_unknown_is_a_sentence(project: Project):
    project.workflow("task: [{a: {run: 'true'}}]")
    assert "no run" in project.onward("pause").check(2).err
    project.onward("run", "w.yaml", "--id", "r").check()
    assert "ended already" in project.onward("pause", "r").check(2).err
    assert "no run" in project.onward("pause", "nothing").check(2).err


def test_a_loop_until_goes_on_inside_the_round_that_was_interrupted(project: Project):
    project.workflow(
        """
        task:
          - repair:
              loop: {until: {succeeded: check}, max: 5}
              task:
                - fix: {run: 'echo "fix {{index}}" >> /dev/null; echo fix >> ledger.txt'}
                - check:
                    on-failure: continue
                    run: |
                      echo check >> ledger.txt
                      n=$(grep -c fix ledger.txt)
                      if [ "$n" = 3 ]; then touch third; until [ -e go ]; do sleep 0.05; done; fi
                      test "$n" = 3
    """.replace('echo "fix {{index}}" >> /dev/null; ', "")
    )
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("third")
    project.kill_all(driver)
    project.touch("go")
    project.onward("resume", "r", "--yes").check()
    assert project.ledger == ["fix", "check", "fix", "check", "fix", "check", "check"]


def test_validators_give_their_feedback_to_the_next_attempt(project: Project):
    project.workflow("""
        task:
          - write:
              run: 'cat "$ONWARD_FEEDBACK" > feedback.txt; echo x >> x.txt; wc -l < x.txt'
              validators: [{at-least: ["{{self.text}}", 3]}]
              retry: {attempts: 5}
    """)
    project.onward("run", "w.yaml").check()
    assert project.read("x.txt") == "x\nx\nx\n"
    assert project.read("feedback.txt") == "2 is not at least 3"


def test_an_included_workflow_has_a_scope_of_its_own_and_gives_its_outputs(project: Project):
    project.write(
        "sub.yaml",
        """
        variables: {name: {required: true}}
        task: [{hello: {run: 'echo "hello $name"; test -e ok'}}]
        outputs: {said: "{{hello.text}}"}
        """,
    )
    project.workflow("""
        task:
          - part: {include: sub.yaml, with: {name: ada}}
          - use: {run: [echo, "{{part.said}}"]}
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.touch("ok")
    project.onward("resume", "r", "--yes").check()
    assert project.onward("logs", "r", "use").out == "hello ada\n"


def test_on_resume_ask_opens_a_question_instead_of_repeating_the_work(project: Project):
    project.workflow("""
        task:
          - pay: {on-resume: ask, run: 'echo pay >> ledger.txt; touch began; until [ -e go ]; do sleep 0.05; done'}
          - after: {run: 'echo after >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    project.kill_all(driver)
    project.touch("go")
    project.onward("resume", "r", "--yes").check(3)
    project.onward("approve", "r", "pay", "--choice", "done").check()
    project.onward("resume", "r", "--yes").check()
    assert project.ledger == ["pay", "after"]
