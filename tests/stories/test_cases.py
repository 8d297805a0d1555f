"""Faults that users of similar systems met, as stories: none of their kind may happen here."""

from __future__ import annotations

import json
import signal

import pytest

from stories.project import Project

FIVE = """
    task:
      - s1: {run: 'echo s1 >> ledger.txt'}
      - s2: {run: 'echo s2 >> ledger.txt'}
      - s3: {run: 'echo s3 >> ledger.txt'}
      - s4: {run: 'echo s4 >> ledger.txt'}
      - s5: {run: 'touch waits; until [ -e go5 ]; do sleep 0.05; done; echo s5 >> ledger.txt'}
"""


def test_a_bad_line_in_the_middle_of_the_journal_is_named_and_what_follows_is_kept(project: Project):
    project.workflow(FIVE)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.kill_all(driver)
    journal = project.root / ".onward/runs/r/journal.jsonl"
    lines = journal.read_bytes().split(b"\n")
    bad = next(n for n, line in enumerate(lines) if b'"node_end"' in line and b'"s2"' in line)
    lines[bad] = lines[bad][: len(lines[bad]) // 2]
    journal.write_bytes(b"\n".join(lines))
    (project.root / ".onward/runs/r/state.json").write_bytes(b"rubbish" * 6)
    project.touch("go5")
    before = journal.read_bytes()
    refused = project.onward("resume", "r").check(3)
    assert f"line {bad + 1}" in refused.err
    assert "--accept-damage" in refused.err
    assert project.ledger == ["s1", "s2", "s3", "s4"]
    project.onward("resume", "r", "--accept-damage", "--yes").check()
    assert project.counts["s2"] in (1, 2)
    assert {name: project.counts[name] for name in ("s1", "s3", "s4", "s5")} == dict.fromkeys(
        ("s1", "s3", "s4", "s5"), 1
    )
    assert journal.read_bytes().startswith(before)


@pytest.mark.parametrize(
    ("task", "word"),
    [
        ("{run: 'echo part > out.bin; kill -9 $$; echo rest >> out.bin'}", "SIGKILL"),
        ("{run: 'echo part > out.bin; kill -TERM $$'}", "SIGTERM"),
        ("{run: 'echo part > out.bin; kill -SEGV $$'}", "SIGSEGV"),
        ("{call: 'm:die'}", "SIGKILL"),
    ],
)
def test_a_task_killed_by_a_signal_has_failed_and_says_by_which(project: Project, task: str, word: str):
    project.write("m.py", "import os, signal\ndef die():\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    project.workflow(f"task: [{{build: {task}}}, {{publish: {{run: 'cp out.bin published.bin'}}}}]")
    said = project.onward("run", "w.yaml", "--id", "r").check(1)
    assert word in said.err
    assert not (project.root / "published.bin").exists()
    node = project.node("build")
    assert (node["status"], node["signal"]) == ("failed", word)
    project.workflow("task: [{build: {run: 'echo whole > out.bin'}}, {publish: {run: 'cp out.bin published.bin'}}]")
    project.onward("resume", "r", "--yes").check()
    assert project.read("published.bin") == "whole\n"


def test_members_in_flight_when_everything_was_killed_are_not_left_out_of_what_collects_them(project: Project):
    project.workflow("""
        task:
          - fan:
              parallel:
                a: {run: 'echo a >> ledger.txt; echo a > part_a'}
                b: {run: 'touch waits; until [ -e gob ]; do sleep 0.05; done; echo b >> ledger.txt; echo b > part_b'}
                c: {run: 'echo c >> ledger.txt; echo c > part_c'}
          - collect: {run: 'ls part_* | wc -l > count.txt; echo collect >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml")
    project.wait("a and c are done", lambda: set(project.ledger) == {"a", "c"} and (project.root / "waits").exists())
    project.kill_all(driver)
    project.touch("gob")
    project.onward("resume", "--yes").check()
    assert project.read("count.txt").strip() == "3"
    assert project.counts == dict.fromkeys(("a", "b", "c", "collect"), 1)


@pytest.mark.parametrize("kind", ["run", "call"])
def test_a_timeout_ends_everything_that_the_task_has_started(project: Project, kind: str):
    project.write(
        "m.py", "import subprocess\ndef go():\n    subprocess.run(['bash', '-c', 'sleep 301.77 & sleep 301.77'])\n"
    )
    work = "run: \"bash -c 'sleep 301.77 & sleep 301.77' & setsid sleep 301.77 & sleep 301.77\""
    work = work if kind == "run" else "call: 'm:go'"
    project.workflow(f"task:\n  - slow:\n      timeout: 1s\n      retry: {{attempts: 2}}\n      {work}\n")
    said = project.onward("run", "w.yaml", within_s=40).check(1)
    assert "timed out after 1 s" in said.err.replace("1s", "1 s")
    assert project.tasks() == []
    assert project.node("slow")["attempts"] == 2


def test_sigterm_reaches_a_task_once_and_what_it_does_to_clean_up_is_waited_for(project: Project):
    project.workflow("""
        grace: 5s
        task:
          - work:
              run: |
                trap 'echo t >> terms; sleep 0.5; echo clean > cleanup.txt; exit 143' TERM
                touch began
                while :; do sleep 0.1; done
          - after: {run: 'echo after >> ledger.txt'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("began")
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(20) == 3
    assert project.read("terms") == "t\n"
    assert project.read("cleanup.txt") == "clean\n"
    assert project.ledger == []
    assert project.status("r")["status"] == "paused"


def test_output_that_is_no_text_is_kept_byte_for_byte_and_hides_nothing(project: Project):
    project.workflow(r"""
        task:
          - raw: {run: "printf '\\200\\377\\n'; printf 'caf\\303'; sleep 0.3; printf '\\251\\n'; exit 3"}
            ok: {run: 'sleep 0.5; echo ok >> ledger.txt'}
    """)
    said = project.onward("run", "w.yaml", "--id", "r", LC_ALL="C").check(1)
    assert "exit code 3" in said.err
    assert project.ledger == ["ok"]
    stored = next((project.root / ".onward/runs/r/tasks/raw/1").glob("out")).read_bytes()
    assert stored == b"\x80\xff\ncaf\xc3\xa9\n"
    assert "café" in project.onward("logs", "r", "raw", PYTHONUTF8="1").out


def test_much_output_on_both_streams_neither_blocks_nor_is_lost(project: Project):
    size = 5_000_000
    project.workflow(f"""
        task:
          - noisy: {{run: "head -c {size} /dev/zero | tr '\\\\0' e >&2; head -c {size} /dev/zero | tr '\\\\0' o"}}
          - after: {{run: 'echo after >> ledger.txt'}}
    """)
    project.onward("run", "w.yaml", "--id", "r").check()
    folder = project.root / ".onward/runs/r/tasks/noisy/1"
    assert ((folder / "out").stat().st_size, (folder / "err").stat().st_size) == (size, size)
    assert project.ledger == ["after"]


def test_values_arrive_as_they_are_written_before_and_after_a_resume(project: Project):
    names = ["account", "zip", "version", "country", "day", "at", "mask", "nothing"]
    env = ", ".join(f'{name.upper()}: "{{{{{name}}}}}"' for name in names)
    show = "env | grep -E '^(ACCOUNT|ZIP|VERSION|COUNTRY|DAY|AT|MASK|NOTHING)=' | sort"
    project.workflow(f"""
        variables:
          account: 998877665544332211009988776655
          zip: 02134
          version: 1.10
          country: no
          day: 2024-01-02
          at: 12:30
          mask: 0x1F
          nothing:
        task:
          - show: {{env: {{{env}}}, run: "{show} > shown.txt"}}
          - stop: {{run: 'touch waits; until [ -e go ]; do sleep 0.05; done'}}
          - again: {{env: {{{env}}}, run: "{show} > again.txt"}}
    """)
    driver = project.start("run", "w.yaml")
    project.wait_for_file("waits")
    project.kill_all(driver)
    project.touch("go")
    project.onward("resume", "--yes").check()
    shown = project.read("shown.txt")
    assert shown == (
        "ACCOUNT=998877665544332211009988776655\nAT=12:30\nCOUNTRY=no\nDAY=2024-01-02\nMASK=0x1F\nNOTHING=\n"
        "VERSION=1.10\nZIP=02134\n"
    )
    assert project.read("again.txt") == shown


def test_variables_are_those_of_the_start_wherever_the_resume_is_called_from(project: Project):
    project.workflow("""
        variables: {col: {required: true}}
        task:
          - prep: {run: 'echo prep >> ledger.txt'}
          - use: {run: 'echo "use:$col" >> ledger.txt; test -e ok'}
    """)
    project.onward("run", "w.yaml", "--var", "col=foo", "--id", "r").check(1)
    project.touch("ok")
    elsewhere = project.root / "elsewhere"
    elsewhere.mkdir()
    store = str(project.root / ".onward")
    project.onward("resume", "r", "--yes", "--store", store, cwd=elsewhere, col="other").check()
    assert project.ledger == ["prep", "use:foo", "use:foo"]


def test_a_value_with_dollars_and_quotes_is_never_read_as_a_script(project: Project):
    note = "costs $5, $NOPE and ${NOPE}, `id`, $(id), {braces}, 100%, \"quoted\" 'single'\nsecond line"
    project.write("v.json", json.dumps({"note": note}))
    project.write("m.py", "def keep(note):\n    open('py.txt', 'w').write(note)\n")
    project.workflow("""
        variables: {note: {required: true}}
        task:
          - env: {env: {NOTE: "{{note}}"}, run: 'printf %s "$NOTE" > env.txt'}
          - own: {run: 'printf %s "$note" > own.txt'}
          - stdin: {stdin: "{{note}}", run: 'cat > stdin.txt'}
          - argv: {run: [python3, -c, "import sys; open('argv.txt', 'w').write(sys.argv[1])", "{{note}}"]}
          - py: {call: "m:keep", with: {note: "{{note}}"}}
    """)
    project.onward("run", "w.yaml", "--vars-file", "v.json").check()
    for name in ("env", "own", "stdin", "argv", "py"):
        assert project.read(f"{name}.txt") == note, name


def test_a_paused_run_stays_paused_when_others_are_resumed(project: Project):
    project.workflow(
        """
        variables: {run: {required: true}}
        task:
          - s1: {run: 'echo "$run s1" >> ledger.txt'}
          - s2: {run: 'touch "waits_$run"; until [ -e "go_$run" ]; do sleep 0.05; done; echo "$run s2" >> ledger.txt'}
          - s3: {run: 'echo "$run s3" >> ledger.txt'}
    """.replace("variables: {run:", "variables: {who:").replace("$run", "$who")
    )
    p = project.start("run", "w.yaml", "--var", "who=P", "--id", "p")
    q = project.start("run", "w.yaml", "--var", "who=Q", "--id", "q")
    project.wait_for_file("waits_P")
    project.wait_for_file("waits_Q")
    asked = project.start("pause", "p")
    project.wait(
        "the pause is on record",
        lambda: b"pause_request" in (project.root / ".onward/runs/p/journal.jsonl").read_bytes(),
    )
    project.touch("go_P")
    assert p.wait(20) == 3
    assert asked.wait(20) == 0
    project.kill_all(q)
    project.touch("go_Q")
    project.onward("resume", "q", "--yes").check()
    assert project.status("p")["status"] == "paused"
    assert "P s3" not in project.ledger
    project.onward("resume", "p").check()
    assert project.counts["P s3"] == 1


def test_gates_of_equal_words_are_told_apart_and_each_answer_reaches_its_own(project: Project):
    project.write(
        "ask.yaml",
        """
        variables: {fruit: {required: true}}
        task: [{ask: {approve: "pick {{fruit}}?"}}, {pick: {run: 'echo "$fruit" >> ledger.txt'}}]
        """,
    )
    members = "".join(
        f"{fruit}: {{include: ask.yaml, with: {{fruit: {fruit}}}, on-failure: continue}}, "
        for fruit in ("apple", "pear", "plum")
    )
    project.workflow(f"task: [{{baskets: {{parallel: {{{members[:-2]}}}}}}}]")
    project.onward("run", "w.yaml", "--id", "r").check(3)
    paths = [gate["path"] for gate in project.status("r")["gates"]]
    assert sorted(paths) == ["baskets/apple/ask", "baskets/pear/ask", "baskets/plum/ask"]
    project.onward("approve", "r", "baskets/apple/ask").check()
    project.onward("reject", "r", "baskets/pear/ask").check()
    project.onward("resume", "r", "--yes").check(3)
    assert [gate["path"] for gate in project.status("r")["gates"]] == ["baskets/plum/ask"]
    project.onward("approve", "r", "baskets/plum/ask").check()
    project.onward("resume", "r", "--yes").check()
    assert sorted(project.ledger) == ["apple", "plum"]


def test_after_an_edit_tasks_are_known_by_name_and_the_changes_are_told(project: Project):
    project.workflow("""
        task:
          - s1: {run: 'echo s1 >> ledger.txt'}
          - s2: {run: 'echo s2 >> ledger.txt'}
          - s3: {run: 'echo s3 >> ledger.txt; test -e ok'}
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.touch("ok")
    project.workflow("""
        task:
          - s0: {run: 'echo s0 >> ledger.txt'}
          - s2: {run: 'echo s2 >> ledger.txt'}
          - s1: {run: 'echo changed >> ledger.txt'}
          - s3: {run: 'echo s3 >> ledger.txt; test -e ok'}
    """)
    said = project.onward("resume", "r", "--yes").check()
    assert project.ledger == ["s1", "s2", "s3", "s0", "s3"]
    assert "`s0`" in said.err
    assert "`s1`" in said.err
    assert "edited" in said.err


def test_a_half_written_artifact_is_none_and_a_changed_one_is_a_question(project: Project):
    project.workflow("""
        task:
          - produce:
              run: |
                echo produce >> ledger.txt
                for i in $(seq 1000); do
                  echo "line $i"
                  if [ "$i" = 500 ]; then touch half; until [ -e go ]; do sleep 0.05; done; fi
                done > report.txt
              artifacts: [report.txt]
          - consume: {run: 'wc -l < report.txt > lines.txt; echo consume >> ledger.txt; test -e ok'}
    """)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("half")
    project.kill_all(driver)
    project.touch("go")
    project.onward("resume", "r", "--yes").check(1)
    assert project.read("lines.txt").strip() == "1000"
    assert project.counts["produce"] == 2
    report = project.root / "report.txt"
    report.write_text(report.read_text().replace("line 7\n", "line X\n"))
    project.touch("ok")
    refused = project.onward("resume", "r").check(3)
    assert "report.txt" in refused.err
    assert "--rerun produce" in refused.err
    project.onward("resume", "r", "--rerun", "produce").check()
    assert "line X" not in report.read_text()


def test_a_missing_artifact_is_made_again_before_what_uses_it(project: Project):
    project.workflow("""
        task:
          - produce: {run: 'echo produce >> ledger.txt; : > empty.txt', artifacts: [empty.txt]}
          - consume: {run: 'cat empty.txt; echo consume >> ledger.txt; test -e ok'}
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    (project.root / "empty.txt").unlink()
    project.touch("ok")
    said = project.onward("resume", "r", "--yes").check()
    assert "empty.txt is gone" in said.err
    assert project.ledger == ["produce", "consume", "produce", "consume"]


def test_markup_and_control_characters_of_a_task_do_not_act_on_the_terminal(project: Project):
    project.workflow(r"""
        name: markup
        title: "\e]0;evil\a <b>x</b>"
        task:
          - print:
              run: |
                printf '<b>bold</b>\n\033[31mred\033[0m\033]0;new title\007\n10%%\r20%%\rdone\n'
                exit 1
    """)
    said = project.onward("run", "w.yaml", "--id", "r").check(1)
    for text in (said.err, said.out, project.onward("status", "r").out, project.onward("logs", "r", "print").out):
        assert "\x1b" not in text
        assert "\a" not in text
    stored = (project.root / ".onward/runs/r/tasks/print/1/out").read_bytes()
    assert stored == b"<b>bold</b>\n\x1b[31mred\x1b[0m\x1b]0;new title\x07\n10%\r20%\rdone\n"
