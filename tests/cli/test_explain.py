"""`onward explain`: where values come from, what a task gets, and what a resume would do, held against real runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stories.project import Project

INNER = """\
variables:
  who: nobody
  size: {default: "3"}
env: {INNER: "yes"}
directory: deep
task:
  - greet:
      env: {SAID: "hello {{who}} {{size}}"}
      run: |
        env | cut -d= -f1 > names
        pwd
outputs: {said: "{{greet.text}}"}
"""

WORKFLOW = """\
title: "For {{who}}"
variables:
  who: world
  token: {required: true}
env: {EVERYWHERE: "of the root"}
task:
  - first: {run: 'echo "$who"'}
  - part:
      include: parts/inner.yaml
      with: {who: "{{first.text}}"}
      env: {OUTER: "x"}
  - each:
      loop: {for-each: "{{first.lines}}", as: line}
      directory: sub
      task:
        - work:
            env: {TEXT: "{{line}} {{index}} {{datetime}}", EVERYWHERE: "of the node"}
            run: 'env | cut -d= -f1 > names; pwd; echo "$TEXT $line"'
      merge:
        - sum: {run: [echo, "{{each.results | json}}", "{{first.text}}"]}
  - again:
      loop: {until: {equals: ["{{self.done.text}}", "2 1 none"]}, max: 5}
      task:
        - done: {run: [echo, "{{index}}", "{{previous.done.text | default \\"none\\"}}"]}
      on-failure:
        task: [{tell: {prompt: "{{first.text | fence}} {{undeclared}}", validators: {prompt: "Good? {{self.text}}"}}}]
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    found = Project(tmp_path)
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    (tmp_path / "parts" / "inner.yaml").write_text(INNER)
    yield found
    found.finish()


def explained(project: Project, *words: str, file: str = "w.yaml") -> dict[str, Any]:
    data = json.loads(project.onward("explain", file, *words, "--json").check().out)
    assert data["schema"] == 1
    return {node["path"]: node for node in data["nodes"]}


def test_every_reference_is_followed_to_its_line(project: Project) -> None:
    nodes = explained(project)

    def where(path: str) -> set[tuple[str, str, str, str, int]]:
        return {
            (each["field"], each["written"], each["kind"], each["file"], each["line"])
            for each in nodes[path]["references"]
        }

    assert where("first") == {("run", "$who", "environment", "", 0)}
    assert where("part") == {
        ("with.who", "{{first.text}}", "node", "", 7),
        ("outputs", "{{greet.text}}", "node", "parts/inner.yaml", 7),
    }
    assert where("part/greet") == {
        ("env.SAID", "{{who}}", "variable", "parts/inner.yaml", 2),
        ("env.SAID", "{{size}}", "variable", "parts/inner.yaml", 3),
    }
    assert where("each") == {("loop.for-each", "{{first.lines}}", "node", "", 7)}
    assert where("each/work") >= {
        ("env.TEXT", "{{line}}", "loop", "", 12),
        ("env.TEXT", "{{index}}", "loop", "", 12),
        ("env.TEXT", "{{datetime}}", "reserved", "", 0),
    }
    assert where("each/@merge/sum") == {
        ("run", "{{each.results | json}}", "node", "", 12),
        ("run", "{{first.text}}", "node", "", 7),
    }
    assert where("again") == {("loop.until", "{{self.done.text}}", "self", "", 24)}
    assert where("again/done") == {
        ("run", "{{index}}", "loop", "", 21),
        ("run", '{{previous.done.text | default "none"}}', "previous round", "", 24),
    }
    assert ("prompt", "{{undeclared}}", "variable", "", 0) in where("again/@on-failure/tell")


def test_the_words_tell_what_a_value_is(project: Project) -> None:
    said = project.onward("explain", "w.yaml").check().out
    assert "each/work (run, w.yaml line 16)" in said
    assert "{{line}} ← the loop variable `line` of `each` (line 12)" in said
    assert "{{who}} ← the variable `who`: given by `with` of `part` (parts/inner.yaml line 2)" in said
    assert "{{size}} ← the variable `size`: default `3`, or --var (parts/inner.yaml line 3)" in said
    assert "{{undeclared}} ← the variable `undeclared`: declared nowhere; given with --var" in said
    assert "calls an agent for 1 of its validators (a judge agent)" in (
        project.onward("explain", "w.yaml", "again/@on-failure/tell").check().out
    )


@pytest.mark.parametrize(("path", "names"), [("part/greet", "parts/deep/names"), ("each/work", "sub/names")])
def test_the_environment_and_the_folder_are_those_of_a_real_run(project: Project, path: str, names: str) -> None:
    project.onward("run", "w.yaml", "--var", "token=t", "--var", "undeclared=u", "--id", "r", "-q").check()
    node = explained(project, path, "--var", "undeclared=u")[path]
    of_the_shell = {"PWD", "SHLVL", "_", "OLDPWD"}
    got = set(project.read(names).split()) - of_the_shell
    explained_names = {each["name"] for each in node["environment"]}
    # `--var undeclared` is used by one node and is no variable of the included file.
    assert got - set(project.environment) == explained_names
    folder = project.onward("logs", "r", path if path != "each/work" else "each[world]/work").check().out
    assert node["directory"][0] in folder


def test_what_the_hash_is_made_of(project: Project) -> None:
    nodes = explained(project)
    assert nodes["each/work"]["hashed"] == ["run", "shell", "env"]
    assert nodes["each"]["hashed"] == ["task", "directory", "loop.for-each", "loop.as"]
    assert nodes["again"]["hashed"] == ["task", "loop.until"]


def test_a_changed_field_that_is_listed_changes_the_hash_and_no_other_does(project: Project) -> None:
    before = explained(project)["each/work"]["hash"]
    env = "            env: {TEXT"
    (project.root / "w.yaml").write_text(WORKFLOW.replace(env, f"            timeout: 5m\n{env}"))
    assert explained(project)["each/work"]["hash"] == before
    (project.root / "w.yaml").write_text(WORKFLOW.replace("of the node", "of another"))
    assert explained(project)["each/work"]["hash"] != before


def test_an_unknown_path_and_a_bad_file(project: Project) -> None:
    assert "did you mean `each/work`?" in project.onward("explain", "w.yaml", "each/wrok").check(2).err
    project.workflow("task: [{a: {rnu: x}}]", "bad.yaml")
    assert "bad.yaml:1:" in project.onward("explain", "bad.yaml").check(2).err


# ---------------------------------------------------------------- what a resume would do

STORY = """
    task:
      - kept: {run: 'echo kept >> ledger.txt'}
      - edited: {run: 'echo edited >> ledger.txt'}
      - passed: {run: 'echo passed >> ledger.txt; exit 1', on-failure: continue}
      - made: {run: 'echo made >> ledger.txt; touch thing', artifacts: [thing]}
      - each:
          loop: {for-each: [a, b], as: x, limit: 2}
          run: 'echo "each-$x" >> ledger.txt; [ "$x" = a ] || [ -e go ]'
      - never: {run: 'echo never >> ledger.txt'}
    finally:
      - tidy: {run: 'echo tidy >> ledger.txt'}
"""


def test_the_forecast_is_what_then_happens(project: Project) -> None:
    project.workflow(STORY)
    project.onward("run", "w.yaml", "--id", "r", "-q").check(1)
    project.workflow(STORY.replace("echo edited", "echo edited-now"))
    (project.root / "thing").unlink()
    project.touch("go")
    told = {path: node["resume"] for path, node in explained(project, "--run", "r").items()}
    assert told == {
        "kept": ["kept"],
        "edited": ["kept, although edited since (`--rerun edited` does it again)"],
        "passed": ["kept: it failed, and the run went on"],
        "made": ["again: `thing` is gone"],
        "each": ["`each[a]`: kept", "`each[b]`: again: it failed"],
        "never": ["not reached yet: it runs"],
        "@finally/tidy": ["kept, unless work before it runs"],
    }
    before = project.counts
    project.onward("resume", "r", "-q").check()
    assert project.counts - before == {"made": 1, "each-b": 1, "never": 1, "tidy": 1}


def test_a_node_that_is_no_longer_there_and_a_run_of_another_file_are_told(project: Project) -> None:
    project.workflow(STORY)
    project.onward("run", "w.yaml", "--id", "r", "-q").check(1)
    project.workflow("task: [{kept: {run: 'true'}}]", "other.yaml")
    said = project.onward("explain", "other.yaml", "--run", "r").check()
    assert "never is no longer" not in said.out, "it was never reached"
    assert "made is no longer in the workflow; its record stays, unused" in said.out
    assert "run r is of another file: w.yaml" in said.err


def test_a_run_that_succeeded_has_nothing_to_do(project: Project) -> None:
    project.workflow("task: [{a: {run: 'true'}}]", "s.yaml")
    project.onward("run", "s.yaml", "--id", "r", "-q").check()
    assert "only `--rerun` does any of it again" in project.onward("explain", "s.yaml", "--run", "r").check().err
