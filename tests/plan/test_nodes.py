"""Fields of the file -> typed nodes: defaults, shells, loops, data, marks, paths."""

import pytest

from onward.model import conditions as c
from onward.model.nodes import Approve, Call, Glob, Kind, Prompt, Retry, Run
from onward.model.status import OnResume, Outcome, Then
from onward.model.values import Data, Hole, Ref, Root, Template
from plan.planning import Workshop, node_at, refs_in

V = Ref(root=Root.VARIABLE, name="v", up=1, source="v")


def test_shells_are_spelled_out(w: Workshop) -> None:
    plan = w.plan("""
        defaults: {run: {shell: sh}}
        task:
          - a: {run: x}
          - b: {run: x, shell: bash}
          - c: {run: x, shell: [python3, -c]}
          - d: {run: [x, y]}
          - e: {prompt: p, skip-if: {command: x}}
    """)
    shells = [node_at(plan, name).work for name in "abcd"]
    assert [work.shell for work in shells if isinstance(work, Run)] == [
        ("sh", "-eu", "-c"),
        ("bash", "-euo", "pipefail", "-c"),
        ("python3", "-c"),
        (),
    ]
    assert node_at(plan, "e").skip_if == (c.Command(script="x", shell=("sh", "-eu", "-c")),)


def test_defaults_fill_what_a_leaf_of_that_kind_does_not_say(w: Workshop) -> None:
    plan = w.plan("""
        defaults:
          prompt: {adapter: codex, timeout: 20m, session: keep}
          run: {timeout: 10m, env: {A: x}, retry: {attempts: 3}}
        task:
          - a: {prompt: p}
          - b: {prompt: p, adapter: gemini, session: fresh}
          - c: {run: x}
          - d: {run: x, timeout: 1h, env: {B: y}}
          - e: {task: [{f: {run: x}}]}
    """)
    a, b = node_at(plan, "a"), node_at(plan, "b")
    assert (a.work, a.timeout_s) == (Prompt(text="p", adapter="codex", keep_session=True), 1200)
    assert (b.work, b.timeout_s) == (Prompt(text="p", adapter="gemini"), 1200)
    assert [node_at(plan, p).timeout_s for p in ("c", "d", "e", "e/f")] == [600, 3600, None, 600]
    assert [node_at(plan, p).env for p in ("c", "d")] == [{"A": "x"}, {"B": "y"}]
    assert node_at(plan, "e/f").retry == Retry(attempts=3)


def test_every_modifier_arrives(w: Workshop) -> None:
    plan = w.plan("""
        secrets: {S: {env: S}}
        variables: {v: x}
        task:
          - g:
              parallel:
                a:
                  run: x
                  title: T
                  retry: {attempts: 2, delay: 5s, backoff: 1.5, max-delay: 1m, on: [timeout]}
                  schema: {type: object, properties: {n: {type: integer}}}
                  timeout: 2h
                  directory: d/{{v}}
                  env: {A: "{{v}}", B: 007}
                  secrets: [S]
                  outputs: {o: lines}
                  artifacts: [a.txt, {path: "b/*.txt", optional: true}]
                  on-resume: check
                  on-failure: {task: [{f: {run: x}}], then: continue}
                  was: old
                  queue: gpu
                  worktree: true
                b: {prompt: p, budget: {usd: 5, tokens: 2000000}, needs: [a], model: "{{v}}"}
              limit: 2
              fail-fast: true
              merge: [{m: {run: x}}]
              finally: [{z: {run: x}}]
              budget: {usd: 1.5}
    """)
    a, b, g = node_at(plan, "g/a"), node_at(plan, "g/b"), node_at(plan, "g")
    assert a.retry == Retry(attempts=2, delay_s=5, backoff=1.5, max_delay_s=60, on=(Outcome.TIMEOUT,))
    assert a.schema == {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert (a.title, a.timeout_s, a.secrets, a.was, a.queue, a.worktree) == ("T", 7200, ("S",), "old", "gpu", True)
    assert isinstance(a.directory, Template)
    assert a.env["B"] == "007"
    assert [(o.name, o.form) for o in a.outputs] == [("o", "lines")]
    assert [(r.path, r.optional) for r in a.artifacts] == [("a.txt", False), ("b/*.txt", True)]
    assert (a.on_resume, a.on_failure) == (OnResume.CHECK, Then.CONTINUE)
    assert (b.needs, b.budget.usd, b.budget.tokens) == (("a",), 5, 2000000)  # type: ignore[union-attr]
    assert (g.limit, g.fail_fast, g.budget.usd) == (2, True, 1.5)  # type: ignore[union-attr]
    assert [node.path for node in plan.root.walk()] == [
        "", "g", "g/a", "g/a/@on-failure/f", "g/b", "g/@merge/m", "g/@finally/z",
    ]  # fmt: skip


def test_the_root_has_what_belongs_to_the_run(w: Workshop) -> None:
    plan = w.plan("""
        name: n
        title: "T {{v}}"
        description: d
        directory: sub
        variables: {v: x}
        env: {A: "{{v}}"}
        limit: 3
        timeout: 1h
        grace: 10s
        budget: {usd: 2}
        watch: {"*.json": warn}
        mirror: {sparq: .sparq, snapshots: snaps}
        checkpoint: {state-file: s.json}
        task: [{a: {run: x}}]
        outputs: {o: "{{a.text}}", p: 1}
        on-failure: {task: [{b: {run: x}}], then: stop}
        finally: [{z: {prompt: "{{a.status}}"}}]
    """)
    root = plan.root
    assert (plan.name, plan.description, plan.directory, plan.limit, plan.grace_s) == ("n", "d", "sub", 3, 10)
    assert plan.title == Template(parts=("T ", Ref(root=Root.VARIABLE, name="v", source="v")))
    assert (plan.watch, plan.mirror_sparq, plan.mirror_snapshots) == ({"*.json": "warn"}, ".sparq", "snaps")
    assert plan.checkpoint is not None
    assert (plan.checkpoint.state_file, plan.checkpoint.cleanup_policy) == ("s.json", "on-success")
    assert (root.kind, root.name, root.path, root.timeout_s) == (Kind.TASK, "", "", 3600)
    assert [(o.name, [ref.up for ref in refs_in(o.value)]) for o in root.values] == [("o", [0]), ("p", [])]
    assert [n.path for n in root.walk()] == ["", "a", "@on-failure/b", "@finally/z"]
    assert [ref.up for ref in refs_in(node_at(plan, "@finally/z").work)] == [2]
    assert w.plan("task: [{a: {run: x}}]").name == "w"


def test_values_of_yaml_stay_what_they_are_where_text_is_wanted(w: Workshop) -> None:
    plan = w.plan("""
        variables:
          account: 998877665544332211009988776655
          zip: 02134
          version: 1.10
          country: no
          day: 2024-01-02
          at: 12:30
          mask: 0x1F
          nothing:
        task: [{a: {run: [x, 1.10, no, 0x1F, 2024-01-02], env: {N: 02134}}}]
    """)
    assert {v.name: v.default for v in plan.variables} == {
        "account": "998877665544332211009988776655",
        "zip": "02134",
        "version": "1.10",
        "country": "no",
        "day": "2024-01-02",
        "at": "12:30",
        "mask": "0x1F",
        "nothing": "",
    }
    work = node_at(plan, "a").work
    assert isinstance(work, Run)
    assert work.argv == ("x", "1.10", "no", "0x1F", "2024-01-02")
    assert node_at(plan, "a").env == {"N": "02134"}


def test_free_data_keeps_types_and_has_holes_where_references_are(w: Workshop) -> None:
    plan = w.plan("""
        variables: {v: x}
        task:
          - f: {run: x}
          - a: {call: "m:f", with: {n: 42, t: 3.10, b: true, deep: [{k: "{{f.json.items}}"}, "a {{v}}"], none: null}}
    """)
    work = node_at(plan, "a").work
    assert isinstance(work, Call)
    json = Ref(root=Root.NODE, up=1, node="f", field="json", within=("items",), source="f.json.items")
    assert work.arguments == Data(
        value={"n": 42, "t": "3.10", "b": True, "deep": [{"k": None}, None], "none": None},
        holes=(
            Hole(at=("deep", 0, "k"), template=Template(parts=(json,))),
            Hole(at=("deep", 1), template=Template(parts=("a ", V))),
        ),
    )


def test_a_question_has_its_choices_and_fields(w: Workshop) -> None:
    plan = w.plan("""
        task:
          - a: {approve: "Go?"}
          - b: {approve: "Go?", show: [x.md], choices: [yes, later, reject], fields: {why: text, size: [s, l]}, \
timeout: 3d, on-timeout: later}
    """)
    assert node_at(plan, "a").work == Approve(question="Go?")
    assert node_at(plan, "b").timeout_s == 3 * 86400
    assert node_at(plan, "b").work == Approve(
        question="Go?",
        show=("x.md",),
        choices=("yes", "later", "reject"),
        fields={"why": None, "size": ("s", "l")},
        on_timeout="later",
    )


def test_loops_arrive_with_their_header_and_numbers(w: Workshop) -> None:
    plan = w.plan("""
        variables: {v: x}
        task:
          - a:
              loop: {for-each: [x, {k: "{{v}}"}], as: f, key: "{{f.k}}", limit: 4, delay: 1s, max: 7, on-empty: fail,
                     refresh: true, fail-fast: false}
              run: x
          - b: {loop: {for-each: {glob: "*.md", in: d}}, run: x}
          - c: {loop: {for-each: {command: ls}}, run: x}
          - d: {loop: {while: {file-exists: x}, max: 3, on-max: continue}, run: x}
    """)
    loops = [node_at(plan, name).loop for name in "abcd"]
    a, b, c_, d = [loop for loop in loops if loop is not None]
    assert a.items is not None
    assert a.items.value == ["x", {"k": None}]
    assert (a.item, a.limit, a.delay_s, a.max, a.on_empty_fail, a.refresh, a.fail_fast) == (
        "f",
        4,
        1,
        7,
        True,
        True,
        False,
    )
    assert [(ref.root, ref.up, ref.within) for ref in refs_in(a.key)] == [(Root.LOOP, 0, ("k",))]
    assert b.glob == Glob(pattern="*.md", folder="d")
    assert c_.command == c.Command(script="ls", shell=("bash", "-euo", "pipefail", "-c"))
    assert (d.while_, d.max, d.on_max_fail, d.counted) == ((c.FileExists(paths=("x",)),), 3, False, True)


def test_every_condition_arrives(w: Workshop) -> None:
    plan = w.plan("""
        task:
          - f: {run: x}
          - a:
              run: x
              skip-if:
                - file-exists: [a, b]
                - file-missing: a
                - file-contains: {path: p, text: t}
                - file-contains: {path: p, matches: "^r"}
                - newer: {file: a, than: b}
                - command: [test, -e, x]
                - equals: ["{{f.text}}", 1]
                - matches: ["{{f.text}}", "^ok"]
                - empty: "{{f.text}}"
                - at-least: ["{{f.json.n}}", 3]
                - at-most: [1, 2.5]
                - succeeded: f
                - failed: f
                - all: [{file-exists: a}, {file-exists: b}]
                - any: {file-exists: a}
                - not: {file-exists: a}
                - not: [{file-exists: a}, {file-exists: b}]
    """)
    a, b = c.FileExists(paths=("a",)), c.FileExists(paths=("b",))
    found = node_at(plan, "a").skip_if
    assert [type(each).__name__ for each in found] == [
        "FileExists", "FileMissing", "FileContains", "FileContains", "Newer", "Command", "Equals", "Matches", "Empty",
        "AtLeast", "AtMost", "Succeeded", "Failed", "All", "Any", "Not", "Not",
    ]  # fmt: skip
    assert found[0] == c.FileExists(paths=("a", "b"))
    assert found[10] == c.AtMost(left=Data(value=1), right=Data(value=2.5))
    assert found[11] == c.Succeeded(node=Ref(root=Root.NODE, up=1, node="f", field="status", source="f"))
    assert found[13] == c.All(conditions=(a, b))
    assert found[14] == c.Any(conditions=(a,))
    assert found[15:] == (c.Not(condition=a), c.Not(condition=c.All(conditions=(a, b))))


def test_a_judge_is_asked_through_the_adapter_of_the_prompt(w: Workshop) -> None:
    plan = w.plan("""
        defaults: {prompt: {adapter: codex}}
        task:
          - a: {prompt: p, validators: [{prompt: "Good? {{self.text}}"}]}
          - b: {run: x, validators: [{prompt: q}, {prompt: q, adapter: gemini, model: m}]}
    """)
    judges = [*node_at(plan, "a").validators, *node_at(plan, "b").validators]
    assert [(j.adapter, j.model) for j in judges if isinstance(j, c.Judge)] == [
        ("codex", None),
        ("codex", None),
        ("gemini", "m"),
    ]
    assert [ref.root for ref in refs_in(judges[0])] == [Root.SELF]
    assert w.codes("variables: {v: x}\ntask: [{a: {prompt: p, validators: [{prompt: q, model: '{{v}}'}]}}]") == [
        "no-template"
    ]


def test_adapters_are_declared_or_built_in(w: Workshop) -> None:
    text = "adapters: {mine: {command: [m, '{prompt_file}'], prompt: file, reply: 'json:a.b', "
    text += "continue: [-r, '{session}']}}\n"
    plan = w.plan(text + "task: [{a: {prompt: p, adapter: mine}}, {b: {prompt: p, adapter: echo}}]")
    [mine] = plan.adapters
    assert (mine.name, mine.command, mine.prompt, mine.reply) == ("mine", ("m", "{prompt_file}"), "file", "json:a.b")
    assert mine.resume == ("-r", "{session}")
    found = w.problem("task: [{a: {prompt: p, adapter: cluade}}]")
    assert (found.code, found.help) == ("bad-value", "did you mean `claude`?")


def test_secrets_are_declared_where_they_are_released(w: Workshop) -> None:
    plan = w.plan("secrets: {A: {env: X}, B: {file: f}, C: {command: [p, s]}}\ntask: [{a: {run: x, secrets: [A, C]}}]")
    assert [(s.name, s.env, s.file, s.command) for s in plan.secrets] == [
        ("A", "X", None, ()),
        ("B", None, "f", ()),
        ("C", None, None, ("p", "s")),
    ]
    found = w.problem("secrets: {TOKEN: {env: X}}\ntask: [{a: {run: x, secrets: [TOKN]}}]")
    assert (found.code, found.help) == ("unknown-name", "did you mean `TOKEN`?")


def test_a_default_has_to_match(w: Workshop) -> None:
    assert w.codes("variables: {v: {default: x, matches: '^[0-9]+$'}}\ntask: [{a: {run: x}}]") == ["bad-value"]


# --- marks --------------------------------------------------------------------------------------------------------


def marks(w: Workshop, text: str) -> dict[str, str]:
    plan = w.plan(text)
    return {n.path: ("r" if n.referenced else "") + ("j" if n.wants_json else "") for n in plan.root.walk() if n.path}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[{a: {run: x}}, {b: {prompt: '{{a.text}}'}}]", {"a": "r", "b": ""}),
        ("[{a: {run: x}}, {b: {prompt: '{{a.json.k}}'}}]", {"a": "rj", "b": ""}),
        ("[{a: {run: x}}, {b: {run: x, skip-if: {failed: a}}}]", {"a": "", "b": ""}),
        ("[{a: {run: x}}, {b: {prompt: '{{a.status}}'}}]", {"a": "", "b": ""}),
        ("[{a: {run: x, validators: [{equals: ['{{self.json.k}}', 1]}]}}]", {"a": "rj"}),
        (
            "[{g: {parallel: {a: {run: x}, b: {run: x}}}}, {c: {call: 'm:f', with: {r: '{{g.results}}'}}}]",
            {"g": "r", "g/a": "r", "g/b": "r", "c": ""},
        ),
        (
            "[{g: {parallel: {a: {run: x}, b: {run: x}}}}, {c: {prompt: 'x {{g.results.a.json.k}}'}}]",
            {"g": "r", "g/a": "rj", "g/b": "", "c": ""},
        ),
        ("[{a: {loop: {for-each: [x]}, run: x}}, {b: {prompt: '{{a[\"x\"].json.k}}'}}]", {"a": "rj", "b": ""}),
        (
            "[{g: {task: [{a: {run: x}}], outputs: {o: '{{a.text}}'}}}, {b: {prompt: '{{g.o}}'}}]",
            {"g": "r", "g/a": "r", "b": ""},
        ),
        (
            (
                "[{g: {loop: {while: {file-exists: x}, max: 2}, task: "
                "[{a: {run: x}}, {b: {prompt: '{{previous.a.text | default \"\"}}'}}]}}]"
            ),
            {"g": "", "g/a": "r", "g/b": ""},
        ),
    ],
)
def test_a_node_knows_whether_others_use_its_result(w: Workshop, text: str, expected: dict[str, str]) -> None:
    assert marks(w, f"task: {text}") == expected


def test_keys_of_iterations_are_written_as_in_paths(w: Workshop) -> None:
    long = "k" * 81
    plan = w.plan(f"""
        task:
          - a: {{loop: {{for-each: [x, "b/c", "d[e]", {long}]}}, run: x}}
          - b: {{prompt: '{{{{a["b/c"].text}}}} {{{{a["d[e]"].text}}}} {{{{a["{long}"].text}}}}'}}
    """)
    nodes = [ref.node for ref in refs_in(node_at(plan, "b").work)]
    assert nodes[0] == "a[b/c]"
    assert [len(node) for node in nodes[1:]] == [15, 15]


def test_lines_are_those_of_the_file(w: Workshop) -> None:
    plan = w.plan("task:\n  - a: {run: x}\n\n  - g:\n      task:\n        - b: {run: x}\n")
    assert [(n.path, n.line, n.file) for n in plan.root.walk()][1:] == [("a", 2, ""), ("g", 4, ""), ("g/b", 6, "")]
