"""The scanner of references: what fits, what is left alone, and that no text upsets it."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from onward.model.values import Filter
from onward.plan.template import Reference, Step, literal, scan, scan_name

PIECES = st.sampled_from(
    [
        "{{",
        "}}",
        "{",
        "}",
        "a",
        "fetch",
        ".",
        "text",
        "[",
        "]",
        '"',
        "\\",
        "|",
        "json",
        "default",
        "fence",
        "path",
        " ",
        "\n",
        "é",
        "-",
        "_",
        "0",
        "12",
        "$",
        ":",
        "#",
        "{{a}}",
        '{{"',
        '"}}',
        '["x"]',
        "{{a.b | json}}",
    ]
)
SOUP = st.lists(PIECES, max_size=30).map("".join)


def only(text: str) -> Reference:
    reference = scan(text).lone
    assert reference is not None, text
    return reference


@given(st.one_of(st.text(), SOUP))
@example("{{" * 500)
@example('{{"' * 500)
@example('{{a["' * 500)
@example("{{a" + ".b" * 500)
@example('{{a | default "' * 300)
@example("{{a[" + "9" * 5000 + "]}}")
@settings(max_examples=400, deadline=None)
def test_no_text_ever_raises_and_nothing_is_lost(text: str) -> None:
    scanned = scan(text)
    assert all(part != "" for part in scanned.parts)
    for reference in scanned.references:
        assert text.startswith("{{", reference.at)
        assert reference.source in text[reference.at :]
    for near in scanned.near:
        assert text.startswith("{{", near.at)


@given(st.one_of(st.text(), SOUP))
@settings(max_examples=400, deadline=None)
def test_text_without_fitting_references_comes_back_unchanged(text: str) -> None:
    scanned = scan(text)
    if not scanned.references and '{{"' not in text.replace(" ", "").replace("\n", ""):
        assert scanned.text == text


@given(st.one_of(st.text(), SOUP))
@settings(max_examples=400, deadline=None)
def test_any_text_can_be_written_literally(text: str) -> None:
    assert scan("a " + literal(text) + " b").text == f"a {text} b"


@given(st.lists(st.one_of(st.text(alphabet="ab{}$.", max_size=6), st.just("{{x.text}}")), max_size=8))
@settings(max_examples=200, deadline=None)
def test_parts_put_together_give_the_text(pieces: list[str]) -> None:
    text = "".join(pieces)
    parts = scan(text).parts
    assert "".join(part if isinstance(part, str) else "{{" + part.source + "}}" for part in parts) == text


@pytest.mark.parametrize(
    "text",
    [
        "{{ .Names }}",
        "{{#if x}}",
        "style={{color: 1}}",
        "{{}}",
        "{{ }}",
        "{{a b}}",
        "{{a.}}",
        "{{a..b}}",
        "{{a[}}",
        "{{a[b]}}",
        "{{a[-1]}}",
        "{{a | upper}}",
        "{{a | jsonx}}",
        "{{a | default}}",
        "{{a | default 'x'}}",
        '{{a "b"}}',
        "{{-a}}",
        "{{_a}}",
        "{{.a}}",
        "{{a + 1}}",
        "{{a}",
        "{a}}",
        '{{"a}}',
        '{{"\\q"}}',
        "{{a.b-}.}",
        "$(id) ${x} `id` 100% {braces}",
    ],
)
def test_what_does_not_fit_the_grammar_is_left_alone(text: str) -> None:
    assert scan(text).text == text


def test_a_reference_tells_head_accessors_filters_and_place() -> None:
    reference = only('{{ fetch.json.items[0]["two words"].hand-off | default "no \\"x\\"" | json|fence }}')
    assert reference.head == "fetch"
    assert reference.steps == (
        Step("json"),
        Step("items"),
        Step(0, bracket=True),
        Step("two words", bracket=True),
        Step("hand-off"),
    )
    assert reference.filters == (Filter(name="default", argument='no "x"'), Filter(name="json"), Filter(name="fence"))
    assert reference.at == 0
    assert reference.source == 'fetch.json.items[0]["two words"].hand-off | default "no \\"x\\"" | json|fence'


def test_a_head_in_brackets_names_what_a_plain_name_cannot() -> None:
    assert only('{{["T1.3"].text}}').head == "T1.3"
    assert only('{{["T1.3"].text}}').steps == (Step("text"),)
    assert only("{{T1.3.text}}").head == "T1"


def test_names_may_begin_with_a_digit_and_keys_with_an_underscore() -> None:
    assert only("{{1.text}}").head == "1"
    assert only("{{fetch.json._id}}").steps[1] == Step("_id")


def test_names_are_compared_in_composed_form() -> None:
    assert only("{{cafe\u0301.text}}").head == "caf\u00e9"


def test_space_is_allowed_inside_the_braces_and_around_the_bar() -> None:
    assert only("{{\n  a\t|\n json \n}}").filters == (Filter(name="json"),)


def test_a_literal_gives_its_text_and_is_not_scanned_again() -> None:
    assert scan('{{"{{name}}"}}').text == "{{name}}"
    assert scan('a{{ "b" }}c{{x}}').parts[0] == "abc"


def test_a_filter_argument_may_hold_braces() -> None:
    assert only('{{a | default "{{b}}"}}').filters[0].argument == "{{b}}"


def test_a_brace_before_a_reference_is_text() -> None:
    parts = scan('{"n":{{{n}}}}').parts
    assert [part if isinstance(part, str) else part.head for part in parts] == ['{"n":{', "n", "}}"]


def test_references_alternate_with_the_text_between_them() -> None:
    parts = scan("a{{x}}{{y}} b").parts
    assert [part if isinstance(part, str) else part.at for part in parts] == ["a", 1, 6, " b"]


def test_a_scalar_with_space_around_the_reference_is_not_a_reference_alone() -> None:
    assert scan(" {{x}}").lone is None
    assert scan("{{x}}").lone is not None


def test_what_begins_like_a_reference_is_told() -> None:
    scanned = scan("{{fetch.text | upper}} {{x}} {{n + 1}} {{ .Names }} {{#if}}")
    assert [(near.head, near.source, near.at) for near in scanned.near] == [
        ("fetch", "fetch.text | upper", 0),
        ("n", "n + 1", 29),
    ]


@pytest.mark.parametrize(("text", "head", "steps"), [("check", "check", 0), ("review.tests", "review", 1)])
def test_conditions_name_nodes_without_braces(text: str, head: str, steps: int) -> None:
    reference = scan_name(text)
    assert reference is not None
    assert (reference.head, len(reference.steps)) == (head, steps)


@pytest.mark.parametrize("text", ["", "a b", "{{a}}", "a}}{{b", '"a"'])
def test_what_is_no_name_of_a_node_is_none(text: str) -> None:
    assert scan_name(text) is None


def test_scanning_takes_time_in_proportion_to_the_text() -> None:
    for unit in ('{{"', "{{a.b", '{{a["', "{{a | json", '{{["', "{{ ", '{{a | default "x', "{{a[1]"):
        assert scan(unit * 20_000).lone is None
