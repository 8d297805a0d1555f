"""Secrets: where they come from, what is said when they do not, and a keeper and worker that let none of them out."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from onward.model.nodes import Secret
from onward.model.status import Status
from onward.tasks import secret_sources
from onward.tasks.failures import Failure
from onward.tasks.keeper_link import Blocked, ProgramRequest
from onward.tasks.masked_output import mask_files
from onward.tasks.masking import Finder
from onward.tasks.secret_forms import forms_of
from onward.tasks.secret_sources import read_secret
from onward.tasks.secrets import Secrets, SecretsMissing, needed_secrets
from tasks.conftest import MakeWorld
from tasks.kept import Kept, content, keeping, wait_until

WAIT = "until [ -e go ]; do sleep 0.01; done"
VALUE = "tok-5ecret/value+1"
MASKS = forms_of([VALUE])


# --- where they come from -----------------------------------------------------------------------------------------


def read(folder: Path, environment: dict[str, str] | None = None, **source: Any) -> str:
    return read_secret(Secret(name="S", **source), home=str(folder), environment=environment or {})


def test_a_variable_is_taken_as_it_is(tmp_path: Path):
    assert read(tmp_path, {"X": " a b\n"}, env="X") == " a b\n"


def test_a_file_and_a_command_lose_the_line_ends_behind_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "s").write_text("line 1\nline 2\r\n\n")
    assert read(tmp_path, file="s") == "line 1\nline 2"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert read(Path("/"), file="~/s") == "line 1\nline 2"
    assert read(tmp_path, {"PATH": os.environ["PATH"], "V": "x y"}, command=("sh", "-c", "pwd; echo $V")) == (
        f"{os.path.realpath(tmp_path)}\nx y"
    )


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ({"env": "X"}, "secret-missing", "the environment variable X is not set"),
        ({"env": "EMPTY"}, "secret-empty", "EMPTY holds nothing"),
        ({"file": "none"}, "secret-missing", "No such file"),
        ({"file": "."}, "secret-missing", "it is a folder"),
        ({"file": "blank"}, "secret-empty", "the file blank holds nothing"),
        ({"file": "bytes"}, "not-text", "the file bytes holds bytes"),
        ({"file": "nul"}, "not-text", "no text"),
        ({"file": "large"}, "too-big", "65,536 bytes"),
        ({"command": ("sh", "-c", "echo out-5ecret; echo err-5ecret >&2; exit 3")}, "secret-missing", "exit code 3"),
        ({"command": ("sh", "-c", "kill -9 $$")}, "secret-missing", "killed by SIGKILL"),
        ({"command": ("no-such-program",)}, "secret-missing", "cannot be started: No such file"),
        ({"command": ("true",)}, "secret-empty", "what `true` prints holds nothing"),
    ],
)
def test_what_is_wrong_is_said_without_any_of_the_value(tmp_path: Path, source: dict[str, Any], code: str, said: str):
    for name, data in (("blank", b" \n"), ("bytes", b"\xff5ecret"), ("nul", b"5ecret\0"), ("large", b"5" * 70_000)):
        (tmp_path / name).write_bytes(data)
    with pytest.raises(Failure) as problem:
        read(tmp_path, {"EMPTY": "", "PATH": os.environ["PATH"]}, **source)
    assert problem.value.code == code
    assert said in problem.value.message
    assert "`S`" in problem.value.message
    assert problem.value.help
    assert "5ecret" not in str(problem.value)
    assert problem.value.__cause__ is None


def test_a_command_that_does_not_end_is_ended_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(secret_sources, "COMMAND_LIMIT_S", 0.3)
    with pytest.raises(Failure, match="did not end within"):
        read(tmp_path, dict(os.environ), command=("sh", "-c", "sleep 77 & echo $! > child; wait"))
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{child}") or _is_dead(child), "what the command started has ended")


def _is_dead(pid: int) -> bool:
    try:
        return b"\nState:\tZ" in Path(f"/proc/{pid}/status").read_bytes()
    except OSError:
        return True


def test_a_command_runs_once_and_only_when_its_secret_is_asked_for(tmp_path: Path):
    source = Secret(name="S", command=("sh", "-c", "echo ran >> count; echo value"))
    secrets = Secrets([source], home=str(tmp_path), environment={"PATH": os.environ["PATH"]})
    assert "S" in secrets
    assert not (tmp_path / "count").exists()
    assert (secrets["S"], secrets["S"]) == ("value", "value")
    assert (tmp_path / "count").read_text() == "ran\n"
    assert "value" not in repr(secrets)


def test_all_that_are_missing_are_told_at_once_and_a_short_one_is_warned_of():
    sources = [Secret(name=name, env=f"FROM_{name}") for name in ("A", "B", "SHORT")]
    secrets = Secrets(sources, home="/", environment={"FROM_SHORT": "xyz"})
    with pytest.raises(SecretsMissing) as problem:
        secrets.read({"A": "one", "SHORT": "two", "B": "three"})
    for part in ("FROM_A is not set (needed by `one`)", "FROM_B is not set (needed by `three`)", "export FROM_A=…"):
        assert part in str(problem.value)
    (warning,) = secrets.read({"SHORT": "two"})
    assert "`SHORT` has fewer than 4 characters" in warning
    assert "xyz" not in warning


def test_only_secrets_of_work_that_is_still_to_be_done_are_needed(world: MakeWorld):
    made = world(
        """
secrets: {A: {env: A}, B: {env: B}, C: {env: C}, D: {env: D}, UNUSED: {env: U}}
task:
  - done: {run: "true", secrets: [A]}
  - again: {run: "true", secrets: [B], on-resume: always}
  - phase: {secrets: [C], task: [{inner: {run: "true", secrets: [A]}}]}
  - each: {run: "true", secrets: [D], loop: {for-each: [x]}}
""",
        secrets={name: f"value-{name}" for name in "ABCD"},
    )
    assert needed_secrets(made.plan) == {"A": "done", "B": "again", "C": "phase", "D": "each"}
    for path in ("done", "again", "phase/inner"):
        made.do(path)
    assert needed_secrets(made.plan, made.state) == {"B": "again", "C": "phase", "D": "each"}
    made.end("phase", Status.SUCCEEDED)
    assert needed_secrets(made.plan, made.state) == {"B": "again", "D": "each"}


def test_a_value_is_in_no_text_form_of_what_is_handed_around(world: MakeWorld):
    made = world(
        "secrets: {S: {env: S}}\ntask: [{a: {run: 'true', secrets: [S]}}, {b: {call: 'm:f', secrets: [S]}}]",
        secrets={"S": VALUE},
    )
    for path in ("a", "b"):
        prepared = made.prepare(path)
        assert prepared.env["S"] == VALUE
        request = prepared.request()
        assert request.masks is not None
        assert VALUE not in f"{prepared!r}{request!r}{made.context.secrets!r}"
        assert VALUE not in repr(prepared.event)
        assert not isinstance(request, ProgramRequest) or VALUE not in "".join(request.argv)


# --- a keeper that masks ------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with keeping(tmp_path) as kept:
        yield kept


def with_secret(**more: str) -> dict[str, str]:
    return {**os.environ, "S": VALUE, **more}


def test_output_is_masked_on_the_way_to_its_file_and_its_size_is_that_of_the_file(kept: Kept):
    exit, folder = kept.run('echo "a $S b"; printf "x%sy" "$S" >&2', env=with_secret(), masks=MASKS)
    assert (content(folder / "out"), content(folder / "err")) == (b"a *** b\n", b"x***y")
    assert (exit.out, exit.err) == (8, 5)


def test_a_secret_in_two_pieces_is_masked_and_the_lines_before_are_live(kept: Kept):
    script = (
        'echo "a line t"; printf "%s" "${S%alue+1}"; until [ -e go ]; do sleep 0.01; done; echo "${S#tok-5ecret/v}"'
    )
    id = kept.sh(script, env=with_secret(), masks=MASKS)
    wait_until(lambda: kept.out(id) == b"a line t\n", "the line is in the file")
    (kept.folder / "go").touch()
    kept.exit(id)
    assert kept.out(id) == b"a line t\n***\n"


def test_what_only_began_like_a_secret_is_all_there(kept: Kept):
    _, folder = kept.run("printf 'and tok-5ecret/valu'", masks=MASKS)
    assert content(folder / "out") == b"and tok-5ecret/valu"


def test_output_without_secrets_is_byte_for_byte_the_same(kept: Kept):
    data = bytes(range(256)) * 4000
    (kept.folder / "data").write_bytes(data)
    exit, folder = kept.run("cat data", masks=MASKS)
    assert content(folder / "out") == data
    assert exit.out == len(data)


def test_much_output_with_secrets_takes_the_keeper_no_memory(kept: Kept):
    kept.run('echo "$S"', env=with_secret(), masks=MASKS)
    before = _resident_kb(kept.link.pid)
    id = kept.sh('yes "some text before $S and after it" | head -c 20000000', env=with_secret(), masks=MASKS)
    exit = kept.exit(id)
    assert VALUE.encode() not in kept.out(id)
    assert exit.out == len(kept.out(id)) > 10_000_000
    assert _resident_kb(kept.link.pid) - before < 4_000


def _resident_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def test_a_process_that_is_left_behind_is_masked_too(kept: Kept):
    script = (
        '(printf "%s" "${S%lue+1}"; until [ -e go ]; do sleep 0.01; done; echo "${S#tok-5ecret/va} $S") & sleep 0.2'
    )
    id = kept.sh(script, env=with_secret(), masks=MASKS)
    kept.exit(id)
    (kept.folder / "go").touch()
    wait_until(lambda: b"\n" in kept.out(id), "the rest is in the file")
    assert VALUE.encode() not in kept.out(id)
    assert kept.out(id) == b"tok-5ecret/va*** ***\n"


def test_files_below_the_folder_of_the_attempt_are_masked_when_it_ends(kept: Kept, tmp_path: Path):
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (tmp_path / "elsewhere").write_text(VALUE)
    script = (
        'cd "$ONWARD_OUT"; mkdir deep; echo "{\\"t\\": \\"$S\\"}" > deep/token; chmod 640 deep/token; cd "$OLDPWD"'
        '; ln -s "$PWD/elsewhere" "$ONWARD_OUT/link"; echo plain > "$ONWARD_OUT/plain"; exit 1'
    )
    kept.run(script, env=with_secret(ONWARD_OUT=str(outputs)), masks=MASKS)
    assert (outputs / "deep/token").read_text() == '{"t": "***"}\n'
    assert (outputs / "deep/token").stat().st_mode & 0o777 == 0o640
    assert (outputs / "plain").read_text() == "plain\n"
    assert (tmp_path / "elsewhere").read_text() == VALUE, "what is not in the attempt's folder is the user's"


def test_a_file_in_which_nothing_is_found_is_not_touched(tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"x" * 200_000)
    before = file.stat()
    mask_files(str(tmp_path), Finder(MASKS))
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_no_process_but_the_task_has_a_secret_in_its_environment_or_arguments(kept: Kept):
    id = kept.sh("sleep 30", env=with_secret(), masks=MASKS)
    wait_until(lambda: (kept.place(id) / "process").exists(), "the task runs")
    for name in ("environ", "cmdline"):
        assert VALUE.encode() not in Path(f"/proc/{kept.link.pid}/{name}").read_bytes()
    kept.link.stop(id, kill_after_s=1)
    kept.exit(id)


# --- calls --------------------------------------------------------------------------------------------------------

FUNCTIONS = """
import os, signal, sys
def returns(): return {"token": os.environ["S"], os.environ["S"]: [os.environ["S"], 7, None], "n": 12345678}
def large(): return ["x" * 100_000, os.environ["S"]]
def raises(): raise ValueError("y" * 1990 + os.environ["S"])
def leaves(): sys.exit("bye " + os.environ["S"])
def prints(): print("out", os.environ["S"]); print("err", os.environ["S"], file=sys.stderr)
def writes(): open(os.environ["ONWARD_OUT"] + "/f", "w").write(os.environ["S"])
def dies(): writes(); print(os.environ["S"], flush=True); os.kill(os.getpid(), signal.SIGKILL)
"""


def called(kept: Kept, function: str, **more: Any) -> tuple[Any, Path]:
    (kept.folder / "functions.py").write_text(FUNCTIONS)
    worker = kept.worker(masks=MASKS)
    id = kept.new_id()
    out = kept.folder / "calls" / id / "outputs"
    out.mkdir(parents=True)
    env = {"S": VALUE, "ONWARD_OUT": str(out)}
    ended = kept.call(worker, f"functions:{function}", folder=out.parent, env=env, masks=MASKS, **more)
    return ended.exit, out.parent


def test_what_a_call_returns_is_masked_and_still_json(kept: Kept):
    exit, _ = called(kept, "returns")
    assert exit.result == '{"token": "***", "***": ["***", 7, null], "n": 12345678}'
    exit, folder = called(kept, "large")
    assert exit.result_file
    assert (folder / "result.json").read_text().endswith('xxx", "***"]')


def test_what_a_call_raises_is_masked_before_it_is_cut(kept: Kept):
    exit, folder = called(kept, "raises")
    assert exit.error is not None
    assert exit.error.startswith("ValueError: yyy")
    assert "tok" not in exit.error
    assert VALUE.encode() not in content(folder / "err")
    exit, folder = called(kept, "leaves")
    assert (exit.error, content(folder / "err")) == ("bye ***", b"bye ***\n")


def test_what_a_call_prints_and_writes_is_masked_even_if_it_dies(kept: Kept):
    exit, folder = called(kept, "prints")
    assert (content(folder / "out"), content(folder / "err")) == (b"out ***\n", b"err ***\n")
    assert (exit.out, exit.err) == (8, 8)
    assert content(called(kept, "writes")[1] / "outputs/f") == b"***"
    exit, folder = called(kept, "dies")
    assert exit.signal == signal.SIGKILL.name
    assert (content(folder / "out"), content(folder / "outputs/f")) == (b"***\n", b"***")
    for file in (kept.folder / "workers").rglob("*"):
        assert not file.is_file() or VALUE.encode() not in file.read_bytes()


def test_on_a_full_disk_masked_output_waits_and_nothing_is_lost_nor_let_out(kept: Kept):
    import resource

    _, hard = resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (100_000, hard))
    script = "ulimit -f unlimited; head -c 400000 /dev/zero | tr '\\0' x; printf %s \"$S\"; echo end"
    id = kept.sh(script, env=with_secret(), masks=MASKS)
    assert kept.message(lambda message: isinstance(message, Blocked)).id == id
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (hard, hard))
    exit = kept.exit(id)
    assert kept.out(id) == b"x" * 400_000 + b"***end\n"
    assert exit.out == 400_007


def test_files_that_cannot_be_masked_for_want_of_room_are_masked_later(kept: Kept, tmp_path: Path):
    import resource

    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (outputs / "f").write_bytes(b"x" * 200_000 + VALUE.encode())
    _, hard = resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (100_000, hard))
    id = kept.sh("exit 0", env=with_secret(ONWARD_OUT=str(outputs)), masks=MASKS)
    assert kept.message(lambda message: isinstance(message, Blocked)).id == id
    assert not (kept.place(id) / "exit.json").exists(), "its end is told when its files can be read"
    resource.prlimit(kept.link.pid, resource.RLIMIT_FSIZE, (hard, hard))
    kept.exit(id)
    assert (outputs / "f").read_bytes() == b"x" * 200_000 + b"***"
    assert [path.name for path in outputs.iterdir()] == ["f"]
