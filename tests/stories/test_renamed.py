"""`was`: a node that got another name keeps its record; and readers know the file that a resume went by."""

import json

import pytest

from stories.project import Project

BEFORE = """
    task:
      - one: {run: echo one >> ledger.txt; echo said-one}
      - two: {run: test -e ok && echo two >> ledger.txt}
"""


def failed(project: Project, text: str) -> None:
    project.workflow(text)
    assert project.onward("run", "w.yaml").code == 1


def resumed(project: Project, text: str) -> None:
    project.workflow(text)
    project.touch("ok")
    said = project.onward("resume", "--yes")
    assert said.code == 0, said.err
    assert project.onward("verify").code == 0


def nodes(project: Project) -> dict[str, str]:
    found = json.loads(project.onward("status", "--json").out)
    assert found["progress"]["done"] == found["progress"]["total"]
    return {node["path"]: node["status"] for node in found["nodes"]}


def test_a_finished_task_with_a_new_name_is_kept_and_its_result_is_used(project: Project):
    failed(project, BEFORE)
    resumed(
        project,
        """
        task:
          - first: {was: one, run: echo one >> ledger.txt; echo said-one}
          - two: {run: 'test -e ok && echo "two $first_text" >> ledger.txt', env: {first_text: "{{first.text}}"}}
        """,
    )
    assert project.ledger == ["one", "two said-one"]
    assert nodes(project) == {"first": "succeeded", "two": "succeeded"}
    assert project.onward("logs", "--", "first").out == "" or "said-one" in project.onward("logs").out


def test_without_was_it_is_a_new_task(project: Project):
    failed(project, BEFORE)
    resumed(project, BEFORE.replace("- one:", "- first:"))
    assert project.counts["one"] == 2


def test_its_output_is_found_under_the_new_name(project: Project):
    failed(project, BEFORE)
    resumed(project, BEFORE.replace("- one: {", "- first: {was: one, "))
    run = next((project.root / ".onward/runs").iterdir()).name
    assert "said-one" in project.onward("logs", run, "first").out
    assert "one" not in nodes(project)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "- g: {task: [{a: {run: A}}, {b: {run: B}}]}",
            "- h: {was: g, task: [{a: {run: A}}, {c: {was: b, run: B}}]}",
        ),
        (
            "- g: {loop: {for-each: [x, y], as: item}, task: [{a: {run: A}}]}",
            "- h: {was: g, loop: {for-each: [x, y], as: item}, task: [{c: {was: a, run: A}}]}",
        ),
        (
            "- g: {parallel: {a: {run: A}, b: {run: B}}, merge: [{m: {run: M}}]}",
            "- h: {was: g, parallel: {a: {run: A}, c: {was: b, run: B}}, merge: [{n: {was: m, run: M}}]}",
        ),
    ],
)
def test_whatever_is_renamed_nothing_below_it_runs_again(project: Project, before: str, after: str):
    def text(part: str) -> str:
        for letter in "ABM":
            part = part.replace(f"run: {letter}", f"run: 'echo {letter}$item >> ledger.txt'")
        part = part.replace("$item", "$item" if "loop" in part else "")
        return f"task:\n  {part}\n  - last: {{run: test -e ok}}\n"

    failed(project, text(before))
    before_resume = project.ledger
    assert before_resume
    resumed(project, text(after))
    assert project.ledger == before_resume
    assert all(status == "succeeded" for status in nodes(project).values())
    project.onward("resume")
    assert project.ledger == before_resume


def test_a_task_that_was_interrupted_goes_on_under_its_new_name(project: Project):
    project.workflow("task:\n  - slow: {run: 'echo begin >> ledger.txt; touch waits; sleep 60'}\n")
    driver = project.start("run", "w.yaml")
    project.wait_for_file("waits")
    project.kill_all(driver)
    project.workflow("task:\n  - quick: {was: slow, run: 'echo end >> ledger.txt'}\n")
    said = project.onward("resume", "--yes")
    assert said.code == 0, said.err
    assert project.ledger == ["begin", "end"]
    attempts = json.loads(project.onward("show", "--json", next(iter(runs(project))), "quick").out)["attempts"]
    assert len(attempts) == 2


def test_a_task_that_still_runs_is_found_again_under_its_new_name(project: Project):
    script = "echo begin >> ledger.txt; touch waits; until [ -e go ]; do sleep 0.05; done; echo end >> ledger.txt"
    project.workflow(f"task:\n  - slow: {{run: '{script}'}}\n")
    driver = project.start("run", "w.yaml")
    project.wait_for_file("waits")
    project.kill_driver(driver)
    project.workflow(f"task:\n  - quick: {{was: slow, run: '{script}'}}\n")
    going = project.start("resume", "--yes")
    project.touch("go")
    assert going.wait(30) == 0
    assert project.ledger == ["begin", "end"]


def test_a_call_that_still_runs_is_found_again_under_its_new_name(project: Project):
    project.write(
        "m.py",
        """
        import pathlib, time
        def f():
            with open("ledger.txt", "a") as ledger: ledger.write("begin\\n")
            pathlib.Path("waits").touch()
            while not pathlib.Path("go").exists(): time.sleep(0.05)
            with open("ledger.txt", "a") as ledger: ledger.write("end\\n")
        """,
    )
    project.workflow("task:\n  - c: {call: 'm:f'}\n")
    driver = project.start("run", "w.yaml")
    project.wait_for_file("waits")
    project.kill_driver(driver)
    project.workflow("task:\n  - d: {was: c, call: 'm:f'}\n")
    assert "keeps running" in project.onward("resume", "--plan").out or project.ledger == ["begin"]
    going = project.start("resume", "--yes")
    project.touch("go")
    assert going.wait(30) == 0
    assert project.ledger == ["begin", "end"]


def test_a_new_task_may_take_the_old_name_later(project: Project):
    failed(project, BEFORE)
    renamed = BEFORE.replace("- one: {", "- first: {was: one, ")
    project.workflow(renamed)
    assert project.onward("resume", "--yes").code == 1
    resumed(project, renamed.replace("- two:", "- one: {run: echo new-one >> ledger.txt}\n      - two:"))
    assert project.ledger == ["one", "new-one", "two"]


def test_status_knows_the_tasks_of_the_edited_file(project: Project):
    failed(project, BEFORE)
    resumed(project, BEFORE + "      - three: {run: 'true'}\n")
    assert set(nodes(project)) == {"one", "two", "three"}


def runs(project: Project) -> list[str]:
    return sorted(path.name for path in (project.root / ".onward/runs").iterdir())
