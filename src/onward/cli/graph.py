"""`onward graph`: a workflow file, or a run as it stands, as text, Mermaid, DOT or SVG."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from onward.cli.common import Common, common_options
from onward.cli.drawing import draw, marks_for
from onward.cli.target import print_json, store_of
from onward.errors import UsageError
from onward.views.graph import Graph, graph_of_plan, graph_of_run

FORMATS = ("text", "mermaid", "dot", "svg")
ENDINGS = {".svg": "svg", ".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid"}
YAML = (".yaml", ".yml")


@click.command("graph")
@click.argument("what", metavar="FILE|RUN", required=False)
@click.option("--format", type=click.Choice(FORMATS), help="Without it the ending of -o decides; else text.")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write it there.")
@common_options(json=True)
def command(common: Common, what: str | None, format: str | None, output: Path | None) -> int:
    """Draw a workflow file, or a run with how its nodes stand; without a word the newest run.

    A loop is one box, whose inner boxes count their iterations.
    """
    graph = _graph(common, what)
    if common.json:
        print_json({"schema": 1, "name": graph.name, "title": graph.title, "status": graph.status, "graph": graph.root})
        return 0
    chosen = format or (ENDINGS.get(output.suffix.lower(), "text") if output is not None else "text")
    if output is not None:
        _write(output, _drawn(graph, chosen))
        common.note(f"written to {output}")
    elif chosen == "text":
        from onward.views.graph_text import text_lines

        draw(text_lines(graph, marks_for(sys.stdout)), common)
    else:
        click.echo(_drawn(graph, chosen), nl=False)
    return 0


def _graph(common: Common, what: str | None) -> Graph:
    if what is not None and (os.path.isfile(what) or what.endswith(YAML)):
        from onward.engine.definition import load_plan

        return graph_of_plan(load_plan(Path(what), shown=what).plan)
    from onward.views.source import Source
    from onward.views.status import run_status
    from onward.views.titles import run_title

    source = Source(store_of(common).find(what))
    state = source.state
    status = run_status(state, driven=source.driven).value
    return graph_of_run(source.plan, state, source.around(), title=run_title(state), status=status)


def _drawn(graph: Graph, format: str) -> str:
    match format:
        case "svg":
            from onward.views.graph_svg import svg

            return svg(graph)
        case "dot":
            from onward.views.graph_text import dot

            return dot(graph)
        case "mermaid":
            from onward.views.graph_text import mermaid

            return mermaid(graph)
        case _:
            from onward.views.graph_text import text_lines
            from onward.views.words import MARKS

            return "\n".join(line.text for line in text_lines(graph, MARKS)) + "\n"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", help="name another file with -o") from error
