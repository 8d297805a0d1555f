"""`onward show`: the record of a node, or of the run as a whole."""

from __future__ import annotations

from collections.abc import Iterator

import click

from onward import clock
from onward.cli.common import Common, common_options
from onward.cli.drawing import draw
from onward.cli.target import print_json, run_and_path, store_of, unknown_node
from onward.journal.reader import read
from onward.model import events as ev
from onward.views import words
from onward.views.decisions import Decision, Decisions, about, decisions
from onward.views.record import NodeRecord, Result, Try, node_record, result_head
from onward.views.run_record import RunRecord, run_record
from onward.views.source import Source
from onward.views.table import Line

RESULT_CHARACTERS = 2000


@click.command("show")
@click.argument("words_given", metavar="[RUN] [PATH]", nargs=-1)
@click.option("--decisions", "audit", is_flag=True, help="Who paused, resumed, approved, skipped…, and why.")
@common_options(json=True)
def command(common: Common, words_given: tuple[str, ...], audit: bool) -> int:
    """Show the record of a node: attempts, results, artifacts, why it ran or was kept.

    Without PATH: what happened to the run as a whole.
    """
    folder, path = run_and_path(store_of(common), words_given)
    source = Source(folder, use_cache=False)
    events: Iterator[ev.Event] = iter(read(folder.journal, check_chain=False))
    if audit:
        made = decisions(folder.run_id, events if path is None else about(path, events))
        print_json(made) if common.json else draw(_decision_lines(made), common)
        return 0
    if path is None:
        whole = run_record(source, events)
        print_json(whole) if common.json else draw(_run_lines(whole), common)
        return 0
    if source.state.get(path) is None and path not in source.state.index:
        raise unknown_node(folder, path, [*source.state.index, *source.state.instances])
    record = node_record(source, path, events)
    print_json(record) if common.json else draw(_node_lines(source, record), common)
    return 0


# ---------------------------------------------------------------- a node


def _node_lines(source: Source, record: NodeRecord) -> Iterator[Line]:
    title = words.one_line(record.title)
    yield Line(f"{words.one_line(record.path)}  {title}".rstrip(), "head")
    yield Line(f"{record.kind}, {words.status_word(record.status)}: {record.why}", record.status)
    if record.reason:
        yield Line(f"reason: {words.one_line(record.reason)}")
    if record.items is not None:
        yield Line(words.amount(record.items, "item"))
    if record.secrets:
        yield Line(f"secrets {', '.join(record.secrets)}")
    for attempt in record.attempts:
        yield from _attempt_lines(attempt)
    for name, value in record.results.items():
        yield from _result_lines(source, name, value)
    for made in record.artifacts:
        yield Line(f"artifact {words.one_line(made.path)}  {words.size(made.bytes)}  sha256 {made.sha256[:12]}")
    for name, number in record.metrics.items():
        yield Line(f"metric {words.one_line(name)} = {number:g}")
    yield Line("")
    for happened in record.history:
        yield Line(f"{words.moment(clock.from_iso(happened.at))}  {happened.text}", "dim")


def _attempt_lines(attempt: Try) -> Iterator[Line]:
    lasted = f" in {words.duration(attempt.duration_s)}" if attempt.duration_s is not None else ""
    reason = words.why(attempt.error or "", attempt.exit, attempt.signal)
    facts = (attempt.outcome or "not ended") + lasted + (f": {reason}" if reason else "")
    yield Line(f"attempt {attempt.attempt}  {facts}")
    agent = " ".join(part for part in (attempt.adapter, attempt.adapter_version, attempt.model) if part)
    if agent:
        yield Line(f"  agent {words.one_line(agent)}")
    if attempt.session:
        yield Line(f"  session {words.one_line(attempt.session)}")
    if attempt.usage:
        yield Line("  used " + ", ".join(f"{words.one_line(k)} {v:g}" for k, v in attempt.usage.items()))
    for check in attempt.checks:
        passed = "passed" if check.passed else f"did not pass: {words.one_line(check.detail)}"
        yield Line(f"  validator {check.index + 1} {passed}")
    for name, stream in (("output", attempt.out), ("error output", attempt.err)):
        if stream is not None and stream.bytes:
            yield Line(f"  {name} {words.size(stream.bytes)} in {stream.file}", "dim")


def _result_lines(source: Source, name: str, value: Result) -> Iterator[Line]:
    where = f" in {value.file}" if value.file else ""
    yield Line(f"result {words.one_line(name)}  {value.type}, {words.size(value.bytes)}{where}")
    head = result_head(source, value, RESULT_CHARACTERS)
    for line in words.block(head).split("\n") if head else []:
        yield Line(f"  | {line}")
    if len(head) >= RESULT_CHARACTERS:
        yield Line("  | …", "dim")


# ---------------------------------------------------------------- decisions


def _decision_lines(made: Decisions) -> Iterator[Line]:
    for one in made.decisions:
        path = f" {words.one_line(one.path)}" if one.path else ""
        choice = f" ({words.one_line(one.choice)})" if one.choice and one.what == "answered" else ""
        by = f" by {words.one_line(one.by)}" if one.by else f" by {one.cause}" if one.cause else ""
        reason = f": {words.one_line(one.reason)}" if one.reason else ""
        yield Line(f"{words.moment(clock.from_iso(one.at))}  {one.what}{path}{choice}{by}{reason}", _style_of(one))
        if one.paths:
            yield Line(f"    done again: {', '.join(map(words.one_line, one.paths))}", "dim")


def _style_of(one: Decision) -> str:
    return "warning" if one.what in ("rolled back", "taken over", "cancelled", "rejected", "skipped") else ""


# ---------------------------------------------------------------- the run


def _run_lines(record: RunRecord) -> Iterator[Line]:
    yield Line(f"{record.run}  {words.one_line(record.title)}".rstrip(), "head")
    yield Line(words.RUN_WORDS.get(record.status, record.status), record.status)
    yield Line(f"workflow {words.one_line(record.file)}", "dim")
    yield Line(f"folder {record.folder}", "dim")
    for name, text in record.variables.items():
        yield Line(f"variable {words.one_line(name)} = {words.one_line(text, 100)}")
    for name, value in record.outputs.items():
        yield Line(f"output {words.one_line(name)}  {value.type}, {words.size(value.bytes)}")
    yield Line("")
    for happened in record.history:
        yield Line(f"{words.moment(clock.from_iso(happened.at))}  {happened.text}", "dim")
