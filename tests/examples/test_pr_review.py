"""`pr-review`: agents, a schema, a merge, a decision and a comment that must not be posted twice; killed in each."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from examples.workshop import Workshop

RUN = ("run", "pr-review.yaml", "--var", "pr_number=7")
TOKEN = "token-of-nobody-1234567890"
ONCE = {"correctness": 1, "pytest": 1, "gh comment": 1}
TWICE = {"security": 2, "review": 2}  # the first answer of each is refused, by the schema and by the validator


class Review(Workshop):
    def answer(self) -> None:
        self.onward("approve", "--by", "somebody", "--field", "remark=Please look at line 2.").check()


@pytest.fixture
def shop(tmp_path: Path):
    found = Review(tmp_path / "example", "pr-review", stand_ins=("claude", "gh", "python"))
    found.environment["GH_TOKEN"] = TOKEN
    repository(found)
    yield found
    found.finish()


def repository(shop: Workshop) -> None:
    """A repository with the branch of a pull request in it, and `origin/main` before that."""
    shop.write("ratio.py", "def ratio(a, b):\n    return a / b if b else 0\n")
    shop.write("test_ratio.py", "from ratio import ratio\n\n\ndef test_ratio():\n    assert ratio(1, 0) == 0\n")
    shop.write(".git/info/exclude", "*\n!*.py\n")
    git(shop, "init", "-q", "-b", "main")
    git(shop, "add", "ratio.py", "test_ratio.py")
    git(shop, "commit", "-qm", "first")
    git(shop, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(shop, "checkout", "-q", "-b", "pr-7")
    shop.write("ratio.py", "def ratio(a, b):\n    return a // max(b, 1) + 1\n")
    git(shop, "commit", "-qam", "Divide with care")
    git(shop, "checkout", "-q", "main")


def git(shop: Workshop, *words: str) -> None:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *who, *words], cwd=shop.root, check=True, timeout=60, capture_output=True)


def check_products(shop: Workshop, *, resumes: int) -> None:
    assert shop.did() == ONCE | TWICE | {"gh checkout": 1 + resumes}
    assert shop.read("REVIEW.md").endswith("## Verdict: changes\n")
    [comment] = json.loads(shop.read("comments.json"))
    assert comment["body"].startswith('# Review of "Divide with care"')
    assert "Please look at line 2.\n<!-- " in comment["body"]
    [path] = (shop.root / ".onward" / "runs").glob("*/journal.jsonl")
    assert TOKEN not in path.read_text("utf-8")
    ends = shop.ends()
    assert all(count == 1 for name, count in ends.items() if name not in ("fetch", "publish")), ends


def test_it_reviews_asks_and_posts_once(shop: Workshop):
    checked = shop.onward("check", "pr-review.yaml").check()
    assert "warning[" not in checked.out + checked.err
    shop.onward(*RUN).check(3)
    assert "gh comment" not in shop.did()
    shop.answer()
    shop.onward("resume", "--yes").check()
    check_products(shop, resumes=1)
    combined = shop.node("review/@merge/combine")
    assert combined["status"] == "succeeded"
    findings = shop.read("prompts/review")
    assert '"side":"correctness"' in findings.replace(" ", "")
    assert "1 failed, 0 passed" in findings


@pytest.mark.parametrize("point", ["gh checkout", "security", "review", "gh comment", "gh commented"])
def test_killed_it_goes_on_and_posts_once(shop: Workshop, point: str):
    shop.killed_at(point, *RUN, after=("review/correctness", "review/tests") if point == "security" else ())
    late = point.startswith("gh comment")
    asked_before = shop.did()
    shop.to_the_end("resume", "--yes")
    fetched = 0 if point == "gh checkout" else 1
    check_products(shop, resumes=1 + fetched)
    if late:
        assert asked_before["review"] == 2
    questions = shop.events("gate_open")
    assert len({event["path"] for event in questions}) == 1
    assert len(shop.events("gate_decision")) == 1
