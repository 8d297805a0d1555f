"""What a command line comes to: an exit code, and words instead of a traceback."""

import errno
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest

from onward import __version__
from onward.cli import main as cli_main
from onward.cli.common import Common, common_options
from onward.errors import Place, Problem, Problems, RunNotFound, StateError

Register = Callable[..., None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Give the program one more command, which calls a function of the test."""

    def add(name: str, function: Callable[..., object], *decorators: Callable[..., object]) -> None:
        module = ModuleType(f"onward_test_{name}")
        for decorate in decorators:
            function = decorate(function)
        module.command = click.command(name)(function)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(cli_main.COMMANDS, name, (module.__name__, f"Does {name}."))

    return add


def failing(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize("name", sorted(cli_main.COMMANDS))
def test_each_listed_command_has_a_file_and_help(name: str) -> None:
    ctx = click.Context(cli_main.cli)
    command = cli_main.cli.get_command(ctx, name)
    assert command is not None
    assert command.name == name
    assert command.help


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.main(["--version"]) == 0
    assert capsys.readouterr().out == f"onward {__version__}\n"


def test_help_lists_commands_in_one_line_each(register: Register, capsys: pytest.CaptureFixture[str]) -> None:
    register("frobnicate", lambda: None)
    assert cli_main.main(["--help"]) == 0
    assert re.search(r"^  frobnicate +Does frobnicate\.$", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (1, 1), (3, 3)])
def test_a_command_returns_its_exit_code(register: Register, returned: int | None, code: int) -> None:
    register("work", lambda: returned)
    assert cli_main.main(["work"]) == code


def test_a_mistyped_command_is_answered_with_the_nearest_one(
    register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    register("frobnicate", lambda: None)
    assert cli_main.main(["frobnicat"]) == 2
    assert "no command `frobnicat`; did you mean `frobnicate`?" in capsys.readouterr().err


def test_a_word_like_no_command_gets_no_guess(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.main(["zzzzzzzz"]) == 2
    err = capsys.readouterr().err
    assert "no command `zzzzzzzz`" in err
    assert "did you mean" not in err


def test_an_unknown_option_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.main(["--no-such-option"]) == 2
    assert "--no-such-option" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RunNotFound("no run `x`", help="see `onward runs`"), 2, "error[no-such-run]: no run `x`\nhelp: see"),
        (StateError("the journal cannot be read"), 4, "error[state]: the journal cannot be read"),
        (
            Problems([Problem(code="bad-kind", message="no such kind", place=Place(file="a.yaml", line=3))]),
            2,
            "a.yaml:3:1: error[bad-kind]: no such kind",
        ),
        (click.FileError("a.yaml", "is a folder"), 2, "a.yaml"),
        (click.Abort(), 130, "interrupted"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(errno.ENOSPC, "No space left", "out.html"), 4, "cannot write out.html: No space left"),
    ],
)
def test_an_error_becomes_words_and_an_exit_code(
    register: Register, capfd: pytest.CaptureFixture[str], error: BaseException, code: int, words: str
) -> None:
    register("work", failing(error))
    assert cli_main.main(["work"]) == code
    said = capfd.readouterr()
    assert words in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


def test_a_bug_is_told_in_two_lines_and_its_traceback_is_kept_in_a_file(
    register: Register, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    option = click.option("--var")
    register("work", lambda var: {}[var], option)
    assert cli_main.main(["work", "--var", "token=hunter2"]) == 70
    said = capsys.readouterr().err
    (report,) = tmp_path.iterdir()
    assert len(said.splitlines()) == 2
    assert "internal error: KeyError" in said
    assert str(report) in said
    kept = report.read_text(encoding="utf-8")
    assert "Traceback (most recent call last)" in kept
    assert "command: onward work --var token=…" in kept
    assert report.stat().st_mode & 0o077 == 0


def test_a_bug_is_told_even_where_no_report_can_be_kept(
    register: Register, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    register("work", failing(ValueError("odd\nvalue")))
    assert cli_main.main(["work"]) == 70
    said = capsys.readouterr().err
    assert "internal error: ValueError: odd value" in said
    assert "No report could be written" in said


def test_a_reader_that_left_ends_the_program_quietly() -> None:
    reader = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    assert reader.stdin is not None
    reader.wait(timeout=30)
    ended = subprocess.run(
        [sys.executable, "-m", "onward", "--help"],
        stdout=reader.stdin,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    reader.stdin.close()
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_output_that_cannot_be_written_is_told_without_a_traceback() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "onward", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert (ended.returncode, ended.stderr) == (4, "onward: cannot write: No space left on device\n")


def test_what_the_terminal_cannot_show_is_escaped() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "onward", "ünknown…"],
        env={"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "1"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert b"no command `\xfcnknown\\u2026`" in ended.stderr


def test_common_options_reach_the_command_as_one_value(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Common] = []
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("ONWARD_STORE", raising=False)
    register("work", lambda common: seen.append(common), common_options(json=True))
    assert cli_main.main(["work"]) == 0
    assert cli_main.main(["work", "--store", "d", "--json", "-q", "-v", "--no-color"]) == 0
    assert seen == [Common(), Common(store="d", json=True, quiet=True, verbose=True, color=False)]


def test_the_environment_sets_store_and_colour(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Common] = []
    register("work", lambda common: seen.append(common), common_options())
    monkeypatch.setenv("ONWARD_STORE", "from-environment")
    monkeypatch.setenv("NO_COLOR", "1")
    assert cli_main.main(["work"]) == 0
    assert cli_main.main(["work", "--store", "from-option"]) == 0
    assert seen == [Common(store="from-environment", color=False), Common(store="from-option", color=False)]


def test_json_is_refused_by_a_command_that_prints_no_data(
    register: Register, capsys: pytest.CaptureFixture[str]
) -> None:
    register("work", lambda common: None, common_options())
    assert cli_main.main(["work", "--json"]) == 2
    assert "--json" in capsys.readouterr().err
