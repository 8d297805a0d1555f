"""Which elements of an argv list are code for an interpreter (`format.md` 4.4, `settled.md` 53).

`bash -c CODE`, `python3.12 -c CODE`, `ssh host CODE …`, also behind `env`, `sudo`, `xargs` and the like. A value there
would be read as code, whatever it is quoted with.
"""

from __future__ import annotations

import posixpath
import re
from typing import NamedTuple

from msgspec import Struct

_VERSION = re.compile(r"[-.]?\d+(?:\.\d+)*$")


class Element(NamedTuple):
    """One element of an argv list: the text before its first reference, and whether there is one."""

    text: str
    filled: bool = False


class Code(NamedTuple):
    """An element that is code, and the program that reads it."""

    at: int
    program: str


class Interpreter(Struct, frozen=True):
    """How a program takes code: by an option letter (`letters`), a long option, or by place.

    `attached` tells that the rest of `-cCODE` is code (`-lc` of a shell is two options). `first` is the number of
    the first positional argument that is code, if any; `all_after` that all further ones are, too. `valued` are
    option letters that take a value, `no_code` those after which no positional is code. `permutes` tells that options
    may still follow a positional argument.
    """

    letters: str = ""
    long: tuple[str, ...] = ()
    valued: str = ""
    attached: bool = True
    first: int | None = None
    all_after: bool = False
    no_code: str = ""
    permutes: bool = False


_SHELL = Interpreter(letters="c", long=("--command",), valued="oO", attached=False)
_INTERPRETERS = {
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "busybox"), _SHELL),
    "fish": Interpreter(letters="cC", long=("--command", "--init-command")),
    **dict.fromkeys(("python", "pypy", "ipython"), Interpreter(letters="c", valued="WXm")),
    **dict.fromkeys(
        ("node", "nodejs", "bun", "tsx"), Interpreter(letters="ep", long=("--eval", "--print", "--import"), valued="r")
    ),
    "deno": Interpreter(first=1),
    "perl": Interpreter(letters="eE", valued="IMm"),
    "ruby": Interpreter(letters="e", valued="IrCE"),
    "php": Interpreter(letters="rBRE", long=("--run",), valued="cdfz"),
    "lua": Interpreter(letters="e", valued="l"),
    **dict.fromkeys(("Rscript", "R", "osascript", "julia", "elixir"), Interpreter(letters="eE", long=("--eval",))),
    **dict.fromkeys(("pwsh", "powershell"), Interpreter(letters="cC", all_after=True)),
    **dict.fromkeys(
        ("awk", "gawk", "mawk", "nawk"), Interpreter(letters="e", long=("--source",), valued="vF", first=0, no_code="f")
    ),
    **dict.fromkeys(
        ("sed", "gsed"),
        Interpreter(letters="e", long=("--expression",), valued="l", first=0, no_code="f", permutes=True),
    ),
    **dict.fromkeys(("su", "runuser", "script"), Interpreter(letters="c", long=("--command",), permutes=True)),
    "flock": Interpreter(letters="c", long=("--command",), valued="wE", permutes=True),
    "watch": Interpreter(valued="n", first=0, all_after=True),
    "eval": Interpreter(first=0, all_after=True),
    "ssh": Interpreter(valued="BbcDEeFIiJLlmOopPQRSWw", first=1, all_after=True),
}
_CARRIERS = frozenset(
    {
        "env", "sudo", "doas", "nice", "ionice", "nohup", "time", "timeout", "setsid", "stdbuf", "xargs",
        "parallel", "find", "fd", "chroot", "nsenter", "unshare", "systemd-run", "exec", "command", "builtin",
        "strace", "ltrace", "setarch", "taskset", "chrt", "firejail", "bwrap", "fakeroot", "proxychains", "sshpass",
        "docker", "podman", "nerdctl", "kubectl", "lxc", "flatpak-spawn", "toolbox", "uv", "uvx", "poetry",
        "pipenv", "hatch", "conda", "mamba", "micromamba", "nix", "nix-shell", "npx", "pnpm", "yarn", "bundle",
        "rlwrap", "unbuffer", "caffeinate", "flock", "su", "runuser", "watch", "xvfb-run", "dbus-run-session",
    }
)  # fmt: skip


def code_in(argv: list[Element]) -> list[Code]:
    """The elements that are code, wherever the interpreter stands."""
    if not argv or argv[0].filled:
        return []
    name = _base(argv[0].text)
    found = _own(name, argv, 0)
    if name in _CARRIERS:
        found += _split_string(argv) if name == "env" else []
        inner = next((i for i in range(1, len(argv)) if _is_interpreter(argv[i])), None)
        if inner is not None:
            found += _own(_base(argv[inner].text), argv, inner)
    return found


def _is_interpreter(element: Element) -> bool:
    return not element.filled and _base(element.text) in _INTERPRETERS


def _base(text: str) -> str:
    name = posixpath.basename(text)
    return name if name in _INTERPRETERS else _VERSION.sub("", name)


def _split_string(argv: list[Element]) -> list[Code]:
    """`env -S 'bash -c …'` splits its value into a command."""
    found = []
    for i, element in enumerate(argv):
        if element.text.startswith(("-S", "--split-string=")) and element.filled:
            found.append(Code(i, "env"))
        elif element.text in ("-S", "--split-string") and i + 1 < len(argv):
            found.append(Code(i + 1, "env"))
    return found


def _own(name: str, argv: list[Element], start: int) -> list[Code]:
    rules = _INTERPRETERS.get(name)
    return [] if rules is None else [Code(i, name) for i in _Reader(rules, argv, start + 1).read()]


class _Reader:
    """Goes through the arguments of one interpreter."""

    def __init__(self, rules: Interpreter, argv: list[Element], start: int) -> None:
        self.rules = rules
        self.argv = argv
        self.at = start
        self.first = rules.first
        self.code: list[int] = []
        self.code_follows = False

    def read(self) -> list[int]:
        while self.at < len(self.argv) and self._one(self.argv[self.at].text):
            self.at += 1
        return [i for i in self.code if i < len(self.argv)]

    def _one(self, text: str) -> bool:
        """Take one argument; False where the arguments of the code itself begin."""
        if text.startswith("--") and len(text) > 2:
            self._long(text)
            return True
        if text.startswith(("-", "+")) and len(text) > 1 and text != "--":
            self._letters(text)
            return True
        return text == "--" or self._positional()

    def _long(self, text: str) -> None:
        for option in self.rules.long:
            if text == option:
                self.at += 1
                self.code.append(self.at)
                self.first = None
            elif text.startswith(option + "="):
                self.code.append(self.at)
                self.first = None

    def _letters(self, text: str) -> None:
        for position, letter in enumerate(text[1:], 2):
            rest = text[position:] or ("…" if self.argv[self.at].filled else "")
            if letter in self.rules.letters:
                if self._code_option(rest):
                    return
            elif letter in self.rules.no_code:
                self.first = None
                self.at += 0 if rest else 1
                return
            elif letter in self.rules.valued:
                self.at += 0 if rest else 1
                return

    def _code_option(self, rest: str) -> bool:
        """`-c` and its like; True when the rest of the argument was used up."""
        if not self.rules.attached:
            self.code_follows = True
            return False
        if not rest:
            self.at += 1
        self.code.append(self.at)
        self.first = None
        if self.rules.all_after:
            self.code.extend(range(self.at + 1, len(self.argv)))
            self.at = len(self.argv)
        return True

    def _positional(self) -> bool:
        if self.code_follows:
            self.code.append(self.at)
            return False
        if self.first is None:
            return self.rules.permutes
        if self.first > 0:
            self.first -= 1
            return True
        last = len(self.argv) if self.rules.all_after else self.at + 1
        self.code.extend(range(self.at, last))
        return False
