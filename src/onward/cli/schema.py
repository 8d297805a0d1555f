"""`onward schema`: the JSON Schema of workflow files, for editors."""

from __future__ import annotations

import click

from onward.cli.common import Common, common_options


@click.command("schema")
@common_options()
def command(common: Common) -> int:  # noqa: ARG001 - it takes what every command takes
    """Print the JSON Schema of the format (draft 2020-12).

    An editor with a YAML language server completes and checks a file whose first line is
    `# yaml-language-server: $schema=PATH-OF-THE-SCHEMA`.
    """
    from onward.spec.schema import schema_text

    click.echo(schema_text(), nl=False)
    return 0
