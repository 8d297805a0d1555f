"""The folder of a run → its state for readers, who hold no lock and change nothing.

The journal is read from the state cache on where that spares work, else from its first line. `refresh` takes in what
has come since, so a reader can follow a run that is driven.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from onward import clock
from onward.errors import JournalError, StateError
from onward.journal.findings import Finding, FindingKind
from onward.journal.lines import START, Position
from onward.journal.packed import size_of
from onward.journal.reader import read
from onward.model.events import Event, Note
from onward.model.nodes import Kind, Node, Plan
from onward.recovery.fate import Fate, fate_of
from onward.state.fold import fold
from onward.state.run_state import RunState
from onward.store.engine_file import engine_of
from onward.store.folder import RunFolder
from onward.store.lock import Driver
from onward.views.nodes import Around

CACHE_PAYS_BYTES = 64 << 10
"""a journal below this size is read as quickly as its cache, and tells of its notes"""

NOTES_KEPT = 100


class Source:
    """A run as it is on disk: `state`, who drives it, what is wrong with its journal, what it noted."""

    def __init__(self, folder: RunFolder, *, use_cache: bool = True) -> None:
        """Read the run. Raises `StateError` when its journal is not there or cannot be read."""
        self.folder = folder
        self.problems: list[str] = []
        self.findings: list[Finding] = []
        self.notes: list[Note] = []
        self.driver: Driver | None = folder.driver()
        self.plan = self._plan()
        self.state, self._position = self._begin(use_cache)
        self.refresh()

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.folder.run_id

    @property
    def base(self) -> Path:
        """The folder that places in a run are relative to: the one in which its store is."""
        return self.folder.root.parent.parent.parent

    @property
    def driven(self) -> bool:
        """Whether a process drives the run now."""
        return self.driver is not None

    def place(self, text: str) -> str:
        """A path of the journal as an absolute path."""
        return os.path.normpath(self.base / text)

    def refresh(self) -> list[Event]:
        """Take in what is new in the journal; returns those events."""
        self.driver = self.folder.driver()
        reading = read(self.folder.journal, after=self._position)
        fresh: list[Event] = []
        for event in reading:
            fold(self.state, event)
            if isinstance(event, Note):
                self.notes.append(event)
            fresh.append(event)
        self._position = reading.position
        self.notes = self.notes[-NOTES_KEPT:]
        self.findings = [one for one in self.findings if one.kind is not FindingKind.TORN_TAIL]
        self.findings += [one for one in reading.findings if not self._is_being_written(one)]
        return fresh

    def around(self, at: str = "") -> Around:
        """What `onward.views.status` wants to know beside the state. `at` follows the run id in commands."""
        facts, driver = self.state.facts, self.driver
        return Around(
            run=self.run_id,
            engine=engine_of(self.folder.root),
            now=clock.now().timestamp(),
            driver=driver,
            since=clock.to_iso(driver.since) if driver is not None else None,
            file=self.place(facts.file) if facts.file else "",
            directory=self.place(facts.directory) if facts.directory else "",
            fate=self.fate,
            findings=self.findings,
            notes=self.notes,
            problems=self.problems,
            at=at,
        )

    def task_lives(self, path: str, attempt: int) -> bool:
        """Whether an attempt still runs, driver or no driver."""
        return self.fate(path, attempt) is Fate.LIVES

    def fate(self, path: str, attempt: int) -> Fate:
        """What became of an attempt that nothing drives."""
        return fate_of(self.folder, self.state, path, attempt)

    # ------------------------------------------------------------ reading

    def _plan(self) -> Plan:
        try:
            data = self.folder.read_latest_plan()
            if data is not None:
                plan = msgspec.json.decode(data, type=Plan)
                return msgspec.structs.replace(plan, file=self.place(plan.file))
            self.problems.append("the stored definition is gone; nodes are shown as the journal names them")
        except (StateError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self.problems.append(f"the stored definition cannot be read ({error}); nodes are shown by name alone")
        return Plan(name="", file="", digest="", root=Node(name="", path="", kind=Kind.TASK))

    def _begin(self, use_cache: bool) -> tuple[RunState, Position]:
        if use_cache and self._size() > CACHE_PAYS_BYTES:
            from onward.state.cache import decode_state

            loaded = self.folder.load_cache()
            if loaded.cache is not None:
                state = decode_state(self.plan, loaded.cache.state)
                if state is not None:
                    return state, loaded.cache.position
        return RunState(self.plan), START

    def _size(self) -> int:
        try:
            return size_of(self.folder.journal)
        except FileNotFoundError:
            raise JournalError(
                f"run `{self.run_id}` has no journal ({self.folder.journal})",
                help="if a state file or snapshot of it was kept, `onward run FILE --from` goes on from that",
            ) from None

    def _is_being_written(self, finding: Finding) -> bool:
        # What looks like a torn tail is, while a driver lives, most likely the line that it writes just now.
        return finding.kind is FindingKind.TORN_TAIL and self.driven
