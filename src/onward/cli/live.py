"""A run on a terminal: finished top-level nodes stay as lines, what is going on is a tree below that is redrawn.

The tree has a bounded number of rows and is built from what runs now, so its cost does not grow with the run. It is
built where the events come in and drawn by a thread of its own, at most eight times a second and for at most a small
share of the time.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from onward import clock
from onward.cli.common import Common
from onward.cli.drawing import marks_for
from onward.cli.plain import first_line, message_line
from onward.cli.tree import Row, Tree
from onward.model import events as ev
from onward.state.run_state import RunState
from onward.store.folder import RunFolder
from onward.views import words
from onward.views.ending import ending_lines
from onward.views.happenings import happening
from onward.views.table import Line

FRAME_S = 0.125
REST_S = 1.0
"""between two drawings while nothing runs"""
SHARE = 20
"""building and drawing take at most one part in so many of the time, as long as that leaves one picture a second"""
MOST_LINES_AT_ONCE = 60
BAR_WIDTH = 24

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_SPINNER = "|/-\\"

STYLES = {
    "head": "bold",
    "dim": "dim",
    "warning": "yellow",
    "command": "cyan",
    "running": "blue",
    "waiting": "magenta",
    "succeeded": "green",
    "failed": "red",
    "interrupted": "yellow",
    "paused": "yellow",
    "cancelled": "dim",
    "skipped": "dim",
    "pending": "dim",
}


class LiveProgress:
    """The live tree. Use as a context manager: the terminal is put in order whatever happens."""

    def __init__(self, common: Common, at: str = "", console: Console | None = None) -> None:
        self._common = common
        self._at = at
        self._console = console or Console(stderr=True, highlight=False, soft_wrap=False)
        self._marks = marks_for(sys.stderr)
        self._spinner = SPINNER if self._marks is words.MARKS else PLAIN_SPINNER
        self._live: Live | None = None
        self._folder: RunFolder | None = None
        self._tree: Tree | None = None
        self._frame: tuple[Row, ...] = ()
        self._busy = False
        self._waiting: list[Line] = []
        self._left_out = 0
        self._next_build = 0.0
        self._pace = _Pace()
        self._planned: asyncio.TimerHandle | None = None
        self._stop = threading.Event()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    # ------------------------------------------------------------ what an engine tells

    def started(self, state: RunState, folder: Path) -> None:
        """Name the run, and begin to draw."""
        self._folder = RunFolder(folder)
        self._tree = Tree(state)
        self._print([first_line(state, self._folder, self._at)])
        self._live = Live(self, console=self._console, auto_refresh=False, transient=True, redirect_stderr=False)
        self._live.start()
        self._build()
        self._thread = threading.Thread(target=self._draw_on, name="progress", daemon=True)
        self._thread.start()

    def changed(self, state: RunState, events: Sequence[ev.Event]) -> None:
        """Take in what happened; the tree is built again a little later, together with what comes until then."""
        if self._tree is None or self._folder is None:
            return
        for event in events:
            self._tree.take(state, event)
            if stays(event):
                self._keep(happening(state, event, self._folder.run_id, self._at))
        self._build_soon()

    def message(self, level: str, text: str) -> None:
        """Above the tree."""
        self._print([message_line(level, text)])

    def ended(self, state: RunState) -> None:
        """The tree goes away, the summary stays."""
        self._close()
        if self._folder is not None:
            self._print(list(ending_lines(state, self._folder, now=clock.now().timestamp(), at=self._at)))

    # ------------------------------------------------------------ building

    def _keep(self, lines: Sequence[Line]) -> None:
        room = MOST_LINES_AT_ONCE - len(self._waiting)
        self._waiting.extend(lines[:room])
        self._left_out += max(0, len(lines) - room)

    def _build_soon(self) -> None:
        wait = self._next_build - clock.monotonic()
        if wait <= 0:
            self._build()
        elif self._planned is None:
            try:
                self._planned = asyncio.get_running_loop().call_later(wait, self._build)
            except RuntimeError:  # no loop: the next event builds
                return

    def _build(self) -> None:
        if self._tree is None:
            return
        begun = clock.monotonic()
        self._planned = None
        self._frame = self._tree.rows(max(6, min(20, self._console.height - 4)))
        self._busy = self._tree.is_busy
        self._print_kept()
        self._news.set()
        now = clock.monotonic()
        self._next_build = now + max(FRAME_S, self._pace.wait_after(now - begun))

    def _print_kept(self) -> None:
        lines, self._waiting = self._waiting, []
        if self._left_out:
            lines.append(Line(f"and {words.amount(self._left_out, 'more change')}", "dim"))
            self._left_out = 0
        self._print(lines)

    def _print(self, lines: Sequence[Line]) -> None:
        if lines:
            text = Text("\n").join([Text(line.text, style=STYLES.get(line.style, "")) for line in lines])
            self._console.print(text, soft_wrap=True)  # a command that is copied must be on one line

    # ------------------------------------------------------------ drawing

    def _draw_on(self) -> None:
        wait, pace, begun = FRAME_S, _Pace(), clock.monotonic()
        while True:
            self._news.wait(wait)
            self._news.clear()
            if self._stop.wait(max(0.0, begun + FRAME_S - clock.monotonic())):
                return
            begun = clock.monotonic()
            if self._live is not None:
                self._live.refresh()
            wait = max(FRAME_S if self._busy else REST_S, pace.wait_after(clock.monotonic() - begun))

    def __rich__(self) -> Any:
        """The tree of the last frame at this moment: only spinners, times and the bar are made new."""
        now = clock.now().timestamp()
        turn = self._spinner[int(now * 8) % len(self._spinner)]
        width = self._console.width
        return Group(*(self._text(row, now, turn, width) for row in self._frame))

    def _text(self, row: Row, now: float, turn: str, width: int) -> Text:
        if row.bar is not None:
            return self._bar(row, now)
        mark = turn if row.status == "running" else self._marks.get(row.status, " ")
        elapsed = f"  {words.duration(max(0.0, now - row.since))}" if row.since is not None else ""
        text = Text(f"{'  ' * row.depth}{mark} {row.text}{elapsed}", no_wrap=True, overflow="ellipsis")
        text.stylize(STYLES.get(row.status, ""), 0, row.depth * 2 + 1)
        text.truncate(max(1, width - 1))
        return text

    def _bar(self, row: Row, now: float) -> Text:
        assert row.bar is not None
        done, total = row.bar.done, row.bar.total
        full = BAR_WIDTH * done // total if total else BAR_WIDTH
        block, empty = ("█", "░") if self._marks is words.MARKS else ("#", ".")
        elapsed = f"  {words.duration(max(0.0, now - row.since))}" if row.since is not None else ""
        text = Text(no_wrap=True)
        text.append(block * full, style="green")
        text.append(empty * (BAR_WIDTH - full), style="dim")
        text.append(f"  {done:,} of {words.amount(total, 'task')}  {row.bar.percent}%{elapsed}")
        return text

    # ------------------------------------------------------------ the end

    def _close(self) -> None:
        self._stop.set()
        self._news.set()
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
        if self._thread is not None:
            self._thread.join(5)
            self._thread = None
        live, self._live = self._live, None
        if live is not None:
            self._frame = ()
            live.stop()
        self._print_kept()


class _Pace:
    """How long to wait after work of some cost; a cost that came only once (what is loaded, a busy moment) is none."""

    def __init__(self) -> None:
        self._last = 0.0

    def wait_after(self, cost_s: float) -> float:
        usual, self._last = min(cost_s, self._last), cost_s
        return min(REST_S, SHARE * usual)


def stays(event: ev.Event) -> bool:
    """Whether an event leaves a line above the tree: ends of top-level nodes, whatever failed, questions."""
    match event:
        case ev.NodeEnd(path=path, status=status):
            return status == "failed" or ("/" not in path and not path.endswith("]"))
        case ev.AttemptEnd() | ev.GateOpen() | ev.GateDecision() | ev.CancelRequest() | ev.Override():
            return True
        case _:
            return False
