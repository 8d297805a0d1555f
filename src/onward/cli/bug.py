"""An error that nobody foresaw → a report in a file, and one sentence that says where it lies."""

import os
import platform
import tempfile
import traceback

from onward import __version__, clock


def write_report(error: Exception, words: list[str]) -> str:
    """Keep the traceback in a file of the temporary folder; return what to tell the person."""
    what = f"onward: internal error: {_one_line(error)}"
    try:
        path = _keep(_report(error, words))
    except OSError as problem:
        return f"{what}\nThis is a bug in onward. No report could be written: {problem}"
    return f"{what}\nThis is a bug in onward. The report for its makers is in {path}"


def _report(error: Exception, words: list[str]) -> str:
    facts = {
        "onward": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "time": clock.to_iso(clock.now()),
        "command": " ".join(["onward", *map(_without_value, words)]),
    }
    lines = [f"{name}: {value}\n" for name, value in facts.items()]
    return "".join([*lines, "\n", *traceback.format_exception(error)])


def _keep(text: str) -> str:
    descriptor, path = tempfile.mkstemp(prefix="onward-bug-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _without_value(word: str) -> str:
    """`K=V` may hold a secret, and reports are passed on."""
    name, equals, _ = word.partition("=")
    return name + ("=…" if equals else "")
