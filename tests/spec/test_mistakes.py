"""Every mistake of form is reported with its place, its task and a way out, in the words that are recorded."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import yaml

from onward.errors import Problem, Problems
from onward.spec import read
from onward.spec.codes import CODES
from onward.spec.load import load
from onward.spec.supported import NOT_YET, unsupported
from spec.recorded import FOLDER, MISTAKES, WORKFLOWS, reported

# Codes that no recorded file can show; each has a test of its own.
ELSEWHERE = {
    "ignored", "include-depth", "not-text", "not-yet-supported", "too-big", "too-deep", "unreadable",
}  # fmt: skip


def problems_of(path: Path) -> list[Problem]:
    with pytest.raises(Problems) as caught:
        load(path, shown=path.name)
    return caught.value.problems


def written(folder: Path, text: str | bytes, name: str = "w.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_mistake_is_told_in_the_recorded_words(path: Path) -> None:
    assert reported(path) == path.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_a_recorded_file_shows_the_code_in_its_name(path: Path) -> None:
    assert path.stem.partition("--")[0] in {problem.code for problem in problems_of(path)}


def test_every_code_is_recorded_or_tested_elsewhere() -> None:
    recorded = {path.stem.partition("--")[0] for path in MISTAKES}
    assert recorded | ELSEWHERE == set(CODES)
    assert not recorded & ELSEWHERE


def test_no_text_is_recorded_without_its_file() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in MISTAKES}


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_the_parser_without_libyaml_finds_the_same_mistakes_at_the_same_lines(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = [(each.code, each.place.line) for each in problems_of(path)]
    monkeypatch.setattr(read, "_LOADER", yaml.BaseLoader)
    assert [(each.code, each.place.line) for each in problems_of(path)] == fast


FIFTEEN = {
    1: (
        "task:\n  - setup:\n    prompt: Read the code.\n",
        """\
w.yaml:3:5: error[not-indented]: `prompt` stands beside `setup`, so it would be a second task
    3 |     prompt: Read the code.
    help: indent `prompt` by two more spaces: it belongs to `setup`
""",
    ),
    2: (
        "task:\n  - build:\n      run: make\n      retries: 3\n",
        """\
w.yaml:4:7: error[unknown-key]: `retries` is not a field of a `run` task
    4 |       retries: 3
    help: did you mean `retry: {attempts: 3}`?
""",
    ),
    3: (
        "task:\n  - build:\n      title: Build\n      run: make\n      prompt: Build it.\n",
        """\
w.yaml:5:7: error[two-kinds]: `build` already has `run` (line 4); a task has exactly one of prompt, run, call, \
approve, task, parallel, include
    5 |       prompt: Build it.
    help: make two tasks, one after the other
""",
    ),
    4: (
        "task:\n  - review:\n      prompt: {{pr_number}} is the number.\n",
        """\
w.yaml:3:15: error[unquoted-reference]: YAML reads a value that starts with `{` as a mapping
    3 |       prompt: {{pr_number}} is the number.
    help: put quotes around it: "{{pr_number}} is the number."
""",
    ),
    5: (
        "task:\n  - review:\n      prompt: Fix this: the build is red\n",
        """\
w.yaml:3:23: error[yaml]: a plain value cannot contain `: ` (colon and space)
    3 |       prompt: Fix this: the build is red
    help: use quotes, or `prompt: |` and the text on the next line
""",
    ),
    9: (
        "name: w\ntask:\n  - setup:\n      run: make\n\n  - b:\n      run: make\n  - setup:\n      run: make\n",
        """\
w.yaml:8:5: error[duplicate-task]: the name `setup` is used twice (first on line 3); names identify tasks on resume
    8 |   - setup:
    help: rename one of them
""",
    ),
    10: (
        "name: w\ntask:\n  - setup:\n      prompt: Text.\n      prompt: Second text.\n",
        """\
w.yaml:5:7: error[duplicate-key]: `prompt` appears twice in `setup` (first on line 4); YAML would keep only the last
    5 |       prompt: Second text.
    help: remove one
""",
    ),
    11: (
        "checkpoint:\n  state-file: s.json\n  cleanup-policy: on-succes\ntask: [{a: {run: make}}]\n",
        """\
w.yaml:3:19: error[bad-value]: cleanup-policy must be on-success, on-completion or never, not `on-succes`
    3 |   cleanup-policy: on-succes
    help: did you mean `on-success`?
""",
    ),
    12: (
        "name: w\ncheckpoint:\n  cleanup-policy: never\ntask: [{a: {run: make}}]\n",
        """\
w.yaml:2:1: error[missing-key]: `checkpoint` needs `state-file`
    2 | checkpoint:
    help: add `state-file: .onward/state.json`
""",
    ),
    13: (
        "name: w\ntask:\n  - build:\n      run: make\n      timeout: 30\n",
        """\
w.yaml:5:16: error[duration]: `30` has no unit
    5 |       timeout: 30
    help: write 30s, 30m or 30h
""",
    ),
    14: (
        "task:\n  - build:\n      run: make\n      loop: {until: {file-exists: done.txt}}\n",
        """\
w.yaml:4:13: error[no-limit]: an `until` loop needs `max`, so that it always ends
    4 |       loop: {until: {file-exists: done.txt}}
    help: add `max: 10`
""",
    ),
}


@pytest.mark.parametrize("number", FIFTEEN)
def test_the_likeliest_mistakes_are_told_in_the_words_of_the_format(number: int, tmp_path: Path) -> None:
    text, expected = FIFTEEN[number]
    [problem] = problems_of(written(tmp_path, text))
    lines = str(problem).splitlines(keepends=True)
    shown = [line for line in lines if line.strip() != "^" and not line.startswith("    in task ")]
    assert "".join(shown) + "\n" == expected


# Mistakes 6, 7, 8 and 15 are about what names mean: the file is well formed, and its plan finds them.
ABOUT_NAMES = (
    'variables: {pr_number: }\ntask:\n  - a:\n      run: gh pr checkout "pr-{{pr_number}}"\n',
    "variables: {pr_number: }\ntask:\n  - a: {prompt: 'Review {{pr_numer}}.'}\n",
    "task:\n  - a: {prompt: 'Extend {{b.text}}.'}\n  - b: {prompt: Text.}\n",
    "secrets: {TOKEN: {env: TOKEN}}\ntask:\n  - a: {prompt: 'Log in {{TOKEN}}'}\n",
)


@pytest.mark.parametrize("text", ABOUT_NAMES)
def test_what_names_mean_is_not_asked_here(text: str, tmp_path: Path) -> None:
    assert load(written(tmp_path, text)).warnings == []


def test_the_marker_stands_under_the_place_also_behind_wide_letters(tmp_path: Path) -> None:
    [problem] = problems_of(written(tmp_path, "task:\n  - tâche-長い: {run: make, timeout: 30}\n"))
    line, marker = str(problem).splitlines()[1:3]
    assert problem.place.column == 36
    assert line[marker.index("^") :].startswith("30")


def test_the_trail_names_the_nodes_and_lists_around_a_mistake(tmp_path: Path) -> None:
    text = (
        "task:\n  - review:\n      parallel: {a: {run: make}}\n      merge:\n        - write: {run: make, timeout: 3}\n"
    )
    [problem] = problems_of(written(tmp_path, text))
    assert "    in task review > merge > write\n" in str(problem)


def test_mistakes_of_all_files_are_told_together_in_the_order_of_files_and_lines(tmp_path: Path) -> None:
    written(tmp_path, "task:\n  - a: {run: make, timeout: 3}\n", "b.yaml")
    written(tmp_path, "task:\n  - a: {prompt: {{x}} y}\n", "c.yaml")
    written(tmp_path, "{", "s.json")
    main = written(
        tmp_path,
        "limit: x\ntask:\n  - b: {include: b.yaml}\n  - c: {include: c.yaml}\n"
        "  - d: {run: a, schema: {file: s.json}}\n",
        "a.yaml",
    )
    found = [(each.place.file, each.place.line, each.code) for each in problems_of(main)]
    assert found == [
        ("a.yaml", 1, "bad-value"),
        ("b.yaml", 2, "duration"),
        ("c.yaml", 2, "unquoted-reference"),
        ("s.json", 1, "not-json"),
    ]


def test_a_file_in_two_places_is_told_once(tmp_path: Path) -> None:
    written(tmp_path, "task: []\n", "b.yaml")
    main = written(tmp_path, "task:\n  - b: {include: b.yaml}\n  - c: {include: ./b.yaml}\n", "a.yaml")
    assert [each.code for each in problems_of(main)] == ["empty-task"]


def test_a_task_that_starts_with_x_is_ignored_with_a_warning(tmp_path: Path) -> None:
    document = load(written(tmp_path, "task:\n  - x-ray: {run: make}\n    other: {run: make}\n"), shown="w.yaml")
    [warning] = document.warnings
    assert (warning.code, str(warning.place)) == ("ignored", "w.yaml:2:5")
    assert str(warning).startswith("w.yaml:2:5: warning[ignored]: `x-ray` is not run")


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (b"task:\n  - a\xff\n", "w.yaml:2:6", "byte 0xff is not UTF-8"),
        (b"\xff\xfet\x00a\x00", "w.yaml:1:1", "UTF-16"),
        (b"\x7fELF\x00\x01", "w.yaml:1:1", "binary"),
        (b"task:\n  - a: {run: 'x\x1b[0m'}\n", "w.yaml:2:16", "U+001B"),
        (b'task:\n  - a: {run: "x\\0"}\n', "w.yaml:2:14", "U+0000"),
    ],
)
def test_what_is_not_text_is_refused_at_its_place(content: bytes, place: str, words: str, tmp_path: Path) -> None:
    [problem] = problems_of(written(tmp_path, content))
    assert (problem.code, str(problem.place)) == ("not-text", place)
    assert words in problem.message
    assert "\x1b" not in str(problem)


def test_control_characters_of_a_value_do_not_reach_the_message(tmp_path: Path) -> None:
    [problem] = problems_of(written(tmp_path, 'task:\n  - "a\\e]0;title\\a": {run: make}\n'))
    assert not re.search("[\x00-\x09\x0b-\x1f]", str(problem))


def test_a_missing_file_a_folder_and_a_pipe_are_told(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert [problems_of(tmp_path / name)[0].code for name in ("none.yaml", "none/w.yaml", ".", "pipe.yaml")] == [
        "no-file",
        "no-file",
        "is-directory",
        "unreadable",
    ]


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, "task: []\n")
    path.chmod(0)
    assert problems_of(path)[0].code == "unreadable"


def test_a_reading_error_of_the_system_is_told_with_its_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(path: str) -> os.stat_result:
        raise PermissionError(13, "Permission denied", path)

    path = written(tmp_path, "task: []\n")
    monkeypatch.setattr("onward.spec.files.os.stat", fails)
    [problem] = problems_of(path)
    assert (problem.code, problem.message) == ("unreadable", "the file `w.yaml` may not be read by this user")


def test_each_feature_of_the_table_is_refused_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOT_YET, "loop", "loops")
    document = load(WORKFLOWS / "everything.yaml", shown="everything.yaml")
    assert {use.feature for use in document.uses} == set(NOT_YET) | {use.feature for use in document.uses}
    found = unsupported(document)
    assert {problem.code for problem in found} == {"not-yet-supported"}
    assert {problem.message.rpartition(": ")[2] for problem in found} == set(NOT_YET.values())


def test_a_feature_without_its_line_in_the_table_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    document = load(WORKFLOWS / "everything.yaml")
    without = unsupported(document)
    monkeypatch.setitem(NOT_YET, "loop", "loops")
    refused = unsupported(document)
    assert len(refused) - len(without) == sum(use.feature == "loop" for use in document.uses) > 0


def test_features_of_included_files_are_refused_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NOT_YET, "loop", "loops")
    written(tmp_path, "task:\n  - a: {loop: {for-each: [1], as: n}, run: ls}\n", "b.yaml")
    main = written(tmp_path, "task:\n  - b: {include: b.yaml}\n  - c: {include: b.yaml}\n", "a.yaml")
    [problem] = unsupported(load(main, shown="a.yaml"))
    assert problem.place.file == "b.yaml"


def test_what_the_first_part_executes_is_not_refused() -> None:
    for name in ("agent-yaml", "typing", "dollars"):
        assert unsupported(load(WORKFLOWS / f"{name}.yaml")) == []


def test_on_timeout_may_name_a_choice_of_the_defaults_and_no_other(tmp_path: Path) -> None:
    text = "defaults: {approve: {choices: [ship, hold]}}\ntask:\n"
    text += "  - a: {approve: Well?, timeout: 1h, on-timeout: WORD}\n"
    load(written(tmp_path, text.replace("WORD", "ship")))
    [problem] = problems_of(written(tmp_path, text.replace("WORD", "approve")))
    assert problem.code == "bad-value"
    assert "ship" in problem.message
