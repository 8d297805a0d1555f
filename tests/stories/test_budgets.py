"""`budget`: what agents use is added up; a budget that is used up pauses the run, and a resume can raise it."""

import json

import pytest

from stories.project import Project

AGENT = """
    import json, sys
    prompt = sys.stdin.read()
    open("ledger.txt", "a").write(prompt.strip() + "\\n")
    print(json.dumps({"result": "done", "cost": 2.0, "usage": {"input_tokens": 100, "output_tokens": 50}}))
"""

HEAD = """
    adapters:
      mine: {command: [python3, agent.py], reply: "json:result", usage: "json:usage", cost: "json:cost"}
    defaults: {prompt: {adapter: mine}}
"""

FOUR = (
    HEAD
    + """
    budget: {BUDGET}
    task:
      - a: {prompt: a}
      - b: {prompt: b}
      - c: {prompt: c}
      - d: {run: echo d >> ledger.txt}
"""
)


def begun(project: Project, text: str) -> str:
    project.write("agent.py", AGENT)
    project.workflow(text)
    said = project.onward("run", "w.yaml")
    assert said.code == 3, said.err
    status = json.loads(project.onward("status", "--json").out)
    assert status["status"] == "paused"
    assert "budget" in status["reason"]
    return str(status["reason"])


@pytest.mark.parametrize(
    ("budget", "done"), [("usd: 4", ["a", "b"]), ("usd: 2", ["a"]), ("tokens: 300", ["a", "b"]), ("tokens: 1", ["a"])]
)
def test_a_budget_that_is_used_up_pauses_the_run_before_anything_else_begins(
    project: Project, budget: str, done: list[str]
):
    begun(project, FOUR.replace("BUDGET", budget))
    assert project.ledger == done


def test_the_reason_names_what_was_used_and_what_to_do(project: Project):
    reason = begun(project, FOUR.replace("BUDGET", "usd: 4"))
    assert "4.00 USD of 4.00 USD" in reason
    assert "--budget usd=" in reason


def test_a_resume_that_does_not_raise_it_pauses_again_and_does_nothing(project: Project):
    begun(project, FOUR.replace("BUDGET", "usd: 4"))
    said = project.onward("resume", "--yes")
    assert said.code == 3, said.err
    assert project.ledger == ["a", "b"]


def test_a_plan_says_that_nothing_begins_before_it_is_raised(project: Project):
    begun(project, FOUR.replace("BUDGET", "usd: 4"))
    assert "nothing begins before it is raised" in project.onward("resume", "--plan").out
    assert "used up" not in project.onward("resume", "--plan", "--budget", "usd=9").out


def test_a_resume_can_raise_it(project: Project):
    begun(project, FOUR.replace("BUDGET", "usd: 4"))
    said = project.onward("resume", "--yes", "--budget", "usd=20")
    assert said.code == 0, said.err
    assert project.ledger == ["a", "b", "c", "d"]
    assert project.onward("verify").code == 0


def test_what_was_raised_holds_for_later_resumes_and_is_used_up_in_its_turn(project: Project):
    begun(project, FOUR.replace("BUDGET", "usd: 2"))
    assert project.onward("resume", "--yes", "--budget", "usd=4").code == 3
    assert project.ledger == ["a", "b"]
    assert project.onward("resume", "--yes", "--budget", "usd=5").code == 3
    assert project.ledger == ["a", "b", "c"]


def test_an_edit_of_the_file_raises_it_too(project: Project):
    begun(project, FOUR.replace("BUDGET", "usd: 4"))
    project.workflow(FOUR.replace("BUDGET", "usd: 100"))
    assert project.onward("resume", "--yes").code == 0
    assert project.ledger == ["a", "b", "c", "d"]


NODE = (
    HEAD
    + """
    task:
      - review:
          budget: {usd: 3}
          loop: {for-each: [x, y, z], as: n}
          task: [{look: {prompt: "look {{n}}"}}]
      - after: {prompt: after}
"""
)


def test_the_budget_of_a_node_counts_what_is_below_it_in_all_iterations(project: Project):
    reason = begun(project, NODE)
    assert "`review`" in reason
    assert project.ledger == ["look x", "look y"]
    said = project.onward("resume", "--yes", "--budget", "review:usd=50")
    assert said.code == 0, said.err
    assert project.ledger == ["look x", "look y", "look z", "after"]


def test_without_a_path_the_budget_that_is_used_up_is_meant(project: Project):
    begun(project, NODE)
    assert project.onward("resume", "--yes", "--budget", "usd=50").code == 0


def test_a_budget_that_is_used_up_by_the_last_of_a_node_does_not_stop_what_follows(project: Project):
    project.write("agent.py", AGENT)
    project.workflow(NODE.replace("usd: 3", "usd: 6"))
    said = project.onward("run", "w.yaml")
    assert said.code == 0, said.err
    assert project.ledger == ["look x", "look y", "look z", "after"]


@pytest.mark.parametrize(
    ("given", "words"),
    [("usd", "no amount"), ("usd=x", "no amount"), ("eur=5", "cannot be raised"), ("after:usd=5", "has no budget")],
)
def test_what_cannot_be_raised_is_told(project: Project, given: str, words: str):
    begun(project, NODE)
    said = project.onward("resume", "--yes", "--budget", given)
    assert said.code == 2
    assert words in said.err


def test_what_was_spent_survives_kills_of_everything(project: Project):
    project.write("agent.py", AGENT)
    waits = "touch waits; until [ -e go ]; do sleep 0.05; done"
    steps = ["a: {prompt: a}", f"w: {{run: '{waits}'}}", "b: {prompt: b}", "c: {prompt: c}"]
    task = "task:\n" + "".join(f"      - {step}\n" for step in steps)
    project.workflow(f"{HEAD}    budget: {{usd: 4}}\n    {task}")
    driver = project.start("run", "w.yaml")
    project.wait_for_file("waits")
    project.kill_all(driver)
    project.touch("go")
    assert project.onward("resume", "--yes").code == 3
    assert project.ledger == ["a", "b"]
