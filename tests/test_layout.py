"""The project is laid out as it says: who imports whom, which packages there are, what they hold."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onward

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "onward"
PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))
VAGUE = {"util", "utils", "helper", "helpers", "misc", "stuff", "tools", "shared"}
SOMEBODYS_MACHINE = re.compile(r"(?<![\w.])/(?:home|Users|root|work)/\w|[A-Z]:\\\\Users")


def test_imports_go_one_way() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    command = [program, "--no-cache", "--no-logo"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    assert " 0 broken" in found.stdout


def test_the_docstring_of_onward_names_every_package_and_no_other() -> None:
    assert sorted(re.findall(r"^ {4}([a-z_]+)  +\S", _described(), re.MULTILINE)) == PACKAGES


def test_the_flow_drawn_in_the_docstring_passes_through_existing_packages() -> None:
    flow = next(line for line in _described().splitlines() if "YAML →" in line)
    stations = [word.split(".")[0] for word in re.findall(r"[a-z.]+", flow)]
    assert [station for station in stations if station not in PACKAGES] == []
    assert stations[0] == "spec"
    assert stations[-1] == "views"


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_file_holds_a_docstring_only(package: str) -> None:
    tree = ast.parse((SOURCE / package / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert len(tree.body) == 1, "importing a module runs its package: public names live in onward.api"


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(path.relative_to(ROOT)) for path in _modules() if not _docstring(path)]
    assert silent == []


def test_no_module_is_named_for_everything() -> None:
    vague = [path for path in SOURCE.rglob("*") if path.stem.strip("_") in VAGUE]
    assert vague == []


def test_no_file_speaks_of_somebodys_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in _texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SOMEBODYS_MACHINE.search(line)
    ]
    assert found == []


def _described() -> str:
    assert onward.__doc__ is not None
    return onward.__doc__


def _modules() -> Iterator[Path]:
    return SOURCE.rglob("*.py")


def _docstring(path: Path) -> str | None:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


def _texts() -> Iterator[Path]:
    yield from _modules()
    for folder, pattern in (("docs", "*.md"), ("scripts", "*"), (".ci", "*"), (".", "*.md"), (".", "*.toml")):
        found = (ROOT / folder).glob(pattern) if folder == "." else (ROOT / folder).rglob(pattern)
        yield from (path for path in found if path.is_file() and "__pycache__" not in path.parts)
