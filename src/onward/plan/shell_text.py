"""A shell script -> its variables that stand without quotes, where the shell splits and expands their values.

This is a reader for warnings: it knows quotes, comments, here-documents, `$( )`, `(( ))`, `[[ ]]`, assignments and
`case`, and says nothing where it is not sure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAME = re.compile(r"\$(?:([a-z_][a-z0-9_]*)|\{([a-z_][a-z0-9_]*))")
_ALL_QUOTED = re.compile(r"""(?:[^"'`\\#$(<]|"[^"`\\$]*(?:\$(?:\w+|\{\w+\})[^"`\\$]*)*")*""")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=")
_HERE = re.compile(r"<<-?[ \t]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([\w.-]+))")
_WORD = re.compile(r"[\w./:=,@%^~*?+\]-]+")
_IN_QUOTES = re.compile(r"[^\\\"$`]+")
_BREAKS = frozenset(";&|\n(){}!")
_KEEPS_WHOLE = frozenset({"case", "export", "local", "declare", "readonly", "typeset"})
_KEYWORDS = frozenset({"if", "then", "elif", "else", "while", "until", "do", "time"})


def unquoted_variables(script: str) -> Iterator[tuple[int, str]]:
    """Offset and name of every `$name` and `${name…}` of small letters outside of quotes."""
    # Most scripts are plain words and `"$name"`; one look is enough for them.
    return iter(()) if _ALL_QUOTED.fullmatch(script) else _Reader(script).read()


class _Reader:
    def __init__(self, script: str) -> None:
        self.script = script
        self.at = 0
        self.contexts: list[str] = ["code"]
        self.words: list[str] = []
        self.word_start: int | None = None
        self.heredocs: list[str] = []

    def read(self) -> Iterator[tuple[int, str]]:
        script = self.script
        while self.at < len(script):
            start = self.at
            character = script[start]
            if self.contexts[-1] == '"':
                self._in_quotes(character)
            elif character == "$" and (named := _NAME.match(script, start)):
                self._begin_word()
                if not self._kept_whole():
                    yield start, named[1] or named[2]
                self.at = _after_brace(script, start) if named[2] else named.end()
            else:
                self._in_code(character)

    # --- one character ------------------------------------------------------------------------------------

    def _in_quotes(self, character: str) -> None:
        run = _IN_QUOTES.match(self.script, self.at)
        if run is not None:
            self.at = run.end()
        elif character == "\\":
            self.at += 2
        elif character == '"':
            self.contexts.pop()
            self.at += 1
        elif self.script.startswith("$(", self.at) and not self.script.startswith("$((", self.at):
            self._open(2, ")")
        elif character == "`":
            self._backtick()
        else:
            self.at += 1

    def _in_code(self, character: str) -> None:
        script = self.script
        word = _WORD.match(script, self.at)
        if word is not None:
            self._begin_word()
            self.at = word.end()
        elif character == "\\":
            self._begin_word()
            self.at += 2
        elif character == "'":
            self._begin_word()
            self.at = _after(script, "'", self.at + 1)
        elif character == '"':
            self._begin_word()
            self.contexts.append('"')
            self.at += 1
        elif character == "#" and self.word_start is None:
            self.at = script.find("\n", self.at) if "\n" in script[self.at :] else len(script)
        elif script.startswith(("$((", "((", "[["), self.at):
            self._skip_expression()
        elif script.startswith("${", self.at):
            self._begin_word()
            self.at = _after_brace(script, self.at)
        elif script.startswith("$(", self.at):
            self._begin_word()
            self._open(2, ")")
        elif character == "`":
            self._backtick()
        elif script.startswith("<<", self.at) and not script.startswith("<<<", self.at):
            self._here_document()
        elif character == "\n" and self.heredocs:
            self._skip_here_documents()
        else:
            self._plain(character)

    def _plain(self, character: str) -> None:
        if character in " \t<>":
            self._end_word()
        elif character in _BREAKS:
            self._end_word()
            self.words.clear()
            if character == "(":
                self.contexts.append(")")
            elif character == ")" and len(self.contexts) > 1 and self.contexts[-1] == ")":
                self.contexts.pop()
        else:
            self._begin_word()
        self.at += 1

    # --- words --------------------------------------------------------------------------------------------

    def _begin_word(self) -> None:
        if self.word_start is None:
            self.word_start = self.at

    def _end_word(self) -> None:
        if self.word_start is not None:
            word = self.script[self.word_start : self.at]
            if not _ASSIGNMENT.match(word) and not (not self.words and word in _KEYWORDS):
                self.words.append(word)
        self.word_start = None

    def _kept_whole(self) -> bool:
        """Whether the shell does not split here: in an assignment, or after `case`."""
        if self.contexts[-1] not in ("code", ")", "`"):
            return True
        first = self.words[0] if self.words else ""
        if first == "case" and len(self.words) == 1:
            return True
        start = self.at if self.word_start is None else self.word_start
        return bool(_ASSIGNMENT.match(self.script[start : self.at])) and (not first or first in _KEEPS_WHOLE)

    # --- nesting ------------------------------------------------------------------------------------------

    def _open(self, length: int, closing: str) -> None:
        self.contexts.append(closing)
        self.words.clear()
        self.word_start = None
        self.at += length

    def _backtick(self) -> None:
        if "`" in self.contexts:
            while self.contexts.pop() != "`":
                pass
            self.at += 1
        else:
            self._open(1, "`")

    def _skip_expression(self) -> None:
        self._begin_word()
        opening = "[[" if self.script.startswith("[[", self.at) else "(("
        end = "]]" if opening == "[[" else "))"
        self.at = _after(self.script, end, self.at + 2)

    def _here_document(self) -> None:
        match = _HERE.match(self.script, self.at)
        self._end_word()
        if match is None:
            self.at += 2
            return
        self.heredocs.append(match[1] or match[2] or match[3] or "")
        self.at = match.end()

    def _skip_here_documents(self) -> None:
        self._end_word()
        self.words.clear()
        for delimiter in self.heredocs:
            end = re.compile(rf"\n\t*{re.escape(delimiter)}(?=\n|\Z)").search(self.script, self.at)
            self.at = len(self.script) if end is None else end.end()
        self.heredocs.clear()


def _after(script: str, mark: str, at: int) -> int:
    found = script.find(mark, at)
    return len(script) if found < 0 else found + len(mark)


def _after_brace(script: str, at: int) -> int:
    """Behind the `}` that closes the `${` at `at`."""
    depth = 0
    for i in range(at, len(script)):
        if script[i] == "{":
            depth += 1
        elif script[i] == "}":
            depth -= 1
            if depth == 0:
                return i + 1
    return len(script)
