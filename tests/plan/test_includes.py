"""An included file is a closed scope with variables of its own; only its outputs come out."""

from onward.model.nodes import Kind
from onward.model.status import Then
from onward.model.values import Root
from plan.planning import Instances, Workshop, node_at, refs_in

INNER = """\
variables: {who: {required: true}, how: gently}
env: {WHO: "{{who}}"}
directory: sub
timeout: 1h
title: Inner
task:
  - ask: {approve: "pick {{who}}?"}
  - g: {task: [{pick: {run: [echo, "{{who}} {{how}}"]}}]}
outputs: {picked: "{{g.pick.text}}", again: "{{who}}"}
"""
OUTER = """\
variables: {fruit: apple}
task:
  - first: {run: x}
  - inc: {include: parts/inner.yaml, with: {who: "{{fruit}}"}, env: {F: "{{fruit}}"}}
  - last: {prompt: "{{inc.picked}} {{inc.status}}"}
"""


def test_nodes_of_the_file_stand_below_the_include(w: Workshop) -> None:
    plan = w.plan(OUTER, {"parts/inner.yaml": INNER})
    inc = node_at(plan, "inc")
    assert [n.path for n in inc.walk()] == ["inc", "inc/ask", "inc/g", "inc/g/pick"]
    assert (inc.kind, inc.timeout_s, inc.title) == (Kind.INCLUDE, 3600, "Inner")
    assert inc.included is not None
    assert (inc.included.file, inc.included.name, inc.included.directory) == ("parts/inner.yaml", "inner", "sub")
    assert [v.name for v in inc.included.variables] == ["who", "how"]
    assert (node_at(plan, "inc/g/pick").file, node_at(plan, "inc/g/pick").line) == ("parts/inner.yaml", 8)
    assert [file.path for file in plan.files] == ["w.yaml", "parts/inner.yaml"]


def test_variables_lead_to_the_instance_that_holds_them(w: Workshop) -> None:
    plan = w.plan(OUTER, {"parts/inner.yaml": INNER})
    instances = Instances(plan)
    holders = {
        (user, ref.source): instances.climb(user, ref.up) for user, ref in instances.uses if ref.root is Root.VARIABLE
    }
    assert holders == {
        ("inc", "fruit"): "",
        ("inc", "who"): "inc",
        ("inc/ask", "who"): "inc",
        ("inc/g/pick", "who"): "inc",
        ("inc/g/pick", "how"): "inc",
    }
    assert [ref.up for ref in refs_in(node_at(plan, "inc").values)] == [0, 0]


def test_the_scope_is_closed_both_ways(w: Workshop) -> None:
    files = {"parts/inner.yaml": INNER}
    assert w.codes(OUTER.replace("inc.picked", "inc.ask.choice"), files) == ["unknown-field"]
    assert w.codes(OUTER.replace("inc.picked", "inc.results"), files) == ["unknown-field"]
    assert w.codes(OUTER.replace("inc.picked", "pick.text"), files) == ["unknown-name"]
    inside = w.problems(OUTER, {"parts/inner.yaml": INNER.replace("{{who}}?", "{{first.text}} {{fruit}}?")})
    assert [(each.code, each.place.file) for each in inside] == [("unknown-name", "parts/inner.yaml")] * 2
    assert inside[0].trail == ("inc", "ask")


def test_names_of_both_files_may_be_the_same(w: Workshop) -> None:
    inner = "variables: {fruit: x}\ntask: [{first: {run: x}}, {last: {prompt: '{{first.text}} {{fruit}}'}}]\n"
    outer = OUTER.replace("{{inc.picked}} ", "").replace("who:", "fruit:")
    assert w.codes(outer, {"parts/inner.yaml": inner}) == []


def test_variables_are_given_with_with(w: Workshop) -> None:
    files = {"parts/inner.yaml": INNER}
    found = w.problem(OUTER.replace(', with: {who: "{{fruit}}"}', ""), files)
    assert (found.code, found.help) == ("missing-variable", "add `with: {who: …}`")
    assert "needs a value for `who`" in found.message
    assert w.codes(OUTER.replace("who:", "who: x, hou:"), files) == ["unknown-name"]


def test_what_with_gives_needs_no_declaration(w: Workshop) -> None:
    ask = "task: [{ask: {approve: 'pick {{fruit}}?'}}, {pick: {run: 'echo \"$fruit\"'}}]\n"
    outer = """\
        task:
          - g:
              parallel:
                a: {include: ask.yaml, with: {fruit: apple}}
                b: {include: ask.yaml, with: {fruit: pear}}
    """
    plan, warnings = w.both(outer, {"ask.yaml": ask})
    assert warnings == []
    assert [n.path for n in plan.root.walk()][1:] == [
        "g", "g/a", "g/a/ask", "g/a/pick", "g/b", "g/b/ask", "g/b/pick",
    ]  # fmt: skip
    assert w.codes("task: [{a: {include: ask.yaml}}]", {"ask.yaml": ask}) == ["unknown-name"]


def test_a_given_value_may_be_a_mapping_inside(w: Workshop) -> None:
    inner = "task: [{a: {prompt: '{{file.name}} {{plain}}'}}]\n"
    outer = """\
        task:
          - f: {run: x}
          - a:
              loop: {for-each: "{{f.json}}", as: file}
              include: inner.yaml
              with: {file: "{{file}}", plain: x}
    """
    plan = w.plan(outer, {"inner.yaml": inner})
    assert [(ref.name, ref.up, ref.within) for ref in refs_in(node_at(plan, "a/a").work)] == [
        ("file", 1, ("name",)),
        ("plain", 1, ()),
    ]
    [given] = refs_in(node_at(plan, "a").with_["file"])
    assert (given.root, given.up) == (Root.LOOP, 0)


def test_an_include_does_what_its_file_says_on_failure_and_at_the_end(w: Workshop) -> None:
    inner = """\
task: [{a: {run: x}}]
on-failure: {task: [{mend: {prompt: "{{a.text}}"}}], then: continue}
finally: [{tidy: {prompt: "{{a.status}}"}}]
"""
    plan = w.plan(
        "task: [{i: {include: inner.yaml, finally: [{after: {prompt: '{{i.status}}'}}]}}]", {"inner.yaml": inner}
    )
    node = node_at(plan, "i")
    assert node.on_failure is Then.CONTINUE
    assert [[n.path for n in step] for step in node.finally_steps] == [["i/@finally/tidy"], ["i/@finally/after"]]
    assert [n.path for step in node.on_failure_steps for n in step] == ["i/@on-failure/mend"]
    targets = [(ref.up, ref.node) for path in ("i/@on-failure/mend", "i/@finally/tidy", "i/@finally/after")
               for ref in refs_in(node_at(plan, path).work)]  # fmt: skip
    assert targets == [(2, "a"), (2, "a"), (3, "i")]
    own = w.plan("task: [{i: {include: inner.yaml, on-failure: stop}}]", {"inner.yaml": inner})
    assert (node_at(own, "i").on_failure, node_at(own, "i").on_failure_steps) == (Then.STOP, ())
    assert w.codes("task: [{i: {include: inner.yaml, loop: {for-each: [x]}}}]", {"inner.yaml": inner}) == [
        "finally-in-loop"
    ]


def test_secrets_are_inherited_and_adapters_are_not(w: Workshop) -> None:
    inner = "adapters: {mine: {command: [b]}}\ntask: [{a: {prompt: p, adapter: mine, secrets: [S]}}]\n"
    outer = "secrets: {S: {env: S}}\nadapters: {mine: {command: [a]}}\n"
    outer += "task: [{o: {prompt: p, adapter: mine}}, {i: {include: inner.yaml}}]"
    plan = w.plan(outer, {"inner.yaml": inner})
    assert [a.name for a in plan.adapters] == ["mine", "mine@inner.yaml"]
    assert [node_at(plan, path).work.adapter for path in ("o", "i/a")] == ["mine", "mine@inner.yaml"]  # type: ignore[union-attr]
    assert [s.name for s in plan.secrets] == ["S"]
    assert w.codes("task: [{i: {include: inner.yaml}}]", {"inner.yaml": inner}) == ["unknown-name"]


def test_the_outputs_of_an_include_are_those_of_its_file(w: Workshop) -> None:
    inner = "task: [{a: {run: x}}]\n"
    assert w.codes("task: [{i: {include: inner.yaml, outputs: {o: x}}}]", {"inner.yaml": inner}) == ["unknown-key"]


def test_includes_inside_includes(w: Workshop) -> None:
    files = {
        "a/one.yaml": "variables: {v: x}\ntask: [{t: {include: b/two.yaml, with: {u: '{{v}}'}}}]\n"
        "outputs: {o: '{{t.p}}'}\n",
        "a/b/two.yaml": "variables: {u: y}\ntask: [{k: {prompt: {file: p.md}}}]\noutputs: {p: '{{k.text}}'}\n",
        "a/b/p.md": "Say {{u}}.",
    }
    plan = w.plan("task: [{i: {include: a/one.yaml}}, {z: {prompt: '{{i.o}}'}}]", files)
    assert [(n.path, n.file) for n in plan.root.walk()][1:4] == [
        ("i", ""),
        ("i/t", "a/one.yaml"),
        ("i/t/k", "a/b/two.yaml"),
    ]
    assert [f.path for f in plan.files] == ["w.yaml", "a/one.yaml", "a/b/two.yaml", "a/b/p.md"]
    assert [ref.up for ref in refs_in(node_at(plan, "i/t/k").work)] == [1]
    found = w.problem("task: [{i: {include: a/one.yaml}}]", files | {"a/b/p.md": "x\nSay {{w.text}}."})
    assert (found.place.file, found.place.line, found.trail) == ("a/b/p.md", 2, ("i", "t", "k"))
