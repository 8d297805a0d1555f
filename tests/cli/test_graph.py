"""`onward graph`: the shape of a workflow and of a run, in four languages, with names that try to break out of them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.runs_on_disk import Shop
from onward.engine.definition import load_plan
from onward.views.graph import graph_of_plan
from onward.views.graph_svg import svg
from onward.views.graph_text import dot, mermaid

SVG = "{http://www.w3.org/2000/svg}"

WORKFLOW = """\
name: shape
title: "All of it"
task:
  - first: {run: 'true'}
  - left: {run: 'true'}
    right: {run: 'exit 1', on-failure: continue}
  - up: {run: 'true'}
    down: {run: 'true'}
  - group:
      parallel:
        x: {run: 'true'}
        y: {run: 'true', needs: [x]}
        z: {task: [{one: {run: 'true'}}, {two: {run: 'true'}}]}
      merge:
        - sum: {run: 'true'}
  - each:
      loop: {for-each: [p, q, r], as: thing}
      task:
        - work: {run: 'test "$thing" != q'}
        - after: {run: 'true'}
  - never: {call: "a:b"}
finally:
  - tidy: {run: 'true'}
"""


@pytest.fixture
def drawn(shop: Shop) -> Shop:
    (shop.folder / "w.yaml").write_text(WORKFLOW)
    return shop


def test_a_file_as_text(drawn: Shop) -> None:
    assert drawn.call("graph", "w.yaml") == (
        "shape  All of it\n"
        "  first  run\n"
        "  | left  run\n"
        "  | right  run\n"
        "  | up  run\n"
        "  | down  run\n"
        "  group  parallel\n"
        "    | x  run\n"
        "    | z  sequence\n"
        "    |   one  run\n"
        "    |   two  run\n"
        "    | y  run\n"
        "    merge:\n"
        "      sum  run\n"
        "  each  sequence, for each thing of 3 items\n"
        "    work  run\n"
        "    after  run\n"
        "  never  call\n"
        "  finally:\n"
        "    tidy  run\n"
    )


def test_a_run_tells_how_its_nodes_stand(drawn: Shop) -> None:
    drawn.call("run", "w.yaml", "-q", "--id", "r", code=1)
    said = drawn.call("graph", "r", env={"LC_ALL": "C.UTF-8"})
    assert said.startswith("shape  All of it  failed\n")
    assert "  ✓ first  run, done\n" in said
    assert "  | ✗ right  run, failed\n" in said
    assert "  ✗ each  sequence, for each thing of 3 items, 1 of 2, failed\n" in said
    assert "    ✗ work  run, 1 of 2, failed\n" in said
    assert "  · never  call, not started\n" in said
    assert drawn.call("graph", env={"LC_ALL": "C.UTF-8"}) == said, "without a word it is the newest run"
    data = drawn.data("graph", "r")
    assert (data["schema"], data["status"], data["graph"]["rows"][0][0]["status"]) == (1, "failed", "succeeded")


def test_the_ending_of_the_file_chooses_the_language(drawn: Shop) -> None:
    for name, start in (("g.svg", "<svg"), ("g.dot", "digraph"), ("g.mmd", "%%"), ("g.txt", "shape")):
        assert drawn.call("graph", "w.yaml", "-o", name) == ""
        assert (drawn.folder / name).read_text("utf-8").startswith(start)
    assert drawn.call("graph", "w.yaml", "--format", "svg") == (drawn.folder / "g.svg").read_text("utf-8")
    assert b"cannot write no/g.svg" in drawn.run("graph", "w.yaml", "-o", "no/g.svg").stderr


def test_what_is_neither_a_file_nor_a_run_is_told(drawn: Shop) -> None:
    assert b"there is no run `nothing`" in drawn.run("graph", "nothing").stderr
    assert drawn.run("graph", "nothing.yaml").returncode == 2
    (drawn.folder / "bad.yaml").write_text("task: [{a: {rnu: x}}]\n")
    assert b"bad.yaml:1:" in drawn.run("graph", "bad.yaml").stderr


def test_two_groups_are_joined_by_one_joint_and_not_by_every_pair(drawn: Shop) -> None:
    text = drawn.call("graph", "w.yaml", "--format", "mermaid")
    ids = dict(re.findall(r'^ *(?:subgraph )?(n\d+)\["([^<" ]+)', text, re.MULTILINE))
    named = {name: number for number, name in ids.items()}
    arrows = set(re.findall(r"(\w+) --[->] (\w+)", text))
    assert (named["first"], named["left"]) in arrows
    assert (named["x"], named["y"]) in arrows
    assert (named["x"], named["z"]) not in arrows
    assert (named["left"], named["up"]) not in arrows
    joints = re.findall(r"^ *(\w+)\(\(", text, re.MULTILINE)
    assert len(joints) == 1
    assert {(named["left"], joints[0]), (joints[0], named["down"])} <= arrows


def test_members_that_need_others_stand_below_them(drawn: Shop) -> None:
    places = dict(boxes(ET.fromstring(drawn.call("graph", "w.yaml", "--format", "svg"))))
    assert bottom(places["group/x"]) < places["group/y"][1]
    assert places["group/x"][1] == places["group/z"][1]


Place = tuple[float, float, float, float]


def boxes(root: ET.Element) -> Iterator[tuple[str, Place]]:
    for group in root.iter(f"{SVG}g"):
        title, rectangle = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None
        assert rectangle is not None
        x, y, width, height = (float(rectangle.get(key, "")) for key in ("x", "y", "width", "height"))
        yield title.text or "", (x, y, width, height)


def bottom(place: Place) -> float:
    return place[1] + place[3]


def contains(outer: Place, inner: Place) -> bool:
    across = outer[0] <= inner[0] and inner[0] + inner[2] <= outer[0] + outer[2]
    return across and outer[1] <= inner[1] and bottom(inner) <= bottom(outer)


def apart(one: Place, other: Place) -> bool:
    return (
        one[0] + one[2] <= other[0]
        or other[0] + other[2] <= one[0]
        or bottom(one) <= other[1]
        or bottom(other) <= one[1]
    )


def test_boxes_lie_in_those_they_belong_to_and_over_no_others(tmp_path: Path) -> None:
    many = "".join(f"    m{n}: {{run: 'true'}}\n" for n in range(60)).replace("    m0", "  - m0", 1)
    (tmp_path / "w.yaml").write_text(WORKFLOW.replace("  - never", many + "  - never"))
    root = ET.fromstring(svg(graph_of_plan(load_plan(tmp_path / "w.yaml").plan)))
    places = dict(boxes(root))
    page = (0.0, 0.0, float(root.get("width", "")), float(root.get("height", "")))
    assert len(places) == 17 + 60
    assert page[2] < 2000, "a wide group takes several lines"
    for path, place in places.items():
        assert contains(page, place)
        for other, where in places.items():
            if other.startswith(f"{path}/"):
                assert contains(place, where), (path, other)
            elif path != other and not path.startswith(f"{other}/"):
                assert apart(place, where), (path, other)


EVIL = 'a"]; x --> y %% <script>alert(1)</script> & \\" ` end ]]>'


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A workflow whose name, title and pattern hold what has a meaning in every language."""
    text = json.dumps(EVIL)
    loop = f"loop: {{for-each: {{glob: {text}}}}}"
    file = tmp_path / "w.yaml"
    file.write_text(f"name: {text}\ntitle: {text}\ntask:\n  - a:\n      {loop}\n      run: 'true'\n")
    return file


def test_names_stay_inside_labels(evil: Path) -> None:
    graph = graph_of_plan(load_plan(evil).plan)
    comment, flow, *rest = mermaid(graph).splitlines()
    assert comment.startswith("%% ")
    assert flow == "flowchart TD"
    assert len(rest) == 1
    assert re.fullmatch(r' *n1\["[^"<>`\\\[\]]*<br>[^"<>`\\\[\]]*"\]', rest[0])
    root = ET.fromstring(svg(graph))
    assert [one.tag for one in root.iter() if one.tag.endswith("script")] == []
    assert "<script>" in "".join(root.itertext())
    for line in dot(graph).splitlines():
        outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", line)
        assert '"' not in outside
        assert "script" not in outside
