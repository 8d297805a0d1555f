"""What the text of a scalar stands for: durations, numbers, booleans, free values, references, names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.errors import Place
from onward.spec import names, scalars
from onward.spec.document import Scalar
from onward.spec.names import Rule
from onward.spec.units import duration_help, in_one_unit

HERE = Place(file="w.yaml")


def free(text: str, *, plain: bool = True) -> object:
    return scalars.free_value(Scalar(text=text, place=HERE, plain=plain))


@pytest.mark.parametrize(
    ("text", "seconds"), [("0s", 0), ("30s", 30), ("5m", 300), ("2h", 7200), ("3d", 259200), ("007s", 7)]
)
def test_durations(text: str, seconds: float) -> None:
    assert scalars.duration_s(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "30", "s", "1.5h", "1h30m", "-1s", "5 m", "5M", "1w", "٣s", "99999d", "9" * 400 + "s"]
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        scalars.duration_s(text)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("30", "write 30s, 30m or 30h"),
        ("1.5h", "write 90m"),
        ("1h30m", "write 90m"),
        ("2 hours, 30 min", "write 150m"),
        ("1 week", "write 7d"),
        ("500ms", "write a whole number and one unit: 30s, 5m, 2h or 3d"),
        ("soon", "write a whole number and one unit: 30s, 5m, 2h or 3d"),
        ("99999d", "leave it out for no limit"),
    ],
)
def test_what_is_proposed_for_a_duration(text: str, help: str) -> None:
    assert duration_help(text)[1] == help


@given(st.integers(min_value=1, max_value=scalars.LONGEST_S))
def test_a_proposed_duration_means_the_same(seconds: int) -> None:
    assert scalars.duration_s(in_one_unit(seconds)) == seconds


@given(st.text())
def test_help_for_any_text_is_a_message(text: str) -> None:
    assert all(duration_help(text))


@pytest.mark.parametrize("text", ["yes", "True", "TRUE", "on", "1", "", "true "])
def test_only_true_and_false_are_booleans(text: str) -> None:
    assert scalars.boolean("true") is True
    assert scalars.boolean("false") is False
    with pytest.raises(ValueError, match="no boolean"):
        scalars.boolean(text)


@pytest.mark.parametrize("text", ["", "-1", "1.0", "1e3", "0x1", "１", "1_000", "9" * 16])
def test_what_is_no_whole_number(text: str) -> None:
    with pytest.raises(ValueError, match="no whole number"):
        scalars.whole(text)


def test_numbers() -> None:
    assert (scalars.whole("007"), scalars.number("2"), scalars.number("1.50")) == (7, 2.0, 1.5)
    for text in ("nan", "inf", "1e3", "-1", ".5", "1."):
        with pytest.raises(ValueError, match="no number"):
            scalars.number(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-7", -7),
        ("0", 0),
        ("2.5", 2.5),
        ("-0.5", -0.5),
        ("true", True),
        ("false", False),
        ("null", None),
        ("", None),
        ("9223372036854775807", 9223372036854775807),
    ],
)
def test_plain_scalars_that_become_json_values(text: str, value: object) -> None:
    found = free(text)
    assert found == value
    assert type(found) is type(value)
    assert free(text, plain=False) == text


@pytest.mark.parametrize(
    "text",
    [
        "3.10", "007", "1e3", "1E+3", "-0", "+1", ".5", "1.", "0x1F", "0o17", "1_000", "12:30", "2024-01-02",
        "yes", "no", "on", "~", "Null", "True", ".inf", ".nan", "9223372036854775808", "998877665544332211009988776655",
        "02134", "1.0000000000000000001", "١",
    ],
)  # fmt: skip
def test_plain_scalars_that_stay_text(text: str) -> None:
    assert free(text) == text


@given(st.text(alphabet="0123456789.-+eE", max_size=25))
def test_a_number_prints_as_it_was_written(text: str) -> None:
    value = free(text)
    if isinstance(value, int | float):
        assert json.dumps(value) == text


@pytest.mark.parametrize(
    "text",
    ["{{a}}", "x {{ a.b }} y", '{{["T1.3"].text}}', '{{a | default "x" | json}}', "{{é-x.json[0].k}}", "{{self.text}}"],
)
def test_what_is_a_reference(text: str) -> None:
    assert scalars.has_reference(text)


@pytest.mark.parametrize(
    "text", ["{{ .Names }}", "{{#if}}", "{{color: 1}}", "{a}", "{{}}", "{{a", 'x {{"{{a}}"}} y', "a}}"]
)
def test_what_is_left_alone(text: str) -> None:
    assert not scalars.has_reference(text)


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (Rule.TASK, "fetch-data"),
        (Rule.TASK, "T1.3"),
        (Rule.TASK, "1"),
        (Rule.TASK, "on"),
        (Rule.TASK, "é長い"),
        (Rule.TASK, "नमस्ते"),
        (Rule.TASK, "a" * 100),
        (Rule.VARIABLE, "pr_number"),
        (Rule.ENV, "_X9"),
        (Rule.ARGUMENT, "größe"),
    ],
)
def test_names_that_keep_their_rule(rule: Rule, name: str) -> None:
    assert names.fault(rule, name) is None


@pytest.mark.parametrize(
    ("rule", "name"),
    [
        (Rule.TASK, ""),
        (Rule.TASK, "-a"),
        (Rule.TASK, ".."),
        (Rule.TASK, "a/b"),
        (Rule.TASK, "a b"),
        (Rule.TASK, "a\n"),
        (Rule.TASK, "a[1]"),
        (Rule.TASK, "@merge"),
        (Rule.TASK, "e\u0301"),
        (Rule.TASK, "a\u200d"),
        (Rule.TASK, "a" * 101),
        (Rule.VARIABLE, "FOO"),
        (Rule.VARIABLE, "no_proxy"),
        (Rule.VARIABLE, "a-b"),
        (Rule.VARIABLE, "a\n"),
        (Rule.ENV, "A-B"),
        (Rule.ENV, "1A"),
        (Rule.ENV, "É"),
        (Rule.ARGUMENT, "a-b"),
    ],
)
def test_names_that_break_their_rule(rule: Rule, name: str) -> None:
    assert names.fault(rule, name)


@given(st.sampled_from(Rule), st.text(max_size=120))
def test_a_proposed_name_keeps_the_rule(rule: Rule, name: str) -> None:
    near = names.suggestion(rule, name)
    assert near is None or names.fault(rule, near) is None


@pytest.mark.parametrize("pair", [("Same", "same"), ("É", "é"), ("ﬁ", "fi"), ("ß", "ss"), ("Ⅷ", "viii")])
def test_names_that_fold_alike(pair: tuple[str, str]) -> None:
    assert names.fold(pair[0]) == names.fold(pair[1])


@pytest.mark.parametrize("name", ["PATH", "LD_PRELOAD", "GIT_DIR", "PYTHONPATH", "HTTPS_PROXY", "https_proxy", "IFS"])
def test_variables_that_steer_programs(name: str) -> None:
    assert names.steers_programs(name)


@pytest.mark.parametrize("name", ["path", "env", "MYPATH", "PATHS", "HOME", "PROXY", "GITHUB_TOKEN"])
def test_variables_that_steer_nothing(name: str) -> None:
    assert not names.steers_programs(name)
