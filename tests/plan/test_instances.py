"""`Ref.up` leads to the right instance: plans are laid out as instances, and every reference is followed."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onward.model.values import Ref, Root
from onward.plan.make import make_plan
from onward.spec.load import load
from plan.planning import Instances, Workshop, node_at, refs_in

EXAMPLES = sorted((Path(__file__).parent / "workflows").glob("*.yaml"))


def followed(instances: Instances) -> Iterator[tuple[str, Ref, str]]:
    """Every reference to a node with its user and the path that it leads to."""
    for user, ref in instances.uses:
        if ref.root is Root.NODE:
            yield user, ref, instances.target(user, ref)


def check(instances: Instances) -> int:
    """Each reference leads to an instance of the right kind; the number of references to nodes."""
    count = 0
    for user, ref, target in followed(instances):
        count += 1
        head = re.split(r"[.\[]", ref.source)[0]
        assert target in instances.parents, f"{user} uses {ref.source}: there is no {target}"
        assert ref.node.split("/")[0].partition("[")[0] in (head, "@merge"), ref
        assert user != target
    for user, ref in instances.uses:
        if ref.root is Root.LOOP or ref.root is Root.PREVIOUS:
            assert instances.climb(user, ref.up).endswith("]")
        if ref.root is Root.VARIABLE:
            assert instances.climb(user, ref.up) in instances.variables
    return count


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_reference_of_the_examples_leads_to_an_instance(path: Path) -> None:
    plan, _ = make_plan(load(path))
    check(Instances(plan))


DRAWN = """\
task:
  - plan: {run: list}
  - each:
      loop: {for-each: "{{plan.lines}}"}
      title: "All of {{plan.text}}"
      env: {ALL: "{{plan.text}}", ONE: "{{item}}"}
      task:
        - write: {prompt: "{{item}} {{index}} {{plan.text}}"}
        - check: {prompt: "{{write.text}}"}
      on-failure:
        task:
          - tell: {prompt: "{{item}} {{plan.text}} {{write.text}} {{each.status}}"}
      merge:
        - sum: {prompt: "{{plan.text}} {{each.results | json}}"}
        - more: {prompt: '{{sum.text}} {{each["1"].write.text}}'}
      finally:
        - tidy: {prompt: "{{plan.text}} {{each.status}}"}
  - last: {prompt: '{{each["2"].check.text}} {{each.sum.text}}'}
"""


def ups(w: Workshop, path: str, source: str) -> int:
    return next(ref.up for ref in refs_in(node_at(w.plan(DRAWN), path).work) if ref.source == source)


@pytest.mark.parametrize(
    ("path", "source", "up"),
    [
        ("each/write", "plan.text", 3),
        ("each/write", "item", 1),
        ("each/write", "index", 1),
        ("each/check", "write.text", 1),
        ("each/@on-failure/tell", "plan.text", 4),
        ("each/@on-failure/tell", "item", 2),
        ("each/@on-failure/tell", "write.text", 2),
        ("each/@on-failure/tell", "each.status", 2),
        ("each/@merge/sum", "plan.text", 3),
        ("each/@merge/sum", "each.results | json", 3),
        ("each/@merge/more", "sum.text", 1),
        ("each/@finally/tidy", "plan.text", 3),
        ("each/@finally/tidy", "each.status", 3),
        ("last", "each.sum.text", 1),
    ],
)
def test_levels_are_counted_as_the_diagram_shows(w: Workshop, path: str, source: str, up: int) -> None:
    assert ups(w, path, source) == up


def test_fields_of_a_loop_count_from_the_loop_or_from_the_iteration(w: Workshop) -> None:
    each = node_at(w.plan(DRAWN), "each")
    assert [ref.up for ref in refs_in(each.title)] == [1]
    assert [ref.up for ref in refs_in(each.loop)] == [1]
    assert {ref.source: ref.up for ref in refs_in(each.env)} == {"plan.text": 2, "item": 0}


def test_the_drawn_workflow_leads_everywhere_it_says(w: Workshop) -> None:
    instances = Instances(w.plan(DRAWN))
    assert check(instances) > 20
    targets = {(user, ref.source): target for user, ref, target in followed(instances)}
    assert targets["each[1]/write", "plan.text"] == "plan"
    assert targets["each[2]/@on-failure/tell", "write.text"] == "each[2]/write"
    assert targets["each/@merge/more", 'each["1"].write.text'] == "each[1]/write"
    assert targets["last", "each.sum.text"] == "each/@merge/sum"


def test_the_iteration_that_failed_is_named_by_self_from_above(w: Workshop) -> None:
    tell = node_at(w.plan(DRAWN), "each/@on-failure/tell")
    ref = next(ref for ref in refs_in(tell.work) if ref.source == "each.status")
    assert (ref.root, ref.up, ref.node, ref.field) == (Root.SELF, 2, "", "status")


def test_a_looped_leaf_counts_from_its_iteration(w: Workshop) -> None:
    plan = w.plan("""
        task:
          - a: {run: make}
          - b: {loop: {for-each: [x, y]}, run: [echo, "{{item}}", "{{a.text}}"]}
    """)
    assert [ref.up for ref in refs_in(node_at(plan, "b").work)] == [0, 2]


def test_unnamed_groups_add_no_level(w: Workshop) -> None:
    plan = w.plan("""
        task:
          - a: {run: make}
          - b: {prompt: "{{a.text}}"}
            c: {prompt: "{{a.text}}"}
    """)
    assert [ref.up for node in plan.root.walk() for ref in refs_in(node.work)] == [1, 1]


def test_conditions_of_a_loop_see_the_round_that_just_ended(w: Workshop) -> None:
    plan = w.plan("""
        task:
          - r:
              loop: {until: [{succeeded: check}, {equals: ["{{self.status}}", x]}, {succeeded: self}], max: 3}
              task:
                - fix: {prompt: '{{previous.check.text | default "-"}} {{previous.status | default "-"}}'}
                - check: {run: make}
    """)
    node = node_at(plan, "r")
    assert [(ref.root, ref.up, ref.node, ref.field) for ref in refs_in(node.loop)] == [
        (Root.NODE, 0, "check", "status"),
        (Root.SELF, 0, "", "status"),
        (Root.SELF, 0, "", "status"),
    ]
    assert [(ref.root, ref.up, ref.node, ref.field) for ref in refs_in(node_at(plan, "r/fix").work)] == [
        (Root.PREVIOUS, 1, "check", "text"),
        (Root.PREVIOUS, 1, "", "status"),
    ]
    check(Instances(plan))


# --- random workflows: every visible node is referred to from everywhere ---------------------------------------------

KINDS = st.sampled_from(["leaf", "leaf", "task", "parallel", "loop", "looped-leaf", "sections"])


@st.composite
def bodies(draw: st.DrawFn, names: Iterator[str], depth: int) -> list[dict[str, object]]:
    steps = []
    for _ in range(draw(st.integers(1, 3))):
        step = {}
        for _ in range(draw(st.integers(1, 2))):
            step[next(names)] = draw(nodes(names, depth))
        steps.append(step)
    return steps


@st.composite
def nodes(draw: st.DrawFn, names: Iterator[str], depth: int) -> dict[str, object]:
    kind = draw(KINDS) if depth < 3 else "leaf"
    match kind:
        case "task":
            return {"task": draw(bodies(names, depth + 1))}
        case "parallel":
            members = {next(names): draw(nodes(names, depth + 1)) for _ in range(draw(st.integers(1, 2)))}
            return {"parallel": members, "merge": draw(bodies(names, depth + 2))}
        case "loop":
            return {
                "loop": {"for-each": ["1", "2"], "as": f"v{depth}"},
                "task": draw(bodies(names, depth + 1)),
                "merge": draw(bodies(names, depth + 2)),
                "on-failure": {"task": draw(bodies(names, depth + 2))},
                "finally": draw(bodies(names, depth + 2)),
            }
        case "looped-leaf":
            return {"loop": {"until": {"succeeded": "self"}, "max": 2}, "prompt": ""}
        case "sections":
            return {
                "task": draw(bodies(names, depth + 1)),
                "on-failure": {"task": draw(bodies(names, depth + 2))},
                "finally": draw(bodies(names, depth + 2)),
            }
        case _:
            return {"prompt": ""}


def fill(steps: list[dict[str, object]], seen: dict[str, dict[str, object]]) -> None:
    """Give every prompt a reference to every node that it may see."""
    seen = dict(seen)
    for step in steps:
        for node in step.values():
            assert isinstance(node, dict)
            fill_node(node, seen)
        seen |= step  # type: ignore[arg-type]


def fill_node(node: dict[str, object], seen: dict[str, dict[str, object]]) -> None:
    if "prompt" in node:
        node["prompt"] = "do " + " ".join(f"{{{{{name}.status}}}}" for name in seen)
    below = {} if "loop" in node else {name: each for step in body(node) for name, each in step.items()}
    fill(body(node), seen) if "task" in node else None
    for each in node.get("parallel", {}).values():  # type: ignore[attr-defined]
        fill_node(each, seen)
    merge = node.get("merge", [])
    fill(merge, seen | below)  # type: ignore[arg-type]
    merged = {} if "loop" in node else {name: each for step in merge for name, each in step.items()}  # type: ignore[attr-defined]
    inside = {name: each for step in body(node) for name, each in step.items()}
    fill(node.get("on-failure", {}).get("task", []), seen | inside | merged)  # type: ignore[attr-defined]
    fill(node.get("finally", []), seen | below | merged)  # type: ignore[arg-type]


def body(node: dict[str, object]) -> list[dict[str, dict[str, object]]]:
    steps = node.get("task") or ([node["parallel"]] if "parallel" in node else [])
    assert isinstance(steps, list)
    return steps


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_visible_is_found_from_everywhere(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import json

    names = (f"n{i}" for i in range(10_000))
    steps = data.draw(bodies(names, 0))
    fill(steps, {})
    plan = Workshop(tmp_path_factory.mktemp("w", numbered=True)).plan(json.dumps({"task": steps}))
    instances = Instances(plan)
    for user, ref, target in followed(instances):
        assert target in instances.parents, (user, ref)
        assert target.rpartition("/")[2].partition("[")[0] == ref.source.partition(".")[0]
    check(instances)
