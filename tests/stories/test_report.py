"""`onward report`: one page of any run, whatever state it is in and whatever tasks wrote."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from pathlib import Path

import pytest

from stories.project import Project
from stories.report_pages import PAYLOAD, Page, hostile_run, page_of

TWO = """
    name: two
    title: Two things
    task:
      - first: {title: The first, run: "echo one; echo oops >&2"}
      - second: {run: "echo two", retry: {attempts: 2}}
"""


def test_the_page_of_a_run_says_how_it_stands_and_what_each_task_wrote(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "r1").check()
    said = project.onward("report").check()
    assert said.out == ""
    assert said.err == "written to r1.html\n"
    page = page_of(project.root / "r1.html")
    for expected in ("Two things", "succeeded", "2 of 2 tasks done", "The first", "one", "oops", "two", "started"):
        assert expected in page.text
    assert (project.root / "r1.html").stat().st_mode & 0o777 == 0o644


def test_nothing_that_a_task_a_name_or_a_person_wrote_becomes_a_part_of_the_page(project: Project) -> None:
    run = hostile_run(project)
    project.onward("report", run).check()
    page = page_of(project.root / "h1.html")
    assert page.text.count(PAYLOAD) >= 10
    assert "owned" not in "".join(page.scripts)
    values = [(tag, name) for tag, name, value in page.attributes if "owned" in value]
    assert set(values) <= {("li", "title"), ("rect", "title")}
    assert [name for _, name, _ in page.attributes if name.startswith("on") or name in ("src", "style")] == []
    unseen = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]", page.source)
    assert unseen == []
    assert r"\u202egnp.exe" in page.source


def test_the_policy_of_the_page_allows_its_own_style_and_scripts_and_nothing_else(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "r1").check()
    project.onward("report").check()
    page = page_of(project.root / "r1.html")
    rules = dict(rule.split(" ", 1) for rule in page.meta("Content-Security-Policy").split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == " ".join(_checksum(script) for script in page.scripts)
    style = page.source.split("<style>")[1].split("</style>")[0]
    assert rules["style-src"] == _checksum(style)
    assert not re.search(r"url\((?!#)|@import|https?://(?!www\.w3\.org/2000/svg)", page.source)


def _checksum(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_paused_run_shows_its_question_its_reason_and_the_command_that_goes_on(project: Project) -> None:
    project.workflow("""
        task:
          - one: {run: "echo done"}
          - long: {run: "touch begun; sleep 60"}
            gate: {approve: "Go on with it?", fields: {ticket: text}}
    """)
    running = project.start("run", "w.yaml", "--id", "p1")
    project.wait_for_file("begun")
    project.onward("report", "-o", "running.html").check()
    project.onward("pause", "--reason", "a deploy", "--now").check()
    running.wait(30)
    project.onward("report").check()
    live, paused = page_of(project.root / "running.html"), page_of(project.root / "p1.html")
    assert "It is at work; 1 of 3 tasks done." in live.text
    assert f"process {running.pid}" in live.text
    assert "It stopped at a safe point (a deploy" in paused.text
    assert "Go on with it?" in paused.text
    assert "onward approve p1 gate" in paused.text
    assert "onward resume p1" in paused.text
    assert "pause asked for" in paused.text


def test_an_interrupted_run_has_a_page_and_the_resumed_one_shows_the_time_between(project: Project) -> None:
    project.workflow("""
        task:
          - one: {run: "echo done"}
          - long: {run: "touch begun; test -e go || sleep 60; echo late"}
    """)
    running = project.start("run", "w.yaml", "--id", "i1")
    project.wait_for_file("begun")
    project.kill_all(running)
    project.onward("report").check()
    page = page_of(project.root / "i1.html")
    assert "It has not ended and nothing drives it; 1 of 2 tasks done." in page.text
    assert "was running when the run was interrupted" not in page.text  # the task itself is listed
    assert "interrupted" in page.text
    project.touch("go")
    project.onward("resume", "--yes").check()
    project.onward("report").check()
    again = page_of(project.root / "i1.html")
    assert "resumed" in again.text
    assert re.search(r"<title>interrupted, [^<]+</title>", again.source)
    assert "kept over 1 resume" in again.text


def test_a_damaged_run_has_a_page_that_says_so(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "d1").check()
    folder = project.root / ".onward" / "runs" / "d1"
    lines = (folder / "journal.jsonl").read_bytes().split(b"\n")
    lines[2] = b'{"type": "<script>window.owned=1</script>'
    (folder / "journal.jsonl").write_bytes(b"\n".join(lines))
    (folder / "definition" / "plan.json").write_bytes(b"{")
    project.onward("report", "d1").check()
    page = page_of(project.root / "d1.html")
    assert "Findings" in page.text
    assert "the stored definition cannot be read" in page.text
    assert "journal, line 3" in page.text
    assert "onward resume d1 --accept-damage" in page.text


def test_artifacts_that_are_no_longer_what_was_recorded_are_named(project: Project) -> None:
    project.workflow("""
        task:
          - make: {run: "echo a > a.txt; echo b > b.txt; echo c > c.txt", artifacts: [a.txt, b.txt, c.txt]}
    """)
    project.onward("run", "w.yaml", "--id", "a1").check()
    (project.root / "a.txt").unlink()
    project.write("b.txt", "x\n")
    project.onward("report", "a1").check()
    text = page_of(project.root / "a1.html").text
    assert "2 of 3 artifacts changed or missing" in text
    assert "a.txt: missing (made by make)" in text
    assert "b.txt: changed since (made by make)" in text
    assert "c.txt:" not in text


def test_what_agents_used_is_added_up(project: Project) -> None:
    project.write("agent.json", '{"said": "hello", "used": {"input_tokens": 1200, "cost_usd": 0.25}}')
    project.workflow("""
        adapters:
          mine: {command: [cat, agent.json], prompt: stdin, reply: json:said, usage: json:used}
        defaults: {prompt: {adapter: mine}}
        task:
          - one: {prompt: "Say hello."}
          - two: {prompt: "Say it again."}
    """)
    project.onward("run", "w.yaml", "--id", "u1").check()
    project.onward("report", "u1").check()
    text = page_of(project.root / "u1.html").text
    assert "input tokens 2,400" in text
    assert "cost usd 0.5" in text
    assert "agent mine" in text


def test_output_that_is_gone_or_unreadable_is_told_in_its_place(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "g1").check()
    (out,) = (project.root / ".onward" / "runs" / "g1" / "tasks" / "first").rglob("out")
    out.unlink()
    out.mkdir()
    (out / "in-the-way").touch()
    project.onward("report", "g1").check()
    assert "cannot be read" in page_of(project.root / "g1.html").text


def test_a_secret_that_a_task_printed_is_not_on_the_page(project: Project) -> None:
    project.workflow("""
        secrets: {TOKEN: {env: TOKEN}}
        task:
          - leak: {run: "echo \\"token is $TOKEN\\"; echo $TOKEN >&2; exit 4", secrets: [TOKEN]}
    """)
    secret = "s3cr3t-0f-th3-st0ry"
    project.onward("run", "w.yaml", "--id", "s1", TOKEN=secret).check(1)
    project.onward("report", "s1", TOKEN=secret).check()
    page = page_of(project.root / "s1.html")
    assert secret not in page.source
    assert "token is ***" in page.text


def test_huge_output_is_cut_from_its_beginning_and_the_page_says_so(project: Project) -> None:
    project.workflow("""
        task:
          - many:
              loop: {as: n, for-each: {command: "seq 40"}, limit: 4}
              run: "for i in $(seq 20000); do echo \\"line $i of $n <b>&amp;\\"; done; echo the end of $n"
          - binary: {run: "head -c 3000000 /dev/zero; echo; head -c 3000000 /dev/zero | tr '\\\\0' '\\\\377' >&2"}
    """)
    project.onward("run", "w.yaml", "--id", "b1").check()
    project.onward("report", "b1").check()
    page = page_of(project.root / "b1.html")
    assert len(page.source) < 5_000_000
    assert "the end of 40" in page.text
    assert "onward logs b1 'many[7]'" in page.text
    assert re.search(r"the last \d+ kB of \d+ kB", page.text)


def test_the_page_goes_to_stdout_and_nothing_else_does(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "r1").check()
    said = project.onward("report", "-o", "-").check()
    Page(said.out).check()
    assert said.err == ""
    assert list(project.root.glob("*.html")) == []


def test_a_place_that_cannot_be_written_is_named_before_anything_else_happens(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "r1").check()
    missing = project.onward("report", "-o", "no/such/page.html").check(2)
    assert "the folder no/such does not exist" in missing.err
    assert "mkdir -p no/such" in missing.err
    (project.root / "folder").mkdir()
    folder = project.onward("report", "-o", "folder").check(2)
    assert "folder is a folder" in folder.err
    unknown = project.onward("report", "nothing").check(2)
    assert "nothing" in unknown.err


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder in which nobody can make a file is needed")
def test_a_file_that_may_not_be_written_is_an_error_with_its_reason(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "r1").check()
    said = project.onward("report", "-o", "/proc/page.html").check(2)
    assert "cannot write /proc/page.html" in said.err
    assert "-o -" in said.err


def test_an_earlier_page_is_replaced_as_a_whole_and_nothing_is_left_beside_it(project: Project) -> None:
    project.workflow(TWO)
    project.onward("run", "w.yaml", "--id", "r1").check()
    (project.root / "r1.html").write_text("old")
    before = (project.root / "r1.html").stat().st_ino
    project.onward("report").check()
    assert (project.root / "r1.html").stat().st_ino != before
    page_of(project.root / "r1.html")
    assert [name for name in os.listdir(project.root) if "tmp" in name] == []
