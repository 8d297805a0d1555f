"""Values of secrets → the byte strings that stand for them in output: as they are, and as programs write them.

Most forms are the same for a token of plain letters and digits, and are kept once. A value of fewer than four
characters has none: to star it out would star out half of every log.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import NamedTuple

FEWEST_CHARACTERS = 4
FEWEST_OF_A_LINE = 8

_HEXADECIMAL = re.compile(r"\\u[0-9a-f]{4}")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_SAFE = tuple(_UNRESERVED | set(more) for more in (b"", b"/", b"!'()*", b"!'()*~/:;,?@&=+$#[]"))
_FOR_HTML = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"})
_FOR_DOTNET = str.maketrans({"'": r"\u0027", "+": r"\u002B", "`": r"\u0060"})
_FOR_ANSI_C = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Forms(NamedTuple):
    """`whole` stand in the output as they are; `base64` also with line ends in between."""

    whole: tuple[bytes, ...]
    base64: tuple[bytes, ...]


NO_FORMS = Forms((), ())


def forms_of(values: Iterable[str]) -> Forms:
    """Every form of these values."""
    whole: dict[bytes, None] = {}
    base64: dict[bytes, None] = {}
    for text in dict.fromkeys(each for value in values for each in parts_of(value)):
        whole.update(dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in _written(text)))
        base64.update(dict.fromkeys(_in_base64(text.encode("utf-8", "surrogatepass"))))
    return Forms(tuple(whole), tuple(base64))


def parts_of(value: str) -> Iterator[str]:
    """The value, and what of it may be printed without the rest: itself without blanks around it, each long line."""
    if len(value) < FEWEST_CHARACTERS:
        return
    yield value
    if len(value.strip()) >= FEWEST_CHARACTERS:
        yield value.strip()
    lines = value.splitlines()
    if len(lines) > 1:
        yield "\r\n".join(lines)
        yield from (line for each in lines if len(line := each.strip()) >= FEWEST_OF_A_LINE)


def _written(text: str) -> Iterator[str]:
    yield text
    yield from _in_json(text)
    yield from _in_a_url(text)
    yield from _in_a_shell(text)


def _in_json(text: str) -> Iterator[str]:
    """As the usual encoders do it, and once more inside another JSON text."""
    once = set(_json_forms(text))
    yield from once
    for form in once:
        yield json.dumps(form, ensure_ascii=False)[1:-1]


def _json_forms(text: str) -> Iterator[str]:
    for plain in (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
        dotnet = plain.replace(r"\"", r"\u0022").translate(_FOR_HTML).translate(_FOR_DOTNET)
        for form in (plain, plain.replace("/", r"\/"), plain.translate(_FOR_HTML), dotnet):
            yield form
            yield _HEXADECIMAL.sub(lambda found: r"\u" + found[0][2:].upper(), form)


def _in_a_url(text: str) -> Iterator[str]:
    """Programs differ in what they leave as it is, in the case of the digits, and in the blank."""
    data = text.encode("utf-8", "surrogatepass")
    for safe in _SAFE:
        form = "".join(chr(byte) if byte in safe else f"%{byte:02X}" for byte in data)
        small = re.sub("%..", lambda found: found[0].lower(), form)
        for each in (form, small):
            yield each
            yield each.replace("%20", "+")
            yield each.replace("%", "%25")


def _in_a_shell(text: str) -> Iterator[str]:
    """As `set -x`, Python's `shlex.quote` and its `repr` show it."""
    yield text.replace("'", r"'\''")
    yield text.replace("'", "'\"'\"'")
    yield text.translate(_FOR_ANSI_C)
    yield repr(text)[1:-1]


def _in_base64(data: bytes) -> Iterator[bytes]:
    """What the value alone decides of the letters, wherever it begins in what is encoded: three ways, two alphabets."""
    for before in range(3):
        whole = b64encode(b"\0" * before + data)
        form = whole[(0, 2, 3)[before] : (before + len(data)) * 8 // 6]
        yield form
        yield form.translate(_URL_SAFE)
