"""`onward logs`: what a task wrote, or all of them with prefixes."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from typing import Protocol

import click

from onward.cli.common import Common, common_options
from onward.cli.target import print_json, run_and_path, store_of, unknown_node
from onward.errors import UsageError
from onward.state.instance import Instance
from onward.views import words
from onward.views.output import STREAMS, LineReader, Written, leaves_below, written_by
from onward.views.source import Source

FOLLOW_S = 0.1
IDLE_TURNS = 5
"""turns without news after which the beginning of a line is shown without its end"""
LONGEST_PREFIX = 40
JSON_LINES = 10_000
"""lines per stream in `--json` unless `--tail` tells otherwise"""


@click.command("logs")
@click.argument("words_given", metavar="[RUN] [PATH]", nargs=-1)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written from now on, until it ends.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="The attempt of that number (the last).")
@click.option("--err", is_flag=True, help="Standard error alone.")
@click.option("--tail", type=click.IntRange(min=0), metavar="N", help="Only the last N lines of each stream.")
@click.option("--raw", is_flag=True, help="The bytes as they were written, for files and pipes; names one task.")
@common_options(json=True)
def command(
    common: Common,
    words_given: tuple[str, ...],
    follow: bool,
    attempt: int | None,
    err: bool,
    tail: int | None,
    raw: bool,
) -> int:
    """Show what tasks wrote: one task's output as it is, that of several with their names before it.

    RUN is a run id or the beginning of one; PATH a task, or a node with tasks below it.
    """
    folder, path = run_and_path(store_of(common), words_given)
    source = Source(folder)
    if path is not None and source.state.get(path) is None and path not in source.state.index:
        raise unknown_node(folder, path, source.state.index)
    choice = _Choice(source, path or "", attempt, ("err",) if err else STREAMS)
    if raw:
        return _copy_bytes(choice)
    if common.json:
        return _print_data(choice, tail) if not follow else _follow_as_data(choice, tail)
    printer = _TextPrinter(single=choice.single, common=common)
    return _follow(choice, tail, printer) if follow else _print(choice, tail, printer)


class _Choice:
    """Which streams are wanted; a run that goes on brings more of them."""

    def __init__(self, source: Source, path: str, attempt: int | None, streams: tuple[str, ...]) -> None:
        self.source = source
        self.path = path
        self._attempt = attempt
        self._streams = streams
        if attempt is not None:
            self._check_attempt(attempt)

    @property
    def single(self) -> bool:
        """Whether one task alone is meant, so that no names are needed."""
        node = self.source.state.index.get(self.path)
        instance = self.source.state.get(self.path)
        if instance is not None and instance.node is not None:
            return instance.is_leaf
        return node is not None and node.kind.leaf and node.loop is None

    def streams(self) -> list[Written]:
        """The streams of every task that was begun."""
        return [one for leaf in leaves_below(self.source, self.path) for one in self._of(leaf)]

    def _of(self, leaf: Instance) -> list[Written]:
        number = self._attempt if self._attempt is not None else leaf.attempt
        return written_by(self.source, leaf.path, number, self._streams) if number <= leaf.attempt else []

    def is_over(self) -> bool:
        """Whether nothing more will be written."""
        if self.source.state.facts.end is not None:
            return True
        if self.single and (instance := self.source.state.get(self.path)) is not None and instance.ended:
            return True
        if self.source.driven:
            return False
        leaves = leaves_below(self.source, self.path)
        return not any(self.source.task_lives(leaf.path, leaf.attempt) for leaf in leaves if not leaf.ended)

    def _check_attempt(self, attempt: int) -> None:
        most = max((leaf.attempt for leaf in leaves_below(self.source, self.path)), default=0)
        if attempt > most:
            had = f"there were {words.amount(most, 'attempt')}" if most else "it was not begun"
            raise UsageError(f"there is no attempt {attempt}: {had}", help="leave out --attempt for the last one")


# ---------------------------------------------------------------- as text


class _Printer(Protocol):
    def line(self, written: Written, text: str, *, end: bool = True) -> None:
        """One line of a stream; `end` False: only its beginning."""


class _TextPrinter:
    """Lines to stdout, harmless to the terminal; colours of tasks stay where colours are wanted."""

    def __init__(self, *, single: bool, common: Common) -> None:
        self._colour = common.colors(sys.stdout)
        self._single = single
        self._width = max(20, min(LONGEST_PREFIX, shutil.get_terminal_size().columns // 3))

    def line(self, written: Written, text: str, *, end: bool = True) -> None:
        shown = words.output(text.removesuffix("\r"), colour=self._colour)
        if self._single:
            click.echo(shown, nl=end, color=self._colour)
            return
        name = words.one_line(written.path, self._width)
        mark = "!" if written.stream == "err" else "|"
        for line in shown.split("\n"):
            click.echo(f"{name} {mark} {line}", color=self._colour)


def _print(choice: _Choice, tail: int | None, printer: _Printer) -> int:
    for written in choice.streams():
        reader = LineReader(written.file, tail=tail)
        for line in _all_lines(reader):
            printer.line(written, line)
    return 0


def _all_lines(reader: LineReader) -> Iterator[str]:
    yield from reader.lines()
    rest = reader.rest()
    if rest is not None:
        yield rest


def _follow(choice: _Choice, tail: int | None, printer: _Printer) -> int:
    readers: dict[Written, LineReader] = {}
    idle = 0
    while True:
        over = choice.is_over()
        idle = 0 if _take(choice, readers, tail, printer) else idle + 1
        if over:
            break
        if idle == IDLE_TURNS and choice.single:
            _show_beginnings(readers, printer)
        sys.stdout.flush()
        time.sleep(FOLLOW_S)
        choice.source.refresh()
    for written, reader in readers.items():
        rest = reader.rest()
        if rest is not None:
            printer.line(written, rest)
    return 0


def _take(choice: _Choice, readers: dict[Written, LineReader], tail: int | None, printer: _Printer) -> bool:
    news = False
    for written in choice.streams():
        reader = readers.get(written)
        if reader is None:
            reader = readers[written] = LineReader(written.file, tail=tail)
        for line in reader.lines():
            printer.line(written, line)
            news = True
    return news


def _show_beginnings(readers: dict[Written, LineReader], printer: _Printer) -> None:
    for written, reader in readers.items():
        pending = reader.pending()
        if pending:
            printer.line(written, pending, end=False)


def _copy_bytes(choice: _Choice) -> int:
    if not choice.single:
        raise UsageError("--raw copies the bytes of one task", help="name a task: `onward logs RUN PATH --raw`")
    sys.stdout.flush()
    for written in choice.streams():
        try:
            with open(written.file, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        except FileNotFoundError:
            continue  # nothing was written to this stream
    sys.stdout.buffer.flush()
    return 0


# ---------------------------------------------------------------- as data


def _print_data(choice: _Choice, tail: int | None) -> int:
    most = JSON_LINES if tail is None else tail
    logs = [_as_data(written, most) for written in choice.streams()]
    print_json({"schema": 1, "run": choice.source.run_id, "logs": logs})
    return 0


def _as_data(written: Written, most: int) -> dict[str, object]:
    whole = LineReader(written.file, tail=most)
    lines = list(_all_lines(whole))
    return {
        "path": written.path,
        "attempt": written.attempt,
        "stream": written.stream,
        "file": written.file,
        "bytes": written.size,
        "lines": lines,
        "truncated": len(lines) >= most and not _is_all(written, most),
    }


def _is_all(written: Written, most: int) -> bool:
    return sum(1 for _ in _all_lines(LineReader(written.file, tail=most + 1))) <= most


def _follow_as_data(choice: _Choice, tail: int | None) -> int:
    """One JSON object per line: path, attempt, stream, text."""
    _follow(choice, tail, _DataPrinter())
    return 0


class _DataPrinter:
    """Lines as JSON objects."""

    def line(self, written: Written, text: str, *, end: bool = True) -> None:
        row = {"path": written.path, "attempt": written.attempt, "stream": written.stream, "text": text}
        print_json(row if end else row | {"unfinished": True}, compact=True)
