"""The definition hash: what makes up the work is in it, everything else is not."""

import pytest

from plan.planning import Workshop, node_at

BASE = {
    "prompt": "adapter: codex, prompt: p",
    "run": "run: x",
    "argv": "run: [x, y]",
    "call": "call: 'm:f'",
    "approve": "approve: q",
    "task": "task: [{k: {run: x}}]",
    "parallel": "parallel: {k: {run: x}}",
}
HEAD = "variables: {v: x, w: x}\nsecrets: {S: {env: S}, T: {env: T}}\nadapters: {mine: {command: [m]}}\n"


def digest(w: Workshop, node: str, head: str = HEAD, files: dict[str, str] | None = None) -> str:
    return node_at(w.plan(f"{head}task:\n  - a: {{{node}}}\n", files), "a").digest


IN = [
    ("prompt", "adapter: codex, prompt: q"),
    ("prompt", "adapter: codex, prompt: 'p {{v}}'"),
    ("prompt", "adapter: gemini, prompt: p"),
    ("prompt", "prompt: p"),
    ("prompt", "+model: opus"),
    ("prompt", "+session: keep"),
    ("prompt", "+schema: {type: object}"),
    ("prompt", "+outputs: {o: text}"),
    ("prompt", "+validators: [{file-exists: x}]"),
    ("run", "run: y"),
    ("run", "run: [x]"),
    ("run", "+shell: sh"),
    ("run", "+stdin: s"),
    ("run", "+env: {A: x}"),
    ("run", "+secrets: [S]"),
    ("run", "+directory: d"),
    ("run", "+outputs: {o: text}"),
    ("run", "+artifacts: [x]"),
    ("run", "+ensure: {before: [{file-exists: x}]}"),
    ("run", "+ensure: {after: [{file-exists: x}]}"),
    ("run", "+loop: {for-each: [x]}"),
    ("run", "+loop: {until: {file-exists: x}, max: 2}"),
    ("argv", "run: [y, x]"),
    ("argv", "run: [x, '{{v}}']"),
    ("call", "call: 'm:g'"),
    ("call", "+with: {k: 1}"),
    ("call", "+with: {k: '{{v}}'}"),
    ("approve", "approve: q?"),
    ("approve", "+show: [x]"),
    ("approve", "+choices: [yes, reject]"),
    ("approve", "+fields: {f: text}"),
    ("task", "+hand-off: {summary: s}"),
    ("task", "+outputs: {o: 1}"),
    ("task", "+env: {A: x}"),
    ("parallel", "task: [{k: {run: x}}]"),
]
OUT = [
    ("run", "+title: t"),
    ("run", "+retry: {attempts: 3}"),
    ("run", "+timeout: 1m"),
    ("run", "+skip-if: {file-exists: x}"),
    ("run", "+on-failure: continue"),
    ("run", "+on-failure: {task: [{f: {run: x}}]}"),
    ("run", "+on-resume: always"),
    ("run", "+was: b"),
    ("run", "+queue: gpu"),
    ("run", "+x-note: whatever"),
    ("prompt", "+budget: {usd: 1}"),
    ("approve", "+timeout: 1d"),
    ("approve", "+on-timeout: reject"),
    ("parallel", "+limit: 2"),
    ("parallel", "+fail-fast: true"),
    ("parallel", "+merge: [{m: {run: x}}]"),
    ("parallel", "+finally: [{m: {run: x}}]"),
    ("parallel", "parallel: {k: {run: y}}"),
    ("task", "task: [{k: {run: x}}, {l: {run: x}}]"),
]


def changed(kind: str, change: str) -> str:
    return f"{BASE[kind]}, {change[1:]}" if change.startswith("+") else change


@pytest.mark.parametrize(("kind", "change"), IN)
def test_a_change_of_the_work_changes_the_hash(w: Workshop, kind: str, change: str) -> None:
    assert digest(w, BASE[kind]) != digest(w, changed(kind, change))


@pytest.mark.parametrize(("kind", "change"), OUT)
def test_any_other_change_does_not(w: Workshop, kind: str, change: str) -> None:
    assert digest(w, BASE[kind]) == digest(w, changed(kind, change))


LOOP = "run: x, loop: {for-each: [x], as: f}"


@pytest.mark.parametrize(
    "loop", ["for-each: [x, y], as: f", "for-each: [x], as: g", "for-each: [x], as: f, key: '{{f}}'"]
)
def test_the_header_of_a_loop_is_in_the_hash(w: Workshop, loop: str) -> None:
    assert digest(w, LOOP) != digest(w, f"run: x, loop: {{{loop}}}")


@pytest.mark.parametrize(
    "more", ["limit: 3", "delay: 1s", "max: 7", "fail-fast: true", "on-empty: fail", "refresh: true"]
)
def test_the_numbers_of_a_loop_are_not(w: Workshop, more: str) -> None:
    assert digest(w, LOOP) == digest(w, f"run: x, loop: {{for-each: [x], as: f, {more}}}")


def test_files_count_by_their_content(w: Workshop) -> None:
    node = "prompt: {file: p.md}, schema: {file: s.json}"
    first = digest(w, node, files={"p.md": "a", "s.json": '{"type": "object"}'})
    assert first == digest(w, node.replace("p.md", "q.md"), files={"q.md": "a"})
    assert first != digest(w, node, files={"p.md": "b"})
    assert first != digest(w, node, files={"p.md": "a", "s.json": '{"type": "array"}'})
    assert first == digest(w, "prompt: a, schema: {type: object}")


def test_defaults_count_as_if_they_were_written_at_the_node(w: Workshop) -> None:
    head = HEAD + "defaults: {run: {shell: sh, timeout: 1m}}\n"
    assert digest(w, "run: x", head) == digest(w, "run: x, shell: sh")
    assert digest(w, "run: x, shell: bash", head) == digest(w, "run: x")


def test_key_order_comments_quotes_and_place_do_not_count(w: Workshop) -> None:
    one = w.plan(HEAD + "task:\n  - a: {run: x, env: {A: x, B: '{{v}}'}, secrets: [S, T]}\n  - b: {run: y}\n")
    two = w.plan(
        "# comment\n"
        + HEAD
        + 'task:\n  # more\n\n  - a:\n      secrets: [T, S]\n      env:\n        B: "{{v}}"\n'
        + "        'A': x\n      run: |-\n        x\n  - b: {run: y}\n"
    )
    assert [n.digest for n in one.root.walk()] == [n.digest for n in two.root.walk()]
    assert one.digest == two.digest


def test_text_that_only_looks_like_a_reference_is_another_text(w: Workshop) -> None:
    assert digest(w, "prompt: '{{v}}'") != digest(w, """prompt: '{{"{{v}}"}}'""")
    assert digest(w, "prompt: '{{v}}'") != digest(w, "prompt: '{{w}}'")


def test_a_node_keeps_its_hash_in_another_place(w: Workshop) -> None:
    plan = w.plan("""
        variables: {v: x}
        task:
          - a: {prompt: "{{v}}"}
          - g: {task: [{h: {loop: {for-each: [x]}, task: [{b: {prompt: "{{v}}"}}]}}]}
    """)
    assert node_at(plan, "a").digest == node_at(plan, "g/h/b").digest


def test_an_include_counts_by_its_path_what_it_is_given_and_its_env(w: Workshop) -> None:
    inner = "variables: {v: x}\ntask: [{k: {run: x}}]\n"
    files = {"i.yaml": inner, "j.yaml": inner, "e.yaml": "env: {A: x}\n" + inner}
    first = digest(w, "include: i.yaml", files=files)
    assert first == digest(w, "include: i.yaml", files=files | {"i.yaml": inner.replace("run: x", "run: y")})
    assert first != digest(w, "include: j.yaml", files=files)
    assert first != digest(w, "include: i.yaml, with: {v: y}", files=files)
    assert first != digest(w, "include: i.yaml", files=files | {"i.yaml": files["e.yaml"]})


TEXT = """\
variables: {v: x}
limit: 4
task:
  - a: {run: x, retry: {attempts: 2}}
  - b: {parallel: {c: {run: x}, d: {run: y}}}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("v: x", "v: y"),
        ("limit: 4", "limit: 5"),
        ("attempts: 2", "attempts: 3"),
        ("run: y", "run: z"),
        ("  - a:", "  - n: {run: x}\n  - a:"),
        ("b: {", "e: {"),
        ("limit: 4", "title: t"),
    ],
)
def test_the_digest_of_the_whole_covers_everything(w: Workshop, old: str, new: str) -> None:
    assert w.plan(TEXT).digest != w.plan(TEXT.replace(old, new, 1)).digest


def test_the_digest_of_the_whole_covers_the_order_of_steps_and_not_that_of_members(w: Workshop) -> None:
    steps = "task:\n  - a: {run: x}\n  - b: {run: y}\n"
    assert w.plan(steps).digest != w.plan("task:\n  - b: {run: y}\n  - a: {run: x}\n").digest
    assert w.plan(TEXT).digest == w.plan(TEXT.replace("c: {run: x}, d: {run: y}", "d: {run: y}, c: {run: x}")).digest


def test_hashes_are_the_same_in_every_process(w: Workshop) -> None:
    node = node_at(w.plan("task: [{a: {run: echo hello}}]"), "a")
    assert node.digest == "cd3d9c35d34d99d813c652331997599c4271899a4d6ba7ad30a4b052c31d2dd1"


def test_every_file_of_the_definition_is_listed_with_its_hash(w: Workshop) -> None:
    import hashlib

    plan = w.plan(
        "task: [{a: {prompt: {file: p/p.md}}}, {b: {prompt: {file: p/p.md}, schema: {file: s.json}}}]",
        {"p/p.md": "é\n", "s.json": "{}"},
    )
    assert {file.path: file.sha256 for file in plan.files} == {
        name: hashlib.sha256((w.folder / name).read_bytes()).hexdigest() for name in ("w.yaml", "p/p.md", "s.json")
    }
