"""Artifacts, outputs and hand-offs: what is recorded at the end of a node, and what is found of it later."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from onward import files
from onward.model.status import Status
from onward.model.values import Artifact
from onward.tasks.artifacts import Found, check
from onward.tasks.failures import Failure
from onward.tasks.gates import gate_of
from onward.tasks.gather import Gathered, gather
from tasks.conftest import MakeWorld
from tasks.world import World


def gathered(made: World, path: str = "one") -> Gathered:
    return gather(made.around, made.at(path))


def recorded(made: World, path: str = "one") -> list[str]:
    return [artifact.path for artifact in gathered(made, path).artifacts]


def with_artifacts(world: MakeWorld, rules: str, more: str = "") -> World:
    return world(f"variables: {{v: x}}\ntask:\n  - one: {{run: 'true', artifacts: {rules}{more}}}\n")


def touch(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def test_size_and_digest_of_each_file_are_recorded_once_in_order(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "out/b.csv", "out/a.csv", "report")
    made = with_artifacts(world, "['out/*.csv', report, 'out/a.csv']")
    assert recorded(made) == ["out/a.csv", "out/b.csv", "report"]
    assert gathered(made).artifacts[2] == Artifact(
        path="report", bytes=6, sha256=hashlib.sha256(b"report").hexdigest()
    )


@pytest.mark.parametrize(
    ("rule", "names"),
    [
        ("deep/**/*.txt", ["deep/a.txt", "deep/x/b.txt"]),
        ("deep", ["deep/.hidden", "deep/a.txt", "deep/x/b.txt"]),
        ("'[id].tsx'", ["[id].tsx"]),
        ("'[ab].log'", ["a.log"]),
    ],
)
def test_patterns_folders_and_names_with_brackets(
    world: MakeWorld, tmp_path: Path, rule: str, names: list[str]
) -> None:
    touch(tmp_path, "deep/a.txt", "deep/x/b.txt", "deep/.hidden", "[id].tsx", "i.tsx", "a.log")
    assert recorded(with_artifacts(world, f"[{rule}]")) == names


def test_a_value_is_never_a_pattern(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "a.md", "b.md")
    made = world("variables: {v: x}\ntask:\n  - one: {run: 'true', artifacts: ['{{v}}.m*']}\n", variables={"v": "*"})
    with pytest.raises(Failure, match="does not exist"):
        gathered(made)
    touch(tmp_path, "*.md")
    assert recorded(made) == ["*.md"]


def test_an_empty_file_and_an_empty_folder_are_accepted(world: MakeWorld, tmp_path: Path) -> None:
    (tmp_path / "nothing").touch()
    (tmp_path / "hollow").mkdir()
    found = gathered(with_artifacts(world, "[nothing, hollow]")).artifacts
    assert [(artifact.path, artifact.bytes) for artifact in found] == [("hollow/", 0), ("nothing", 0)]
    assert [check(artifact, str(tmp_path)) for artifact in found] == [Found.INTACT] * 2
    (tmp_path / "hollow").rmdir()
    assert check(found[0], str(tmp_path)) is Found.MISSING


def test_a_link_counts_as_what_it_leads_to(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "real")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "broken").symlink_to("nowhere")
    assert recorded(with_artifacts(world, "[link]")) == ["link"]
    with pytest.raises(Failure, match="`broken` does not exist"):
        gathered(with_artifacts(world, "[broken]"))


def test_all_that_is_missing_is_named_unless_it_is_optional(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "here")
    made = with_artifacts(world, "[here, gone, 'x/*.csv', {path: maybe, optional: true}]")
    with pytest.raises(Failure) as caught:
        gathered(made)
    assert caught.value.code == "artifact-missing"
    assert "`gone`, `x/*.csv` do not exist" in str(caught.value)


def test_what_lies_outside_is_refused(world: MakeWorld, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    touch(tmp_path, "out.txt")
    made = world("directory: inside\ntask:\n  - one: {run: 'true', artifacts: [../out.txt]}\n")
    with pytest.raises(Failure) as caught:
        gathered(made)
    assert caught.value.code == "outside-directory"


def test_a_pipe_is_no_artifact_and_nobody_waits_for_it(world: MakeWorld, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Failure, match="neither a file nor a folder"):
        gathered(with_artifacts(world, "[pipe]"))


def test_paths_are_relative_to_the_node_and_recorded_relative_to_the_run(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "sub/r.txt")
    assert recorded(with_artifacts(world, "[r.txt]", ", directory: sub")) == ["sub/r.txt"]


def test_files_and_their_names_are_on_the_disk_before_they_are_recorded(
    world: MakeWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path, "a/x", "a/y")
    calls: list[tuple[str, str]] = []
    monkeypatch.setattr(files, "_fault", lambda call, path, size: calls.append((call, path)) or size)
    gathered(with_artifacts(world, "[a]"))
    assert calls == [("flush", f"{tmp_path}/a/x"), ("flush", f"{tmp_path}/a/y"), ("flush-folder", f"{tmp_path}/a")]


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda p: None, Found.INTACT),
        (lambda p: p.write_text("x"), Found.DIFFERENT),
        (lambda p: p.write_text("other!"), Found.DIFFERENT),
        (lambda p: p.unlink(), Found.MISSING),
        (lambda p: (p.unlink(), p.mkdir()), Found.DIFFERENT),
    ],
)
def test_later_it_is_intact_different_or_missing(world: MakeWorld, tmp_path: Path, change, found: Found) -> None:  # type: ignore[no-untyped-def]
    touch(tmp_path, "report")
    (artifact,) = gathered(with_artifacts(world, "[report]")).artifacts
    change(tmp_path / "report")
    assert check(artifact, str(tmp_path)) is found


# --- outputs and hand-offs ----------------------------------------------------------------------------------------

PHASE = """
variables: {v: x}
task:
  - requirements:
      title: Requirements gathered
      outputs:
        count: "{{gather.json.count}}"
        words: "{{gather.json.count}} things"
        all: ["{{gather.json}}", "{{v}}"]
      artifacts: [phase.txt]
      hand-off:
        summary: "Gathered {{gather.json.count}} of {{v}}"
        data: {risky: "{{gather.json.risky}}"}
      task:
        - gather: {call: "m:f", artifacts: [inner.txt]}
  - use:
      prompt: "{{requirements.hand-off.summary}}: {{requirements.hand-off.data.risky | json}} {{requirements.count}}"
"""


def test_outputs_and_hand_off_of_a_phase(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "phase.txt", "inner.txt")
    made = world(PHASE)
    made.ended("requirements/gather", json={"count": 2, "risky": ["a"]})
    made.end("requirements/gather", artifacts=gathered(made, "requirements/gather").artifacts)
    found = gathered(made, "requirements")
    values = {name: made.values.load(value) for name, value in found.outputs.items()}
    document = {
        "phase": "requirements",
        "summary": "Gathered 2 of x",
        "data": {"risky": ["a"]},
        "report": {"artifacts": ["phase.txt", "inner.txt"]},
    }
    assert values == {
        "count": 2, "words": "2 things", "all": [{"count": 2, "risky": ["a"]}, "x"], "hand-off": document,
    }  # fmt: skip
    assert found.hand_off == "hand-offs/requirements.json"
    assert json.loads((Path(made.context.folder) / found.hand_off).read_text()) == document
    made.end("requirements", outputs=found.outputs)
    assert made.text("use") == 'Gathered 2 of x: ["a"] 2'


def test_a_large_output_lies_in_the_store(world: MakeWorld) -> None:
    made = world("task:\n  - p: {outputs: {o: '{{a.json}}'}, task: [{a: {call: 'm:f'}}]}\n")
    made.ended("p/a", json=["x" * 9000])
    value = gathered(made, "p").outputs["o"]
    assert value.sha256 is not None
    assert made.values.load(value) == ["x" * 9000]


# --- gates --------------------------------------------------------------------------------------------------------


def test_a_question_shows_its_files_as_they_are(world: MakeWorld, tmp_path: Path) -> None:
    touch(tmp_path, "REVIEW.md")
    made = world("""
variables: {n: "7"}
task:
  - sign: {approve: "Post review {{n}}?", show: [REVIEW.md], choices: [approve, later, reject], fields: {remark: text},
           timeout: 3d}
""")
    gate = gate_of(made.around, made.at("sign"), "approve")
    assert (gate.question, gate.choices, gate.fields) == (
        "Post review 7?", ("approve", "later", "reject"), {"remark": None},
    )  # fmt: skip
    assert [artifact.path for artifact in gate.show] == ["REVIEW.md"]
    assert gate.expires_at is not None


def test_after_a_failure_a_person_may_retry_skip_or_stop(world: MakeWorld) -> None:
    made = world("task:\n  - one: {run: 'false', on-failure: ask}\n")
    made.at("one").reason = "exit code 1"
    gate = gate_of(made.around, made.at("one"), "on-failure")
    assert gate.choices == ("retry", "skip", "stop")
    assert "exit code 1" in gate.question
    assert gate_of(made.around, made.at("one"), "on-resume").choices == ("retry", "done", "stop")


def test_what_a_question_should_show_must_be_there(world: MakeWorld) -> None:
    made = world("task:\n  - sign: {approve: 'Go?', show: [gone.md]}\n")
    made.end("sign", Status.PENDING)
    with pytest.raises(Failure, match=r"gone\.md"):
        gate_of(made.around, made.at("sign"), "approve")
