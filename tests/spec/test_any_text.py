"""Whatever is in a file, loading it ends in a document or in `Problems` with places in the file: never in a crash."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from onward.errors import Problem, Problems
from onward.spec import read as reading
from onward.spec.codes import CODES
from onward.spec.document import Document
from onward.spec.load import load
from onward.spec.read import lines_of
from onward.spec.supported import unsupported
from spec.recorded import MISTAKES, WORKFLOWS

EVERYTHING = (WORKFLOWS / "everything.yaml").read_text(encoding="utf-8")
TEXTS = [EVERYTHING, *(path.read_text(encoding="utf-8") for path in (*sorted(WORKFLOWS.glob("*.yaml")), *MISTAKES))]
PIECES = [
    "{{", "}}", "{", "}", "[", "]", ": ", "- ", "\n", "  ", "\t", "&a ", "*a", "<<: *a", "!x ", "'", '"', "|\n", "#",
    "x-", "\\", "\x00", "é", "😀", "\u2028", "\ufeff", "null", "yes", "30", "task:", "run:", "loop:", "merge:",
    "prompt:", "{file: x}", "? ", "%", "@", "`", "---\n", "...\n", "~", ",", "include: ..", "finally: [{a: {run: b}}]",
    '"\\0"', "(", "a" * 200,
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the workflows name."""
    folder = tmp_path_factory.mktemp("any")
    for name in ("other.yaml", "review.md", "findings.schema.json"):
        shutil.copy(WORKFLOWS / name, folder / name)
    return folder


def check_whole(folder: Path, content: bytes) -> Document | list[Problem]:
    """Load the bytes; what comes out must make sense."""
    path = folder / "w.yaml"
    path.write_bytes(content)
    document: Document | None = None
    problems: list[Problem] = []
    try:
        document = load(path, shown="w.yaml")
    except Problems as caught:
        problems = caught.problems
    if document is None:
        lines = lines_of(content.decode("utf-8-sig", "replace"))
        assert problems
        for problem in problems:
            check_problem(problem, lines)
        return problems
    assert all(problem.code == "not-yet-supported" for problem in unsupported(document))
    return document


def check_problem(problem: Problem, lines: list[str]) -> None:
    assert problem.code in CODES
    assert problem.message
    assert str(problem)
    if problem.place.file == "w.yaml":
        assert 1 <= problem.place.line <= len(lines)
        assert 1 <= problem.place.column <= len(lines[problem.place.line - 1]) + 1


def mutated(text: str, randomness: random.Random) -> str:
    """The text with one piece of it deleted, doubled, moved, indented or replaced."""
    lines = text.split("\n")
    at, other = randomness.randrange(len(lines)), randomness.randrange(len(lines))
    spot = randomness.randrange(len(text) + 1)
    match randomness.randrange(8):
        case 0:
            del lines[at]
        case 1:
            lines.insert(other, lines[at])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = randomness.choice(["  ", "    ", " ", "\t"]) + lines[at]
        case 4:
            lines[at] = lines[at].removeprefix("  ")
        case 5:
            return text[:spot] + randomness.choice(PIECES) + text[spot:]
        case 6:
            return text[:spot] + text[spot + randomness.randrange(1, 8) :]
        case _:
            lines[at] = lines[at].partition(":")[0] + ": " + randomness.choice(PIECES)
    return "\n".join(lines)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.sampled_from(TEXTS),
    randomness=st.randoms(use_true_random=False),
    times=st.integers(min_value=1, max_value=4),
)
def test_a_mutated_workflow_gives_problems_only(folder: Path, text: str, randomness: random.Random, times: int) -> None:
    for _ in range(times):
        text = mutated(text, randomness)
    check_whole(folder, text.encode())


@settings(max_examples=200, deadline=None)
@given(content=st.binary(max_size=200))
@example(content=b"\xef\xbb\xbf")
@example(content=b"\r\r\r")
@example(content=b"task: \xe2\x80\xa8x")
def test_any_bytes_give_problems_only(folder: Path, content: bytes) -> None:
    assert isinstance(check_whole(folder, content), list)


@settings(max_examples=300, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_pieces_of_yaml_give_problems_only(folder: Path, pieces: list[str]) -> None:
    check_whole(folder, "".join(pieces).encode())


WORDS = sorted(
    {
        word
        for line in EVERYTHING.splitlines()
        for word in line.replace("{", " ").replace(",", " ").split()
        if word.endswith(":")
    }
)
VALUES = st.recursive(
    st.sampled_from(["", "x", "30", "true", '"{{target}}"', "5m", "*", "[]", "{}", "*a", "'('"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]"),
        st.lists(st.tuples(st.sampled_from(WORDS), inner), max_size=3).map(
            lambda pairs: "{" + ", ".join(f"{key} {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.sampled_from(WORDS), VALUES), max_size=5),
    name=st.sampled_from(["a", "x-a", "Ä", "task"]),
)
def test_any_fields_with_any_values_give_problems_only(folder: Path, pairs: list[tuple[str, str]], name: str) -> None:
    fields = "".join(f"\n      {key} {value}" for key, value in pairs)
    check_whole(folder, f"x-b: &a {{run: make}}\ntask:\n  - {name}:{fields}\n".encode())


@settings(max_examples=300, deadline=None)
@given(pairs=st.lists(st.tuples(st.sampled_from(WORDS), VALUES), max_size=5))
def test_any_keys_at_the_top_give_problems_only(folder: Path, pairs: list[tuple[str, str]]) -> None:
    keys = "".join(f"{key} {value}\n" for key, value in pairs)
    check_whole(folder, f"x-b: &a {{run: make}}\n{keys}".encode())


@pytest.fixture
def slow_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LOADER", yaml.BaseLoader)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(randomness=st.randoms(use_true_random=False), text=st.sampled_from(TEXTS[1:]))
def test_the_parser_without_libyaml_gives_problems_only_too(
    slow_parser: None, folder: Path, randomness: random.Random, text: str
) -> None:
    check_whole(folder, mutated(mutated(text, randomness), randomness).encode())


@pytest.mark.parametrize("at", range(0, len(EVERYTHING), 97))
def test_a_workflow_cut_off_anywhere_gives_problems_or_loads(folder: Path, at: int) -> None:
    check_whole(folder, EVERYTHING[:at].encode())
