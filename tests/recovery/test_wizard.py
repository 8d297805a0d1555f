"""The wizard on a real terminal: what it shows at each of the six points, what each answer does, and the way out.

The sessions are kept in `docs/recovery-sessions/`, so that they can be read without running anything. With
`ONWARD_RECORD=1` they are written anew; else they are compared.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from onward.recovery.levels import Level
from recovery.aging import age_journal
from recovery.conftest import fingerprint
from recovery.scenes import DONE_BEFORE, LEFT_TO_DO, PREPARED, let_through
from recovery.terminal import Terminal
from recovery.test_reconstruction import folder_of, harm_journal
from stories.project import Project

Scene = Callable[[Level], Project]
Open = Callable[..., Terminal]

SESSIONS = Path(__file__).parents[2] / "docs" / "recovery-sessions"
INSIDE = re.compile(
    r"journal|state\.json|\bseq\b|epoch|override|\bfold|phaseStatus|agent_dispatched|parallel_|merging|"
    r"checkpoint_|completing|\bnode\b|verdict|instance|prepare/|code/|@merge|\{|\}"
)


@pytest.fixture
def terminal() -> Iterator[Open]:
    found: list[Terminal] = []

    def open(project: Project, *words: str) -> Terminal:
        found.append(Terminal(project.root, *words, environment=project.environment))
        return found[-1]

    yield open
    for one in found:
        one.close()


def screen_of(text: str) -> str:
    """What the wizard itself showed: up to the last line that it asked."""
    return text[: text.rindex("The same without a question")] if "The same without" in text else text


def recorded(name: str, text: str, root: Path) -> None:
    """Keep the session, or compare it with the one that was kept. Times and durations are made plain."""
    plain = text.replace(str(root), "~/shop")
    plain = re.sub(r"\b(?:\d+ (?:second|minute)s? ago|just now)", "a moment ago", plain)
    plain = re.sub(r"\b\d+\.\d+s\b", "0.1s", plain)
    plain = re.sub(r"[ \t]+\n", "\n", plain)
    file = SESSIONS / f"{name}.txt"
    if os.environ.get("ONWARD_RECORD"):
        SESSIONS.mkdir(exist_ok=True)
        file.write_text(plain, "utf-8")
    assert screen_of(plain) == screen_of(file.read_text("utf-8"))


FIRST_MOVE = {
    Level.RERUN: "Do “E2E code generation” again from its beginning",
    Level.PARALLEL: "Continue with “E2E code generation” (2 of 3 already done)",
    Level.MERGE: "Finish combining the results of “E2E code generation”",
    Level.CHECKPOINT: "Show the open question for your answer",
    Level.NEXT: "Move to the next step",
    Level.FAILED: "once more; everything finished is kept",
}


@pytest.mark.parametrize("level", Level)
def test_the_screen_says_what_was_done_and_what_comes_in_plain_words(scene: Scene, terminal: Open, level: Level):
    project = scene(level)
    let_through(project)
    shell = terminal(project, "resume")
    shell.wait_for("Your choice")
    shown = screen_of(shell.text)
    assert 'Feature:  "Login page"' in shown
    assert "Workflow: Generate E2E tests from requirements" in shown
    assert "[done]" in shown
    assert "Requirements gathered (20 tasks)" in shown
    assert FIRST_MOVE[level] in shown
    assert not INSIDE.search(shown), INSIDE.search(shown)
    shell.type("c")
    shell.wait_for("Your choice")
    assert f"{project.root}/req-p03.md" in shell.text
    assert "“Requirements gathered” in short: Twenty requirements for the login page" in shell.text
    assert "2 files on disk" in shell.text
    shell.type("a")
    if level is Level.CHECKPOINT:
        shell.wait_for("Your answer")
        shell.type("approve")
    assert shell.finish() == 0, shell.text
    assert project.counts == dict.fromkeys([*PREPARED, *DONE_BEFORE.get(level, []), *LEFT_TO_DO[level]], 1)
    assert "The same without a question: onward resume r --yes" in shell.text
    recorded(level.value, shell.text, project.root)


@pytest.mark.parametrize("key", [b"\x03", b"\x04"], ids=["Ctrl-C", "end of input"])
def test_who_answers_nothing_has_changed_nothing(scene: Scene, terminal: Open, key: bytes):
    project = scene(Level.RERUN)
    before = fingerprint(project.root)
    shell = terminal(project, "resume")
    shell.wait_for("Your choice")
    shell.type("perhaps")
    shell.wait_for("Please answer with one of A/B/C")
    shell.wait_for("Your choice")
    shell.press(key)
    assert shell.finish() == 3
    assert "everything is as it was" in shell.text
    assert fingerprint(project.root) == before


def test_a_fresh_start_archives_everything_and_begins_anew(scene: Scene, terminal: Open):
    project = scene(Level.FAILED)
    kept = fingerprint(project.root / ".onward/runs/r")
    let_through(project)
    shell = terminal(project, "resume")
    shell.wait_for("Your choice")
    shell.type("B")
    assert shell.finish() == 0, shell.text
    assert "onward resume r --fresh" in shell.text
    [archived] = (project.root / ".onward/archive").glob("*/r")
    after = fingerprint(archived)
    assert {name: after[name] for name in kept if name != "driver"} == {n: d for n, d in kept.items() if n != "driver"}
    [new] = (project.root / ".onward/runs").glob("shop-tests-*")
    assert (archived / "superseded_by").read_text() == f"{new.name}\n"
    assert project.counts["p00"] == 2
    assert project.status(new.name)["variables"] == {"feature": "Login page"}
    recorded("fresh", shell.text.replace(new.name, "shop-tests-20261201-120000-abcd"), project.root)


def test_every_answer_has_a_flag_with_the_same_result(scene: Scene, terminal: Open, tmp_path: Path):
    project = scene(Level.FAILED)
    copy = tmp_path / "copy"
    shutil.copytree(project.root, copy)
    shell = terminal(project, "resume", "r")
    shell.wait_for("(D) Skip what failed")
    shell.wait_for("Your choice (A/B/C/D)")
    shell.type("D")
    assert shell.finish() == 0, shell.text
    told = re.search(r"question: onward (resume r .*)", shell.text)
    assert told is not None
    other = Project(copy)
    other.onward(*told[1].strip().split()).check()
    assert other.counts == project.counts
    assert other.node("write")["status"] == project.node("write")["status"] == "skipped"
    recorded("failed-skip", shell.text, project.root)


def test_files_that_were_changed_can_be_kept_or_made_again(scene: Scene, terminal: Open):
    project = scene(Level.RERUN)
    (project.root / "req-p17.md").write_text("edited by hand")
    (project.root / "req-p03.md").unlink()
    let_through(project)
    shell = terminal(project, "resume", "r")
    shell.wait_for("(E) Make the changed files again")
    shell.wait_for("Your choice")
    shell.type("E")
    assert shell.finish() == 0, shell.text
    assert project.read("req-p17.md") == "p17\n"
    assert project.counts["p17"] == project.counts["p03"] == 2
    recorded("files", shell.text, project.root)


def test_a_run_without_a_head_is_put_together_again_after_a_yes(scene: Scene, terminal: Open):
    project = scene(Level.MERGE)
    harm_journal(folder_of(project), "cut")
    let_through(project)
    shell = terminal(project, "resume", "r")
    shell.wait_for("put together again from what is left")
    shell.wait_for("Your choice")
    shell.type("A")
    assert shell.finish() == 0, shell.text
    assert "--yes --accept-damage" in shell.text
    assert project.counts == dict.fromkeys([*PREPARED, *DONE_BEFORE[Level.MERGE], *LEFT_TO_DO[Level.MERGE]], 1)
    recorded("damaged", shell.text, project.root)


def test_an_old_run_recommends_a_fresh_start(scene: Scene, terminal: Open):
    project = scene(Level.PARALLEL)
    age_journal(folder_of(project), days=9)
    shell = terminal(project, "resume", "r")
    shell.wait_for("(B) Start fresh (recommended)")
    shell.wait_for("Your choice")
    shell.press(b"\x04")
    assert shell.finish() == 3
    assert "9 days ago" in shell.text
    assert "It was left 9 days ago; a fresh start is recommended." in shell.text
    recorded("old", shell.text, project.root)


def test_a_changed_configuration_is_told_field_by_field(project: Project, terminal: Open):
    project.write("sparq.config.json", '{"e2e": {"framework": "cypress", "retries": 1}, "apiToken": "abc"}')
    project.workflow("""
        title: E2E tests
        watch: {sparq.config.json: fresh-start}
        task: [{plan: {run: 'true'}}, {write: {run: test -e go}}]
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    project.write("sparq.config.json", '{"e2e": {"framework": "playwright", "retries": 1}, "apiToken": "xyz"}')
    shell = terminal(project, "resume", "r")
    shell.wait_for("(B) Start fresh (recommended)")
    shell.wait_for("Your choice")
    shell.press(b"\x04")
    shell.finish()
    assert "e2e.framework: cypress → playwright" in shell.text
    assert "apiToken (not shown)" in shell.text
    assert "xyz" not in shell.text
    assert "retries" not in shell.text
    recorded("drift", shell.text, project.root)


def test_with_several_runs_one_is_chosen(scene: Scene, terminal: Open):
    project = scene(Level.FAILED)
    project.onward("run", "w.yaml", "--id", "second", "--var", "feature=Basket").check(1)
    let_through(project)
    shell = terminal(project, "resume")
    shell.wait_for("Which one (1-2)")
    assert "“Basket” – failed" in shell.text
    shell.type("2")
    shell.wait_for("Your choice")
    shell.type("A")
    assert shell.finish() == 0, shell.text
    assert project.status("r")["status"] == "succeeded"
    assert project.status("second")["status"] == "failed"
    recorded("several", shell.text, project.root)


def test_a_paused_run_goes_on_without_a_question(scene: Scene, terminal: Open):
    project = scene(Level.RERUN)
    project.onward("pause", "r").check()
    let_through(project)
    shell = terminal(project, "resume", "r")
    assert shell.finish() == 0, shell.text
    assert "Your choice" not in shell.text


def test_what_others_wrote_cannot_harm_the_terminal(project: Project, terminal: Open):
    project.workflow("""
        title: "evil \\e]0;owned\\a title \\e[2J"
        variables: {feature: "x\\e[2Jy"}
        task: [{a: {title: "\\e[31mred", run: 'false'}}]
    """)
    project.onward("run", "w.yaml", "--id", "r").check(1)
    shell = terminal(project, "resume", "r")
    shell.wait_for("Your choice")
    shell.press(b"\x04")
    shell.finish()
    assert "\x1b" not in shell.raw
    assert "\\x1b[2J" in shell.text
