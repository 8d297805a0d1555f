"""The rules for names: tasks, variables, environment, outputs (`format.md` 3.3, `settled.md` 15, 37, 38, 52)."""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum

LONGEST = 100
"""characters in a name; a path of names becomes folders"""

_ASCII_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[a-z][a-z0-9_]*")
_ENV = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROXIES = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"})
_STEERING = re.compile(
    r"PATH|LD_.*|DYLD_.*|BASH_ENV|ENV|IFS|SHELLOPTS|PYTHON.*|NODE_OPTIONS|PERL5.*|RUBYOPT|GIT_.*|.*_PROXY|.*_proxy"
)


class Rule(StrEnum):
    """What kind of name something is."""

    TASK = "task"
    VARIABLE = "variable"
    ENV = "environment variable"
    ARGUMENT = "argument"
    WORD = "name"


# JSON Schema's regular expressions know no Unicode classes: every letter outside ASCII passes there.
_OTHER_ASCII = r"\u0000-\u002c\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u007f"
_NO_WORD = r"\u0000-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u007f"
_NO_START = r"\u0000-\u0040\u005b-\u005e\u0060\u007b-\u007f"
_NAME_PATTERN = rf"^(?!x-)[^{_OTHER_ASCII}._-][^{_OTHER_ASCII}]{{0,99}}$"
PATTERNS = {
    Rule.TASK: _NAME_PATTERN,
    Rule.WORD: _NAME_PATTERN,
    Rule.VARIABLE: r"^(?!(?:https?|ftp|all|no)_proxy$)[a-z][a-z0-9_]{0,99}$",
    Rule.ENV: r"^(?!ONWARD_)[A-Za-z_][A-Za-z0-9_]{0,99}$",
    Rule.ARGUMENT: rf"^[^{_NO_START}][^{_NO_WORD}]{{0,99}}$",
}
"""the rules as regular expressions of JSON Schema"""


def fold(name: str) -> str:
    """Names that fold alike would meet in one folder on some file systems."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", name).casefold())


def fault(rule: Rule, name: str) -> str | None:
    """What is wrong with a name, as the end of the sentence "the name `x` …"; None when nothing is."""
    if len(name) > LONGEST:
        return f"has {len(name)} characters; {LONGEST} are allowed"
    match rule:
        case Rule.TASK | Rule.WORD:
            return _name_fault(name)
        case Rule.VARIABLE:
            return _variable_fault(name)
        case Rule.ENV:
            return None if _ENV.fullmatch(name) else "must be made of letters, digits and `_`, without a digit in front"
        case Rule.ARGUMENT:
            return None if name.isidentifier() else "is not a name that a Python argument can have"


def _name_fault(name: str) -> str | None:
    if _ASCII_NAME.fullmatch(name):
        return None
    if not name:
        return "is empty"
    if unicodedata.normalize("NFC", name) != name:
        return "has a letter in two parts (a base letter and an accent); write it as one (Unicode NFC)"
    if not _letter_or_digit(name[0]):
        return "must begin with a letter or a digit"
    wrong = next((c for c in name if not (_letter_or_digit(c) or _mark(c) or c in "-_.")), None)
    return None if wrong is None else f"may not hold {_shown(wrong)}; letters, digits, `-`, `_` and `.` are allowed"


def _letter_or_digit(character: str) -> bool:
    return unicodedata.category(character)[0] in "LN"


def _mark(character: str) -> bool:
    # Hindi, Thai and others write vowels as marks that have no composed form.
    return unicodedata.category(character) in ("Mn", "Mc")


def _shown(character: str) -> str:
    if character == " ":
        return "a space"
    return f"`{character}`" if character.isprintable() else f"the character U+{ord(character):04X}"


def _variable_fault(name: str) -> str | None:
    if name in _PROXIES:
        return "would change how programs reach the network; choose another"
    if _VARIABLE.fullmatch(name) is None:
        return "must begin with a small letter a-z, followed by small letters, digits and `_`"
    return None


def suggestion(rule: Rule, name: str) -> str | None:
    """A name that keeps the rule and looks like the given one, if there is one."""
    if len(name) > LONGEST:
        return None
    match rule:
        case Rule.VARIABLE:
            near = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
        case Rule.ENV | Rule.ARGUMENT:
            near = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
        case Rule.TASK | Rule.WORD:
            near = re.sub(r"[^\w.-]+", "-", unicodedata.normalize("NFC", name)).strip("-_.")
    return near if near and near != name and fault(rule, near) is None else None


def steers_programs(name: str) -> bool:
    """Whether an environment variable decides what a shell or an interpreter runs (`format.md` 4.4)."""
    return _STEERING.fullmatch(name) is not None


def belongs_to_onward(name: str) -> bool:
    """Whether `onward` itself sets this environment variable."""
    return name.startswith("ONWARD_")
