"""Snapshots of runs through the command line: when they are taken, what is in them, back to one, to another host."""

from __future__ import annotations

import json
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from stories.project import Project

FIELDS = {
    "workflow_id", "timestamp", "stage", "completed_tasks", "pending_tasks", "failed_tasks", "current_task_id",
    "current_activity_id", "task_metrics", "workflow_metrics", "configuration",
}  # fmt: skip

KEY = "aa" * 32

WORKFLOW = """
    mirror: {snapshots: mirror}
    variables: {ticket: T-1}
    task:
      - first: {run: echo first >> ledger.txt}
      - each:
          loop: {for-each: [x, y], as: item}
          env: {item: "{{item}}"}
          run: echo "each-$item" >> ledger.txt; echo '{"lines_modified":2}' > "$ONWARD_OUT/metrics"
      - hold:
          run: |
            echo hold >> ledger.txt
            echo '{"lines_modified":40}' > "$ONWARD_OUT/metrics"
            touch began
            until [ -e go ]; do sleep 0.05; done
            echo made > made.txt
          artifacts: [made.txt]
          timeout: 10m
          retry: {attempts: 4}
      - after: {run: echo after >> ledger.txt}
"""


def mirror(project: Project, run: str = "r1") -> dict[str, Any]:
    return dict(json.loads(project.read(f"mirror/snapshots/{run}.snapshot.json")))


def mirror_is_there(project: Project, run: str = "r1") -> bool:
    return (project.root / f"mirror/snapshots/{run}.snapshot.json").exists()


def snapshots(project: Project, *more: str) -> list[dict[str, Any]]:
    return list(json.loads(project.onward("snapshot", "list", "--json", *more).check().out)["snapshots"])


def paused_at_hold(project: Project) -> None:
    project.workflow(WORKFLOW)
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    project.onward("pause", "--now", "--reason", "look").check()
    assert driver.wait(30) == 3


# ---------------------------------------------------------------- when and what


def test_a_pause_leaves_a_snapshot_at_the_request_and_one_when_all_is_quiet(project: Project) -> None:
    paused_at_hold(project)
    first, second = snapshots(project)
    assert (first["cause"], second["cause"]) == ("pause-request", "pause")
    assert first["of"] < second["of"]
    journal = [json.loads(line) for line in project.read(".onward/runs/r1/journal.jsonl").splitlines()]
    kinds = [event["type"] for event in journal]
    assert kinds.index("pause_request") < kinds.index("snapshot")
    assert kinds[-2:] == ["snapshot", "workflow_pause"]
    assert journal[-1]["snapshot"] == journal[-2]["file"] == "snapshots/s2.snapshot.json"
    assert journal[-2]["of"] == journal[-3]["seq"], "it reflects what is in the journal, no more and no less"


def test_the_mirror_has_the_fields_of_the_requirement_and_where_the_run_is(project: Project) -> None:
    paused_at_hold(project)
    found = mirror(project)
    assert set(found) == FIELDS | {"paused_at", "onward"}
    assert found["workflow_id"] == "r1"
    assert found["stage"] == "hold"
    assert found["completed_tasks"] == ["first", "each[x]", "each[y]"]
    assert found["pending_tasks"] == ["hold", "after"]
    assert (found["failed_tasks"], found["current_task_id"]) == ([], "hold")
    assert found["current_activity_id"] == "hold#1"
    assert found["task_metrics"]["lines_modified"] == 40
    assert found["task_metrics"]["duration"] > 0
    assert found["workflow_metrics"]["lines_modified"] == 44, "of all attempts, the interrupted one too"
    assert found["workflow_metrics"]["total_time"] > 0
    assert found["configuration"] == {"timeout": 600.0, "max_retries": 3, "variables": {"ticket": "T-1"}}
    base = project.root / "mirror" / "snapshots"
    for place in ("file", "journal"):
        assert (base.parent / found["onward"][place]).resolve().exists() or (base / found["onward"][place]).exists()


def test_a_resume_stamps_the_mirror_and_a_success_removes_it(project: Project) -> None:
    paused_at_hold(project)
    driver = project.start("resume", "r1")
    project.wait("the resume is stamped", lambda: mirror_is_there(project) and "resumed_at" in mirror(project))
    project.touch("go")
    assert driver.wait(30) == 0
    assert not mirror_is_there(project), "else it would be resumed for ever"
    assert len(snapshots(project)) == 2, "those of the run stay"
    assert project.counts == {"first": 1, "each-x": 1, "each-y": 1, "hold": 2, "after": 1}


def test_a_failure_leaves_a_snapshot_that_names_what_failed(project: Project) -> None:
    project.workflow(
        """
        mirror: {snapshots: mirror}
        task:
          - good: {run: "true"}
          - group:
              task:
                - bad: {run: exit 3}
                - never: {run: "true"}
          - last: {run: "true"}
        """
    )
    project.onward("run", "w.yaml", "--id", "r1").check(1)
    found = mirror(project)
    assert (found["completed_tasks"], found["failed_tasks"]) == (["good"], ["group/bad"])
    assert found["pending_tasks"] == ["group/never", "last"]
    assert (found["stage"], found["onward"]["cause"]) == ("group", "failure")
    assert "paused_at" not in found


def test_a_snapshot_is_taken_on_request_with_and_without_a_driver(project: Project) -> None:
    project.workflow(WORKFLOW)
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    taken = json.loads(project.onward("snapshot", "create", "--json").check().out)["snapshot"]
    assert taken["id"] == "s1"
    assert driver.poll() is None, "it goes on"
    assert mirror(project)["current_task_id"] == "hold"
    project.onward("pause", "--now").check()
    driver.wait(30)
    project.onward("snapshot", "create").check()
    assert [one["cause"] for one in snapshots(project)] == ["request", "pause-request", "pause", "request"]
    project.onward("verify").check()


def test_snapshots_are_taken_by_the_clock_when_something_has_happened(project: Project) -> None:
    project.workflow(
        """
        task:
          - ticks: {run: sleep 0.3, loop: {until: {file-exists: go}, max: 100}}
        """
    )
    driver = project.start("run", "w.yaml", "--id", "r1", ONWARD_SNAPSHOT_EVERY="1s", ONWARD_SNAPSHOT_KEEP="2")
    project.wait("there are two", lambda: len(list(project.root.glob(".onward/runs/r1/snapshots/s*"))) == 2)
    project.wait("there is a third", lambda: (project.root / ".onward/runs/r1/snapshots/s3.snapshot.json").exists())
    project.touch("go")
    assert driver.wait(30) == 0
    found = snapshots(project)
    assert len(found) <= 2, "older ones go"
    assert {one["cause"] for one in found} == {"time"}


def test_a_mirror_that_cannot_be_written_stops_the_start_and_later_only_warns(project: Project) -> None:
    project.workflow(WORKFLOW)
    project.write("mirror", "a file")
    said = project.onward("run", "w.yaml").check(2)
    assert "mirror" in said.err
    assert project.ledger == []
    (project.root / "mirror").unlink()
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    (project.root / "mirror" / "snapshots").rmdir()
    (project.root / "mirror" / "snapshots").write_text("in the way")
    project.onward("pause", "--now").check()
    assert driver.wait(30) == 3
    assert driver.stderr is not None
    assert driver.stderr.read().count("mirror/snapshots") == 1
    assert [one["cause"] for one in snapshots(project)] == ["pause-request", "pause"]
    assert "mirror/snapshots" in project.onward("status").check().out


# ---------------------------------------------------------------- looking and cleaning up


def test_list_show_and_rm(project: Project) -> None:
    paused_at_hold(project)
    project.onward("snapshot", "create").check()
    assert [one["id"] for one in snapshots(project)] == ["s1", "s2", "s3"]
    shown = json.loads(project.onward("snapshot", "show", "r1", "s1").check().out)
    assert shown["onward"]["cause"] == "pause-request"
    assert json.loads(project.onward("snapshot", "show", "s2").check().out)["onward"]["cause"] == "pause"
    assert json.loads(project.onward("snapshot", "show").check().out)["onward"]["cause"] == "request"
    assert "s9" in project.onward("snapshot", "show", "s9").check(2).err
    project.onward("snapshot", "rm").check(2)
    project.onward("snapshot", "rm", "--keep", "1", "--dry-run").check()
    project.onward("snapshot", "rm", "s2").check()
    project.onward("snapshot", "rm", "--keep", "1").check()
    assert [one["id"] for one in snapshots(project)] == ["s3"]
    project.onward("snapshot", "rm", "--older-than", "0s").check()
    assert [one["id"] for one in snapshots(project)] == ["s3"], "the newest one always stays"


def test_age_counts_from_when_a_snapshot_was_written(project: Project) -> None:
    paused_at_hold(project)
    project.onward("snapshot", "create").check()
    day_ago = time.time() - 86400 - 60
    os.utime(project.root / ".onward/runs/r1/snapshots/s1.snapshot.json", (day_ago, day_ago))
    project.onward("snapshot", "rm", "--older-than", "1d").check()
    assert [one["id"] for one in snapshots(project)] == ["s2", "s3"]


def test_a_damaged_snapshot_is_told_and_hides_no_other(project: Project) -> None:
    paused_at_hold(project)
    project.write(".onward/runs/r1/snapshots/s1.snapshot.json", '{"workflow_id"')
    first, second = snapshots(project)
    assert "JSON" in first["problem"]
    assert second["cause"] == "pause"
    said = project.onward("snapshot", "rollback", "s1").check(2)
    assert "s1.snapshot.json" in said.err


def test_a_compressed_and_encrypted_snapshot_needs_its_key(project: Project) -> None:
    pytest.importorskip("cryptography")
    paused_at_hold(project)
    project.write("key", KEY)
    project.write("other", "bb" * 32)
    project.write("rubbish", "hello")
    project.onward("snapshot", "create", "--compress", "--key-file", "key").check()
    data = (project.root / ".onward/runs/r1/snapshots/s3.snapshot.json").read_bytes()
    assert b"hold" not in data
    shown = json.loads(project.onward("snapshot", "show", "s3", "--key-file", "key").check().out)
    assert shown["current_task_id"] == "hold"
    for wrong, words in (("other", "another key"), ("rubbish", "holds no key"), ("none", "cannot read the key")):
        assert words in project.onward("snapshot", "show", "s3", "--key-file", wrong).check(2).err
    assert "no key was given" in project.onward("snapshot", "show", "s3").check(2).err
    assert project.onward("snapshot", "show", "s3", ONWARD_SNAPSHOT_KEY=KEY).check().out
    assert "encrypted" in snapshots(project)[2]["problem"]
    project.onward("snapshot", "create", "--encrypt").check(2)
    (project.root / ".onward/runs/r1/snapshots/s3.snapshot.json").write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert "altered" in project.onward("snapshot", "show", "s3", "--key-file", "key").check(2).err


def test_a_driver_encrypts_with_a_key_file_and_never_gets_the_key_itself(project: Project) -> None:
    pytest.importorskip("cryptography")
    project.workflow(WORKFLOW)
    project.write("key", KEY)
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    taken = json.loads(project.onward("snapshot", "create", "--json", "--key-file", "key").check().out)["snapshot"]
    assert taken["encrypted"] is True
    assert KEY not in project.read(".onward/runs/r1/journal.jsonl")
    said = project.onward("snapshot", "create", "--encrypt", ONWARD_SNAPSHOT_KEY=KEY).check(1)
    assert "--key-file" in said.err
    project.touch("go")
    assert driver.wait(30) == 0


# ---------------------------------------------------------------- back to one


def test_rollback_repeats_what_came_after_and_keeps_what_came_before(project: Project) -> None:
    paused_at_hold(project)
    project.touch("go")
    project.onward("resume").check()
    assert project.counts == {"first": 1, "each-x": 1, "each-y": 1, "hold": 2, "after": 1}
    before = project.read(".onward/runs/r1/journal.jsonl")

    dry = json.loads(project.onward("snapshot", "rollback", "s1", "--dry-run", "--json").check().out)
    assert (dry["done"], dry["repeated"]) == (False, ["hold", "after"])
    assert project.read(".onward/runs/r1/journal.jsonl") == before

    said = project.onward("snapshot", "rollback", "r1", "s1", "--reason", "wrong branch").check()
    assert "hold, after" in said.out
    assert project.read(".onward/runs/r1/journal.jsonl").startswith(before), "history stays"
    status = project.status()
    assert status["status"] == "paused"
    assert status["progress"]["done"] == 3
    assert project.onward("resume", "--all").check().code == 0
    assert project.status()["status"] == "paused", "a person brought it there"
    project.onward("resume").check()
    assert project.counts == {"first": 1, "each-x": 1, "each-y": 1, "hold": 3, "after": 2}
    project.onward("verify").check()


def test_rollback_reads_the_items_of_a_loop_again_that_began_later(project: Project) -> None:
    project.workflow(
        """
        task:
          - hold: {run: "touch began; until [ -e go ]; do sleep 0.05; done"}
          - list: {run: cat items.txt}
          - each:
              loop: {for-each: "{{list.lines}}", as: item}
              env: {item: "{{item}}"}
              task:
                - inner: {run: 'echo "$item" >> ledger.txt'}
          - rounds: {run: echo round >> ledger.txt, loop: {until: {command: [test, -e, go]}, max: 3}}
        """
    )
    project.write("items.txt", "a\nb\n")
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    project.onward("snapshot", "create").check()
    project.touch("go")
    assert driver.wait(30) == 0
    project.write("items.txt", "c\n")
    project.onward("snapshot", "rollback", "s1").check()
    project.onward("resume").check()
    assert project.counts == {"a": 1, "b": 1, "c": 1, "round": 2}


def test_rollback_asks_a_decided_question_again(project: Project) -> None:
    project.workflow(
        """
        task:
          - ask: {approve: "Go on?"}
          - then: {run: echo then >> ledger.txt}
        """
    )
    project.onward("run", "w.yaml", "--id", "r1").check(3)
    project.onward("snapshot", "create").check()
    project.onward("approve").check()
    project.onward("resume").check()
    project.onward("snapshot", "rollback", "s1").check()
    project.onward("resume").check(3)
    assert [gate["path"] for gate in project.status()["gates"]] == ["ask"]
    assert project.counts == {"then": 1}
    project.onward("approve").check()
    project.onward("resume").check()
    assert project.counts == {"then": 2}


def test_a_driven_run_is_not_rolled_back_and_a_foreign_snapshot_neither(project: Project) -> None:
    project.workflow(WORKFLOW)
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    project.onward("snapshot", "create").check()
    assert "run-busy" in project.onward("snapshot", "rollback", "s1").check(2).err
    project.onward("pause", "--now").check()
    driver.wait(30)
    path = project.root / ".onward/runs/r1/snapshots/s1.snapshot.json"
    found = json.loads(path.read_text())
    for changed in ({"chain": "0" * 32}, {"seq": 99999}, {"seq": None}):
        path.write_text(json.dumps(found | {"onward": found["onward"] | changed}))
        project.onward("snapshot", "rollback", "s1").check(2)
    path.write_text(json.dumps(found | {"workflow_id": "other"}))
    assert "no snapshot of run" in project.onward("snapshot", "rollback", "s1").check(2).err


# ---------------------------------------------------------------- to another host


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


def exported(project: Project, *more: str) -> Path:
    paused_at_hold(project)
    project.touch("go")
    project.onward("snapshot", "export", "-o", "run.tar", *more).check()
    return project.root / "run.tar"


def test_a_run_is_exported_and_resumed_on_another_host(project: Project, elsewhere: Path) -> None:
    archive = exported(project)
    other = Project(elsewhere)
    said = other.onward("snapshot", "import", str(archive), "--store", ".onward").check()
    assert "verified" in said.out
    assert (elsewhere / "w.yaml").read_text() == project.read("w.yaml")
    other.touch("go")
    other.onward("verify").check()
    other.onward("resume").check()
    assert other.counts == {"hold": 1, "after": 1}, "what was done there is not done here"
    assert "imported from run.tar" in other.onward("show").check().out
    assert "exported to run.tar" in project.onward("show").check().out
    assert other.onward("snapshot", "import", str(archive), "--store", ".onward").check(2).err.count("already") == 1


def test_artifacts_travel_and_are_verified(project: Project, elsewhere: Path) -> None:
    paused_at_hold(project)
    project.touch("go")
    project.onward("resume").check()
    project.onward("snapshot", "export", "-o", "run.tar").check()
    other = Project(elsewhere)
    other.onward("snapshot", "import", str(project.root / "run.tar"), "--store", ".onward").check()
    assert other.read("made.txt") == "made\n"
    other.onward("verify").check()


def test_a_file_that_is_there_and_differs_is_left_alone_and_told(project: Project, elsewhere: Path) -> None:
    paused_at_hold(project)
    project.touch("go")
    project.onward("resume").check()
    project.onward("snapshot", "export", "-o", "run.tar").check()
    other = Project(elsewhere)
    other.write("made.txt", "mine\n")
    said = other.onward("snapshot", "import", str(project.root / "run.tar"), "--store", ".onward").check()
    assert "made.txt" in said.err
    assert other.read("made.txt") == "mine\n"


@pytest.mark.parametrize("flags", [(), ("--compress",), ("--compress", "--key-file", "key"), ("--key-file", "key")])
def test_any_altered_byte_of_an_exported_run_is_found(
    project: Project, elsewhere: Path, flags: tuple[str, ...]
) -> None:
    project.write("key", KEY)
    archive = exported(project, *flags)
    data = archive.read_bytes()
    other = Project(elsewhere)
    other.write("key", KEY)
    key = ("--key-file", "key") if "key" in flags else ()
    for number, place in enumerate(_places_of_content(archive, data)):
        broken = elsewhere / f"broken-{number}.tar"
        broken.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
        other.onward("snapshot", "import", broken.name, "--store", ".onward", *key).check(2)
    (elsewhere / "half.tar").write_bytes(data[: len(data) // 2])
    other.onward("snapshot", "import", "half.tar", "--store", ".onward", *key).check(2)
    assert list(elsewhere.glob(".onward/runs/*")) == []
    assert list(elsewhere.glob(".onward/runs/.new-*")) == []
    other.onward("snapshot", "import", str(archive), "--store", ".onward", *key).check()


def _places_of_content(archive: Path, data: bytes) -> list[int]:
    """Some bytes that count: in each of some files of a plain archive, else at some places of the whole."""
    if not data.startswith(b"run/"):
        return [10, len(data) // 3, len(data) // 2, len(data) - 1]
    with tarfile.open(archive) as found:
        full = [member.offset_data + member.size // 2 for member in found if member.size]
    return full[:: max(1, len(full) // 5)]


def test_a_wrong_or_missing_key_and_a_file_of_others_are_told_in_words(project: Project, elsewhere: Path) -> None:
    project.write("key", KEY)
    archive = exported(project, "--key-file", "key")
    other = Project(elsewhere)
    other.write("other", "bb" * 32)
    said = other.onward("snapshot", "import", str(archive), "--store", ".onward", "--key-file", "other").check(2)
    assert "another key" in said.err
    assert "no key was given" in other.onward("snapshot", "import", str(archive), "--store", ".onward").check(2).err
    other.write("notes.txt", "hello")
    assert "no exported run" in other.onward("snapshot", "import", "notes.txt", "--store", ".onward").check(2).err


def test_an_archive_with_a_name_that_leads_outside_is_refused(project: Project, elsewhere: Path) -> None:
    archive = exported(project)
    other = Project(elsewhere)
    (elsewhere / "deep" / "er").mkdir(parents=True)
    for name in ("run/../../../escaped", "artifacts/../../escaped", "/escaped", "run/link"):
        evil = _with_member(archive, elsewhere / "evil.tar", name)
        other.onward("snapshot", "import", str(evil), "--store", "deep/er/.onward").check(2)
    assert list(elsewhere.rglob("escaped")) == []


def _with_member(archive: Path, target: Path, name: str) -> Path:
    """The archive with one more file, which its manifest lists."""
    import hashlib
    import io

    with tarfile.open(archive) as source, tarfile.open(target, "w") as made:
        for member in source:
            data = source.extractfile(member).read()  # type: ignore[union-attr]
            if member.name == "manifest.json":
                manifest = json.loads(data)
                manifest["files"].append({"name": name, "bytes": 1, "sha256": hashlib.sha256(b"x").hexdigest()})
                data = json.dumps(manifest).encode()
            _add(made, member.name, data)
        if name.endswith("link"):
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            made.addfile(link)
        else:
            made.addfile(_info(name, 1), io.BytesIO(b"x"))
    return target


def _add(made: tarfile.TarFile, name: str, data: bytes) -> None:
    import io

    made.addfile(_info(name, len(data)), io.BytesIO(data))


def _info(name: str, size: int) -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.size = size
    return found


def test_a_driven_run_and_one_whose_task_still_runs_are_not_exported(project: Project) -> None:
    project.workflow(WORKFLOW)
    driver = project.start("run", "w.yaml", "--id", "r1")
    project.wait_for_file("began")
    assert "run-busy" in project.onward("snapshot", "export").check(2).err
    project.kill_driver(driver)
    assert "`hold` still runs" in project.onward("snapshot", "export").check(2).err
    assert not list(project.root.glob("*.tar"))
    project.touch("go")
    project.onward("resume").check()
    project.onward("snapshot", "export").check()
    assert (project.root / "r1.onward.tar").stat().st_mode & 0o077 == 0
    assert "already" in project.onward("snapshot", "export").check(2).err


# ---------------------------------------------------------------- where only a snapshot was kept


def test_a_new_run_goes_on_from_a_snapshot_alone(project: Project, elsewhere: Path) -> None:
    paused_at_hold(project)
    other = Project(elsewhere)
    other.workflow(WORKFLOW)
    other.write("kept.json", json.dumps(mirror(project)))
    other.touch("go")
    other.onward("run", "w.yaml", "--from", "kept.json", "--id", "r2").check()
    assert other.counts == {"hold": 1, "after": 1}
    assert other.status()["variables"] == {"ticket": "T-1"}
    started = json.loads(other.read(".onward/runs/r2/journal.jsonl").splitlines()[0])
    assert (started["imported"]["kind"], started["imported"]["workflow_id"]) == ("snapshot", "r1")


def test_a_snapshot_in_the_middle_of_a_loop_and_a_group_keeps_single_tasks(project: Project) -> None:
    project.workflow(
        """
        task:
          - each:
              loop: {for-each: [x, y, z], as: item}
              env: {item: "{{item}}"}
              run: echo "each-$item" >> ledger.txt
          - group:
              task:
                - one: {run: echo one >> ledger.txt}
                - two: {run: echo two >> ledger.txt}
        """
    )
    snapshot = {
        "workflow_id": "theirs", "timestamp": "2025-01-23T12:34:56Z", "stage": "each",
        "completed_tasks": ["each[x]", "each[z]", "group/one", "gone"], "pending_tasks": ["each[y]", "group/two"],
        "failed_tasks": None, "current_task_id": "each[y]", "current_activity_id": "", "task_metrics": None,
        "workflow_metrics": {}, "configuration": {"timeout": 600, "max_retries": 3},
    }  # fmt: skip
    project.write("s.json", json.dumps(snapshot))
    said = project.onward("run", "w.yaml", "--from", "s.json").check()
    assert project.counts == {"each-y": 1, "two": 1}
    assert "`gone`" in said.err


def test_a_result_that_a_snapshot_does_not_hold_is_missed_at_the_start(project: Project) -> None:
    project.workflow("task:\n  - a: {run: echo a}\n  - b: {run: cat, stdin: '{{a.text}}'}\n")
    snapshot = {"workflow_id": "x", "timestamp": "2025-01-23T12:34:56Z", "completed_tasks": ["a"]}
    project.write("s.json", json.dumps(snapshot))
    assert "`b` needs {{a.text}}" in project.onward("run", "w.yaml", "--from", "s.json").check(2).err
    for bad in ("{", '{"completed_tasks": [], "workflow_id": 3}', '{"completed_tasks": 1, "workflow_id": "x"}'):
        project.write("s.json", bad)
        project.onward("run", "w.yaml", "--from", "s.json").check(2)


def test_a_snapshot_whose_run_is_here_leads_to_that_run(project: Project) -> None:
    paused_at_hold(project)
    said = project.onward("run", "w.yaml", "--from", "mirror/snapshots/r1.snapshot.json").check(2)
    assert "onward resume r1" in said.err
