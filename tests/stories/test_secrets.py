"""Secrets through the command line: after whatever happens, no form of one is in any file or on any screen."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from urllib.parse import quote

import pytest

from stories.project import Project, Said

TOKEN = 'ghp_s3cr3t/"x+1'
KEY = "-----BEGIN-----\nQUJDREVGR0hJSktM\n-----END-----"
DECLARED = """
    secrets:
      TOKEN: {env: MY_TOKEN}
      KEY: {file: ../key.pem}
"""


def forms(secret: str) -> dict[str, bytes]:
    """What must not be found, made without the code that masks."""
    found = {"plain": secret.encode(), "json": json.dumps(secret)[1:-1].encode()}
    found["url"] = quote(secret, safe="").encode()
    for before in range(3):
        text = base64.b64encode(b"." * before + secret.encode())
        found[f"base64+{before}"] = text[(0, 2, 3)[before] : (before + len(secret.encode())) * 8 // 6]
        found[f"url-safe base64+{before}"] = found[f"base64+{before}"].replace(b"+", b"-").replace(b"/", b"_")
    return found | {f"line {line}": line.encode() for line in secret.split("\n") if "\n" in secret and len(line) > 8}


def leaks(project: Project, *said: Said, secrets: tuple[str, ...] = (TOKEN, KEY)) -> list[str]:
    """Every place below the project where a secret can be read, and every screen."""
    places = {f"output of command {number}": (each.out + each.err).encode() for number, each in enumerate(said)}
    for path in project.root.rglob("*"):
        if path.is_file() and not path.is_symlink():
            places[str(path.relative_to(project.root))] = path.read_bytes()
    joined = {f"{name}, lines joined": data.replace(b"\n", b"") for name, data in places.items()}
    return [
        f"{form} in {name}"
        for name, data in (places | joined).items()
        for secret in secrets
        for form, sought in forms(secret).items()
        if sought in data
    ]


@pytest.fixture
def project(tmp_path: Path):
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "key.pem").write_text(KEY + "\n")
    found = Project(root)
    found.environment["MY_TOKEN"] = TOKEN
    found.environment["PYTHONDONTWRITEBYTECODE"] = "1"
    yield found
    found.finish()


SHOW = """\
import base64, json, os, sys, urllib.parse
for name in ("TOKEN", "KEY"):
    value = os.environ.get(name, "-")
    print(name, value); print(json.dumps({name: value})); print(urllib.parse.quote(value, safe=""))
    for before in "", "x", "xy", "x" * 30, "x" * 41, "x" * 55, "x" * 56, "x" * 57:
        print(base64.encodebytes((before + value + "and more of it " * 5).encode()).decode())
        print(base64.urlsafe_b64encode((before + value).encode()).decode())
    print(repr(value), file=sys.stderr)
    for letter in value:
        sys.stdout.write(letter); sys.stdout.flush()
    print()
"""


def test_no_task_of_any_kind_leaves_a_secret_anywhere(project: Project):
    project.write("show.py", SHOW)
    project.write(
        "m.py",
        """
        import os, runpy
        def call(**values):
            runpy.run_path("show.py")
            return {"token": os.environ["TOKEN"], "key": [os.environ["KEY"]], "given": values}
        def fails():
            raise ValueError("it was " + os.environ["TOKEN"] + os.environ["KEY"])
        """,
    )
    project.write(
        "agent.py", "import json, os, sys\nprint(json.dumps({'reply': sys.stdin.read() + os.environ['TOKEN']}))"
    )
    project.workflow(
        f"""
    name: all
    checkpoint: {{state-file: .state.json, cleanup-policy: never}}
    {DECLARED}
    adapters:
      mine: {{command: [python3, agent.py], reply: "json:reply"}}
    task:
      - phase:
          secrets: [TOKEN, KEY]
          hand-off: {{summary: "{{{{run.text}}}}", data: {{t: "{{{{call.json}}}}", a: "{{{{ask.text}}}}"}}}}
          task:
            - run:
                outputs: {{token: text, all: json}}
                skip-if: {{command: "python3 show.py; exit 1"}}
                ensure: {{before: [{{command: python3 show.py}}], after: [{{command: "echo after $TOKEN"}}]}}
                validators: [{{command: 'python3 show.py; [ "$ONWARD_ATTEMPT" = 2 ]'}}]
                retry: {{attempts: 2}}
                run: |
                  python3 show.py; echo "$TOKEN" > "$ONWARD_OUT/token"
                  python3 -c 'import json, os; print(json.dumps({{"k": os.environ["KEY"]}}))' > "$ONWARD_OUT/all"
                  cat "$ONWARD_FEEDBACK"
                  set -x; : "$TOKEN" "$KEY"
            - call: {{call: "m:call", with: {{x: "{{{{run.all}}}}"}}}}
            - ask: {{prompt: "say it {{{{run.token}}}}", adapter: mine}}
            - each: {{run: 'echo "$item $TOKEN"', loop: {{for-each: {{command: 'echo "$TOKEN"; echo two'}}}}}}
            - until: {{run: 'echo "$KEY"', loop: {{until: {{command: 'echo "$KEY"; true'}}, max: 2}}}}
      - bad: {{call: "m:fails", secrets: [TOKEN, KEY], on-failure: continue}}
      - bad-run: {{run: 'echo "$TOKEN $KEY" >&2; exit 3', secrets: [TOKEN, KEY], on-failure: continue}}
      - gate: {{approve: "Go? {{{{phase.hand-off.summary}}}}"}}
    """
    )
    said = [project.onward("run", "w.yaml", "--id", "r").check(3)]
    said += [project.onward(*words.split()) for words in COMMANDS]
    assert [each for each in said[1:] if each.code != 0] == []
    assert "secret TOKEN from the variable MY_TOKEN of the caller, for `phase`" in said[3].out
    assert "secrets TOKEN, KEY" in said[7].out
    assert "***" in said[0].out + said[0].err
    assert leaks(project, *said) == []
    journal = project.read(".onward/runs/r/journal.jsonl")
    assert '"token":"***"' in journal
    assert "it was ******" in journal
    assert json.loads(project.read(".onward/runs/r/hand-offs/phase.json"))["data"]["t"]["given"]["x"] == {"k": "***"}
    said.append(project.onward("approve", "r").check())
    said.append(project.onward("resume", "r").check())
    assert leaks(project, *said) == []


COMMANDS = (
    "check w.yaml", "explain w.yaml", "run w.yaml --dry-run", "status r", "status r --json", "show r",
    "show r phase/run", "show r phase/call --json", "logs r", "verify r", "report r", "graph w.yaml",
)  # fmt: skip


LEAK = """
    name: key
    {declared}
    task:
      - leak:
          secrets: [KEY]
          run: |
            printf '%s\\n' "$KEY"; printf 'x%sy' "$KEY"; printf 'QUJDREVG'; sleep 0.3; printf 'R0hJSktM\\n'; exit {code}
      - next: {{run: 'echo next >> ledger.txt'}}
"""


def test_a_key_of_several_lines_is_nowhere_before_and_after_a_resume(project: Project):
    """The pieces that the script itself holds are no secret: only the whole lines are looked for."""
    project.workflow(LEAK.format(declared=DECLARED, code=1))
    first = project.onward("run", "w.yaml", "--id", "r").check(1)
    assert leaks(project, first) == []
    assert project.ledger == []
    project.workflow(LEAK.format(declared=DECLARED, code=0))
    second = project.onward("resume", "r").check()
    assert leaks(project, first, second, project.onward("logs", "r").check()) == []
    assert project.ledger == ["next"]
    assert project.read(".onward/runs/r/tasks/leak/2/out") == "***\nx***y***\n"


def test_a_secret_of_one_brace_stars_out_nothing_and_is_warned_of(project: Project):
    project.workflow(
        """
    secrets: {BRACE: {env: BRACE}}
    task: [{a: {run: 'echo "a $BRACE b {}"', secrets: [BRACE], outputs: {}}}]
    """
    )
    said = project.onward("run", "w.yaml", "--id", "r", BRACE="}").check()
    assert project.read(".onward/runs/r/tasks/a/1/out") == "a } b {}\n"
    assert "the secret `BRACE` has fewer than 4 characters" in said.err


SLOW = f"""
    name: slow
    {DECLARED}
    task:
      - slow:
          secrets: [TOKEN, KEY]
          outputs: {{token: text}}
          run: |
            echo "$TOKEN" > "$ONWARD_OUT/token"
            printf 'first %s half %s' "$TOKEN" "${{KEY:0:20}}"; touch waits
            until [ -e go ]; do sleep 0.02; done
            printf '%s\\n' "${{KEY:20}} $TOKEN"; echo slow >> ledger.txt
      - next: {{run: 'echo next >> ledger.txt'}}
"""


def test_masking_goes_on_when_the_driver_is_killed_in_the_middle_of_a_secret(project: Project):
    project.workflow(SLOW)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.kill_driver(driver)
    project.touch("go")
    project.wait("the task ends without a driver", lambda: project.ledger == ["slow"])
    said = project.onward("resume", "r").check()
    assert leaks(project, said) == []
    assert project.ledger == ["slow", "next"]
    assert project.read(".onward/runs/r/tasks/slow/1/out") == "first *** half *** ***\n"
    assert project.read(".onward/runs/r/tasks/slow/1/outputs/token") == "***\n"


def test_a_driver_that_takes_a_running_task_over_does_not_show_its_secrets(project: Project):
    """With another value by now: the keeper knows the one that the task was given."""
    project.workflow(SLOW)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.kill_driver(driver)
    second = project.start("resume", "r", MY_TOKEN="another-value")
    project.wait("it waits for the task", lambda: project.status("r")["status"] == "running")
    project.touch("go")
    out, err = second.communicate(timeout=30)
    assert second.returncode == 0
    assert leaks(project, Said(0, out, err), secrets=(TOKEN, KEY, "another-value")) == []
    assert project.ledger == ["slow", "next"]


def test_what_was_cut_off_by_a_kill_of_everything_is_masked_on_resume(project: Project):
    project.workflow(SLOW)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.kill_all(driver)
    assert [leak for leak in leaks(project) if "outputs/token" not in leak] == []
    project.touch("go")
    said = project.onward("resume", "r").check()
    assert leaks(project, said) == []
    assert project.ledger == ["slow", "next"]


def test_a_call_that_is_killed_with_everything_leaves_no_secret(project: Project):
    project.write(
        "m.py",
        """
        import os, time
        def call():
            print("a", os.environ["TOKEN"], flush=True)
            os.makedirs(os.environ["ONWARD_OUT"], exist_ok=True)
            with open(os.environ["ONWARD_OUT"] + "/f", "w") as file: file.write(os.environ["KEY"])
            open("waits", "w").close()
            while not os.path.exists("go"): time.sleep(0.02)
            return os.environ["TOKEN"]
        """,
    )
    project.workflow(f"{DECLARED}\n    task: [{{c: {{call: 'm:call', secrets: [TOKEN, KEY]}}}}]")
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    project.kill_all(driver)
    project.touch("go")
    said = project.onward("resume", "r").check()
    assert leaks(project, said) == []


def test_a_secret_that_was_changed_meanwhile_is_right_on_resume(project: Project):
    project.workflow(
        f"""
    {DECLARED}
    task:
      - use:
          secrets: [TOKEN]
          run: 'echo "[$TOKEN]"; [ "$TOKEN" = the-new-value ]'
    """
    )
    first = project.onward("run", "w.yaml", "--id", "r").check(1)
    second = project.onward("resume", "r", MY_TOKEN="the-new-value").check()
    assert leaks(project, first, second) == []
    assert project.read(".onward/runs/r/tasks/use/2/out") == "[***]\n"


def test_a_secret_that_is_not_there_is_told_before_anything_runs(project: Project):
    project.workflow(
        """
    secrets: {A: {env: NOT_SET}, B: {file: none.txt}, C: {command: [sh, -c, 'echo oh-no-5ecret; exit 7']}, U: {env: U}}
    task:
      - first: {run: 'echo first >> ledger.txt'}
      - use: {run: 'true', secrets: [A, B]}
      - more: {run: 'true', secrets: [C]}
    """
    )
    said = project.onward("run", "w.yaml").check(2)
    for part in ("NOT_SET is not set (needed by `use`)", "none.txt", "exit code 7 (needed by `more`)", "help:"):
        assert part in said.err
    assert "`U`" not in said.err, "nothing needs it"
    assert "5ecret" not in said.err
    assert project.ledger == []
    assert not list((project.root / ".onward/runs").glob("*"))


def test_a_resume_needs_only_the_secrets_of_what_is_left(project: Project):
    project.workflow(
        f"""
    {DECLARED}
    task:
      - done: {{run: 'true', secrets: [TOKEN]}}
      - fails: {{run: '[ -e go ]', secrets: [KEY]}}
    """
    )
    project.onward("run", "w.yaml", "--id", "r").check(1)
    key = project.root.parent / "key.pem"
    key.rename(key.with_name("gone"))
    del project.environment["MY_TOKEN"]
    refused = project.onward("resume", "r").check(2)
    assert "`KEY`" in refused.err
    assert "`TOKEN`" not in refused.err
    key.with_name("gone").rename(key)
    project.touch("go")
    project.onward("resume", "r").check()


def test_only_the_tasks_that_a_secret_is_released_to_have_it(project: Project):
    project.write("m.py", "import os\ndef has(): return [os.environ.get(n) for n in ('TOKEN', 'MY_TOKEN', 'KEY')]\n")
    project.workflow(
        f"""
    {DECLARED}
    task:
      - one: {{run: 'printenv | grep -c ghp_', secrets: [TOKEN]}}
      - with: {{call: "m:has", secrets: [TOKEN]}}
      - none: {{run: 'printenv | grep ghp_ || echo none'}}
      - call: {{call: "m:has"}}
      - check: {{run: 'true', validators: [{{command: '[ -z "${{TOKEN-}}${{MY_TOKEN-}}${{KEY-}}" ]'}}]}}
      - workers: {{run: 'ls .onward/runs/r/workers | wc -l'}}
    """
    )
    project.onward("run", "w.yaml", "--id", "r").check()
    outputs = {path: project.onward("logs", "r", path).out.strip() for path in ("one", "none", "workers")}
    assert outputs["one"].endswith("1")
    assert outputs["none"].endswith("none")
    assert outputs["workers"].endswith("2"), "a worker that knows a secret is not used for other calls"
    journal = project.read(".onward/runs/r/journal.jsonl")
    assert '["***",null,null]' in journal
    assert "[null,null,null]" in journal


def test_an_included_file_gets_what_is_released_to_it_and_keeps_its_own(project: Project):
    project.write("sub/own.txt", "own-secret-value")
    project.write(
        "sub/inner.yaml",
        """
        secrets: {OWN: {file: own.txt}}
        outputs: {seen: "{{use.text}}"}
        task: [{use: {run: 'echo "$TOKEN ${#TOKEN} ${#OWN}"', secrets: [OWN]}}]
        """,
    )
    project.workflow(
        f"""
    {DECLARED}
    task:
      - inner: {{include: sub/inner.yaml, secrets: [TOKEN]}}
      - after: {{run: 'echo "{{inner.seen}} ${{TOKEN-none}} ${{OWN-none}}"'}}
    """
    )
    said = project.onward("run", "w.yaml", "--id", "r").check()
    (project.root / "sub/own.txt").unlink()
    assert leaks(project, said, secrets=(TOKEN, "own-secret-value")) == []
    assert project.onward("logs", "r", "inner/use").out.strip().endswith(f"*** {len(TOKEN)} 16")
    project.workflow(
        """
    task:
      - inner: {include: sub/inner.yaml}
      - after: {run: 'true', secrets: [OWN]}
    """
    )
    refused = project.onward("check", "w.yaml").check(2)
    assert "no secret called `OWN` is declared" in refused.out


def test_a_secret_in_text_is_refused_when_the_file_is_loaded(project: Project):
    project.workflow(
        f"""
    {DECLARED}
    task:
      - a: {{prompt: "Log in with {{{{TOKEN}}}}", secrets: [TOKEN]}}
      - b: {{run: [echo, "{{{{KEY}}}}"], secrets: [KEY]}}
      - c: {{approve: "{{{{TOKEN}}}}?"}}
    """
    )
    said = project.onward("run", "w.yaml").check(2)
    assert said.err.count("error[secret-in-text]") == 3
    assert leaks(project, said) == []


def test_the_keeper_and_its_arguments_never_hold_a_secret(project: Project):
    project.workflow(SLOW)
    driver = project.start("run", "w.yaml", "--id", "r")
    project.wait_for_file("waits")
    (keeper,) = project.keepers(driver.pid)
    for name in ("environ", "cmdline"):
        data = Path(f"/proc/{keeper}/{name}").read_bytes()
        assert not [form for form in forms(TOKEN).values() if form in data]
    for pid in project.tasks():
        assert TOKEN.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    project.touch("go")
    assert driver.wait(30) == 0
    assert os.path.exists(project.root / ".onward/runs/r")
