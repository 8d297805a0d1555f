"""Small programs in place of those that the examples call: `standins.py NAME ARGUMENT…`.

Each notes in `$STAND_IN_HOME/ledger.txt` what it begins and what it has done. The one that begins `$STAND_IN_HOLDS` (a
piece of work, `#2` for its second time) says so in the file `held` and then waits to be killed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOME = Path(os.environ["STAND_IN_HOME"])
LEDGER = HOME / "ledger.txt"
LONGEST_S = 60.0


def note(line: str) -> None:
    with LEDGER.open("a") as file:
        file.write(f"{line}\n")


def done_before(name: str) -> bool:
    """Whether it is not for the first time: what was refused is then made better."""
    return f"done {name}" in LEDGER.read_text().split("\n")


def hold() -> None:
    (HOME / "held").touch()
    time.sleep(LONGEST_S)


@contextmanager
def work(name: str) -> Iterator[None]:
    note(f"begin {name}")
    times = LEDGER.read_text().split("\n").count(f"begin {name}")
    if os.environ.get("STAND_IN_HOLDS") == (name if times == 1 else f"{name}#{times}"):
        hold()
    yield
    note(f"done {name}")


# ---------------------------------------------------------------- the examples' own programs


def wrapped(program: str, *arguments: str) -> int:
    words = (Path(program).name.removeprefix("real-"), *(Path(argument).name for argument in arguments))
    with work(" ".join(words)):
        return subprocess.run([program, *arguments], check=False, timeout=LONGEST_S).returncode


# ---------------------------------------------------------------- programs of a system


def curl(*arguments: str) -> int:
    to, source = arguments[arguments.index("--output") + 1], arguments[-1]
    with work(f"curl {Path(to).name}"):
        Path(to).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.removeprefix("file://"), to)
    return 0


def unzip(*arguments: str) -> int:
    with work("unzip"), zipfile.ZipFile(arguments[1]) as file:
        file.extractall(arguments[3])
    return 0


def jq(*arguments: str) -> int:
    value = json.loads(Path(arguments[-1]).read_text())[arguments[-2].lstrip(".")]
    print(value if "-r" in arguments and isinstance(value, str) else json.dumps(value))
    return 0


def npx(*arguments: str) -> int:
    match arguments:
        case ["tsc", "--noEmit", file]:
            with work(f"tsc {Path(file).name}"):
                return 0 if "test(" in Path(file).read_text() else 1
        case ["playwright", "test", "--list"]:
            with work("playwright --list"):
                print("\n".join(sorted(path.name for path in Path("e2e").glob("*.spec.ts"))))
        case ["playwright-cli", "kill-all"]:
            note("done kill-all")
        case _:
            return 64
    return 0


def gh(*arguments: str) -> int:
    comments = HOME / "comments.json"
    known = json.loads(comments.read_text()) if comments.exists() else []
    if not os.environ.get("GH_TOKEN"):
        sys.exit("gh: set GH_TOKEN")
    match arguments:
        case ["pr", "checkout", number]:
            with work("gh checkout"):
                return subprocess.run(["git", "checkout", "-q", f"pr-{number}"], check=False, timeout=60).returncode
        case ["pr", "view", _, "--json", "title", *_]:
            print("Divide with care")
        case ["pr", "view", _, "--json", "comments"]:
            print(json.dumps({"comments": known}))
        case ["pr", "comment", _, "--body-file", "-"]:
            body = sys.stdin.read()
            with work("gh comment"):
                comments.write_text(json.dumps([*known, {"body": body}]))
            if os.environ.get("STAND_IN_HOLDS") == "gh commented":
                hold()
        case _:
            return 64
    return 0


def python(*arguments: str) -> int:
    """`python -m pytest -q [FOLDER]`: every `test_…` of every `test_*.py`, without the start of pytest."""
    assert arguments[:3] == ("-m", "pytest", "-q"), arguments
    folder = Path(arguments[3] if len(arguments) > 3 else ".")
    with work("pytest"):
        sys.dont_write_bytecode = True
        sys.path.insert(0, os.getcwd())
        passed, failed = 0, []
        for file in sorted(folder.rglob("test_*.py")):
            names: dict[str, object] = {}
            exec(compile(file.read_text(), str(file), "exec"), names)
            for name in [name for name in names if name.startswith("test_")]:
                try:
                    names[name]()  # type: ignore[operator]
                    passed += 1
                except AssertionError:
                    line = traceback.format_exc().strip().split("\n")
                    failed.append(f"FAILED {file}::{name} - {line[-2].strip()}")
        print("\n".join([*failed, f"{len(failed)} failed, {passed} passed"]))
        return 1 if failed else 0


# ---------------------------------------------------------------- an agent, in the words of Claude Code


class Agent:
    """What the prompts of the examples ask for, done without a model; what it cannot know is said as asked for."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.file = HOME / "sessions" / id
        self.file.parent.mkdir(exist_ok=True)
        self.heard: list[str] = json.loads(self.file.read_text()) if self.file.exists() else []

    def hears(self, prompt: str) -> str:
        self.heard.append(prompt)
        self.file.write_text(json.dumps(self.heard))
        first = self.heard[0]
        (HOME / "prompts").mkdir(exist_ok=True)
        for words, name in WORK:
            found = re.search(words, first)
            if found:
                label = " ".join((name, *found.groups()))
                with (HOME / "prompts" / name).open("a") as file:
                    file.write(f"{prompt}\n=== end of prompt\n")
                with work(label):
                    return str(getattr(self, name)(first, *found.groups()))
        return "Done."

    # pr-review

    def correctness(self, prompt: str) -> str:
        found = [{"file": "ratio.py", "line": 2, "severity": "major", "text": "b may be 0"}]
        return f"I have read it.\n```json\n{json.dumps({'findings': found})}\n```"

    def security(self, prompt: str) -> str:
        if not done_before("security"):
            return "Nothing that I would worry about."
        return '{"findings": []}'

    def review(self, prompt: str) -> str:
        verdict = "changes" if '"major"' in prompt else "approve"
        heading = f"\n## Verdict: {verdict}\n" if done_before("review") else ""
        text = '# Review of "Divide with care"\n\n- ratio.py:2 b may be 0\n'
        Path("REVIEW.md").write_text(text + heading)
        return "REVIEW.md is written."

    # e2e-from-requirements

    def gather(self, prompt: str) -> str:
        needs = [{"id": f"R{n}", "text": text} for n, text in enumerate(("log in", "log out", "lock out"), 1)]
        Path("qa").mkdir(exist_ok=True)
        Path("qa/requirements.json").write_text(json.dumps(needs))
        return json.dumps({"count": 3, "risky": ["R3"]})

    def design(self, prompt: str) -> str:
        Path("qa/cases").mkdir(parents=True, exist_ok=True)
        needs = json.loads(Path("qa/requirements.json").read_text())
        for need in needs if done_before("design") else needs[:2]:
            name = need["text"].replace(" ", "-")
            Path(f"qa/cases/{name}.md").write_text(f"# {need['id']}: {need['text']}\n")
        return "The cases are written."

    def generate(self, prompt: str, case: str) -> str:
        Path("e2e").mkdir(exist_ok=True)
        title = Path("qa/cases", case).read_text().strip("# \n")
        Path(f"e2e/{case}.spec.ts").write_text(f"test('{title}', async () => {{}});\n")
        return f"e2e/{case}.spec.ts"

    def fixtures(self, prompt: str) -> str:
        names = sorted(path.name for path in Path("e2e").glob("*.spec.ts"))
        Path("e2e/fixtures.ts").write_text("".join(f"// shared by {name}\n" for name in names))
        return "e2e/fixtures.ts"

    # fix-until-green

    def fix(self, prompt: str, round: str) -> str:
        """The first function that is still wrong, put right."""
        path = Path("prices.py")
        text = path.read_text()
        for wrong, right in (("net - net", "net + net"), ("* 100", "/ 100"), ("> most", "< most")):
            if wrong in text:
                path.write_text(text.replace(wrong, right, 1))
                break
        return f"round {round}: {wrong} is now {right}"

    # agent-yaml-minimal

    def minimal(self, prompt: str, which: str) -> str:
        return f"{which}: done"


WORK = (
    (r"^Review .*for correctness", "correctness"),
    (r"^Review .*for security", "security"),
    (r"^Write REVIEW\.md", "review"),
    (r"^List the testable requirements", "gather"),
    (r"^Write manual test cases", "design"),
    (r"^Write a Playwright test for qa/cases/(\S+) as", "generate"),
    (r"^Move what the files in e2e/ share", "fixtures"),
    (r"^Round (\d+)\.", "fix"),
    (r"^(Prepare|Collect|Summarize the \w+)", "minimal"),
)


def claude(*arguments: str) -> int:
    if "--version" in arguments:
        print("2.1.0 (stand-in)")
        return 0
    assert "GH_TOKEN" not in os.environ, "an agent that no secret was released to has one"
    flag = next(flag for flag in ("--resume", "--session-id") if flag in arguments)
    agent = Agent(arguments[arguments.index(flag) + 1])
    if flag == "--resume" and not agent.heard:
        print(json.dumps({"type": "result", "subtype": "error_during_execution", "is_error": True}))
        sys.exit(f"No conversation found with session ID: {agent.id}")
    print(json.dumps({"type": "system", "subtype": "init", "session_id": agent.id}), flush=True)
    reply = agent.hears(sys.stdin.read())
    used = {"input_tokens": 10 * len(agent.heard), "output_tokens": len(agent.heard)}
    result = {"type": "result", "subtype": "success", "is_error": False, "session_id": agent.id, "result": reply}
    print(json.dumps(result | {"usage": used, "total_cost_usd": 0.01 * len(agent.heard)}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]](*sys.argv[2:]))
