"""Secrets never come out of a masked stream, in whatever form and pieces they come in; all else does, unchanged."""

from __future__ import annotations

import json
import shlex
from base64 import b64decode, b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onward.tasks.masking import MASK, Finder, Masker, masked, masked_json, masked_text
from onward.tasks.secret_forms import forms_of

TOKEN = "ghp_0aB/1+c d\"e\\f'g"
KEY = "-----BEGIN-----\nQUJDREVGR0hJSktM\n-----END-----"

ENCODERS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "json": lambda s: json.dumps(s),
    "json, not ascii": lambda s: json.dumps(s, ensure_ascii=False),
    "json in json": lambda s: json.dumps({"a": json.dumps({"b": s})}),
    "json, slashes": lambda s: json.dumps(s).replace("/", "\\/"),
    "json for html": lambda s: json.dumps(s).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
    "quote": quote,
    "quote all": lambda s: quote(s, safe=""),
    "quote, lower": lambda s: "".join(f"%{b:02x}" if chr(b) not in "abc" else chr(b) for b in s.encode())
    if set(s) <= set("abc ") else quote(s),
    "quote plus": quote_plus,
    "quote twice": lambda s: quote(quote(s)),
    "base64": lambda s: b64encode(s.encode()).decode(),
    "base64 of more": lambda s: b64encode(f"x{s}yz".encode()).decode(),
    "base64 of still more": lambda s: b64encode(f"xy{s}z".encode()).decode(),
    "base64, url-safe": lambda s: urlsafe_b64encode(f"?>{s}\xff".encode()).decode(),
    "base64 in lines": lambda s: encodebytes(f"{'q' * 40}{s}{'r' * 40}".encode()).decode(),
    "base64 in lines in json": lambda s: json.dumps(encodebytes(f"{'q' * 50}{s}{'r' * 40}".encode()).decode()),
    "shell": lambda s: shlex.quote(s),
    "repr": repr,
}  # fmt: skip


def finder(*secrets: str) -> Finder:
    return Finder(forms_of(secrets))


def in_pieces(found: Finder, data: bytes, cuts: list[int]) -> bytes:
    masker = Masker(found)
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    pieces = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    return b"".join([*map(masker.take, pieces), masker.finish()])


# No `*`, of which masks are made.
LETTERS = st.characters(codec="utf-8", exclude_characters="*\0", exclude_categories=["Cs"])
SECRETS = st.one_of(
    st.text(LETTERS, min_size=4, max_size=30),
    st.text("ab", min_size=4, max_size=12),
    st.text("abc/+=-_\n\"' %\\", min_size=4, max_size=40),
)
NOISE = st.one_of(st.binary(max_size=20), st.text("ab\n\\", max_size=10).map(str.encode))


@given(st.data(), st.lists(SECRETS, min_size=1, max_size=3), st.lists(st.integers(0, 10_000), max_size=12))
def test_no_form_of_a_secret_comes_out_however_the_stream_is_cut(
    data: st.DataObject, secrets: list[str], cuts: list[int]
):
    forms = [encode(secret).encode() for secret in secrets for encode in ENCODERS.values()]
    stream = b"".join(data.draw(st.lists(st.one_of(st.sampled_from(forms), NOISE), max_size=8)))
    found = finder(*secrets)
    out = in_pieces(found, stream, cuts)
    assert out == masked(found, stream)
    for piece in out.split(MASK):
        assert found.look(piece)[0] == []
        assert not [secret for secret in secrets if secret.encode() in piece]


@given(SECRETS, NOISE, NOISE, st.sampled_from(sorted(ENCODERS)))
def test_each_form_is_found_by_itself(secret: str, before: bytes, after: bytes, form: str):
    encoded = ENCODERS[form](secret).encode()
    out = masked(finder(secret), before + encoded + after)
    assert MASK in out
    assert not [piece for piece in out.split(MASK) if encoded in piece]


@given(st.binary(max_size=300), st.lists(st.integers(0, 10_000), max_size=12), st.lists(SECRETS, max_size=3))
def test_output_without_secrets_is_unchanged(stream: bytes, cuts: list[int], secrets: list[str]):
    found = finder(*secrets)
    if not found.look(stream)[0]:
        assert in_pieces(found, stream, cuts) == stream


@given(st.lists(st.text("ab\n", max_size=9), max_size=20))
def test_what_is_held_back_may_still_become_a_secret(pieces: list[str]):
    """Nothing else is, and never more than the secret has."""
    secret = "abbaab"
    masker = Masker(finder(secret))
    came, given_out = "", b""
    for piece in pieces:
        came += piece
        given_out += masker.take(piece.encode())
        held = masker._held
        assert came.encode().endswith(held)
        assert secret.encode().startswith(held) or b"YWJiYWFi".startswith(held)
        assert len(held) < len(secret)


def test_a_line_is_live_although_its_last_letter_begins_a_form():
    masker = Masker(finder("secret-token"))
    assert masker.take(b"first line s\n") == b"first line s\n"
    assert masker.take(b"c\n") == b"c\n"


def test_an_end_that_may_become_a_secret_waits_and_comes_out_when_it_does_not():
    masker = Masker(finder("secret-token"))
    assert masker.take(b"a secret-to") == b"a "
    assert masker.holds
    assert masker.take(b"ast") == b"secret-toast"
    assert not masker.holds


def test_a_secret_that_goes_on_after_the_end_of_the_attempt_is_still_not_whole():
    masker = Masker(finder("secret-token"))
    out = masker.take(b"secret-") + masker.finish() + masker.take(b"token and more")
    assert out == b"secret-*** and more"


@given(
    st.lists(st.one_of(st.text("ab-", max_size=9), st.none()), max_size=20), st.sampled_from(["abba", "aabab", "abab"])
)
def test_a_secret_is_never_whole_wherever_the_stream_was_thought_to_end(pieces: list[str | None], secret: str):
    masker = Masker(finder(secret))
    out = b"".join(masker.finish() if piece is None else masker.take(piece.encode()) for piece in pieces)
    out += masker.finish()
    assert secret.encode() not in out
    came = "".join(piece or "" for piece in pieces).encode()
    if secret.encode() not in came:
        assert out == came


def test_secrets_that_overlap_are_masked_as_one():
    found = finder("abcdef", "defghi")
    assert masked(found, b"-abcdefghi-") == b"-***-"
    masker = Masker(found)
    assert b"".join(masker.take(bytes([byte])) for byte in b"-abcdefghi-") + masker.finish() == b"-***-"


def test_a_long_chain_of_overlaps_is_not_kept_in_memory():
    masker = Masker(finder("abab"))
    out = masker.take(b"ab" * 1000)
    for _ in range(50):
        out += masker.take(b"ab" * 1000)
        assert len(masker._held) < 10
    assert out + masker.finish() == b"***"


def test_each_long_line_of_a_secret_of_several_lines_is_masked_and_short_ones_are_not():
    found = finder("{\n  line-of-the-key\n}")
    assert masked(found, b"x line-of-the-key { y }\n") == b"x *** { y }\n"
    out = masked(finder(KEY), f"{KEY}\nx{KEY}yQUJDREVGR0hJSktM\r\n  -----END-----".encode())
    assert out == b"***\nx***y***\r\n  ***"


def test_a_key_of_several_lines_in_base64_of_many_lines_leaves_nothing():
    key = "-----BEGIN KEY-----\n" + "\n".join(f"MIIEvQ{n:02d}" * 8 for n in range(20)) + "\n-----END KEY-----"
    out = masked(finder(key), encodebytes(b"{'key': '" + key.encode() + b"'}"))
    rest = b64decode(b"".join(out.replace(MASK, b"").split()) + b"==", validate=False)
    assert b"MIIE" not in rest
    assert len(rest) < 20


@pytest.mark.parametrize("width", [60, 64, 76, 5, 4])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\\n"])
def test_base64_in_lines_of_any_width_is_masked_wherever_the_line_ends_come(width: int, end: str):
    secret = "correct horse battery staple 0123456789 correct horse battery staple"
    found = finder(secret)
    for before in range(width + 1):
        text = b64encode(("=" * before + secret).encode()).decode()
        lines = end.join(text[at : at + width] for at in range(0, len(text), width))
        out = masked(found, lines.encode()).decode().replace(end, "")
        longest = max(out.split("***"), key=len)
        assert len(longest) <= len(text) - len(b64encode(secret.encode())) + 8


def test_a_line_end_within_a_short_secret_leaves_no_more_than_three_letters_of_it():
    secret = 'ghp_s3cr3t/"x+1'
    found = finder(secret)
    for before in range(80):
        raw = encodebytes(f"{'x' * before}{secret}{'and more of it ' * 5}".encode())
        left = b"".join(masked(found, raw).split(b"\n"))
        start = (0, 2, 3)[before % 3]
        core = b64encode(b"." * (before % 3) + secret.encode())[start : (before % 3 + len(secret)) * 8 // 6]
        assert MASK in left
        assert not [core[at : at + 4] for at in range(len(core) - 3) if core[at : at + 4] in left]


def test_a_short_value_has_no_forms_and_one_of_four_letters_has():
    assert masked(finder("abc", "}"), b"abc } YWJj") == b"abc } YWJj"
    assert masked(finder("abcd"), b"abcd") == MASK


def test_text_and_json_values_are_masked_and_others_are_the_same():
    found = finder("12345678", "top secret")

    def mask(text: str) -> str:
        return masked_text(found, text)

    same = "nothing here"
    assert mask(same) is same
    value = {"a": ["top secret!", 12345678, True, None, 1.5], "top secret": {"b": "top%20secret"}}
    assert masked_json(value, mask) == {"a": ["***!", "***", True, None, 1.5], "***": {"b": "***"}}
