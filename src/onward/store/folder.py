"""The folder of one run: where each part lies, and the parts that have a form of their own."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from onward import clock, files
from onward.errors import StoreError
from onward.journal import packed
from onward.journal.lines import Position
from onward.store import cache, engine_file, names
from onward.store.inbox import Inbox
from onward.store.lock import Driver, Lock, driver_alive, take, take_over
from onward.store.values import Values

_HEAD_BYTES = 512
_AT = b'"at":"'


class RunFolder:
    """`.onward/runs/<run-id>/`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._tasks = os.path.join(root, "tasks")

    def __repr__(self) -> str:
        return f"RunFolder({str(self.root)!r})"

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.root.name

    @property
    def journal(self) -> Path:
        """The truth."""
        return self.root / "journal.jsonl"

    @property
    def state(self) -> Path:
        """The cache of the fold."""
        return self.root / "state.json"

    @property
    def start(self) -> Path:
        """The first event once more, for a journal that loses its head."""
        return self.root / "definition" / "start.json"

    @property
    def plan(self) -> Path:
        """The normalized plan."""
        return self.root / "definition" / "plan.json"

    @property
    def latest_plan(self) -> Path:
        """The plan that the last driver went by, where it is not the one of the start."""
        return self.root / "definition" / "latest.json"

    @property
    def tasks(self) -> Path:
        """A folder per node and attempt."""
        return self.root / "tasks"

    @property
    def hand_offs(self) -> Path:
        """What phases passed on."""
        return self.root / "hand-offs"

    @property
    def snapshots(self) -> Path:
        """Snapshots of the state."""
        return self.root / "snapshots"

    @cached_property
    def inbox(self) -> Inbox:
        """Signals that wait."""
        return Inbox(self.root / "inbox")

    @cached_property
    def values(self) -> Values:
        """Results that are too large for an event."""
        return Values(self.root / "values")

    # ------------------------------------------------------------ definition

    def definition(self, name: str) -> Path:
        """Where the definition file of that name (relative to the workflow's folder) lies as it was."""
        return self.root / "definition" / "files" / names.file_of(name)

    def read_definition(self, name: str) -> bytes | None:
        """A definition file as it was; None when it was not part of the definition."""
        return _read(self.definition(name))

    def read_plan(self) -> bytes | None:
        """The normalized plan; None when it is gone."""
        return _read(self.plan)

    def read_latest_plan(self) -> bytes | None:
        """The plan that the last driver went by."""
        return _read(self.latest_plan) or self.read_plan()

    def keep_latest_plan(self, data: bytes | None) -> None:
        """The plan that a driver is going by; None: that of the start."""
        if data is None:
            files.remove(self.latest_plan)
        elif _read(self.latest_plan) != data:
            files.write_atomic(self.latest_plan, data)

    # ------------------------------------------------------------ attempts

    def keep_attempts(self, former: str, path: str) -> None:
        """The folders of a node's attempts, and of all below it, are found under its new path too."""
        old, new = (os.path.join(self._tasks, names.folder_of(each)) for each in (former, path))
        if os.path.isdir(old):
            files.make_folder(os.path.dirname(new))
            files.link(os.path.relpath(old, os.path.dirname(new)), new)

    def attempt_folder(self, path: str, attempt: int) -> Path:
        """The folder of an attempt, which is made. Not flushed: it must outlive the driver, not the machine."""
        folder = self.attempt_path(path, attempt)
        files.make_folder(folder)
        return Path(folder)

    def attempt_path(self, path: str, attempt: int) -> str:
        """Where the folder of an attempt is, or would be."""
        return f"{self._tasks}/{names.folder_of(path)}/{attempt}"

    # ------------------------------------------------------------ cache and lock

    def write_cache(self, position: Position, state: bytes, *, durable: bool = True) -> None:
        """Keep the encoded state after the event at `position`."""
        cache.write_cache(self.state, position, state, durable=durable)

    def load_cache(self) -> cache.LoadedCache:
        """The state that was kept, if it can be used."""
        return cache.load_cache(self.state, self.journal)

    def lock(self) -> Lock:
        """Drive the run from now on. Raises `RunBusy`."""
        engine_file.refuse_if_driven(self.root)
        return take(self.root)

    def take_over(self) -> tuple[Lock, Driver | None]:
        """Drive the run even if another process does, which is returned."""
        engine_file.refuse_if_driven(self.root)
        return take_over(self.root)

    def driver(self) -> Driver | None:
        """Who drives the run now."""
        return engine_file.as_driver(self.root) or driver_alive(self.root)

    # ------------------------------------------------------------ whole

    def started_at(self) -> datetime:
        """When the run began, from the first line of its journal; else when its folder was made."""
        head = self._head()
        try:
            return clock.from_iso(head.partition(_AT)[2].partition(b'"')[0].decode())
        except ValueError:
            return datetime.fromtimestamp(os.stat(self.root).st_mtime, UTC)

    def _head(self) -> bytes:
        try:
            with packed.open_reading(self.journal) as file:
                return file.read(_HEAD_BYTES)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise files.trouble(error, "read", self.journal, StoreError) from error

    def compress(self) -> tuple[int, int]:
        """Compress the journal of a run that has ended; bytes before and after. Raises `RunBusy` when it is driven."""
        held = self.lock()
        try:
            return packed.pack(self.journal)
        finally:
            held.release()

    def clean_up(self) -> None:
        """Remove what an interrupted driver left half-written. For the owner of the lock, before it writes."""
        for folder in (self.root, *(self.root / name for name in ("values", "inbox", "hand-offs", "snapshots"))):
            if folder.is_dir():
                files.remove_dead_temporaries(folder)

    def remove(self) -> None:
        """Remove the run. Raises `RunBusy` when it is driven."""
        held = self.lock()
        gone = self.root.with_name(f".gone-{self.run_id}-{clock.token_hex(4)}")
        try:
            files.move(self.root, gone)
        except OSError as error:
            raise files.trouble(error, "remove the run", self.root, StoreError) from error
        held.moved(gone)
        try:
            files.flush_folder(self.root.parent)
            files.remove_tree(gone)
        finally:
            held.release()


def _read(path: Path) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise files.trouble(error, "read", path, StoreError) from error
