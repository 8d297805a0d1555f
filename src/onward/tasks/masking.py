"""Bytes that come in pieces of any size → the same bytes with `***` wherever a secret stood.

A `Finder` knows the forms of some secrets (`secret_forms`); a `Masker` goes through one stream with it. What it holds
back is the longest end of what has come that may still become a secret, and nothing else, so that output is live and
memory is bounded. How the stream was cut into pieces makes no difference to what comes out.

Base64 is broken into lines by most programs that print it: its forms are also found across line ends. A keeper needs
this module only where a secret was released, and then pays for `re`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

TYPE_CHECKING = False  # importing `typing` would lengthen the start of a keeper
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Span = tuple[int, int]
    Forms = tuple[tuple[bytes, ...], tuple[bytes, ...]]  # `secret_forms.Forms`, as it travels to keeper and worker

MASK = b"***"

_KEY = 3
_SHORTEST_REST = 6
_BEFORE_A_BREAK = 4  # what stands at the end of a line is held back from this length on, not for every odd letter
_OF_BASE64 = rb"[A-Za-z0-9+/_-]"
_BREAKS = (rb"\n", rb"\r\n", rb"\\n", rb"\\r\\n")  # the last two: in JSON
_BREAK = re.compile(b"|".join(rb"%s(?<=%s%s)(?=%s)" % (each, _OF_BASE64, each, _OF_BASE64) for each in _BREAKS))
_LAST_BREAK = re.compile(rb"(?<=%s)(?:\r?\n|\r|\\(?:r(?:\\n?)?|n)?)\Z" % _OF_BASE64)
_LONGEST_BREAK = 4


class _Forms:
    """Some byte strings, looked for all at once: by their first three bytes, then in full."""

    __slots__ = ("_by_key", "_heads", "_keys", "longest")

    def __init__(self, forms: tuple[bytes, ...]) -> None:
        by_key: dict[bytes, list[bytes]] = {}
        for form in sorted(set(forms)):
            by_key.setdefault(form[:_KEY], []).append(form)
        self.longest = max(map(len, forms), default=0)
        self._by_key = by_key
        self._heads = {key[:size] for key in by_key for size in range(1, _KEY)}
        self._keys = re.compile(_any_of(by_key)) if by_key else None

    def hits(self, text: bytes) -> Iterator[tuple[int, int]]:
        """Where a form begins and where it ends, or would end beyond the end of the text as far as that goes."""
        if self._keys is None:
            return
        size = len(text)
        for found in self._keys.finditer(text):
            at = found.start()
            for form in self._by_key[text[at : at + _KEY]]:
                end = at + len(form)
                if text.startswith(form, at) if end <= size else form.startswith(text[at:]):
                    yield at, end
        for length in range(_KEY - 1, 0, -1):
            if size >= length and text[-length:] in self._heads:
                yield size - length, size + 1


class Finder:
    """The forms of the secrets that one task was given."""

    __slots__ = ("_before_breaks", "_broken", "_forms")

    def __init__(self, forms: Forms) -> None:
        whole, base64 = forms
        # A line end after the first, second or third letter leaves one of these on the next line.
        rests = (form[skipped:] for form in base64 for skipped in range(1, _BEFORE_A_BREAK))
        broken = (*base64, *(rest for rest in rests if len(rest) >= _SHORTEST_REST))
        self._forms = _Forms((*whole, *broken))
        self._broken = _Forms(broken)
        self._before_breaks = {form[at : at + _BEFORE_A_BREAK] for form in base64 for at in range(len(form))}

    def look(self, text: bytes) -> tuple[list[Span], int]:
        """Where secrets stand, and where the end begins that may still become one (the size: there is none)."""
        spans, unfinished, size = [], len(text), len(text)
        for start, end in self._forms.hits(text):
            if end <= size:
                spans.append((start, end))
            else:
                unfinished = min(unfinished, start)
        if b"\n" in text or b"\\" in text or text.endswith(b"\r"):
            unfinished = min(unfinished, self._look_across_breaks(text, spans))
        spans.sort()
        return spans, unfinished

    def _look_across_breaks(self, text: bytes, spans: list[Span]) -> int:
        """Adds the spans in which line ends are; where the end begins that may still become one."""
        last = _LAST_BREAK.search(text, max(0, len(text) - _LONGEST_BREAK - 1))
        stem = text if last is None else text[: last.start()]
        breaks = [found.span() for found in _BREAK.finditer(stem)]
        ends = [start for start, _ in breaks] if last is None else [*(start for start, _ in breaks), len(stem)]
        if self._before_breaks.isdisjoint([text[max(0, end - _BEFORE_A_BREAK) : end] for end in ends]):
            return len(text)
        joined = _Joined(stem, breaks)
        unfinished = len(text)
        for start, end in self._broken.hits(joined.text):
            first_line = joined.line_end(start) - start
            if first_line < _BEFORE_A_BREAK:
                continue
            if end > len(joined.text):
                if start + first_line < len(joined.text) or last is not None:
                    unfinished = min(unfinished, joined.place(start))
            elif start + first_line < end:
                spans.append((joined.place(start), joined.place(end - 1) + 1))
        return unfinished


class _Joined:
    """A text without its line breaks, and where everything stood in it."""

    __slots__ = ("_at", "_removed", "text")

    def __init__(self, text: bytes, breaks: list[Span]) -> None:
        self._at: list[int] = []  # how much is in front of each break, without breaks
        self._removed = [0]  # how much the first n breaks took
        parts, begin = [], 0
        for start, end in breaks:
            parts.append(text[begin:start])
            self._at.append(start - self._removed[-1])
            self._removed.append(self._removed[-1] + end - start)
            begin = end
        parts.append(text[begin:])
        self.text = b"".join(parts)

    def place(self, at: int) -> int:
        return at + self._removed[bisect_right(self._at, at)]

    def line_end(self, at: int) -> int:
        """The end of the line that `at` is in."""
        nth = bisect_right(self._at, at)
        return self._at[nth] if nth < len(self._at) else len(self.text)


class Masker:
    """One stream on its way. `take` and `finish` give what may be written."""

    __slots__ = ("_covered", "_done", "_finder", "_held", "found")

    def __init__(self, finder: Finder) -> None:
        self.found = False  # whether anything has been masked
        self._finder = finder
        self._held = b""
        self._done = 0  # how much of what is held was given out all the same (`finish`)
        self._covered = 0  # how much of it the last `***` stands for

    def take(self, data: bytes) -> bytes:
        """What came, masked, without the end that may still become a secret."""
        return self._go_on(data, to_its_end=False)

    def finish(self) -> bytes:
        """What was held back. Should more come after all, a secret that began before is still known as one."""
        return self._go_on(b"", to_its_end=True)

    @property
    def holds(self) -> bool:
        """Whether anything is held back."""
        return len(self._held) > self._done

    def _go_on(self, data: bytes, *, to_its_end: bool) -> bytes:
        text = self._held + data if self._held else data
        spans, unfinished = self._finder.look(text)
        until = max(self._done, len(text) if to_its_end else unfinished)
        out = self._give(text, spans, until)
        self._held = text[unfinished:]
        self._done = until - unfinished
        self._covered = max(0, self._covered - unfinished)
        return out

    def _give(self, text: bytes, spans: list[Span], until: int) -> bytes:
        """From what is done up to `until`; a secret that goes on beyond it is masked as a whole now."""
        parts, at = [], self._done
        for start, end in spans:
            if start >= until:
                break
            if start >= self._covered and end > self._done:
                parts.append(text[max(at, self._covered) : max(at, start)])
                parts.append(MASK)
                self.found = True
            at = max(at, end)
            self._covered = max(self._covered, end)
        parts.append(text[max(at, self._covered) : until])
        return b"".join(parts)


@lru_cache(maxsize=64)
def finder_of(forms: Forms) -> Finder:
    """The finder of these forms; the same one for all tasks that were given the same secrets."""
    return Finder(forms)


def masked(finder: Finder, data: bytes) -> bytes:
    """All of it at once."""
    masker = Masker(finder)
    return masker.take(data) + masker.finish()


def masked_text(finder: Finder, text: str) -> str:
    """The text; the very same one where no secret is in it."""
    data = text.encode("utf-8", "surrogatepass")
    out = masked(finder, data)
    return text if out == data else out.decode("utf-8", "replace")


def masked_json(value: Any, mask: Callable[[str], str]) -> Any:
    """A JSON value: its texts and keys masked, a number that shows a secret made a text."""
    match value:
        case str():
            return mask(value)
        case dict():
            return {mask(name): masked_json(each, mask) for name, each in value.items()}
        case list() | tuple():
            return [masked_json(each, mask) for each in value]
        case int() | float() if not isinstance(value, bool) and mask(repr(value)) != repr(value):
            return mask(repr(value))
        case _:
            return value


def _any_of(keys: Iterable[bytes]) -> bytes:
    """A pattern for the first byte of each key where the rest follows: so none is missed that begins inside another."""
    tree: dict[int, dict[int, list[int]]] = {}
    for first, second, third in keys:
        tree.setdefault(first, {}).setdefault(second, []).append(third)
    return b"|".join(
        b"%s(?=%s)" % (_one(first), b"|".join(b"%s[%s]" % (_one(s), b"".join(map(_one, t))) for s, t in rest.items()))
        for first, rest in tree.items()
    )


def _one(byte: int) -> bytes:
    return b"\\x%02x" % byte
