"""Events to lines of the journal: stamped and encoded when they are added, on the disk when they are flushed.

A batch is one write and one flush. Nobody may be told of an event before the `flush` that follows its `add` has
returned. After a write or flush that failed, the object refuses every use: a second flush that succeeds would
prove nothing, for the system forgets that the lost pages were never written.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from math import isfinite
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

import msgspec
from msgspec.structs import force_setattr

from onward import clock, files
from onward.errors import JournalError, StoreError
from onward.journal.lines import EVENTS, START, Position, close
from onward.model.events import UNSTAMPED, Event, Note, Owner

SPARE_NAME = "spare"
SPARE_BYTES = 64 * 1024
LAST_WORDS = "the disk is full: nothing more is started"

E = TypeVar("E", bound=Event)

_encode = msgspec.json.Encoder().encode

_IN_A_WRITE = "a write was interrupted"


class Journal:
    """The journal of a run, open for appending. One per driver; not for use by several threads.

    `before_flush` is called before lines are written: it flushes the files that events refer to.
    """

    __slots__ = (
        "_before_flush",
        "_broken",
        "_chain",
        "_descriptor",
        "_end",
        "_epoch",
        "_first",
        "_line",
        "_now",
        "_pending",
        "_seq",
        "_version",
        "flush_count",
        "path",
    )

    def __init__(
        self,
        path: str | os.PathLike[str],
        descriptor: int,
        position: Position,
        epoch: int,
        now: Callable[[], datetime] | None = None,
        before_flush: Callable[[], None] | None = None,
    ) -> None:
        """Use `create` or `open`."""
        self.path = os.fspath(path)
        self.flush_count = 0
        self._descriptor = descriptor
        self._end = position.offset
        self._line = position.line
        self._seq = position.seq
        self._first = position.seq + 1
        self._chain = position.chain.encode()
        self._epoch = epoch
        self._version = position.version
        self._now = now or clock.now
        self._before_flush = before_flush
        self._pending: list[bytes] = []
        self._broken: str | None = None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epoch: int = 1,
        now: Callable[[], datetime] | None = None,
        before_flush: Callable[[], None] | None = None,
    ) -> Self:
        """A new journal. Its folder is not flushed: that is part of making the run."""
        return cls(path, _opened(path, new=True), START, epoch, now, before_flush)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        position: Position,
        *,
        epoch: int,
        now: Callable[[], datetime] | None = None,
        before_flush: Callable[[], None] | None = None,
    ) -> Self:
        """Append after `position`, which is where reading ended. The caller holds the lock of the run.

        `epoch` is one more than the highest that was read.
        """
        journal = cls(path, _opened(path, new=False), position, epoch, now, before_flush)
        try:
            journal.still_mine()
        except JournalError:
            journal.close()
            raise
        return journal

    def add(self, event: E) -> E:
        """Stamp and encode a fresh event (a time that it has already is kept). It is not on the disk before `flush`.

        Returns what a reader will get: the same object, or a copy where something in it cannot be written.
        """
        if self._broken is not None:
            self._refuse()
        if event.seq:
            raise ValueError(f"event {event.seq} is in a journal already")
        seq = self._seq + 1
        force_setattr(event, "seq", seq)
        if event.at is UNSTAMPED:
            force_setattr(event, "at", self._now())
        force_setattr(event, "epoch", self._epoch)
        force_setattr(event, "batch", self._first)
        try:
            body = _encode(event)
            if b":null" in body:  # it may stand for infinity or "not a number", which no number field reads back
                EVENTS.decode(body)
        except (UnicodeEncodeError, msgspec.ValidationError):
            event = _writable(event)
            body = _encode(event)
        line, self._chain = close(body, self._chain)
        self._pending.append(line)
        self._seq = seq
        return event

    def flush(self) -> None:
        """Everything that was added is on the disk when this returns. Raises `JournalError`, and the run must stop."""
        if self._broken is not None:
            self._refuse()
        if not self._pending:
            return
        if self._before_flush is not None:
            self._before_flush()
        self.still_mine()
        data = self._batch()
        self._broken = _IN_A_WRITE
        try:
            files.append(self._descriptor, data, self.path)
        except OSError as error:
            self._write_failed(error)
        try:
            files.flush(self._descriptor, self.path)
        except OSError as error:
            self._fail(error, "")
        self._broken = None
        self._end += len(data)
        self._line += len(self._pending)
        self._first = self._seq + 1
        self._pending.clear()
        self.flush_count += 1

    def still_mine(self) -> None:
        """Raise `JournalError` when another driver has taken over, or the file is gone."""
        found = os.fstat(self._descriptor)
        if found.st_size != self._end or not found.st_nlink:
            self._somebody_wrote(found)

    @property
    def position(self) -> Position:
        """The end of what is on the disk. Only right between a `flush` and the next `add`."""
        return Position(
            offset=self._end,
            line=self._line,
            seq=self._seq,
            chain=self._chain.decode(),
            epoch=self._epoch,
            version=self._version,
        )

    @property
    def pending(self) -> int:
        """How many events wait for a flush."""
        return len(self._pending)

    def moved(self, path: str | os.PathLike[str], *, before_flush: Callable[[], None] | None) -> None:
        """The file has this name from now on."""
        self.path = os.fspath(path)
        self._before_flush = before_flush

    def close(self) -> None:
        """Let go of the file. Events that were not flushed are not written."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
            self._broken = self._broken or "it was closed"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ failures

    def _batch(self) -> bytes:
        return b"\n".join(self._pending) + b"\n"

    def _refuse(self) -> NoReturn:
        raise JournalError(
            f"the journal {self.path} is not used any more by this process: {self._broken}",
            help="see the first error, then `onward resume`",
        )

    def _fail(self, error: OSError, more: str) -> NoReturn:
        failure = files.trouble(error, "write the journal", self.path, JournalError)
        failure.message += more
        self._broken = failure.message
        raise failure from error

    def _write_failed(self, error: OSError) -> NoReturn:
        if not files.is_full(error):
            self._fail(error, "")
        try:
            self._last_words()
        except (OSError, StoreError):
            self._fail(error, "")
        self._fail(error, " (the last events were saved in the space that was kept for this)")

    def _last_words(self) -> None:
        """Write the batch in the room of the spare file, and that it was the last."""
        files.cut(self._descriptor, self._end, self.path)
        files.remove(spare_of(self.path))
        self._broken = None
        self.add(Note(text=LAST_WORDS, level="warning"))
        self._broken = _IN_A_WRITE
        files.append(self._descriptor, self._batch(), self.path)
        files.flush(self._descriptor, self.path)

    def _somebody_wrote(self, found: os.stat_result) -> None:
        if not found.st_nlink:
            self._leave("the file was removed or replaced", "stop whatever removed it, then `onward resume`")
        if found.st_size < self._end:
            self._leave("somebody has cut the file", "`onward verify` says what is left")
        foreign = os.pread(self._descriptor, found.st_size - self._end, self._end)
        if not _is_of_older_epochs(foreign, self._epoch):
            self._leave(_who_wrote(foreign), "this driver stops; `onward status` says who drives the run now")
        self._end = found.st_size
        self._line += foreign.count(b"\n")

    def _leave(self, why: str, then: str) -> NoReturn:
        self._broken = why
        raise JournalError(f"the journal {self.path} belongs to this process no more: {why}", help=then)


def spare_of(journal_path: str | os.PathLike[str]) -> str:
    """The file beside a journal that keeps some of the disk free for its last words."""
    return os.path.join(os.path.dirname(os.fspath(journal_path)), SPARE_NAME)


def _opened(path: str | os.PathLike[str], *, new: bool) -> int:
    try:
        descriptor = files.open_append(path, new=new)
    except OSError as error:
        raise files.trouble(error, "open the journal", path, JournalError) from error
    _keep_spare(spare_of(path))
    return descriptor


def _keep_spare(path: str) -> None:
    try:
        if os.path.exists(path) and os.path.getsize(path) >= SPARE_BYTES:
            return
        files.reserve(path, SPARE_BYTES)
    except StoreError as error:
        # On a full disk a few lines may still fit (a cancel, say): then there are no last words, and that is all.
        if not (isinstance(error.__cause__, OSError) and files.is_full(error.__cause__)):
            raise


class _Foreign(msgspec.Struct, frozen=True):
    """As much of another driver's line as is needed to know it."""

    epoch: int = 0
    owner: Owner | None = None


_decode_foreign = msgspec.json.Decoder(_Foreign).decode_lines


def _is_of_older_epochs(lines: bytes, epoch: int) -> bool:
    """Whether only a driver that was taken over (and readers ignore) wrote these lines."""
    if not lines.endswith(b"\n"):
        return False
    try:
        return all(line.epoch < epoch for line in _decode_foreign(lines))
    except msgspec.DecodeError:
        return False


def _who_wrote(lines: bytes) -> str:
    try:
        first = _decode_foreign(lines)[0]
    except msgspec.DecodeError:
        return "somebody else has written to it"
    who = "another driver" if first.owner is None else f"process {first.owner.pid} on {first.owner.host}"
    return f"{who} has taken over (epoch {first.epoch})"


def _writable(event: E) -> E:
    """A copy without what JSON cannot hold: broken Unicode is escaped, numbers that are not finite are left out."""
    kept: E = msgspec.convert(_plain(msgspec.to_builtins(event)), type(event))
    return kept


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {_plain(key): _plain(value) for key, value in data.items() if not _is_endless(value)}
    if isinstance(data, list | tuple):
        return [None if _is_endless(value) else _plain(value) for value in data]
    if isinstance(data, str):
        return data.encode("utf-8", "backslashreplace").decode()
    return data


def _is_endless(value: Any) -> bool:
    return isinstance(value, float) and not isfinite(value)
