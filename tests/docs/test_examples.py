"""What the documents show is so: workflows load, commands exist, links lead somewhere, examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from onward.cli.main import COMMANDS
from onward.engine.definition import load_plan

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
HANDWRITTEN = [page for page in PAGES if page.parent.name != "reference"]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


WORKFLOWS = [(page, text) for page in HANDWRITTEN for text in blocks(page, "yaml")]


@pytest.mark.parametrize(("page", "text"), WORKFLOWS, ids=[f"{page.name}-{n}" for n, (page, _) in enumerate(WORKFLOWS)])
def test_every_workflow_in_the_documents_loads(tmp_path, page, text):
    file = tmp_path / "w.yaml"
    file.write_text(text, "utf-8")
    assert load_plan(file).plan.root.steps, page


@pytest.mark.parametrize("page", HANDWRITTEN, ids=lambda page: page.name)
def test_every_command_in_the_documents_exists(page):
    named = set(re.findall(r"`onward ([a-z]+)", page.read_text("utf-8")))
    assert named <= set(COMMANDS), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page}: {target}"


def test_every_command_is_told_about_in_the_readme():
    text = (ROOT / "README.md").read_text("utf-8")
    assert [name for name in COMMANDS if f"`{name}`" not in text and f"onward {name}" not in text] == []


def test_the_tutorial_goes_as_it_says(tmp_path):
    [workflow, *_] = blocks(ROOT / "docs" / "tutorial.md", "yaml")
    (tmp_path / "first.yaml").write_text(workflow.replace("sleep 20", "sleep 4"))
    run = [sys.executable, "-m", "onward"]
    driver = subprocess.Popen([*run, "run", "first.yaml", "--var", "who=you"], cwd=tmp_path, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not list(tmp_path.glob(".onward/runs/first-*/tasks/slow/1/process")):
        assert driver.poll() is None
        assert time.monotonic() < until
        time.sleep(0.02)
    driver.kill()
    driver.wait(20)
    said = subprocess.run([*run, "status"], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True)
    assert "interrupted" in said.stdout
    resumed = subprocess.run([*run, "resume"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert "still runs; waiting for it" in resumed.stderr
    logs = subprocess.run([*run, "logs", "tell"], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True)
    assert logs.stdout == "hello you and slept\n"


def test_the_demo_kills_its_driver_half_way_and_ends_with_the_report(tmp_path):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "a.py").write_text("def f():\n    return 1\n")
    (checkout / "README.md").write_text("[gone](nowhere.md)\n")
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "first"]):
        subprocess.run(["git", *words], cwd=checkout, check=True, timeout=60)
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/repo-health/demo.py"), str(checkout)],
        env={k: v for k, v in os.environ.items() if not k.startswith("ONWARD")},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# Health of checkout" in done.stdout
    assert "README.md links to nowhere.md, which is not there" in done.stdout
    assert "interrupted" in done.stdout
    assert re.search(r"kept: \d+ finished tasks", done.stderr)
