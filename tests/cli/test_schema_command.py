"""`onward schema` prints what editors need, and the copy in the documents is that of this version."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from onward.cli.schema import command

COPY = Path(__file__).parents[2] / "docs" / "reference" / "workflow.schema.json"


def test_the_printed_schema_is_that_of_the_documents():
    """`onward schema > docs/reference/workflow.schema.json` makes it so."""
    printed = CliRunner().invoke(command).output
    assert json.loads(printed)["$schema"].endswith("2020-12/schema")
    assert COPY.read_text("utf-8") == printed
