"""What is visible where, and what is said of a name that is not."""

import pytest

from onward.model.values import Root
from plan.planning import Workshop, node_at, refs_in, without_marker


def test_the_fifteenth_mistake_and_its_relatives_read_as_the_format_says(w: Workshop) -> None:
    found = w.problem("""\
        # the example of the format
        secrets: {GH_TOKEN: {env: GH_TOKEN}}
        task:
          - login:
              secrets: [GH_TOKEN]
              prompt: Log in {{GH_TOKEN}}
    """)
    assert without_marker(found) == (
        "w.yaml:6:22: error[secret-in-text]: the secret `GH_TOKEN` cannot be put into text\n"
        "    6 |       prompt: Log in {{GH_TOKEN}}\n"
        "    help: release it with `secrets: [GH_TOKEN]`; the task finds it in its environment"
    )
    assert found.trail == ("login",)


def test_the_eighth_mistake_reads_as_the_format_says(w: Workshop) -> None:
    text = "task:\n  - review:\n      title: x\n      prompt: Extend {{publish.text}}.\n\n\n\n\n"
    text += "  - publish:\n      run: x\n"
    assert without_marker(w.problem(text)) == (
        "w.yaml:4:22: error[not-yet]: `publish` runs later than `review` (line 9), so its result does not exist yet\n"
        "    4 |       prompt: Extend {{publish.text}}.\n"
        "    help: move `review` after `publish` (tasks under one dash run together and cannot see each other)"
    )


def test_the_seventh_mistake_reads_as_the_format_says(w: Workshop) -> None:
    text = 'variables: {pr_number: "1"}\ntask:\n  - review:\n      prompt: Review {{pr_numer}}.\n'
    assert without_marker(w.problem(text)) == (
        "w.yaml:4:22: error[unknown-name]: nothing called `pr_numer` is visible here\n"
        "    4 |       prompt: Review {{pr_numer}}.\n"
        '    help: did you mean the variable `pr_number`? For literal text write {{"{{pr_numer}}"}}'
    )


def test_the_marker_stands_under_the_reference_in_blocks_and_quotes(w: Workshop) -> None:
    text = """\
variables: {base: main}
task:
  - a:
      prompt: |
        First {{base}} and {{ .Names }}
        then  {{bse}} and {{base}}.
  - b: {prompt: "x \\" {{base}} {{bas}}"}
  - c:
      prompt: >
        folded {{base}}
        lines {{bsae}}
"""
    places = [(each.place.line, each.place.column) for each in w.problems(text)]
    assert places == [(6, 15), (7, 32), (11, 15)]


def test_a_mistake_in_a_prompt_file_has_its_place_in_that_file(w: Workshop) -> None:
    files = {"prompts/p.md": "Title\n\nSee {{bse}}.\n"}
    found = w.problem("variables: {base: main}\ntask: [{a: {prompt: {file: prompts/p.md}}}]\n", files)
    assert (found.place.file, found.place.line, found.place.column) == ("prompts/p.md", 3, 5)
    assert found.source == "See {{bse}}."
    assert found.trail == ("a",)


def test_a_mistake_in_defaults_is_told_once(w: Workshop) -> None:
    text = """\
        variables: {base: main}
        defaults: {run: {stdin: "{{bse}}"}}
        task: [{a: {run: x}}, {b: {run: x}}]
    """
    assert w.codes(text) == ["unknown-name"]


def test_all_mistakes_are_told_together_and_in_the_order_of_the_file(w: Workshop) -> None:
    text = """\
        variables: {base: main}
        task:
          - a: {prompt: "{{b.text}} {{bse}}"}
          - b: {run: [echo, "{{a.choice}}"]}
    """
    assert w.codes(text) == ["not-yet", "unknown-name", "unknown-field"]


# --- who sees whom ------------------------------------------------------------------------------------------------


def seen(w: Workshop, steps: str) -> list[str]:
    return w.codes(f"variables: {{v: x}}\ntask:\n{steps}")


@pytest.mark.parametrize(
    "steps",
    [
        "  - a: {run: x}\n  - b: {prompt: '{{a.text}} {{v}} {{datetime}}'}",
        "  - a: {run: x}\n  - b: {task: [{c: {prompt: '{{a.text}}'}}]}",
        "  - a: {task: [{c: {run: x}}]}\n  - b: {prompt: '{{a.c.text}}'}",
        "  - a: {parallel: {c: {run: x}}, merge: [{m: {prompt: '{{c.text}}'}}]}\n  - b: {prompt: '{{a.m.text}}'}",
        "  - a: {parallel: {c: {run: x}, d: {prompt: '{{c.text}}', needs: [c]}}}",
        "  - a: {parallel: {c: {run: x}, d: {run: x, needs: [c]}, e: {prompt: '{{c.text}}', needs: [d]}}}",
        (
            "  - a: {task: [{c: {run: x}}], hand-off: {summary: '{{c.text}}', data: {k: '{{c.json}}'}}}\n"
            "  - b: {prompt: '{{a.hand-off.summary}} {{a.hand-off.data.k | json}} {{a.hand-off | json}}'}"
        ),
        (
            "  - a: {task: [{c: {run: x}}], outputs: {o: '{{c.text}}', p: ['{{self.c.text}}']}}\n"
            "  - b: {prompt: '{{a.o}} {{a.p | json}}'}"
        ),
        "  - a: {task: [{c: {run: x}}], ensure: {after: [{equals: ['{{c.text}}', '{{self.status}}']}]}}",
        "  - a: {run: x, validators: [{equals: ['{{self.text}}', y]}]}",
        "  - a: {run: x, on-failure: {task: [{b: {prompt: '{{a.text}}'}}]}}",
        "  - [a]: {run: x}".replace("[a]", "a") + "\n  - c: {run: x, skip-if: {failed: a}}",
        "  - 'T1.3': {run: x}\n  - b: {prompt: '{{[\"T1.3\"].text}}', skip-if: {succeeded: T1.3}}",
        "  - a: {loop: {for-each: [x, y]}, run: x}\n  - b: {prompt: '{{a[\"x\"].text}} {{a.results | json}}'}",
        "  - a: {loop: {until: {succeeded: self}, max: 2}, run: x}\n  - b: {prompt: '{{a[2].text}} {{a[\"1\"].text}}'}",
        (
            "  - a: {approve: ok?, fields: {size: text}}\n"
            "  - b: {prompt: '{{a.choice}} {{a.note}} {{a.by}} {{a.at}} {{a.size}}'}"
        ),
    ],
)
def test_what_has_ended_is_visible(w: Workshop, steps: str) -> None:
    assert seen(w, steps) == []


@pytest.mark.parametrize(
    ("code", "steps"),
    [
        ("not-yet", "  - a: {prompt: '{{b.text}}'}\n  - b: {run: x}"),
        ("not-yet", "  - a: {prompt: '{{b.text}}'}\n    b: {run: x}"),
        ("not-yet", "  - a: {prompt: '{{a.text}}'}"),
        ("not-yet", "  - a: {task: [{c: {prompt: '{{a.status}}'}}]}"),
        ("not-yet", "  - a: {task: [{c: {prompt: '{{b.text}}'}}]}\n  - b: {run: x}"),
        ("not-yet", "  - a: {parallel: {c: {run: x}, d: {prompt: '{{c.text}}'}}}"),
        ("not-yet", "  - a: {parallel: {c: {prompt: '{{d.text}}', needs: []}, d: {run: x, needs: [c]}}}"),
        ("unknown-name", "  - a: {task: [{c: {run: x}}]}\n  - b: {prompt: '{{c.text}}'}"),
        ("unknown-name", "  - a: {prompt: '{{self.text}}'}"),
        ("unknown-name", "  - a: {run: x, skip-if: {equals: ['{{self.text}}', y]}}"),
        ("unknown-name", "  - a: {run: x, ensure: {before: [{succeeded: self}]}}"),
        ("unknown-name", "  - a: {run: x, artifacts: ['{{self.text}}']}"),
        ("unknown-name", "  - a: {prompt: '{{index}}'}"),
        ("unknown-name", "  - a: {prompt: '{{previous.a.text}}'}"),
        ("unknown-name", "  - a: {loop: {for-each: [x]}, prompt: '{{previous.text}}'}"),
        ("unknown-name", "  - a: {loop: {for-each: [x]}, run: x, title: 'All {{item}}'}"),
        ("unknown-name", "  - a: {loop: {for-each: {glob: '*', in: '{{item}}'}}, run: x}"),
        ("unknown-name", "  - a: {loop: {for-each: [x], as: f}, run: x}\n  - b: {prompt: '{{f.x}}'}"),
        ("unknown-field", "  - a: {loop: {for-each: [x]}, task: [{c: {run: x}}]}\n  - b: {prompt: '{{a.c.text}}'}"),
        ("unknown-field", "  - a: {loop: {for-each: [x]}, run: x}\n  - b: {prompt: '{{a.text}}'}"),
        ("unknown-field", "  - a: {run: x}\n  - b: {prompt: '{{a}}'}"),
        ("unknown-field", "  - a: {run: x}\n  - b: {prompt: '{{a.choice}}'}"),
        ("unknown-field", "  - a: {approve: x}\n  - b: {prompt: '{{a.text}}'}"),
        ("unknown-field", "  - a: {call: 'm:f'}\n  - b: {prompt: '{{a.text}}'}"),
        ("unknown-field", "  - a: {task: [{c: {run: x}}]}\n  - b: {prompt: '{{a.results}}'}"),
        ("unknown-field", "  - a: {task: [{c: {run: x}}]}\n  - b: {prompt: '{{a.hand-off.summary}}'}"),
        (
            "unknown-field",
            "  - a: {task: [{c: {run: x}}], hand-off: {summary: s}}\n  - b: {prompt: '{{a.hand-off.x}}'}",
        ),
        ("unknown-field", "  - a: {run: x}\n  - b: {prompt: '{{a.text.length}}'}"),
        ("unknown-field", "  - a: {run: x}\n  - b: {prompt: '{{a.lines.first}}'}"),
        ("unknown-field", "  - a: {prompt: '{{v.length}}'}"),
        ("unknown-field", "  - a: {prompt: '{{datetime.year}}'}"),
        ("unknown-field", "  - a: {loop: {for-each: [x]}, prompt: '{{item.name}} {{index}}'}"),
        ("unknown-field", "  - a: {loop: {for-each: [x]}, run: x, merge: [{m: {prompt: '{{a.status}}'}}]}"),
        ("needs-json", "  - a: {run: x}\n  - b: {prompt: '{{a.lines}}'}"),
        ("needs-json", "  - a: {run: x}\n  - b: {prompt: '{{a.lines | fence}}'}"),
        ("needs-json", "  - a: {run: x, schema: {type: object}}\n  - b: {prompt: 'see {{a.json}}'}"),
        ("needs-json", "  - a: {parallel: {c: {run: x}}}\n  - b: {env: {A: '{{a.results}}'}, run: x}"),
        ("bad-value", "  - a: {run: x}\n  - b: {loop: {for-each: '{{a.text}}'}, run: x}"),
        ("bad-value", "  - a: {loop: {for-each: '{{v}}'}, run: x}"),
        ("bad-value", "  - a: {run: x, skip-if: {succeeded: 'a b'}}"),
    ],
)
def test_what_has_not_ended_or_does_not_exist_is_an_error(w: Workshop, code: str, steps: str) -> None:
    assert seen(w, steps) == [code]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (
            "  - a: {prompt: '{{b.text}}'}\n    b: {run: x}",
            "give it a dash of its own (tasks under one dash run together and cannot see each other)",
        ),
        (
            "  - g: {parallel: {a: {prompt: '{{b.text}}'}, b: {run: x}}}",
            "give `a` a `needs: [b]` (tasks under one dash run together and cannot see each other)",
        ),
        ("  - g: {task: [{c: {run: x}}]}\n  - b: {prompt: '{{c.text}}'}", "write `{{g.c.text}}`"),
        (
            "  - g: {loop: {for-each: [x]}, task: [{c: {run: x}}]}\n  - b: {prompt: '{{c.text}}'}",
            "what a loop leaves behind is `{{g.results}}`",
        ),
        ("  - 'T1.3': {run: x}\n  - b: {prompt: '{{T1.3.text}}'}", 'write `{{["T1.3"].text}}`'),
        ("  - fetch: {run: x}\n  - b: {prompt: '{{fecth.text}}'}", "did you mean the task `fetch`? For literal text"),
        ("  - a: {run: x, outputs: {sha: text}}\n  - b: {prompt: '{{a.shaa}}'}", "text, lines, json, sha, status"),
        ("  - a: {run: x}\n  - b: {prompt: '{{a}}'}", "write `{{a.text}}`"),
        ("  - a: {run: x}\n  - b: {prompt: '{{a.lines | fence}}'}", "write `{{a.lines | json | fence}}`"),
        (
            "  - a: {loop: {for-each: [x]}, run: x}\n  - b: {prompt: '{{a.text}}'}",
            'write `{{a["key"].text}}` or use `{{a.results}}`',
        ),
    ],
)
def test_the_help_tells_what_to_write(w: Workshop, steps: str, words: str) -> None:
    found = w.problem(f"task:\n{steps}")
    assert words in (found.help or "")


def test_a_name_is_found_in_its_nearest_place(w: Workshop) -> None:
    plan = w.plan("""
        task:
          - first: {task: [{check: {run: x}}]}
          - second: {task: [{check: {run: x}}, {use: {prompt: "{{check.text}} {{first.check.text}}"}}]}
    """)
    assert [(ref.up, ref.node) for ref in refs_in(node_at(plan, "second/use").work)] == [
        (1, "check"),
        (2, "first/check"),
    ]


# --- what may be missing ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        "  - a: {run: x, skip-if: {file-exists: y}}\n  - b: {prompt: '{{a.text}}'}",
        "  - a: {skip-if: {file-exists: y}, task: [{c: {run: x}}]}\n  - b: {prompt: '{{a.c.text}}'}",
        "  - a: {task: [{c: {run: x, skip-if: {file-exists: y}}}]}\n  - b: {prompt: '{{a.c.text}}'}",
        "  - a: {run: x, on-failure: continue, outputs: {o: text}}\n  - b: {prompt: '{{a.o}}'}",
        "  - a: {run: x, on-failure: continue}\n  - b: {prompt: 'see {{a.json}}'}",
        "  - a: {loop: {until: {succeeded: self}, max: 2}, prompt: '{{previous.text}}'}",
        "  - a: {task: [{c: {run: x}}], on-failure: {task: [{b: {prompt: '{{c.text}}'}}]}}",
    ],
)
def test_a_value_that_may_be_missing_is_a_warning(w: Workshop, steps: str) -> None:
    assert [each.code for each in w.warnings(f"task:\n{steps}")] == ["may-be-missing"]


@pytest.mark.parametrize(
    "steps",
    [
        "  - a: {run: x, skip-if: {file-exists: y}}\n  - b: {prompt: '{{a.text | default \"\"}} {{a.status}}'}",
        "  - a: {run: x, skip-if: {file-exists: y}}\n  - b: {run: x, skip-if: {empty: '{{a.text}}'}}",
        "  - a: {run: x, on-failure: continue}\n  - b: {prompt: '{{a.text}}'}",
        "  - a: {run: x, skip-if: {file-exists: y}}\n  - b: {run: x, skip-if: {failed: a}}",
        "  - a: {run: x, skip-if: {file-exists: y}, validators: [{equals: ['{{self.text}}', x]}]}",
    ],
)
def test_a_value_that_is_there_or_need_not_be_is_no_warning(w: Workshop, steps: str) -> None:
    assert w.warnings(f"task:\n{steps}") == []


def test_a_variable_that_nobody_has_to_give_may_be_missing(w: Workshop) -> None:
    text = "variables: {x: {description: d}}\ntask: [{a: {prompt: '{{x}}'}}, {b: {prompt: '{{x | default \"\"}}'}}]"
    assert [each.code for each in w.warnings(text)] == ["may-be-missing"]
    assert w.warnings(text, given=["x"]) == []


# --- undeclared variables -----------------------------------------------------------------------------------------


def test_an_undeclared_variable_is_collected_and_told_once(w: Workshop) -> None:
    plan, warnings = w.both("task: [{a: {prompt: 'PR {{pr_number}}'}}, {b: {prompt: '{{pr_number}}'}}]")
    assert plan.undeclared == ("pr_number",)
    assert [each.code for each in warnings] == ["undeclared"]
    assert "--var pr_number=…" in (warnings[0].help or "")
    assert all(ref.root is Root.VARIABLE for node in plan.root.walk() for ref in refs_in(node.work))


def test_what_the_command_line_gives_needs_no_declaration(w: Workshop) -> None:
    text = "variables: {pr_number: '1'}\ntask: [{a: {prompt: '{{pr_numbers}}'}}]"
    assert w.codes(text) == ["unknown-name"]
    plan, warnings = w.both(text, given=["pr_numbers"])
    assert (plan.undeclared, warnings) == ((), [])


@pytest.mark.parametrize("reference", ["{{some.text}}", "{{Some}}", "{{some-thing}}", "{{1}}", "{{index}}", "{{self}}"])
def test_only_what_can_be_a_variable_is_taken_for_one(w: Workshop, reference: str) -> None:
    assert w.codes(f"task: [{{a: {{prompt: '{reference}'}}}}]") == ["unknown-name"]


def test_two_undeclared_variables_that_look_alike_are_both_allowed(w: Workshop) -> None:
    assert w.plan("task: [{a: {prompt: '{{file_a}} {{file_b}}'}}]").undeclared == ("file_a", "file_b")


# --- text that is no reference ------------------------------------------------------------------------------------


def test_what_looks_like_a_reference_to_a_known_name_is_a_warning(w: Workshop) -> None:
    text = "variables: {n: '1'}\ntask:\n  - a: {run: x}\n  - b: {prompt: '{{n + 1}} {{a.text | upper}} {{x + 1}}'}\n"
    assert [(each.code, each.place.column) for each in w.warnings(text)] == [
        ("not-a-reference", 18),
        ("not-a-reference", 28),
    ]


def test_braces_of_other_languages_are_left_alone(w: Workshop) -> None:
    text = """
        variables: {color: red}
        task:
          - a:
              loop: {for-each: [x]}
              prompt: "{{ .Names }} {{#if}} style={{color: 1}} {{index .Config 0}} {{range .Items}}"
    """
    plan, warnings = w.both(text)
    assert warnings == []
    assert node_at(plan, "a").work.text == (  # type: ignore[union-attr]
        "{{ .Names }} {{#if}} style={{color: 1}} {{index .Config 0}} {{range .Items}}"
    )


def test_a_literal_pair_of_braces_is_text(w: Workshop) -> None:
    plan = w.plan("""task: [{a: {prompt: 'write {{"{{name}}"}}'}}]""")
    assert node_at(plan, "a").work.text == "write {{name}}"  # type: ignore[union-attr]


def test_the_default_of_a_variable_is_never_scanned(w: Workshop) -> None:
    plan, warnings = w.both("variables: {a: x, b: '{{a}}'}\ntask: [{t: {prompt: '{{b}}'}}]")
    assert plan.variables[1].default == "{{a}}"
    assert [each.code for each in warnings] == ["no-template"]
