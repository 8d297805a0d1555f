"""`onward schema` prints what editors need, and the copy in the documents is that of this version."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from click.testing import CliRunner

from onward.cli.schema import command

ROOT = Path(__file__).parents[2]
COPY = ROOT / "docs" / "reference" / "workflow.schema.json"


def test_the_printed_schema_is_that_of_the_documents():
    """`onward schema > docs/reference/workflow.schema.json` makes it so."""
    printed = CliRunner().invoke(command).output
    assert json.loads(printed)["$schema"].endswith("2020-12/schema")
    assert COPY.read_text("utf-8") == printed


def test_the_copy_goes_into_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert included == {COPY.relative_to(ROOT).as_posix(): "onward/workflow.schema.json"}
