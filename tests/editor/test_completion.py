"""What an editor with the real YAML language server offers, explains and marks in a workflow file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from editor.language_server import LanguageServer, found
from onward.cli.init import command
from onward.model.nodes import Kind
from onward.spec.schema import schema_text

COMMAND = found()

pytestmark = pytest.mark.skipif(
    COMMAND is None,
    reason="needs Node and `npm install -g yaml-language-server` (or its place in ONWARD_YAML_LANGUAGE_SERVER)",
)


class Editor:
    """Opens texts under a first line that names the schema, as `onward init` writes it."""

    def __init__(self, server: LanguageServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.count = 0
        self.lines: list[str] = []
        (folder / "workflow.schema.json").write_text(schema_text(), "utf-8")

    def open(self, text: str) -> dict[int, str]:
        """What is wrong, by lines of the text (from 1, the line with the schema not counted)."""
        self.count += 1
        self.lines = [f"# yaml-language-server: $schema={(self.folder / 'workflow.schema.json').as_uri()}"]
        self.lines += text.split("\n")
        found = self.server.open(self.folder / f"w{self.count}.yaml", "\n".join(self.lines))
        return {one["range"]["start"]["line"]: one["message"] for one in found}

    def offered(self, line: int) -> set[str]:
        """The words offered at the end of a line."""
        return self.server.complete(line, len(self.lines[line]))

    def said(self, word: str) -> str:
        """The words about the first place where a word stands."""
        line = next(n for n, text in enumerate(self.lines) if n and word in text)
        return self.server.hover(line, self.lines[line].index(word) + 1)


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    assert COMMAND is not None
    with LanguageServer(COMMAND) as server:
        yield Editor(server, tmp_path_factory.mktemp("editor"))


def test_a_good_file_has_no_marks(editor: Editor) -> None:
    assert editor.open("task:\n  - a: {run: 'echo hi'}\n  - b:\n      prompt: Look.\n      model: small\n") == {}


def test_faults_are_marked_on_their_lines(editor: Editor) -> None:
    found = editor.open(
        "task:\n"
        "  - a:\n"
        "      run: echo hi\n"
        "      retries: 4\n"
        "  - b:\n"
        "      prompt: Look.\n"
        "      timeout: soon\n"
        "variabels: {}\n"
    )
    assert set(found) == {4, 7, 8}
    assert "retries" in found[4]
    assert "variabels" in found[8]


def test_an_empty_task_is_offered_every_kind(editor: Editor) -> None:
    editor.open("task:\n  - a:\n      ")
    assert {kind.value for kind in Kind} <= editor.offered(3)


def test_the_keys_of_its_own_kind_are_offered_to_a_task(editor: Editor) -> None:
    editor.open("task:\n  - a:\n      run: echo hi\n      ")
    offered = editor.offered(4)
    assert {"shell", "stdin", "retry", "timeout", "env"} <= offered
    assert not {"model", "adapter", "session", "show", "choices", "run"} & offered
    editor.open("task:\n  - a:\n      prompt: Look.\n      ")
    offered = editor.offered(4)
    assert {"model", "adapter", "session", "retry"} <= offered
    assert not {"shell", "stdin", "choices", "prompt"} & offered


def test_words_of_a_closed_set_are_offered(editor: Editor) -> None:
    editor.open("task:\n  - a:\n      run: echo hi\n      on-resume: ")
    assert {"retry", "ask", "check", "always"} <= editor.offered(4)


def test_a_starter_is_completed_as_it_was_written(editor: Editor) -> None:
    folder = editor.folder / "starter"
    folder.mkdir()
    file = folder / "workflow.yaml"
    assert CliRunner().invoke(command, [str(file), "--template", "shell"]).exit_code == 0
    text = file.read_text("utf-8")
    assert editor.server.open(file, text) == []
    assert {"timeout", "limit"} <= editor.server.complete(text.count("\n"), 0)
    broken = text.replace("artifacts:", "artefacts:", 1)
    [fault] = editor.server.open(folder / "broken.yaml", broken)
    assert "artefacts" in fault["message"]


def test_top_level_keys_are_offered_and_explained(editor: Editor) -> None:
    editor.open("name: x\ntask:\n  - a: {run: 'true'}\n")
    editor.lines.append("")
    assert {"variables", "checkpoint", "limit", "finally"} <= editor.server.complete(4, 0)
    assert "task" not in editor.server.complete(4, 0)


def test_hovering_tells_what_a_field_is_for(editor: Editor) -> None:
    editor.open("limit: 4\ntask:\n  - a:\n      run: echo hi\n      retry: {attempts: 2}\n")
    assert "once" in editor.said("limit")
    assert "attempt" in editor.said("retry").lower()
    assert editor.said("run") != ""
