"""Values never become code: scripts, argv lists, interpreters."""

import pytest

from onward.model.nodes import Run
from onward.plan.interpreters import Element, code_in
from onward.plan.shell_text import unquoted_variables
from plan.planning import Workshop, node_at, refs_in, without_marker

DECLARED = "variables: {v: x, note: y}\nsecrets: {TOKEN: {env: TOKEN}}\n"


def test_the_sixth_mistake_reads_as_the_format_says(w: Workshop) -> None:
    text = 'variables: {pr_number: "1"}\ntask: [{a:\n      {run: gh pr checkout "pr-{{pr_number}}"}}]\n'
    text = 'variables: {pr_number: "1"}\ntask: [a: {\n       run: \'gh pr checkout "pr-{{pr_number}}"\'}]\n'
    block = 'variables: {pr_number: "1"}\ntask:\n  - a:\n      run: gh pr checkout "pr-{{pr_number}}"\n'
    assert w.codes(text) == ["template-in-script"]
    assert without_marker(w.problem(block)) == (
        "w.yaml:4:31: error[template-in-script]: `{{pr_number}}` in a shell script would turn data into code\n"
        '    4 |       run: gh pr checkout "pr-{{pr_number}}"\n'
        '    help: write "$pr_number": every variable is in the environment; or use the list form of `run`'
    )


@pytest.mark.parametrize(
    ("steps", "code", "help"),
    [
        ("{a: {run: 'echo {{v}}'}}", "template-in-script", 'write "$v"'),
        ("{a: {run: 'echo {{datetime}}'}}", "template-in-script", 'write "$ONWARD_DATETIME"'),
        ("{a: {run: 'echo {{run_id}}'}}", "template-in-script", 'write "$ONWARD_RUN_ID"'),
        ("{a: {loop: {for-each: [x], as: f}, run: 'echo {{f}}'}}", "template-in-script", 'write "$f"'),
        (
            "{a: {loop: {for-each: [{k: 1}], as: f}, run: 'echo {{f.k}}'}}",
            "template-in-script",
            'add `env: {F_K: "{{f.k}}"}` and write "$F_K"',
        ),
        (
            "{f: {run: x}}, {a: {run: 'echo {{f.text}}'}}",
            "template-in-script",
            'add `env: {F_TEXT: "{{f.text}}"}` and write "$F_TEXT"',
        ),
        ("{a: {run: 'echo {{TOKEN}}'}}", "secret-in-text", 'write "$TOKEN"'),
        ("{a: {run: 'echo {{b.text}}'}}, {b: {run: x}}", "template-in-script", "env:"),
        ("{a: {run: x, skip-if: {command: 'test {{v}}'}}}", "template-in-script", "list form of `command`"),
        ("{a: {run: x, loop: {for-each: {command: 'ls {{v}}'}}}}", "template-in-script", "list form of `command`"),
        ("{a: {run: 'print({{v}})', shell: [python3, -c]}}", "template-in-script", "$v"),
        ("{a: {prompt: '{{new}}'}}, {b: {run: 'echo {{new}}'}}", "template-in-script", 'write "$new"'),
        ("{b: {run: 'echo {{new}}'}}, {a: {prompt: '{{new}}'}}", "template-in-script", 'write "$new"'),
    ],
)
def test_a_known_name_in_a_script_is_an_error(w: Workshop, steps: str, code: str, help: str) -> None:
    found = w.problem(f"{DECLARED}task: [{steps}]")
    assert found.code == code
    assert help in (found.help or "")


def test_other_braces_in_a_script_are_passed_byte_for_byte(w: Workshop) -> None:
    script = """docker ps --format '{{.Names}} {{json .}} {{title}}' && echo '{{#if}} {{"{{v}}"}} {{ v + 1 }}'"""
    plan, warnings = w.both(f"{DECLARED}task:\n  - a:\n      run: |-\n        {script}\n")
    assert isinstance(node_at(plan, "a").work, Run)
    assert node_at(plan, "a").work.script == script  # type: ignore[union-attr]
    assert warnings == []


def test_a_near_miss_of_a_known_name_in_a_script_is_a_warning(w: Workshop) -> None:
    [found] = w.warnings(f"{DECLARED}task: [{{a: {{run: 'echo {{{{noet}}}}'}}}}]")
    assert (found.code, found.trail) == ("template-in-script", ("a",))
    assert found.help == 'did you mean `note`? In a script write "$note"'


def test_dollars_quotes_and_braces_of_a_value_are_data(w: Workshop) -> None:
    value = "costs $5, $NOPE and ${NOPE}, `id`, $(id), {braces}, 100%"
    plan = w.plan(f"""
        variables:
          note: "{value}"
        task:
          - viaenv: {{env: {{NOTE: "{{{{note}}}}"}}, run: "printf '%s' \\"$NOTE\\" > got.txt"}}
          - viapy: {{call: "m:write", with: {{text: "{{{{note}}}}"}}}}
    """)
    assert plan.variables[0].default == value
    [ref] = refs_in(node_at(plan, "viaenv").env)
    assert ref.name == "note"
    assert node_at(plan, "viaenv").work.script == "printf '%s' \"$NOTE\" > got.txt"  # type: ignore[union-attr]


# --- argv lists ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        "[bash, -c, 'echo {{v}}']",
        "[/bin/sh, -c, 'echo {{v}}']",
        "[bash, -euo, pipefail, -c, '{{v}}']",
        "[bash, -lc, 'echo {{v}}']",
        "[bash, --norc, -c, '{{v}}', name]",
        "[env, A=1, bash, -c, '{{v}}']",
        "[/usr/bin/env, -i, sh, -c, '{{v}}']",
        "[env, -S, 'bash -c {{v}}']",
        "[sudo, -u, me, sh, -c, '{{v}}']",
        "[nice, -n, '5', dash, -c, '{{v}}']",
        "[timeout, '5', bash, -c, '{{v}}']",
        "[xargs, -0, sh, -c, '{{v}}']",
        "[find, ., -exec, sh, -c, '{{v}}', ;]",
        "[docker, run, image, sh, -c, '{{v}}']",
        "[python3.12, -c, '{{v}}']",
        "[python, '-cprint({{v}})']",
        "[python3, -I, -c, '{{v}}']",
        "[/usr/bin/python3, -W, ignore, -c, 'x {{v}}']",
        "[node, -e, '{{v}}']",
        "[node, '--eval={{v}}']",
        "[deno, eval, '{{v}}']",
        "[perl, -ne, '{{v}}']",
        "[perl, -e, x, -e, '{{v}}']",
        "[ruby, -e, '{{v}}']",
        "[php, -r, '{{v}}']",
        "[awk, '{{v}}', file]",
        "[awk, -F, ',', '{{v}}']",
        "[sed, -n, 's/{{v}}/x/']",
        "[sed, -e, 's/{{v}}/x/', file]",
        "[ssh, host, ls, '{{v}}']",
        "[ssh, -p, '22', host, '{{v}}']",
        "[sshpass, -e, ssh, host, '{{v}}']",
        "[su, -c, '{{v}}', me]",
        "[watch, ls, '{{v}}']",
    ],
)
def test_a_value_in_the_code_of_an_interpreter_is_an_error(w: Workshop, argv: str) -> None:
    assert w.codes(f"{DECLARED}task: [{{a: {{run: {argv}}}}}]") == ["interpreter-template"]


@pytest.mark.parametrize(
    "argv",
    [
        "[echo, '{{v}}']",
        "[bash, -c, 'echo \"$1\"', name, '{{v}}']",
        "[bash, script.sh, '{{v}}']",
        "[bash, script.sh, -c, '{{v}}']",
        "[bash, '{{v}}.sh']",
        "[python3, -c, 'import sys', '{{v}}']",
        "[python3, -m, mod, '{{v}}']",
        "[python3, script.py, -c, '{{v}}']",
        "[node, script.js, -e, '{{v}}']",
        "[perl, script.pl, '{{v}}']",
        "[awk, -f, prog.awk, '{{v}}']",
        "[awk, -v, 'x={{v}}', 'BEGIN {print x}']",
        "[sed, -f, prog.sed, '{{v}}']",
        "[ssh, -o, 'ConnectTimeout={{v}}', host, ls]",
        "[ssh, '{{v}}', ls]",
        "[env, 'A={{v}}', make]",
        "[sudo, make, '{{v}}']",
        "[git, commit, -m, '{{v}}']",
        "[git, commit, -m, sh, -c, '{{v}}']",
        "[curl, --output, 'raw/{{v}}.zip']",
        "[docker, run, image, prog, '{{v}}']",
    ],
)
def test_a_value_elsewhere_is_an_argument(w: Workshop, argv: str) -> None:
    assert w.codes(f"{DECLARED}task: [{{a: {{run: {argv}}}}}]") == []


def test_conditions_and_loops_keep_the_same_rules(w: Workshop) -> None:
    text = "task:\n  - a:\n      skip-if: {command: [bash, -c, '{{v}}']}\n"
    text += "      loop: {for-each: {command: ['{{v}}', x]}}\n      run: x\n"
    assert sorted(w.codes(DECLARED + text)) == ["interpreter-template", "template-in-program"]


@pytest.mark.parametrize("first", ["'{{v}}'", "'./bin/{{v}}'", "'{{v}}.sh'"])
def test_no_value_chooses_the_program(w: Workshop, first: str) -> None:
    assert w.codes(f"{DECLARED}task: [{{a: {{run: [{first}, x]}}}}]") == ["template-in-program"]


def test_an_empty_list_and_a_list_of_values_are_no_surprise() -> None:
    assert code_in([]) == []
    assert code_in([Element("", filled=True), Element("-c"), Element("", filled=True)]) == []
    assert code_in([Element("bash"), Element("-c")]) == []
    assert code_in([Element("env")]) == []


@pytest.mark.parametrize("path", ["/abs/{{v}}", "../{{v}}", "a/../{{v}}", "{{v}}/..", "~/{{v}}"])
@pytest.mark.parametrize(
    "field",
    [
        "run: x, directory: '{}'",
        "run: x, artifacts: ['{}']",
        "run: x, artifacts: [{{path: '{}', optional: true}}]",
        "run: x, skip-if: {{file-exists: '{}'}}",
        "run: x, skip-if: {{newer: {{file: a, than: ['{}']}}}}",
        "run: x, skip-if: {{file-contains: {{path: '{}', text: x}}}}",
        "approve: x, show: ['{}']",
        "run: x, loop: {{for-each: {{glob: '*', in: '{}'}}}}",
    ],
)
def test_a_path_with_a_value_stays_inside(w: Workshop, field: str, path: str) -> None:
    assert w.codes(f"{DECLARED}task: [{{a: {{{field.format(path)}}}}}]") == ["outside-directory"]


def test_a_fixed_path_may_lead_anywhere_and_a_filled_one_further_down(w: Workshop) -> None:
    assert w.codes("task: [{a: {run: x, directory: ../x, artifacts: [/abs]}}]") == []
    assert w.codes(f"{DECLARED}task: [{{a: {{run: x, artifacts: ['a/{{{{v}}}}..b/{{{{v}}}}']}}}}]") == []
    assert w.codes("checkpoint: {state-file: /var/x.json}\ntask: [{a: {run: x}}]") == []


# --- variables without quotes -------------------------------------------------------------------------------------


def bare(script: str) -> list[str]:
    return [name for _, name in unquoted_variables(script)]


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf raw/$day",
        "echo ${day}",
        "echo ${day%.csv}/x",
        'echo "a"$day"b"',
        'echo "$(ls $day)"',
        "echo `ls $day`",
        "a=1 cmd $day",
        "make X=$day",
        "if test -e $day; then :; fi",
        "(cd $day)",
        "x | grep $day",
        "cat <<EOF\n$x\nEOF\necho $day",
        "cat <<'EOF' | sort\nit's $x\nEOF\necho $day",
        "echo ok # it's\necho $day",
        "for f in a; do echo $day; done",
        'echo "\\"" $day',
        "[ -n $day ]",
    ],
)
def test_a_variable_that_the_shell_splits_is_seen(script: str) -> None:
    assert bare(script) == ["day"]


@pytest.mark.parametrize(
    "script",
    [
        'rm -rf "raw/$day"',
        "echo '$day'",
        "echo \\$day",
        'echo "${day}/x" "$(ls "$day")"',
        "x=$day",
        "x=$day y=a$day",
        "export x=$day",
        "case $day in a) ;; esac",
        "[[ $day = a* ]] && echo ok",
        "echo $((day + 1)) $(( $day ))",
        "if (( $day > 1 )); then :; fi",
        "cat <<EOF\n$day ${day}\nEOF",
        "cat <<-EOF\n\t$day\n\tEOF\n",
        "# $day",
        "echo $DAY $1 $? $$ ${#day}",
        "awk '{print $day}'",
    ],
)
def test_a_variable_that_stays_whole_is_no_matter(script: str) -> None:
    assert bare(script) == []


def test_only_known_variables_of_shell_scripts_are_told(w: Workshop) -> None:
    text = """
        variables: {day: x}
        task:
          - a: {run: "echo $day $other"}
          - b: {run: "print $day", shell: [perl, -e]}
          - c: {loop: {for-each: [x], as: f}, run: "echo $f"}
          - d: {run: 'echo "$day"', skip-if: {command: test -e $day}}
    """
    found = w.warnings(text)
    assert [(each.code, each.trail, each.help) for each in found] == [
        ("unquoted", ("a",), 'write "$day"'),
        ("unquoted", ("c",), 'write "$f"'),
        ("unquoted", ("d",), 'write "$day"'),
    ]
    assert found[0].place.column == 20


@pytest.mark.parametrize(
    "script", ["$", "${", "$(", '"$(', "`", "<<", "<<'", "[[", "((", "\\", "${{a", "'", '"', "$a$"]
)
def test_no_script_upsets_the_reader(script: str) -> None:
    for times in (1, 3, 50):
        bare(script * times)
