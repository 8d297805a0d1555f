"""The codes of errors in the source, and what they mean → the page of errors in Markdown.

`python tests/docs/error_page.py > docs/reference/errors.md` writes it anew; a test compares the two.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from codes_in_source import SOURCE
from error_codes import BESIDE, COMMANDS, FAILURES, FILES, GIVEN, OF_MEANING

from onward.cli.main import main
from onward.errors import OnwardError
from onward.spec.codes import CODES
from onward.spec.supported import NOT_YET

MISTAKES = Path(__file__).parents[1] / "spec" / "mistakes"
MEANINGS = dict(sorted((CODES | OF_MEANING).items()))


def page() -> str:
    """The whole page."""
    return "\n".join(_page()).rstrip("\n") + "\n"


def example(code: str) -> str:
    """What `onward check` says of a small file that has this mistake: the message of the code, without the rest."""
    with tempfile.TemporaryDirectory() as folder:
        name = _write(code, Path(folder))
        said = _check(Path(folder), name, GIVEN.get(code, ()))
    messages = re.split(r"\n(?=\S+:\d+:\d+: (?:error|warning)\[|\S+: (?:no errors|\d+ ))", said.rstrip("\n"))
    [first, *_] = [each for each in messages if re.search(rf"(error|warning)\[{code}\]:", each)] or [said]
    return first.replace(folder, "…")


def _write(code: str, folder: Path) -> str:
    if code not in FILES:
        shutil.copytree(MISTAKES, folder, dirs_exist_ok=True)
        return f"{code}.yaml"
    for name, text in BESIDE.get(code, {}).items():
        (folder / name).write_text(text, "utf-8")
    (folder / "w.yaml").write_bytes(FILES[code].encode().replace(b"@", b"\xff"))
    return "w.yaml"


def _check(folder: Path, name: str, given: tuple[str, ...]) -> str:
    here, heard = Path.cwd(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(heard), contextlib.redirect_stderr(heard):
            main(["check", "--no-color", *given, name])
    finally:
        os.chdir(here)
    return heard.getvalue()


def classes() -> dict[str, list[type[OnwardError]]]:
    """The classes of errors with a code of their own, by code."""
    for path in sorted(SOURCE.rglob("*.py")):
        if re.search(r"^    code = ", path.read_text("utf-8"), re.MULTILINE):
            import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    found: dict[str, list[type[OnwardError]]] = {}
    for each in sorted(_below(OnwardError), key=lambda one: (one.__module__, one.__name__)):
        if "code" in vars(each):
            found.setdefault(each.code, []).append(each)
    return dict(sorted(found.items()))


def _below(cls: type[OnwardError]) -> set[type[OnwardError]]:
    return {cls}.union(*(_below(each) for each in cls.__subclasses__()))


def _page() -> Iterator[str]:
    yield from ("# Errors", "")
    yield "This page is made from the code (`python tests/docs/error_page.py`). Messages on a terminal begin with"
    yield "`error[code]:`. They say what happened and where, and after `help:` what to do."
    yield from ("", "## Of commands", "")
    yield from ("| Code | Exit | Meaning | What to do |", "|---|---|---|---|")
    for code, kinds in classes().items():
        meaning = " Or: ".join(" ".join((inspect.getdoc(each) or "").split()) for each in kinds)
        exits = ", ".join(sorted({str(each.exit_code) for each in kinds}))
        yield f"| `{code}` | {exits} | {_cell(meaning)} | {_cell(COMMANDS.get(code, ''))} |"
    yield from ("", "## Of tasks", "")
    yield "These make an attempt fail; the run goes on as `retry` and `on-failure` say. The message stands in"
    yield "`onward status` and `onward show`; the code is for readers of the source, and in no message."
    yield from ("", "| Code | Meaning | What to do |", "|---|---|---|")
    for code, (meaning, way) in sorted(FAILURES.items()):
        yield f"| `{code}` | {_cell(meaning)} | {_cell(way)} |"
    yield from ("", "## Of workflow files", "")
    yield "Each with what `onward check` says of a small file that has the mistake. The `help:` line is what to do."
    for code, meaning in MEANINGS.items():
        yield from ("", f"### {code}", "", meaning, "")
        if code == "not-yet-supported" and not NOT_YET:
            yield "No part of the format has it in this version."
        else:
            yield from ("```", example(code), "```")


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


if __name__ == "__main__":
    sys.stdout.write(page())
