"""How a run goes, as one plain line for each change: for files, pipes and terminals that cannot be drawn on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import click

from onward import clock
from onward.cli.common import Common
from onward.cli.drawing import styled
from onward.model.events import Event
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.views import words
from onward.views.ending import ending_lines
from onward.views.happenings import happening
from onward.views.table import Line


class PlainProgress:
    """One line for each change. With `-q` only warnings, questions' commands and the summary of what went wrong."""

    def __init__(self, common: Common, at: str = "") -> None:
        self._common = common
        self._at = at
        self._folder: RunFolder | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def started(self, state: RunState, folder: Path) -> None:
        """Name the run, and how to look at it from elsewhere."""
        self._folder = RunFolder(folder)
        if not self._common.quiet:
            self.write([first_line(state, self._folder, self._at)])

    def changed(self, state: RunState, events: Sequence[Event]) -> None:
        """One line for each change."""
        if self._common.quiet or self._folder is None:
            return
        run = self._folder.run_id
        self.write([line for event in events for line in happening(state, event, run, self._at)])

    def message(self, level: str, text: str) -> None:
        """Warnings always, notes unless `-q`."""
        if level != "note" or not self._common.quiet:
            self.write([message_line(level, text)])

    def ended(self, state: RunState) -> None:
        """The summary; with `-q` not of what succeeded."""
        if self._folder is None or (self._common.quiet and state.status == "succeeded"):
            return
        self.write(list(ending_lines(state, self._folder, now=clock.now().timestamp(), at=self._at)))

    def write(self, lines: Sequence[Line]) -> None:
        """Print the lines at once."""
        if lines:
            colour = self._common.colors(sys.stderr)
            click.echo("\n".join(styled(line, colour) for line in lines), err=True, color=colour)


def first_line(state: RunState, folder: RunFolder, at: str) -> Line:
    """Which run this is, and the command that shows it."""
    count = state.facts.resumed_count
    verb = f"goes on (resume {count})" if count and state.facts.resumed_at is not None else "started"
    return Line(f"run {folder.run_id} {verb}; see it with: onward status {folder.run_id}{at}", "head")


def message_line(level: str, text: str) -> Line:
    """A message of the engine; what names its own place (a problem of the file) needs no word before it."""
    shown = words.block(text)
    if level == "note":
        return Line(shown, "dim")
    if ": warning[" in shown.partition("\n")[0]:
        return Line(shown, "warning")
    return Line(f"{level.capitalize()}: {shown}", "warning")
