"""What a person may ask of a resume: do again, from here on, what was edited, what is stale; leave out, take as done,
read the items once more. Each is told beforehand by `--plan`."""

import json

import pytest

from stories.project import Project

LINE = """
    task:
      - one: {run: echo one >> ledger.txt; cat source}
      - two: {run: echo two >> ledger.txt; echo "$one_text", env: {one_text: "{{one.text}}"}}
      - three: {run: echo three >> ledger.txt}
      - four: {run: test -e ok && echo four >> ledger.txt}
"""


def stopped(project: Project, text: str = LINE) -> None:
    project.write("source", "old\n")
    project.workflow(text)
    assert project.onward("run", "w.yaml").code == 1
    (project.root / "ledger.txt").write_text("")
    project.touch("ok")


def resumed(project: Project, *flags: str) -> str:
    said = project.onward("resume", "--yes", *flags)
    assert said.code == 0, said.err
    assert project.onward("verify").code == 0
    return said.err


@pytest.mark.parametrize(
    ("flags", "again"),
    [
        (["--rerun", "one"], ["one", "two", "four"]),
        (["--rerun", "three"], ["three", "four"]),
        (["--rerun-from", "three"], ["three", "four"]),
        (["--rerun-from", "two"], ["two", "three", "four"]),
        (["--rerun-from", "one"], ["one", "two", "three", "four"]),
        (["--skip", "four"], []),
        (["--done", "four"], []),
    ],
)
def test_what_is_asked_for_is_done_again_and_nothing_else(project: Project, flags: list[str], again: list[str]):
    stopped(project)
    resumed(project, *flags)
    assert project.ledger == again


def test_what_was_edited_is_done_again_with_what_used_its_result(project: Project):
    stopped(project)
    project.workflow(LINE.replace("echo one >>", "echo ONE >>"))
    plain = project.onward("resume", "--plan")
    assert "ONE" not in project.ledger
    assert "edited" in plain.out
    resumed(project, "--rerun-changed")
    assert project.ledger == ["ONE", "two", "four"]


def test_edited_tasks_are_kept_without_the_flag(project: Project):
    stopped(project)
    project.workflow(LINE.replace("echo one >>", "echo ONE >>"))
    assert "edited since it finished; kept" in resumed(project)
    assert project.ledger == ["four"]


VARIABLE = """
    variables: {who: ann}
    task:
      - one: {run: 'echo "one $who" >> ledger.txt; echo "$who"', env: {who: "{{who}}"}}
      - two: {run: 'echo "two $said" >> ledger.txt', env: {said: "{{one.text}}"}}
      - three: {run: echo three >> ledger.txt}
      - four: {run: test -e ok && echo four >> ledger.txt}
"""


def test_what_used_an_older_value_is_stale_and_done_again_when_asked_for(project: Project):
    stopped(project, VARIABLE)
    said = resumed(project, "--var", "who=bob")
    assert "`who` has a new value" in said
    assert project.ledger == ["four"]
    nodes = json.loads(project.onward("status", "--json").out)["nodes"]
    assert {node["path"]: node["stale"] for node in nodes} == {"one": True, "two": False, "three": False, "four": False}
    (project.root / "ledger.txt").write_text("")
    resumed(project, "--rerun-stale")
    assert project.ledger == ["one bob", "two bob"]
    (project.root / "ledger.txt").write_text("")
    resumed(project, "--rerun-stale")
    assert project.ledger == []


def test_a_new_value_and_what_it_makes_stale_in_one_command(project: Project):
    stopped(project, VARIABLE)
    resumed(project, "--var", "who=bob", "--rerun-stale")
    assert project.ledger == ["one bob", "two bob", "four"]


@pytest.mark.parametrize("flag", ["--rerun", "--rerun-from", "--skip", "--done", "--refresh"])
def test_a_path_that_is_none_is_told_and_changes_nothing(project: Project, flag: str):
    stopped(project)
    said = project.onward("resume", "--yes", flag, "thre")
    assert said.code == 2
    assert "no node `thre`" in said.err
    assert project.ledger == []


@pytest.mark.parametrize("flag", ["--skip", "--done"])
def test_what_is_done_cannot_be_left_out_or_done_by_hand(project: Project, flag: str):
    stopped(project)
    said = project.onward("resume", "--yes", flag, "one")
    assert said.code == 2
    assert "`one` is done already" in said.err


def test_only_a_loop_can_be_refreshed(project: Project):
    stopped(project)
    said = project.onward("resume", "--yes", "--refresh", "one")
    assert said.code == 2
    assert "no loop" in said.err


LOOP = """
    task:
      - many:
          loop: {for-each: {command: [cat, items]}, as: n REFRESH}
          run: 'test ! -e "bad-$n" && echo "$n" >> ledger.txt; test ! -e "bad-$n"'
      - last: {run: echo last >> ledger.txt}
"""


def looped(project: Project, refresh: str = "") -> None:
    project.workflow(LOOP.replace(" REFRESH", refresh))
    project.write("items", "a\nb\nc\n")
    project.touch("bad-b")
    assert project.onward("run", "w.yaml").code == 1
    (project.root / "bad-b").unlink()
    project.write("items", "a\nc\nd\n")


def test_items_hold_whatever_becomes_of_their_source(project: Project):
    looped(project)
    before = project.ledger
    resumed(project)
    assert project.ledger[len(before) :] == [
        *([] if "c" in before else ["b", "c"]),
        *(["b"] if "c" in before else []),
        "last",
    ]


@pytest.mark.parametrize("by", ["flag", "file"])
def test_items_read_again_add_what_is_new_and_drop_what_is_gone_and_not_done(project: Project, by: str):
    looped(project, ", refresh: true" if by == "file" else "")
    said = resumed(project, *(["--refresh", "many"] if by == "flag" else []))
    assert sorted(project.ledger) == ["a", "c", "d", "last"]
    assert "1 new: d" in said
    assert "1 gone" in said
    nodes = json.loads(project.onward("status", "--json").out)["nodes"]
    assert [node["path"] for node in nodes if node["path"].startswith("many[")] == ["many[a]", "many[c]", "many[d]"]
    assert json.loads(project.onward("status", "--json").out)["progress"]["percent"] == 100


def test_a_loop_that_is_over_can_be_read_again_and_keeps_what_is_done(project: Project):
    project.workflow(LOOP.replace(" REFRESH", ""))
    project.write("items", "a\nb\n")
    assert project.onward("run", "w.yaml").code == 0
    project.write("items", "b\nc\n")
    resumed(project, "--refresh", "many")
    assert project.ledger == ["a", "b", "last", "c"]


def test_from_an_iteration_on_later_ones_and_what_follows_are_done_again(project: Project):
    project.workflow(LOOP.replace(" REFRESH", ""))
    project.write("items", "a\nb\nc\n")
    assert project.onward("run", "w.yaml").code == 0
    resumed(project, "--rerun-from", "many[b]")
    assert project.ledger == ["a", "b", "c", "last", "b", "c", "last"]


def test_with_all_no_choice_about_one_run_is_taken(project: Project):
    stopped(project)
    for flags in (["--rerun", "one"], ["--done", "one"], ["--rerun-changed"], ["--refresh", "one"]):
        said = project.onward("resume", "--all", *flags)
        assert said.code == 2
        assert flags[0] in said.err
