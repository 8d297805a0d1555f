"""A snapshot of a large run shares pieces with others; `run --from` finds them beside it, and says when one is gone."""

import shutil

from stories.project import Project


def test_a_new_run_goes_on_from_a_snapshot_whose_pieces_are_shared(project: Project):
    project.write("m.py", "def nothing():\n    pass\n")
    tasks = "".join(f"  - t{n}: {{call: 'm:nothing'}}\n" for n in range(2100))
    (project.root / "w.yaml").write_text(f"task:\n{tasks}  - last: {{run: 'test -e ok && echo last >> ledger.txt'}}\n")
    assert project.onward("run", "w.yaml", "--id", "r1", within_s=90).code == 1
    kept = project.root / "kept"
    shutil.move(project.root / ".onward/runs/r1/snapshots", kept)
    shutil.rmtree(project.root / ".onward")
    assert (kept / "parts").is_dir()
    project.touch("ok")
    said = project.onward("run", "w.yaml", "--from", "kept/s1.snapshot.json", "--id", "r2", within_s=90)
    assert said.code == 0, said.err
    assert project.ledger == ["last"]
    shutil.rmtree(kept / "parts")
    gone = project.onward("run", "w.yaml", "--from", "kept/s1.snapshot.json", within_s=90)
    assert gone.code in (2, 4)
    assert "internal error" not in gone.err
